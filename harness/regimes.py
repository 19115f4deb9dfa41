"""Calls back to back: in a burst after a pause, or for as long as a device needs to settle.

A sample inherits the power state that its predecessors left. Turn by turn all participants
share one; here each has one of its own, its whole visit long. The order of visits turns from
block to block, so that of any two none is always the later one, and everyone comes first.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.ledger import Ledger
from harness.modes import BURST, SUSTAINED
from harness.sample import Participant, Rounds, charged, no_collection
from harness.timer import SerialTimer

LEAST_KEPT = 5
MOST_KEPT = 64
# Calls by which the pace of a participant is found.
_PACED = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """How long one participant works back to back, and which of its calls count.

    pause is idle time beforehand, and seconds is how long the calls take together; warm
    calls come first and do not count, nor does any before the share `counted` at the end.
    """

    pause: float = 0.0
    warm: int = 0
    seconds: float
    counted: float = 1.0

    def calls(self, seconds_a_call: float, least: int) -> int:
        """How many calls to make at that pace, so that `least` of them can be kept."""
        needed = math.ceil(least / self.counted)
        return self.warm + max(needed, round(self.seconds / seconds_a_call))

    def kept(self, calls: int, count: int) -> list[int]:
        """Numbers of the calls whose readings are kept: evenly spaced among those that count."""
        begin = max(self.warm, calls - int((calls - self.warm) * self.counted))
        return [begin + number * (calls - begin) // count for number in range(count)]

    def samples(self, slowest: float) -> int:
        """How many readings of a visit to keep when a call of the slowest takes so long."""
        fit = int(self.seconds * self.counted / slowest)
        return max(LEAST_KEPT, min(MOST_KEPT, fit))

    @property
    def settings(self) -> dict[str, float | int]:
        """The same as the record has it."""
        return {
            "pause_s": self.pause,
            "warm_calls": self.warm,
            "seconds": self.seconds,
            "counted_share": round(self.counted, 4),
        }


VISITS = {
    BURST: Visit(pause=0.16, warm=2, seconds=0.015),
    SUSTAINED: Visit(seconds=2.0, counted=1 / 3),
}


@dataclass(slots=True)
class Visits:
    """The participants of a case, visited one after another.

    clear is called before each call, outside of what is timed; forget before each visit, so
    that the cache keeps nothing for the last one; watch after it.
    """

    participants: Sequence[Participant]
    inputs: Sequence[Any]
    timer: SerialTimer
    ledger: Ledger
    clear: Callable[[], None]
    forget: Callable[[], None]
    watch: Callable[[], None]
    sleep: Callable[[float], None] = time.sleep
    _paces: dict[str, float] = field(default_factory=dict)

    def pace(self) -> float:
        """Seconds that a call of the slowest takes, after one thrown away."""
        for participant in self.participants:
            self._series(participant, 1, ())
            begin = self.timer.now()
            self._series(participant, _PACED, ())
            self._paces[participant.id] = (self.timer.now() - begin) / _PACED
        return max(self._paces.values())

    def take(self, visit: Visit, count: int, turn: int) -> Rounds:
        """So many readings of each participant, from one visit each; `pace` comes first.

        turn is the number of times that this was done in blocks before this one.
        """
        places = order_of_visits(len(self.participants), turn)
        readings = {}
        with no_collection():
            for place in places:
                participant = self.participants[place]
                calls = visit.calls(self._paces[participant.id], count)
                if visit.pause:
                    self.sleep(visit.pause)
                self.forget()
                kept = visit.kept(calls, count)
                readings[participant.id] = self._series(participant, calls, kept)
                self.watch()
        # The i-th reading of each stands in round i; the visits came in this order.
        return Rounds([list(places) for _ in range(count)], readings)

    def _series(
        self, participant: Participant, calls: int, kept: Sequence[int]
    ) -> list[int | float]:
        with charged(self.ledger, participant):
            return self.timer.series(participant.function, self.inputs, self.clear, calls, kept)


def order_of_visits(participants: int, turn: int) -> list[int]:
    """The order in the block with that turn, from zero: each order, then the same backwards.

    The orders are those of a circle, begun one place further each time. The baseline sits at
    place zero and is not the first of all.
    """
    begin = (turn // 2 + 1) % participants
    places = [(begin + place) % participants for place in range(participants)]
    return places[::-1] if turn % 2 else places
