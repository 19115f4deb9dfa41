"""Ceilings, intensity, ridge and attainable rate: what the device allows for some work.

Every ceiling here was measured, in the run whose variants stand below it. Work is as a
record has it, a mapping with `flops` and `bytes` quantities; rates are in flop/s and byte/s,
intensities in flop/byte. Bands combine end by end (lowest with highest), which is wider
than either: a bound on a bound.

Source: Williams, Waterman, Patterson, "Roofline", CACM 2009.
"""

from __future__ import annotations

from collections.abc import Mapping

from writeup import stats
from writeup.quantity import Quantity
from writeup.result import Case, Ceiling, Run, Timing, Variant
from writeup.strict import Json

# What counters call the bytes that crossed the memory's pins.
DRAM_COUNTERS = ("dram-read", "dram-write")


def rate(ceiling: Ceiling) -> Quantity:
    """The best median over the ceiling's probes, with its band, in the ceiling's unit."""
    return _quantity(ceiling.best()[1], ceiling.unit)


def find(
    run: Run,
    resource: str,
    *,
    level: str | None = None,
    dtype: str | None = None,
    regime: str = "interleaved",
) -> Ceiling:
    """The ceiling of a resource in a run: a memory's by level, a unit's by dtype.

    Of several (copy, read, write) the one with the highest rate, as a ceiling is the most
    that any probe reached; of launches the shortest. Raises LookupError where there is none.
    """
    found = [
        ceiling
        for ceiling in run.ceilings.values()
        if (ceiling.resource, ceiling.regime) == (resource, regime)
        and level in (None, ceiling.level)
        and dtype in (None, ceiling.dtype)
    ]
    if not found:
        what = " ".join(filter(None, (resource, level, dtype, regime)))
        raise LookupError(f"run {run.id} measured no ceiling for {what}")
    sign = 1 if resource == "launch" else -1
    return min(found, key=lambda ceiling: (sign * ceiling.best()[1].value, ceiling.id))


def intensity(work: Mapping[str, Json]) -> Quantity:
    """Floating-point operations by bytes of counted work.

    Over a case's work this is the algorithmic intensity over compulsory bytes; over a
    variant's, that of what it implements. Raises ValueError where either was not counted or
    no byte moves.
    """
    return Quantity(_amount(work, "flops") / _positive(_amount(work, "bytes")), "flop/byte")


def measured_intensity(work: Mapping[str, Json], variant: Variant) -> Quantity:
    """Operations by the bytes that crossed the memory's pins, as counters saw them.

    Raises ValueError where the variant has not both counters.
    """
    return Quantity(_amount(work, "flops") / _positive(_moved(variant)), "flop/byte")


def reread(case: Case, variant: Variant) -> Quantity:
    """How many times the compulsory bytes were moved, as counters saw it.

    Raises ValueError where the bytes were not counted or the counters are missing.
    """
    return Quantity(_moved(variant) / _positive(_amount(case.work, "bytes")), "1")


def ridge(compute: Ceiling, memory: Ceiling) -> Quantity:
    """The intensity at which both ceilings bind alike, in flop/byte.

    Raises ValueError unless these are a compute and a memory ceiling of one run and regime.
    """
    _together(compute, memory)
    over, under = rate(compute), rate(memory)
    low, high = None, None
    if over.low is not None and under.low is not None:
        low, high = over.low / _end(under.high), _end(over.high) / under.low
    return Quantity(over.value / under.value, "flop/byte", low, high)


def attainable(intensity: float, compute: Ceiling, memory: Ceiling) -> Quantity:
    """The highest rate the device allows at this arithmetic intensity, in flop/s.

    intensity is in flop/byte. Raises ValueError unless these are a compute and a memory
    ceiling of one run and regime.
    """
    _together(compute, memory)
    over, under = rate(compute), rate(memory)
    low, high = None, None
    if over.low is not None and under.low is not None:
        low = min(over.low, intensity * under.low)
        high = min(_end(over.high), intensity * _end(under.high))
    return Quantity(min(over.value, intensity * under.value), "flop/s", low, high)


def shortest(work: Mapping[str, Json], compute: Ceiling, memory: Ceiling) -> Quantity:
    """The least time in seconds that both ceilings allow for counted work.

    Raises ValueError as `attainable` and `intensity` do.
    """
    _together(compute, memory)
    over, under = rate(compute), rate(memory)
    flops, moved = _amount(work, "flops"), _amount(work, "bytes")
    low, high = None, None
    if over.low is not None and under.low is not None:
        low = max(flops / _end(over.high), moved / _end(under.high))
        high = max(flops / over.low, moved / under.low)
    return Quantity(max(flops / over.value, moved / under.value), "s", low, high)


def throughput(work: Mapping[str, Json], timing: Timing) -> Quantity:
    """Counted operations by the measured time, in flop/s.

    Raises ValueError where none were counted.
    """
    return _achieved(_amount(work, "flops"), timing, "flop/s")


def bandwidth(work: Mapping[str, Json], timing: Timing) -> Quantity:
    """Counted bytes by the measured time, in byte/s. Raises ValueError where none were."""
    return _achieved(_amount(work, "bytes"), timing, "byte/s")


def fraction(achieved: Quantity, ceiling: Quantity) -> Quantity:
    """Achieved by ceiling, as a ratio: of a ceiling's `rate`, of `attainable`, of `matched`.

    The two were not paired, so the band goes from the lowest over the highest to the highest
    over the lowest; absent where either has none. Raises ValueError where the units differ.
    """
    if achieved.unit != ceiling.unit:
        raise ValueError(f"{achieved.unit} is no fraction of {ceiling.unit}")
    low, high = None, None
    if achieved.low is not None and ceiling.low is not None:
        low, high = achieved.low / _end(ceiling.high), _end(achieved.high) / ceiling.low
    return Quantity(achieved.value / ceiling.value, "1", low, high)


def matched(case: Case, mode: str) -> Quantity:
    """The ceiling from a copy of the case's own bytes, in the same mode and rounds: byte/s.

    Raises ValueError where the case has no such copy in that mode.
    """
    copy, timing = _copy(case, mode)
    return _achieved(_positive(_amount(_copied(case, copy), "bytes")), timing, "byte/s")


def of_matched(case: Case, variant: Variant, mode: str) -> Quantity:
    """The share of the matched copy's rate that a variant's compulsory bytes reach.

    Both took turns in the same rounds, so the band is that of the paired ratio. Above one by
    more than the band means wrong bytes or a warm cache. Raises ValueError where the case has
    no matched copy in that mode, the variant was not timed in it, or bytes were not counted.
    """
    copy, timing = _copy(case, mode)
    if mode not in variant.timings:
        raise ValueError(f"{variant.id} was not timed in {mode}")
    found = stats.ratio(timing.samples, variant.timings[mode].samples)
    copied = _positive(_amount(_copied(case, copy), "bytes"))
    share = _amount(case.work, "bytes") / copied
    low = None if found.low is None else found.low * share
    high = None if found.high is None else found.high * share
    return Quantity(found.value * share, "1", low, high)


def exceeds(share: Quantity) -> bool:
    """Whether a fraction lies above one by more than its band; never without a band."""
    return share.low is not None and share.low > 1


def _together(compute: Ceiling, memory: Ceiling) -> None:
    """Two ceilings meet only if one device set both, in one session and power state."""
    if (compute.resource, memory.resource) != ("compute", "memory"):
        raise ValueError("a roofline has a compute ceiling and a memory ceiling")
    if _session(compute) != _session(memory):
        raise ValueError("ceilings of different runs do not meet")
    if compute.regime != memory.regime:
        raise ValueError(f"ceilings of different regimes: {compute.regime}, {memory.regime}")


def _session(ceiling: Ceiling) -> str:
    """The run, which is one session on one device, out of the address of a ceiling."""
    return ceiling.address.partition("/ceilings/")[0]


def _copy(case: Case, mode: str) -> tuple[Variant, Timing]:
    copy = case.matched_copy
    if copy is None or mode not in copy.timings:
        raise ValueError(f"{case.key} has no matched copy in {mode}")
    return copy, copy.timings[mode]


def _copied(case: Case, copy: Variant) -> Mapping[str, Json]:
    work: Mapping[str, Json] = copy.raw.get("work", {})
    return work if "bytes" in work else case.work


def _achieved(amount: float, timing: Timing, unit: str) -> Quantity:
    return _quantity(stats.rate(amount, stats.estimate(timing.samples)), unit)


def _quantity(found: stats.Estimate, unit: str) -> Quantity:
    return Quantity(found.value, unit, found.low, found.high)


def _moved(variant: Variant) -> float:
    counters = variant.raw.get("counters", {})
    missing = [name for name in DRAM_COUNTERS if name not in counters]
    if missing:
        raise ValueError(f"{variant.id} has no counter {' or '.join(missing)}")
    return float(sum(counters[name]["value"] for name in DRAM_COUNTERS))


def _amount(work: Mapping[str, Json], what: str) -> float:
    if what not in work:
        raise ValueError(f"the {what} of this work were not counted")
    return float(work[what]["value"])


def _positive(amount: float) -> float:
    if amount <= 0:
        raise ValueError("work that moves no bytes has no intensity")
    return amount


def _end(high: float | None) -> float:
    """The upper end of a band whose lower end is there; `Quantity` has both or neither."""
    if high is None:
        raise ValueError("a band has two ends")
    return high
