"""What a block needs of the hardware it measures on, and the processor as one such device."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch

from harness import ceilings
from harness.ceilings import Ceiling, Probe
from harness.experiment import Case
from harness.ledger import NOBODY, Ledger
from harness.modes import Mode
from harness.sample import Participant, no_flush
from harness.state import state
from harness.timer import CheckedTimer, HostTimer, SerialTimer, Timer
from harness.validate import COPY

FLOOR = "floor"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seating:
    """Participants ready to take turns in a mode.

    inputs are what each is called with; launches says how many calls a sample holds. places
    are those of a pool that participants write to, by id, where there is one. settings are
    what else the record says of the mode.
    """

    participants: Sequence[Participant]
    inputs: Sequence[Any]
    timer: Timer
    flush: Callable[[], None]
    launches: int = 1
    places: Mapping[str, int] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Solo:
    """The readings of another's timer, which had the device for itself."""

    name: str
    version: str
    unit: str
    readings: Sequence[float]


class Seats(Protocol):
    """The participants of one case on one device."""

    def seat(self, mode: Mode, names: Sequence[str]) -> Seating:
        """Let the named ones sit down for a mode. Raises ParticipantFailed."""
        ...


class Device(Protocol):
    """The hardware as a block sees it."""

    @property
    def place(self) -> torch.device:
        """Where tensors are made."""
        ...

    @property
    def timer(self) -> CheckedTimer:
        """The clock that a run names, and that probes of ceilings are timed with."""
        ...

    @property
    def serial(self) -> SerialTimer | None:
        """The clock for calls back to back, on a device that can queue them."""
        ...

    def clear(self) -> None:
        """Leave nothing in the caches: what comes before each call back to back."""
        ...

    def forget(self) -> None:
        """Let the caches keep nothing longer because an earlier call asked for it."""
        ...

    def probe_flush(self) -> None:
        """What comes before each call of a ceiling's probe."""
        ...

    def state(self) -> dict[str, Any]:
        """What can be read of the device at this moment."""
        ...

    def spoiled(self, states: Sequence[Mapping[str, Any]]) -> str | None:
        """Why what was measured between these states does not count; None when it does."""
        ...

    def wake(self) -> None:
        """Work until the clocks are where work takes them."""
        ...

    def null(self, mode: Mode) -> Seating:
        """A call that does nothing, ready to be timed like any other."""
        ...

    def ceilings(self, regime: str) -> tuple[Ceiling, ...]:
        """The ceilings that are measured in a regime."""
        ...

    def calibration(self) -> Sequence[tuple[str, Probe, int]]:
        """What is timed at both ends of a run, and how often."""
        ...

    def seats(
        self,
        participants: Sequence[Participant],
        inputs: Sequence[torch.Tensor],
        case: Case,
        seed: str,
        ledger: Ledger,
    ) -> Seats:
        """The participants of a case, the baseline first, and a copy of the case's own bytes.

        seed decides who writes where. Raises ParticipantFailed.
        """
        ...

    def solo(self, participant: Participant, seating: Seating, ledger: Ledger) -> Solo | None:
        """One participant alone, by the timer that the mode is named after, if there is one.

        Raises ParticipantFailed.
        """
        ...


@dataclass(frozen=True, slots=True)
class Cpu:
    """The processor. llc is the size of its last-level cache, level the name of that."""

    llc: int | None
    level: str
    flush: Callable[[], None]
    place: torch.device = field(default_factory=lambda: torch.device("cpu"))
    timer: CheckedTimer = field(default_factory=HostTimer)
    serial: SerialTimer | None = None

    @classmethod
    def open(cls, llc: int | None, level: str) -> Cpu:
        """This machine's processor, with a flush that empties its caches."""
        return cls(llc, level, ceilings.flusher(ceilings.flush_bytes(llc)))

    def clear(self) -> None:
        self.flush()

    def forget(self) -> None:
        """A processor's caches take no such requests."""

    def probe_flush(self) -> None:
        """Probes bring sizes of their own, beyond a cache or within it."""

    def state(self) -> dict[str, Any]:
        return state()

    def spoiled(self, states: Sequence[Mapping[str, Any]]) -> str | None:  # noqa: ARG002
        """Nothing that a processor tells would say so."""
        return None

    def wake(self) -> None:
        """A processor is awake when Python runs on it."""

    def null(self, mode: Mode) -> Seating:
        empty = Participant(FLOOR, _empty, FLOOR, NOBODY)
        return Seating(
            participants=(empty,),
            inputs=(torch.ones(1),),
            timer=self.timer,
            flush=self.flush_of(mode),
        )

    def ceilings(self, regime: str) -> tuple[Ceiling, ...]:
        known = ceilings.cpu_ceilings(self.llc, self.level)
        return tuple(one for one in known if one.facts["regime"] == regime)

    def calibration(self) -> Sequence[tuple[str, Probe, int]]:
        return ceilings.cpu_calibration(self.llc)

    def seats(
        self,
        participants: Sequence[Participant],
        inputs: Sequence[torch.Tensor],
        case: Case,
        seed: str,  # noqa: ARG002 - everyone allocates what they give
        ledger: Ledger,  # noqa: ARG002
    ) -> Seats:
        copy = Participant(COPY, ceilings.matched_copy(inputs, case.work.bytes), COPY, NOBODY)
        return _CpuSeats(self, (*participants, copy), inputs)

    def solo(
        self,
        participant: Participant,  # noqa: ARG002
        seating: Seating,  # noqa: ARG002
        ledger: Ledger,  # noqa: ARG002
    ) -> Solo | None:
        """The modes of a processor are our own."""
        return None

    def flush_of(self, mode: Mode) -> Callable[[], None]:
        """The flush of a mode: none where caches stay warm."""
        return no_flush if mode.cache == "hot" else self.flush


@dataclass(frozen=True, slots=True)
class _CpuSeats:
    """All modes are alike but for the flush."""

    device: Cpu
    participants: Sequence[Participant]
    inputs: Sequence[torch.Tensor]

    def seat(self, mode: Mode, names: Sequence[str]) -> Seating:
        return Seating(
            participants=[one for one in self.participants if one.id in names],
            inputs=self.inputs,
            timer=self.device.timer,
            flush=self.device.flush_of(mode),
        )


def _empty(*_inputs: Any) -> None:
    return None
