"""Statistics: exact on small cases, true to their promises in simulation."""

import itertools
import math
import random
import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from writeup import stats
from writeup.stats import Estimate, Reason, Verdict

positive = st.floats(min_value=1e-9, max_value=1e9)
blocks = st.lists(positive, min_size=1, max_size=20)
by_block = st.dictionaries(
    st.sampled_from([f"s.{n:02d}" for n in range(1, 13)]),
    st.lists(positive, min_size=1, max_size=5),
    min_size=1,
)


def band(low, high, value=None, blocks=12):
    return Estimate(value or (low + high) / 2, low, high, blocks, blocks * 10)


def normals(source, mean=1.0, spread=0.01):
    return [source.gauss(mean, spread) for _ in range(12)]


# Median and interval.


@given(st.lists(st.integers(-(10**9), 10**9), min_size=1))
def test_median_agrees_with_the_standard_library(values):
    assert stats.median(values) == statistics.median(values)


def test_median_of_nothing_is_refused():
    with pytest.raises(ValueError, match="no values"):
        stats.median([])


def test_twelve_blocks_give_the_third_smallest_and_third_largest():
    found = stats.interval([12, 1, 11, 2, 10, 3, 9, 4, 8, 5, 7, 6])
    assert (found.low, found.high) == (3, 10)
    assert found.coverage == pytest.approx(1 - 158 / 4096)
    assert round(found.coverage, 3) == 0.961


@pytest.mark.parametrize("count", range(stats.MIN_BLOCKS))
def test_too_few_blocks_have_no_band(count):
    assert stats.interval(range(count)) is None
    assert stats.coverage(count) is None


def test_the_fewest_blocks_with_a_band_span_all_of_them():
    found = stats.interval(range(stats.MIN_BLOCKS))
    assert (found.low, found.high) == (0, 5)
    assert found.coverage == 0.96875


@pytest.mark.parametrize("count", [*range(6, 40), 101, 1200])
def test_the_band_is_the_narrowest_that_covers_the_level(count):
    def covered(rank):
        inside = sum(math.comb(count, k) for k in range(rank, count - rank + 1))
        return inside / 2**count

    found = stats.interval(range(count))
    rank = found.low + 1
    assert found.high == count - rank
    assert found.coverage == pytest.approx(covered(rank), abs=1e-12)
    assert covered(rank) >= stats.LEVEL > covered(rank + 1)


def test_a_higher_level_wants_more_blocks():
    assert stats.interval(range(7), level=0.99) is None
    assert stats.interval(range(8), level=0.99) is not None


def test_coverage_is_what_it_says_in_simulation():
    """Skewed and heavy-tailed alike: the interval assumes no shape."""
    source = random.Random(1)
    draws = {
        "exponential": (lambda: source.expovariate(1), math.log(2)),
        "cauchy": (lambda: math.tan(math.pi * (source.random() - 0.5)), 0.0),
    }
    for draw, truth in draws.values():
        for count in (6, 9, 12):
            hits = 0
            for _ in range(2500):
                found = stats.interval([draw() for _ in range(count)])
                hits += found.low <= truth <= found.high
            # Four standard errors of a proportion over these trials.
            assert hits / 2500 == pytest.approx(stats.coverage(count), abs=0.018)


def test_pooled_samples_would_promise_too_much():
    """Why the block is the unit: samples of one process share its luck."""
    source = random.Random(2)
    by_blocks = pooled = 0
    for _ in range(300):
        samples = {}
        for process in range(12):
            luck = source.gauss(0, 0.01)
            samples[str(process)] = [1 + luck + source.gauss(0, 0.002) for _ in range(16)]
        found = stats.estimate(samples)
        by_blocks += found.low <= 1 <= found.high
        naive = stats.interval(itertools.chain(*samples.values()))
        pooled += naive.low <= 1 <= naive.high
    assert by_blocks / 300 > 0.92
    assert pooled / 300 < 0.6


# Estimates.


@given(by_block)
def test_an_estimate_is_the_median_of_block_medians(samples):
    found = stats.estimate(samples)
    medians = [statistics.median(values) for values in samples.values()]
    assert found.value == statistics.median(medians)
    assert found.blocks == len(samples)
    assert found.samples == sum(map(len, samples.values()))


@given(by_block)
def test_a_band_holds_its_estimate_and_is_absent_below_six_blocks(samples):
    found = stats.estimate(samples)
    if len(samples) < stats.MIN_BLOCKS:
        assert (found.low, found.high, found.coverage, found.half_width) == (None,) * 4
    else:
        assert found.low <= found.value <= found.high
        assert found.coverage >= stats.LEVEL
        assert found.half_width == pytest.approx((found.high - found.low) / 2)


@given(by_block, st.integers(-20, 20))
def test_estimates_scale_with_their_unit(samples, power):
    factor = 2.0**power
    scaled = {block: [factor * v for v in values] for block, values in samples.items()}
    found, expected = stats.estimate(scaled), stats.estimate(samples)
    assert found.value == factor * expected.value
    if expected.low is not None:
        assert (found.low, found.high) == (factor * expected.low, factor * expected.high)


@given(by_block, st.randoms())
def test_neither_blocks_nor_samples_have_an_order(samples, chance):
    shuffled = list(samples.items())
    chance.shuffle(shuffled)
    again = {block: chance.sample(values, len(values)) for block, values in shuffled}
    assert stats.estimate(again) == stats.estimate(samples)


@given(by_block)
def test_slower_samples_never_give_a_faster_estimate(samples):
    slower = {block: [v * 1.5 for v in values] for block, values in samples.items()}
    assert stats.estimate(slower).value > stats.estimate(samples).value


def test_an_empty_block_is_refused():
    with pytest.raises(ValueError, match="no values"):
        stats.estimate({"s.01": [1.0], "s.02": []})


# Ratios.


def test_a_ratio_above_one_means_that_the_variant_takes_less_time():
    found = stats.ratio({"s.01": [2.0]}, {"s.01": [1.0]})
    assert found.value == pytest.approx(2)
    assert found.low is None
    assert found.blocks == 1


def test_a_ratio_turns_over_where_more_is_better():
    found = stats.ratio({"s.01": [100.0]}, {"s.01": [150.0]}, higher_is_better=True)
    assert found.value == pytest.approx(1.5)


@given(by_block, by_block)
def test_a_ratio_turned_over_is_its_reciprocal(one, other):
    if not one.keys() & other.keys():
        with pytest.raises(ValueError, match="both sides"):
            stats.ratio(one, other)
        return
    there, back = stats.ratio(one, other), stats.ratio(other, one)
    assert there.value == pytest.approx(1 / back.value, rel=1e-9)
    if there.low is not None:
        assert there.low == pytest.approx(1 / back.high, rel=1e-9)
        assert there.high == pytest.approx(1 / back.low, rel=1e-9)
    assert stats.ratio(one, other, higher_is_better=True) == back


@given(by_block)
def test_a_variant_is_as_fast_as_itself(samples):
    found = stats.ratio(samples, samples)
    assert found.value == 1.0
    assert found.low in (None, 1.0)
    assert found.high in (None, 1.0)


@given(by_block, by_block, st.floats(min_value=1e-3, max_value=1e3))
def test_a_ratio_has_no_unit(one, other, factor):
    if not one.keys() & other.keys():
        return
    scaled = [{b: [factor * v for v in vs] for b, vs in side.items()} for side in (one, other)]
    expected = stats.ratio(one, other).value
    assert stats.ratio(*scaled).value == pytest.approx(expected, rel=1e-9)


def test_blocks_of_one_side_only_are_left_out():
    found = stats.ratio({"s.01": [2.0, 2.0], "s.02": [9.0]}, {"s.03": [1.0], "s.01": [1.0]})
    assert found.value == pytest.approx(2)
    assert (found.blocks, found.samples) == (1, 3)


def test_pairing_takes_out_what_a_block_does_to_both_sides():
    source = random.Random(3)
    one, other = {}, {}
    for process in range(12):
        luck = math.exp(source.gauss(0, 0.2))
        one[str(process)] = [luck * source.gauss(1.05, 0.001) for _ in range(8)]
        other[str(process)] = [luck * source.gauss(1.0, 0.001) for _ in range(8)]
    found = stats.ratio(one, other)
    assert found.low > 1.04
    assert found.high < 1.06
    assert stats.estimate(one).half_width / stats.estimate(one).value > 0.02


@pytest.mark.parametrize("value", [0.0, -1.0])
def test_a_ratio_of_no_time_is_refused(value):
    with pytest.raises(ValueError, match="positive"):
        stats.ratio({"s.01": [1.0]}, {"s.01": [value]})


def test_a_rate_turns_the_band_over():
    found = stats.rate(12.0, band(2, 4, value=3))
    assert (found.value, found.low, found.high) == (4, 3, 6)
    assert stats.rate(1.0, Estimate(2.0, None, None, 1, 1)).low is None
    with pytest.raises(ValueError, match="positive"):
        stats.rate(1.0, Estimate(0.0, None, None, 1, 1))


# Verdicts.


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (1.02, 1.03, Verdict.FASTER),
        (0.97, 0.98, Verdict.SLOWER),
        (0.995, 1.005, Verdict.SAME),
        (0.99, 1.01, Verdict.SAME),
        (1.01, 1.03, Verdict.UNCLEAR),
        (1.005, 1.03, Verdict.UNCLEAR),
        (0.97, 1.03, Verdict.UNCLEAR),
        (0.97, 0.99, Verdict.UNCLEAR),
    ],
)
def test_a_verdict_is_read_off_the_band_and_the_margin(low, high, expected):
    found = stats.verdict(band(low, high), 0.01)
    assert found.verdict is expected
    assert found.reasons == ((Reason.SPANS_MARGIN,) if expected is Verdict.UNCLEAR else ())
    assert found.bar == found.margin == 0.01


def test_without_a_band_one_cannot_tell():
    found = stats.verdict(Estimate(3.0, None, None, 5, 50), 0.01)
    assert found.verdict is Verdict.UNCLEAR
    assert found.reasons == (Reason.TOO_FEW_BLOCKS,)


def test_the_margin_decides_and_not_the_noise():
    assert stats.verdict(band(1.02, 1.03), 0.05).verdict is Verdict.SAME
    assert stats.verdict(band(1.0001, 1.0002), 0.00005).verdict is Verdict.FASTER


@pytest.mark.parametrize("margin", [0.0, -0.01, 1.0, math.nan])
def test_a_margin_outside_of_zero_and_one_is_refused(margin):
    with pytest.raises(ValueError, match="margin"):
        stats.verdict(band(1.0, 1.1), margin)


def test_steady_twins_change_nothing():
    twins = band(0.997, 1.004)
    assert stats.verdict(band(0.995, 1.005), 0.01, twins).verdict is Verdict.SAME
    assert stats.verdict(band(1.011, 1.02), 0.01, twins).verdict is Verdict.FASTER


@pytest.mark.parametrize(
    ("twins", "reasons"),
    [
        (band(1.004, 1.013), (Reason.TWINS_LEAVE_MARGIN,)),
        (band(0.994, 1.006), (Reason.TWINS_TOO_WIDE,)),
        (band(0.98, 1.02), (Reason.TWINS_LEAVE_MARGIN, Reason.TWINS_TOO_WIDE)),
        (Estimate(1.0, None, None, 4, 40), (Reason.TWINS_WITHOUT_BAND,)),
    ],
)
def test_unsteady_twins_take_away_the_same(twins, reasons):
    found = stats.verdict(band(0.998, 1.002), 0.01, twins)
    assert found.verdict is Verdict.UNCLEAR
    assert found.reasons == reasons


def test_width_is_measured_from_end_to_end():
    """By half its width, no band inside the margin could ever be too wide."""
    inside_but_wide = band(0.9945, 1.0055)
    assert inside_but_wide.half_width < 0.01
    found = stats.verdict(band(0.998, 1.002), 0.01, inside_but_wide)
    assert found.reasons == (Reason.TWINS_TOO_WIDE,)


def test_beside_unsteady_twins_a_win_must_clear_their_offset_too():
    twins = band(1.0, 1.04, value=1.02)
    close = stats.verdict(band(1.02, 1.025), 0.01, twins)
    assert close.verdict is Verdict.UNCLEAR
    assert close.reasons[0] is Reason.BELOW_RAISED_BAR
    assert close.bar == pytest.approx(0.03)
    clear = stats.verdict(band(1.031, 1.04), 0.01, twins)
    assert clear.verdict is Verdict.FASTER
    assert Reason.TWINS_LEAVE_MARGIN in clear.reasons
    assert stats.verdict(band(0.96, 0.969), 0.01, twins).verdict is Verdict.SLOWER
    assert stats.verdict(band(0.96, 0.975), 0.01, twins).verdict is Verdict.UNCLEAR


@given(positive, positive, st.floats(0.001, 0.2), st.floats(0.9, 1.1), st.floats(0, 0.1))
def test_twins_never_turn_a_verdict_round(one, other, margin, centre, width):
    ratio = band(*sorted((one, other)))
    twins = band(centre - width / 2, centre + width / 2, value=centre)
    without, beside = stats.verdict(ratio, margin), stats.verdict(ratio, margin, twins)
    assert beside.verdict in (without.verdict, Verdict.UNCLEAR)
    assert bool(beside.reasons) >= (beside.verdict is Verdict.UNCLEAR)


def test_equal_variants_are_rarely_told_apart():
    """A false verdict needs the band past the margin: rarer than one minus its coverage."""
    source = random.Random(4)
    found = []
    for _ in range(1500):
        one, other = ({str(b): [v] for b, v in enumerate(normals(source))} for _ in range(2))
        found.append(stats.verdict(stats.ratio(one, other), 0.01).verdict)
    false = sum(verdict in (Verdict.FASTER, Verdict.SLOWER) for verdict in found)
    assert false / 1500 < 0.01


def test_equal_variants_in_quiet_rooms_are_the_same():
    source = random.Random(5)
    one, other = (
        {str(b): [v] for b, v in enumerate(normals(source, spread=0.001))} for _ in range(2)
    )
    assert stats.verdict(stats.ratio(one, other)).verdict is Verdict.SAME


# Summaries and means over cases.


def test_a_summary_describes_the_pooled_samples():
    found = stats.summary({"s.01": [1, 2, 3], "s.02": [4, 5]})
    assert (found.min, found.q1, found.median, found.q3, found.max) == (1, 2, 3, 4, 5)
    assert (found.samples, found.blocks, found.outliers) == (5, 2, 0)


def test_outliers_lie_beyond_five_deviations_and_stay_in():
    calm = [10, 11, 12, 13, 14]  # median 12, median absolute deviation 1
    at_the_edge = stats.summary({"s.01": [*calm, *calm, 17]})
    beyond = stats.summary({"s.01": [*calm, *calm, 17.5]})
    assert (at_the_edge.outliers, beyond.outliers) == (0, 1)
    assert beyond.max == 17.5


def test_where_most_samples_are_equal_every_other_one_is_an_outlier():
    assert stats.summary({"s.01": [5, 5, 5, 5, 6]}).outliers == 1


@given(st.lists(st.integers(-1000, 1000), min_size=2), st.sampled_from([0.25, 0.5, 0.75]))
def test_quantiles_agree_with_the_standard_library(values, fraction):
    expected = statistics.quantiles(values, n=4, method="inclusive")[round(fraction * 4) - 1]
    assert stats.quantile(sorted(values), fraction) == pytest.approx(expected)


def test_no_quantile_of_nothing():
    with pytest.raises(ValueError, match="quantile"):
        stats.quantile([], 0.5)
    with pytest.raises(ValueError, match="median"):
        stats.summary({})


def test_a_geometric_mean_names_its_best_and_worst():
    found = stats.geometric_mean({"small": 0.5, "wide": 2.0, "mid": 1.0})
    assert found.value == pytest.approx(1)
    assert (found.best, found.worst, found.count) == ("wide", "small", 3)


@given(st.dictionaries(st.text(max_size=3), positive, min_size=1))
def test_a_geometric_mean_lies_between_its_ends_and_turns_over(ratios):
    found = stats.geometric_mean(ratios)
    assert ratios[found.worst] * (1 - 1e-9) <= found.value <= ratios[found.best] * (1 + 1e-9)
    turned = stats.geometric_mean({key: 1 / value for key, value in ratios.items()})
    assert turned.value == pytest.approx(1 / found.value, rel=1e-9)


@pytest.mark.parametrize("ratios", [{}, {"a": 0.0}, {"a": -1.0, "b": 1.0}])
def test_no_geometric_mean_without_positive_ratios(ratios):
    with pytest.raises(ValueError, match="ratio"):
        stats.geometric_mean(ratios)


@settings(max_examples=30)
@given(blocks)
def test_equal_ratios_go_by_name(values):
    ratios = {f"case-{n}": values[0] for n in range(len(values))}
    found = stats.geometric_mean(ratios)
    assert (found.worst, found.best) == (min(ratios), max(ratios))
