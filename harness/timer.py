"""Clocks, behind a protocol so that the loop can be tested without time.

A timer turns one call into its output and one raw reading. What is inside the timed region
is the call alone: no bookkeeping, no flush. The host clock is the only one here; a timer of
device events has the same three methods.
"""

from __future__ import annotations

import itertools
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from harness.faults import VariantFailed, classify

_CHECK_SECONDS = 0.05
_STEPS = 1000


class Timer(Protocol):
    """What the loop asks of a clock. `unit` is that of a reading."""

    name: str
    version: str
    unit: str

    def sample(
        self, function: Callable[..., Any], inputs: Sequence[Any]
    ) -> tuple[Any, int | float]:
        """Call once; the output, and the raw reading in `unit`. Raises VariantFailed."""
        ...

    def now(self) -> float:
        """Seconds since some fixed moment, for budgets and windows, never for a sample."""
        ...

    def check(self) -> UnitCheck:
        """Time something of known duration, to confirm the unit in this very run."""
        ...


@dataclass(frozen=True, slots=True)
class UnitCheck:
    """A known duration and what the timer said of it, both in milliseconds; step in `unit`."""

    reference: str
    expected_ms: float
    measured_ms: float
    step: float

    @property
    def agrees(self) -> bool:
        """Whether both lie within one percent: a wrong unit is off by a thousand."""
        return abs(self.measured_ms - self.expected_ms) <= 0.01 * self.expected_ms


class HostTimer:
    """`time.perf_counter_ns` around a call that returns when its work is done (CPU)."""

    name = "time.perf_counter_ns"
    version = platform.python_version()
    unit = "ns"

    def sample(
        self, function: Callable[..., Any], inputs: Sequence[Any]
    ) -> tuple[Any, int | float]:
        # An inlined `harness.faults.guarded`: entering a `try` costs nothing, a call would.
        try:
            begin = time.perf_counter_ns()
            output = function(*inputs)
            end = time.perf_counter_ns()
        except (Exception, SystemExit) as error:
            raise VariantFailed(classify(error)) from error
        return output, end - begin

    def now(self) -> float:
        return time.monotonic()

    def check(self) -> UnitCheck:
        """Sleep between two readings of this clock and two of the kernel's raw clock.

        CLOCK_MONOTONIC_RAW is the hardware counter without the adjustments that the clock
        under test receives.
        """
        raw_begin = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        begin = time.perf_counter_ns()
        time.sleep(_CHECK_SECONDS)
        end = time.perf_counter_ns()
        raw_end = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        return UnitCheck(
            reference="CLOCK_MONOTONIC_RAW over a 50 ms sleep",
            expected_ms=(raw_end - raw_begin) / 1e6,
            measured_ms=(end - begin) / 1e6,
            step=_smallest_step(),
        )


def _smallest_step() -> int:
    """The smallest difference above zero seen between successive readings, in nanoseconds."""
    readings = [time.perf_counter_ns() for _ in range(_STEPS)]
    return min(b - a for a, b in itertools.pairwise(readings) if b > a)
