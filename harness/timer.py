"""Clocks, behind a protocol so that the loop can be tested without time.

A timer turns one call into its output and one raw reading. What is inside the timed region
is the call alone: no bookkeeping, no flush. Nothing here imports torch: a device's events
and its way of waiting are handed in.
"""

from __future__ import annotations

import itertools
import platform
import struct
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from harness.faults import VariantFailed, classify

_CHECK_SECONDS = 0.05
_STEPS = 1000
_EVENT_STEPS = 200
_SERIES_LEAD_MS = 1.0


class Timer(Protocol):
    """What the loop asks of a clock. `unit` is that of a reading."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    @property
    def unit(self) -> str: ...

    def sample(
        self, function: Callable[..., Any], inputs: Sequence[Any]
    ) -> tuple[Any, int | float]:
        """Call once; the output, and the raw reading in `unit`. Raises VariantFailed."""
        ...

    def now(self) -> float:
        """Seconds since some fixed moment, for budgets and windows, never for a sample."""
        ...


class CheckedTimer(Timer, Protocol):
    """A timer that can confirm its own unit."""

    def check(self) -> UnitCheck:
        """Time something of known duration, to confirm the unit in this very run."""
        ...


class SerialTimer(Timer, Protocol):
    """A timer of calls back to back, between which nobody waits."""

    def series(
        self,
        function: Callable[..., Any],
        inputs: Sequence[Any],
        before: Callable[[], None],
        calls: int,
        kept: Iterable[int],
    ) -> list[int | float]:
        """The readings of the kept ones among so many calls; `before` precedes each."""
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


@dataclass(frozen=True, slots=True)
class HostTimer:
    """`time.perf_counter_ns` around a call.

    On a CPU a call returns when its work is done; for a device, `drain` waits until it is:
    before the first reading, outside of the timed region, and before the second, inside.
    """

    drain: Callable[[], None] | None = None
    name: str = "time.perf_counter_ns"
    version: str = platform.python_version()
    unit: str = "ns"

    def sample(
        self, function: Callable[..., Any], inputs: Sequence[Any]
    ) -> tuple[Any, int | float]:
        if self.drain is not None:
            return self._drained(function, inputs, self.drain)
        # An inlined `harness.faults.guarded`: entering a `try` costs nothing, a call would.
        try:
            begin = time.perf_counter_ns()
            output = function(*inputs)
            end = time.perf_counter_ns()
        except (Exception, SystemExit) as error:
            raise VariantFailed(classify(error)) from error
        return output, end - begin

    def _drained(
        self, function: Callable[..., Any], inputs: Sequence[Any], drain: Callable[[], None]
    ) -> tuple[Any, int | float]:
        try:
            drain()
            begin = time.perf_counter_ns()
            output = function(*inputs)
            drain()
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


class DeviceEvent(Protocol):
    """A mark in a device's stream of work, as torch.cuda.Event has it."""

    def record(self) -> None: ...

    def synchronize(self) -> None: ...

    def elapsed_time(self, end: Any) -> float:
        """Milliseconds from this mark to `end`, in single precision."""
        ...


@dataclass(frozen=True, slots=True)
class EventTimer:
    """Two device events around a call, in milliseconds.

    make gives a fresh event; spin(milliseconds) keeps the device busy for about so long, and
    null() gives it a kernel that does nothing.
    """

    make: Callable[[], DeviceEvent]
    spin: Callable[[float], None]
    null: Callable[[], None]
    version: str
    name: str = "torch.cuda.Event.elapsed_time"
    unit: str = "ms"
    _ends: list[DeviceEvent] = field(default_factory=list)

    def sample(
        self, function: Callable[..., Any], inputs: Sequence[Any]
    ) -> tuple[Any, int | float]:
        start, end = self._pair()
        # What the device finds wrong with the call is told by whoever waits for it.
        try:
            start.record()
            output = function(*inputs)
            end.record()
            end.synchronize()
        except (Exception, SystemExit) as error:
            raise VariantFailed(classify(error)) from error
        return output, shortest(start.elapsed_time(end))

    def _pair(self) -> list[DeviceEvent]:
        if not self._ends:
            self._ends.extend((self.make(), self.make()))
        return self._ends

    def series(
        self,
        function: Callable[..., Any],
        inputs: Sequence[Any],
        before: Callable[[], None],
        calls: int,
        kept: Iterable[int],
    ) -> list[int | float]:
        """The readings of the kept ones among so many calls back to back.

        before() precedes each call, outside of what is timed. The device spins first, so that
        the host is ahead of it from the first call on. Raises VariantFailed.
        """
        pairs = {number: (self.make(), self.make()) for number in kept}
        last = self.make()
        try:
            if pairs:
                self.spin(_SERIES_LEAD_MS)
            for number in range(calls):
                before()
                if number in pairs:
                    start, end = pairs[number]
                    start.record()
                    function(*inputs)
                    end.record()
                else:
                    function(*inputs)
            last.record()
            last.synchronize()
        except (Exception, SystemExit) as error:
            raise VariantFailed(classify(error)) from error
        return [shortest(start.elapsed_time(end)) for start, end in pairs.values()]

    def now(self) -> float:
        return time.monotonic()

    def check(self) -> UnitCheck:
        """Let the device spin, between two events and between two readings of the host clock."""
        start, end = self.make(), self.make()
        # The first of them compiles or loads what the others find ready.
        for _ in range(2):
            start.record()
            start.synchronize()
            begin = time.perf_counter_ns()
            start.record()
            self.spin(_CHECK_SECONDS * 1e3)
            end.record()
            end.synchronize()
            spent = time.perf_counter_ns() - begin
        return UnitCheck(
            reference="the host clock around a kernel that spins for about 50 ms",
            expected_ms=spent / 1e6,
            measured_ms=start.elapsed_time(end),
            step=self._smallest_step(),
        )

    def _smallest_step(self) -> float:
        """The smallest difference above zero seen between readings of one kernel."""
        readings = sorted({self.sample(self.null, ())[1] for _ in range(_EVENT_STEPS)})
        steps = [b - a for a, b in itertools.pairwise(readings)]
        return shortest(min(steps)) if steps else 0.0


@dataclass(frozen=True, slots=True)
class PerCall:
    """A timer of something that holds `launches` calls: its reading is that of one of them."""

    timer: Timer
    launches: int

    @property
    def name(self) -> str:
        return self.timer.name

    @property
    def version(self) -> str:
        return self.timer.version

    @property
    def unit(self) -> str:
        return self.timer.unit

    def sample(
        self, function: Callable[..., Any], inputs: Sequence[Any]
    ) -> tuple[Any, int | float]:
        output, reading = self.timer.sample(function, inputs)
        # Far below the timer's step: what is cut off is what division alone brings in.
        return output, float(f"{reading / self.launches:.9g}")

    def now(self) -> float:
        return self.timer.now()


def shortest(reading: float) -> float:
    """The shortest decimal that names the same single-precision number as `reading` does.

    A device's readings come in single precision; written out in double they would be longer
    and say no more.
    """
    try:
        wanted = struct.pack("f", reading)
    except OverflowError:
        return reading
    for digits in range(1, 10):
        found = float(f"{reading:.{digits}g}")
        if struct.pack("f", found) == wanted:
            return found
    return reading
