"""What the statistics promise: exact coverage, bounded error, and no favourites.

Simulations draw from distributions whose truth is known, with seeds of their own. Each states
its tolerance as standard errors of the simulation itself: a rate p seen in N trials has the
standard error sqrt(p (1 - p) / N). Of all comparisons here one in thousands lies beyond four of
these; the seeds are fixed, so that a red test is a change and never bad luck.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction
from statistics import NormalDist, median

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.effort import EFFORT, examples
from writeup import stats
from writeup.stats import Estimate, Verdict

TRIALS = 1200 * EFFORT
ERRORS = 4


def slack(rate: float, trials: int = TRIALS) -> float:
    """Four standard errors of a rate over the trials; of no rate, what one hit would be worth."""
    return ERRORS * math.sqrt(max(rate * (1 - rate), 1 / trials) / trials)


# An implementation of its own: whole numbers and fractions, from the binomial itself.


def tail(count: int, below: int) -> Fraction:
    """P(Bin(count, 1/2) < below)."""
    return Fraction(sum(math.comb(count, k) for k in range(below)), 2**count)


def exact(values) -> tuple[float, float, Fraction] | None:
    """The band by definition: the innermost pair of order statistics that covers the level."""
    ordered = sorted(values)
    count = len(ordered)
    for rank in range(count // 2, 0, -1):
        covered = 1 - 2 * tail(count, rank)
        if covered >= Fraction(95, 100):
            return ordered[rank - 1], ordered[count - rank], covered
    return None


@examples(200)
@given(st.lists(st.integers(-5, 5) | st.floats(-1e6, 1e6), max_size=40))
def test_the_band_is_that_of_the_binomial_in_whole_numbers_ties_or_not(values):
    found, expected = stats.interval(values), exact(values)
    if expected is None:
        assert found is None
        assert len(values) < stats.MIN_BLOCKS
    else:
        assert (found.low, found.high) == expected[:2]
        # Both are ratios of whole numbers by a power of two; a float holds 53 bits of them.
        assert found.coverage == pytest.approx(float(expected[2]), abs=2**-52)


@pytest.mark.parametrize("count", range(6, 201))
def test_coverage_agrees_with_fractions_for_any_number_of_blocks(count):
    assert stats.coverage(count) == pytest.approx(float(exact(range(count))[2]), abs=2**-52)
    assert stats.coverage(count) >= stats.LEVEL


# Coverage by simulation.


def _lognormal(source):
    return math.exp(source.gauss(0, 1))


def _bimodal(source):
    return source.gauss(0, 1) if source.random() < 0.5 else source.gauss(10, 1)


def _skewed_modes(source):
    return source.gauss(0, 1) if source.random() < 0.8 else source.gauss(50, 1)


# Draw and true median. The mixture's: Phi(m) * 0.8 = 0.5, the other mode being far away.
SHAPES = {
    "normal": (lambda source: source.gauss(3, 2), 3.0),
    "lognormal": (_lognormal, 1.0),
    "bimodal": (_bimodal, 5.0),
    "two modes of unequal weight": (_skewed_modes, NormalDist().inv_cdf(0.5 / 0.8)),
    "exponential": (lambda source: source.expovariate(1), math.log(2)),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("count", range(6, 21))
def test_the_band_of_a_continuous_shape_covers_its_median_as_often_as_it_says(shape, count):
    draw, truth = SHAPES[shape]
    source = random.Random(f"{shape}/{count}")
    hits = 0
    for _ in range(TRIALS):
        found = stats.interval([draw(source) for _ in range(count)])
        hits += found.low <= truth <= found.high
    stated = stats.coverage(count)
    assert abs(hits / TRIALS - stated) <= slack(stated)


@pytest.mark.parametrize("count", range(6, 21))
def test_where_samples_tie_the_band_covers_no_less_than_it_says(count):
    """A timer that ticks: the band's ends are closed, so ties can only widen what it holds."""
    source = random.Random(count)
    hits = 0
    for _ in range(TRIALS):
        found = stats.interval([source.choice([1, 2, 2, 3, 3, 3, 9]) for _ in range(count)])
        hits += found.low <= 3 <= found.high  # P(X < 3) = 3/7, P(X <= 3) = 6/7
    stated = stats.coverage(count)
    assert hits / TRIALS >= stated - slack(stated)


@pytest.mark.parametrize("count", [6, 9, 12, 20])
def test_the_band_of_block_medians_covers_the_median_over_blocks(count):
    """A block's luck and an odd number of samples, both symmetrical: the truth is the centre."""
    source = random.Random(count)
    hits = 0
    for _ in range(TRIALS):
        blocks = {}
        for block in range(count):
            luck = source.gauss(0, 0.02)
            blocks[str(block)] = [10 + luck + source.gauss(0, 0.05) for _ in range(5)]
        found = stats.estimate(blocks)
        hits += found.low <= 10 <= found.high
    stated = stats.coverage(count)
    assert abs(hits / TRIALS - stated) <= slack(stated)


@pytest.mark.parametrize("count", [6, 7, 12, 20])
@pytest.mark.parametrize("effect", [0.5, 1.0, 1.01, 3.0])
def test_the_band_of_a_ratio_covers_the_true_ratio(count, effect):
    """Logarithms of both sides are symmetrical, so that of the ratio is, about its truth.

    The luck of a block, far larger than the noise, is common to both sides and cancels.
    """
    source = random.Random(f"{count}/{effect}")
    hits = 0
    for _ in range(TRIALS):
        one, other = _pair(source, count, effect, luck=0.3, noise=0.02)
        found = stats.ratio(one, other)
        hits += found.low <= effect <= found.high
    stated = stats.coverage(count)
    assert abs(hits / TRIALS - stated) <= slack(stated)


def _pair(source, count, effect, *, luck=0.1, noise=0.005):
    """A baseline, and a variant that is `effect` times as fast, in blocks of three samples."""
    one, other = {}, {}
    for block in map(str, range(count)):
        shared = math.exp(source.gauss(0, luck))
        one[block] = [shared * math.exp(source.gauss(0, noise)) for _ in range(3)]
        other[block] = [shared * math.exp(source.gauss(0, noise)) / effect for _ in range(3)]
    return one, other


# How often a verdict is wrong.

DELTA = 0.01
ORDER = {Verdict.SLOWER: 0, Verdict.SAME: 1, Verdict.UNCLEAR: 1, Verdict.FASTER: 2}


def verdicts(effect: float, spread: float, count: int, *, twins: bool = False):
    """How often each verdict falls where log ratios of blocks are normal about the effect."""
    source = random.Random(f"{effect}/{spread}/{count}/{twins}")
    told = dict.fromkeys(Verdict, 0)
    for _ in range(TRIALS):
        control = _drawn(source, 1.0, spread, count) if twins else None
        found = stats.verdict(_drawn(source, effect, spread, count), DELTA, control)
        told[found.verdict] += 1
    return {verdict: number / TRIALS for verdict, number in told.items()}


def _drawn(source, effect, spread, count):
    one = {str(block): [1.0] for block in range(count)}
    other = {block: [math.exp(source.gauss(0, spread)) / effect] for block in one}
    return stats.ratio(one, other)


def beyond(count: int, rank: int, chance: float) -> float:
    """P(the rank-th smallest of `count` values lies beyond), each value doing so by chance."""
    # At most rank - 1 of the values do not lie beyond.
    return sum(math.comb(count, k) * (1 - chance) ** k * chance ** (count - k) for k in range(rank))


def rank_of(count: int) -> int:
    return round(exact(range(count))[0]) + 1


def predicted(effect: float, spread: float, count: int) -> dict[Verdict, float]:
    """The same by the binomial: a verdict needs all but rank - 1 blocks on its side."""
    shape = NormalDist(math.log(effect), spread)
    above = 1 - shape.cdf(math.log(1 + DELTA))
    under = shape.cdf(math.log(1 - DELTA))
    rank = rank_of(count)
    return {
        Verdict.FASTER: beyond(count, rank, above),
        Verdict.SLOWER: beyond(count, rank, under),
    }


@pytest.mark.parametrize("count", [6, 12, 20])
@pytest.mark.parametrize("spread", [0.002, 0.01, 0.03, 0.2])
@pytest.mark.parametrize("twins", [False, True])
def test_equal_variants_are_told_apart_less_often_than_half_of_what_the_band_leaves(
    count, spread, twins
):
    """A false win needs the band beyond 1 + δ, so beyond the truth: by one tail, at most."""
    told = verdicts(1.0, spread, count, twins=twins)
    side = (1 - stats.coverage(count)) / 2
    assert told[Verdict.FASTER] <= side + slack(side)
    assert told[Verdict.SLOWER] <= side + slack(side)


@pytest.mark.parametrize("count", [6, 12, 20])
@pytest.mark.parametrize("effect", [1.0, 1 + DELTA, 1 / (1 + DELTA), 1 + 2 * DELTA, 1.1])
@pytest.mark.parametrize("spread", [0.004, 0.02])
def test_verdicts_fall_as_often_as_the_binomial_says(effect, spread, count):
    told, expected = verdicts(effect, spread, count), predicted(effect, spread, count)
    for verdict, chance in expected.items():
        assert abs(told[verdict] - chance) <= slack(chance), verdict


@pytest.mark.parametrize("count", [6, 12, 20])
@pytest.mark.parametrize("spread", [0.001, 0.005, 0.02])
@pytest.mark.parametrize("side", [1, -1])
def test_an_effect_of_just_the_margin_is_rarely_told_as_more_or_as_none(count, spread, side):
    """At the margin itself both would be false, and each needs a band beside the truth."""
    told = verdicts(1 + side * DELTA, spread, count)
    wrong = (1 - stats.coverage(count)) / 2
    beyond_it = Verdict.FASTER if side > 0 else Verdict.SLOWER
    assert told[beyond_it] <= wrong + slack(wrong)
    assert told[Verdict.SAME] <= wrong + slack(wrong)
    assert told[Verdict.SLOWER if side > 0 else Verdict.FASTER] <= slack(0)


@pytest.mark.parametrize("count", [6, 12, 20])
def test_an_effect_of_two_margins_is_seen_in_a_quiet_room_and_never_reversed(count):
    told = verdicts(1 + 2 * DELTA, 0.002, count)
    assert told[Verdict.FASTER] >= 1 - slack(0)
    for spread in (0.005, 0.02, 0.1):
        loud = verdicts(1 + 2 * DELTA, spread, count)
        wrong = (1 - stats.coverage(count)) / 2
        assert loud[Verdict.SAME] <= wrong + slack(wrong)
        assert loud[Verdict.SLOWER] <= wrong + slack(wrong)


# What no verdict may depend on, and what it must.

times = st.floats(min_value=1e-6, max_value=1e6)
sides = st.lists(
    st.tuples(st.lists(times, min_size=1, max_size=4), st.lists(times, min_size=1, max_size=4)),
    min_size=1,
    max_size=14,
)
near = st.floats(min_value=0.97, max_value=1.03)
close = st.lists(
    st.tuples(st.lists(near, min_size=1, max_size=3), st.lists(near, min_size=1, max_size=3)),
    min_size=1,
    max_size=14,
)
margins = st.floats(min_value=0.001, max_value=0.3)


def split(pairs):
    names = [f"s.{number:02d}" for number in range(len(pairs))]
    one = {name: list(pair[0]) for name, pair in zip(names, pairs, strict=True)}
    return one, {name: list(pair[1]) for name, pair in zip(names, pairs, strict=True)}


def judged(one, other, margin=DELTA) -> Verdict:
    return stats.verdict(stats.ratio(one, other), margin).verdict


@examples(200)
@given(sides | close, st.integers(-30, 30), margins)
def test_the_unit_of_time_decides_nothing(pairs, power, margin):
    one, other = split(pairs)
    factor = 2.0**power  # exact, so that not even a rounding differs
    again = [{b: [factor * v for v in vs] for b, vs in side.items()} for side in (one, other)]
    assert stats.ratio(*again).blocks == stats.ratio(one, other).blocks
    assert stats.ratio(*again).value == pytest.approx(stats.ratio(one, other).value, rel=1e-12)
    found = stats.ratio(one, other)
    ends = (found.low, found.high)
    edges = (1 - margin, 1 + margin)
    assume(
        not any(end and math.isclose(end, edge, rel_tol=1e-12) for end in ends for edge in edges)
    )
    assert judged(*again, margin) is judged(one, other, margin)


@examples(300)
@given(sides | close, margins)
def test_sides_that_change_places_turn_the_verdict_over(pairs, margin):
    """1 + δ and 1 - δ are no reciprocals: in a strip of δ² between, one side tells no more."""
    one, other = split(pairs)
    there, back = stats.ratio(one, other), stats.ratio(other, one)
    assert there.value == pytest.approx(1 / back.value, rel=1e-12)
    first, second = judged(one, other, margin), judged(other, one, margin)
    turned = {Verdict.FASTER: Verdict.SLOWER, Verdict.SLOWER: Verdict.FASTER}
    assert not (first is second and first in turned)
    if there.low is None:
        assert first is second is Verdict.UNCLEAR
        return
    strip = (1 + margin, 1 / (1 - margin))  # the same reciprocally below one
    ends = [max(end, 1 / end) for end in (there.low, there.high)]
    assume(not any(strip[0] * (1 - 1e-9) <= end <= strip[1] * (1 + 1e-9) for end in ends))
    assert second is turned.get(first, first)


@examples(200)
@given(sides | close, st.randoms(use_true_random=False), margins)
def test_the_order_and_the_names_of_blocks_decide_nothing(pairs, chance, margin):
    one, other = split(pairs)
    names = list(one)
    chance.shuffle(names)
    renamed = dict(zip(names, [f"t.{n}" for n in range(len(names))], strict=True))
    again = [
        {renamed[name]: chance.sample(side[name], len(side[name])) for name in names}
        for side in (one, other)
    ]
    assert stats.ratio(*again) == stats.ratio(one, other)
    assert judged(*again, margin) is judged(one, other, margin)


@examples(200)
@given(sides | close, times)
def test_a_block_of_one_side_alone_decides_nothing(pairs, value):
    one, other = split(pairs)
    expected = stats.ratio(one, other)
    assert stats.ratio({**one, "u.1": [value]}, other) == expected
    assert stats.ratio(one, {**other, "u.1": [value]}) == expected


@examples(200)
@given(sides | close)
def test_a_block_on_either_side_of_the_median_leaves_it_where_it_is(pairs):
    one, other = split(pairs)
    found = stats.ratio(one, other)
    extremes = {"u.1": [1e15], "u.2": [1e-15]}
    level = {"u.1": [1.0], "u.2": [1.0]}
    more = stats.ratio({**one, **extremes}, {**other, **level})
    assert more.value == pytest.approx(found.value, rel=1e-12)
    assert more.blocks == found.blocks + 2


@examples(200)
@given(st.lists(st.lists(times, min_size=1, max_size=4), min_size=6, max_size=14), margins)
def test_a_block_that_repeats_the_others_only_makes_the_same_surer(samples, margin):
    """Blocks without any difference: the same, however many there are."""
    blocks = {f"s.{n}": values for n, values in enumerate(samples)}
    assert judged(blocks, blocks, margin) is Verdict.SAME
    more = {**blocks, "u.1": [1.0]}
    assert judged(more, more, margin) is Verdict.SAME


@examples(300)
@given(sides | close, st.floats(min_value=0.5, max_value=1.0), st.data())
def test_a_variant_whose_samples_get_faster_is_never_told_as_slower(pairs, factor, data):
    one, other = split(pairs)
    faster = {block: [value * factor for value in values] for block, values in other.items()}
    if data.draw(st.booleans()):  # or only some of its samples do
        block = data.draw(st.sampled_from(sorted(other)))
        faster = {**other, block: faster[block]}
    before, after = stats.ratio(one, other), stats.ratio(one, faster)
    assert after.value >= before.value * (1 - 1e-12)
    assert ORDER[judged(one, faster)] >= ORDER[judged(one, other)]
    if before.low is not None:
        assert after.low >= before.low * (1 - 1e-12)
        assert after.high >= before.high * (1 - 1e-12)


@examples(300)
@given(sides | close, margins)
def test_the_same_is_said_only_where_the_whole_band_lies_inside_the_margin(pairs, margin):
    one, other = split(pairs)
    found = stats.ratio(one, other)
    logs = [math.log(median(one[b])) - math.log(median(other[b])) for b in one]
    band = exact(logs)
    verdict = judged(one, other, margin)
    if band is None:
        assert verdict is Verdict.UNCLEAR
        return
    low, high = math.exp(band[0]), math.exp(band[1])
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-12)
    expected = (
        Verdict.FASTER
        if found.low > 1 + margin
        else Verdict.SLOWER
        if found.high < 1 - margin
        else Verdict.SAME
        if 1 - margin <= found.low and found.high <= 1 + margin
        else Verdict.UNCLEAR
    )
    assert verdict is expected


@examples(200)
@given(st.lists(st.tuples(times, times), min_size=1, max_size=5), margins)
def test_fewer_than_six_blocks_give_no_band_and_no_verdict(pairs, margin):
    one = {str(n): [pair[0]] for n, pair in enumerate(pairs)}
    other = {str(n): [pair[1]] for n, pair in enumerate(pairs)}
    assert stats.estimate(one).low is None
    assert stats.ratio(one, other).low is None
    assert judged(one, other, margin) is Verdict.UNCLEAR


@examples(200)
@given(st.integers(6, 14), times, times, margins)
def test_samples_that_all_tie_have_a_band_of_no_width(count, mine, theirs, margin):
    one = {str(n): [theirs, theirs] for n in range(count)}
    other = {str(n): [mine] for n in range(count)}
    found = stats.ratio(one, other)
    assert found.low == found.value == found.high
    assert found.value == pytest.approx(theirs / mine, rel=1e-12)
    assert judged(one, other, margin) is not Verdict.UNCLEAR


ends = st.tuples(st.floats(0.8, 1.25), st.floats(0.8, 1.25)).map(sorted)


@examples(300)
@given(ends, st.none() | ends, margins)
def test_unsteady_twins_only_ever_raise_the_bar(band, twins, margin):
    ratio = Estimate(sum(band) / 2, *band, 12, 120)
    control = twins and Estimate(sum(twins) / 2, *twins, 12, 120)
    alone, beside = stats.verdict(ratio, margin), stats.verdict(ratio, margin, control)
    assert beside.verdict in (alone.verdict, Verdict.UNCLEAR)
    assert beside.bar >= beside.margin == margin
    if beside.verdict is Verdict.FASTER:
        assert ratio.low > 1 + beside.bar
    if beside.verdict is Verdict.SAME:
        assert not beside.reasons


# Means over cases.


@examples(200)
@given(st.dictionaries(st.text(max_size=3), times, min_size=1, max_size=8), times)
def test_a_geometric_mean_is_that_of_the_logarithms(ratios, factor):
    found = stats.geometric_mean(ratios)
    product = math.prod(Fraction(ratio) for ratio in ratios.values())
    # Compared as logarithms of exact products, so that no root of a fraction is needed.
    expected = (math.log(product.numerator) - math.log(product.denominator)) / len(ratios)
    assert math.log(found.value) == pytest.approx(expected, abs=1e-9)
    scaled = stats.geometric_mean({key: ratio * factor for key, ratio in ratios.items()})
    assert scaled.value == pytest.approx(found.value * factor, rel=1e-9)
