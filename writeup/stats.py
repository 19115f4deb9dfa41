"""From samples to a median, a band and a verdict.

The unit of inference is the *block*, one fresh process: samples of one process share its
luck, so they are first reduced to one median a block, and every band is over blocks. Samples
come as a mapping from process id to the samples of that process; ratios pair equal ids.
Standard library only: the harness uses this module too.

Sources: Hoefler and Belli, "Scientific Benchmarking of Parallel Computing Systems", SC'15;
Kalibera and Jones, "Rigorous Benchmarking in Reasonable Time", ISMM'13. The order-statistic
interval: David and Nagaraja, "Order Statistics", 3rd ed., section 7.1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

LEVEL = 0.95
# With five blocks the widest interval there is (smallest to largest) covers 93.75 % only.
MIN_BLOCKS = 6
BLOCKS = 12
MARGIN = 0.01
OUTLIER_MADS = 5


@dataclass(frozen=True, slots=True)
class Interval:
    """A band for a median; coverage is its exact probability, at least the level asked for."""

    low: float
    high: float
    coverage: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """A statistic with its band, in the unit of the samples (a ratio has none).

    low and high are absent where there are too few blocks for a band. blocks are the values
    that the band rests on, samples the observations beneath them.
    """

    value: float
    low: float | None
    high: float | None
    blocks: int
    samples: int

    @property
    def coverage(self) -> float | None:
        """The exact probability of the band; absent without one."""
        return None if self.low is None else coverage(self.blocks)

    @property
    def half_width(self) -> float | None:
        """Half the distance between the ends of the band; absent without one."""
        if self.low is None or self.high is None:
            return None
        return (self.high - self.low) / 2


class Verdict(StrEnum):
    """What the samples bear out about a variant beside its baseline."""

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "same"
    UNCLEAR = "cannot tell"


class Reason(StrEnum):
    """What withheld a verdict, or raised the bar for one."""

    TOO_FEW_BLOCKS = "too few blocks for a band"
    SPANS_MARGIN = "the band spans the margin"
    TWINS_LEAVE_MARGIN = "the band of the A/A twins leaves the margin"
    TWINS_TOO_WIDE = "the band of the A/A twins is wider than the margin"
    TWINS_WITHOUT_BAND = "the A/A twins have too few blocks for a band"
    BELOW_RAISED_BAR = "the band does not clear the margin and the offset of the A/A twins"


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict, why, and against what.

    margin is the margin of practice. bar is what a difference had to clear: the margin, and
    where the twins are unsteady their offset on top. reasons are everything that withheld a
    verdict or raised the bar; none where the band and the twins speak plainly.
    """

    verdict: Verdict
    reasons: tuple[Reason, ...]
    margin: float
    bar: float


@dataclass(frozen=True, slots=True)
class Summary:
    """All samples of a measurement, pooled: for description, never for inference.

    Quartiles interpolate linearly between order statistics (type 7 of Hyndman and Fan, what
    NumPy does by default). outliers counts the samples further from the pooled median than
    five times the pooled median absolute deviation, unscaled; where more than half of the
    samples are equal that deviation is zero, and every other sample counts.
    """

    min: float
    q1: float
    median: float
    q3: float
    max: float
    samples: int
    blocks: int
    outliers: int


@dataclass(frozen=True, slots=True)
class GeometricMean:
    """A mean of ratios over cases, never told without the keys of its best and worst."""

    value: float
    best: str
    worst: str
    count: int


def median(values: Iterable[float]) -> float:
    """The middle value, or the mean of the two middle ones. Raises ValueError on none."""
    ordered = sorted(values)
    if not ordered:
        raise ValueError("no median of no values")
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2


def block_medians(samples_by_block: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """The median of each block, keyed as given. Raises ValueError on an empty block."""
    return {block: median(samples) for block, samples in samples_by_block.items()}


@cache
def _rank(count: int, level: float) -> tuple[int, float] | None:
    """How many order statistics to go in from each end, and the coverage of what remains.

    The k-th smallest to the k-th largest of n holds the median of a continuous distribution
    with probability 1 - 2 P(Bin(n, 1/2) < k), whatever that distribution is.
    """
    best = None
    tail = 0
    for rank in range(1, count // 2 + 1):
        tail += math.comb(count, rank - 1)
        covered = (2**count - 2 * tail) / 2**count
        if covered < level:
            break
        best = (rank, covered)
    return best


def coverage(blocks: int, level: float = LEVEL) -> float | None:
    """The exact coverage of the band over so many blocks; absent where there is no band."""
    found = _rank(blocks, level)
    return found[1] if found else None


def interval(values: Iterable[float], level: float = LEVEL) -> Interval | None:
    """The narrowest order-statistic interval for the median that covers at least `level`.

    Exact, distribution-free and without a seed. Absent below MIN_BLOCKS values at 95 %.
    With twelve values: the third smallest to the third largest, 96.1 %.
    """
    ordered = sorted(values)
    found = _rank(len(ordered), level)
    if found is None:
        return None
    rank, covered = found
    return Interval(ordered[rank - 1], ordered[-rank], covered)


def _estimate(medians: Sequence[float], samples: int) -> Estimate:
    band = interval(medians)
    return Estimate(
        value=median(medians),
        low=band.low if band else None,
        high=band.high if band else None,
        blocks=len(medians),
        samples=samples,
    )


def estimate(samples_by_block: Mapping[str, Sequence[float]]) -> Estimate:
    """The median of the block medians with its band, in the unit of the samples.

    Raises ValueError on no blocks, or an empty one.
    """
    medians = list(block_medians(samples_by_block).values())
    return _estimate(medians, sum(map(len, samples_by_block.values())))


def ratio(
    baseline_by_block: Mapping[str, Sequence[float]],
    variant_by_block: Mapping[str, Sequence[float]],
    *,
    higher_is_better: bool = False,
) -> Estimate:
    """How much better the variant is than the baseline, as a ratio above one if it is.

    The median over paired blocks of log(baseline / variant), exponentiated, with the same
    interval; blocks pair by equal process id, and blocks of one side only are left out. For a
    metric where more is better (tokens/s) the fraction is turned over. samples counts both
    sides of the paired blocks. Raises ValueError where no block is common to both, and where
    a block median is not positive.
    """
    paired = [block for block in baseline_by_block if block in variant_by_block]
    if not paired:
        raise ValueError("no block holds samples of both sides")
    worse, better = baseline_by_block, variant_by_block
    if higher_is_better:
        worse, better = better, worse
    logs = [_log(median(worse[block])) - _log(median(better[block])) for block in paired]
    samples = sum(len(worse[block]) + len(better[block]) for block in paired)
    found = _estimate(logs, samples)
    return Estimate(
        value=math.exp(found.value),
        low=None if found.low is None else math.exp(found.low),
        high=None if found.high is None else math.exp(found.high),
        blocks=found.blocks,
        samples=samples,
    )


def rate(amount: float, time: Estimate) -> Estimate:
    """How much of something a second, from an amount and the estimate of its time in seconds.

    The ends of the band change places. Raises ValueError where a time is not positive.
    """
    if time.value <= 0 or (time.low is not None and time.low <= 0):
        raise ValueError("a rate needs a positive time")
    return Estimate(
        value=amount / time.value,
        low=None if time.high is None else amount / time.high,
        high=None if time.low is None else amount / time.low,
        blocks=time.blocks,
        samples=time.samples,
    )


def _log(value: float) -> float:
    if value <= 0:
        raise ValueError("a ratio needs positive block medians")
    return math.log(value)


def verdict(ratio: Estimate, margin: float = MARGIN, twins: Estimate | None = None) -> Judgement:
    """What the band of a ratio bears out, by a margin of practice.

    Faster if the band lies above 1 + margin, slower if below 1 - margin, same if inside
    (ends included), else cannot tell; cannot tell without a band. `ratio` is as `ratio()`
    gives it: above one is better.

    `twins` is the ratio of two equal variants timed in the same rounds. If its band leaves
    1 +- margin, or is wider than the margin, *same* is not to be had, and the others must
    clear margin + |twins - 1|. Wider means the full width, high - low: a half-width above the
    margin could not stay inside 1 +- margin, so by that reading the second condition would
    say nothing. Twins without a band vouch for nothing and count as unsteady.

    Raises ValueError unless 0 < margin < 1.
    """
    if not 0 < margin < 1:
        raise ValueError(f"a margin lies between 0 and 1, not {margin}")
    unsteady = _unsteadiness(twins, margin)
    bar = margin + abs(twins.value - 1) if twins and unsteady else margin
    found, withheld = _read(ratio, margin, bar)
    if found is Verdict.SAME and unsteady:
        found = Verdict.UNCLEAR
    return Judgement(found, (*withheld, *unsteady), margin, bar)


def _read(ratio: Estimate, margin: float, bar: float) -> tuple[Verdict, tuple[Reason, ...]]:
    """What the band alone says: outside 1 +- bar, inside 1 +- margin, or why neither."""
    if ratio.low is None or ratio.high is None:
        return Verdict.UNCLEAR, (Reason.TOO_FEW_BLOCKS,)
    if ratio.low > 1 + bar:
        return Verdict.FASTER, ()
    if ratio.high < 1 - bar:
        return Verdict.SLOWER, ()
    if 1 - margin <= ratio.low and ratio.high <= 1 + margin:
        return Verdict.SAME, ()
    if ratio.low > 1 + margin or ratio.high < 1 - margin:
        return Verdict.UNCLEAR, (Reason.BELOW_RAISED_BAR,)
    return Verdict.UNCLEAR, (Reason.SPANS_MARGIN,)


def _unsteadiness(twins: Estimate | None, margin: float) -> tuple[Reason, ...]:
    """Why equal things do not look equal enough in these rounds; empty where they do."""
    if twins is None:
        return ()
    if twins.low is None or twins.high is None:
        return (Reason.TWINS_WITHOUT_BAND,)
    reasons = []
    if twins.low < 1 - margin or twins.high > 1 + margin:
        reasons.append(Reason.TWINS_LEAVE_MARGIN)
    if twins.high - twins.low > margin:
        reasons.append(Reason.TWINS_TOO_WIDE)
    return tuple(reasons)


def quantile(ordered: Sequence[float], fraction: float) -> float:
    """The value below which `fraction` of the sorted values lie, interpolated linearly.

    Raises ValueError on no values.
    """
    if not ordered:
        raise ValueError("no quantile of no values")
    place = fraction * (len(ordered) - 1)
    index = math.floor(place)
    if index + 1 == len(ordered):
        return ordered[index]
    return ordered[index] + (place - index) * (ordered[index + 1] - ordered[index])


def summary(samples_by_block: Mapping[str, Sequence[float]]) -> Summary:
    """The pooled samples described, in their unit. Raises ValueError on none."""
    pooled = sorted(value for samples in samples_by_block.values() for value in samples)
    middle = median(pooled)
    reach = OUTLIER_MADS * median(abs(value - middle) for value in pooled)
    return Summary(
        min=pooled[0],
        q1=quantile(pooled, 0.25),
        median=middle,
        q3=quantile(pooled, 0.75),
        max=pooled[-1],
        samples=len(pooled),
        blocks=len(samples_by_block),
        outliers=sum(abs(value - middle) > reach for value in pooled),
    )


def geometric_mean(ratios: Mapping[str, float]) -> GeometricMean:
    """The geometric mean of ratios keyed by case, with the keys of the highest and lowest.

    Equal ratios go by key. Raises ValueError on none, and on one that is not positive.
    """
    if not ratios:
        raise ValueError("no mean of no ratios")
    ordered = sorted(ratios, key=lambda key: (ratios[key], key))
    logs = [_log(ratios[key]) for key in ordered]
    mean = math.exp(math.fsum(logs) / len(logs))
    return GeometricMean(value=mean, best=ordered[-1], worst=ordered[0], count=len(ordered))
