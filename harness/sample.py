"""The loop that measures: rounds in which every participant takes one turn.

Variants share one power state and one stretch of time by taking turns sample by sample;
the order of each round is drawn from a recorded seed. The rule that says how many rounds
there are looks at time alone, never at who is ahead. Nothing here knows torch or a device:
clock, flush and address are handed in.
"""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from harness.faults import VariantFailed
from harness.ledger import Ledger
from harness.timer import Timer

MOST_ROUNDS = 64
LEAST_ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Participant:
    """Something that takes turns: `function` is called with the inputs of its case.

    charge is the participant whose fault a failure of this one is (a twin's is the
    baseline's); number is what the ledger knows it by. With writes_out, `function` also
    accepts `out=` for where its output goes. ahead, if any, comes before the flush of each of
    its turns, outside of what is timed.
    """

    id: str
    function: Callable[..., Any]
    charge: str
    number: int
    writes_out: bool = False
    ahead: Callable[[], None] | None = None


@dataclass(frozen=True, slots=True)
class TimeTarget:
    """The stopping rule of a block: as many rounds as fit in `seconds`, within bounds.

    It is asked once, after the first warm-up of a run, and its answer is kept for every
    block, so that it cannot look at a verdict.
    """

    seconds: float
    least: int = LEAST_ROUNDS
    most: int = MOST_ROUNDS

    def rounds(self, seconds_a_round: float) -> int:
        """How many rounds to take when one takes so long, flushes included."""
        if seconds_a_round <= 0:
            return self.most
        return max(self.least, min(self.most, int(self.seconds / seconds_a_round)))

    @property
    def words(self) -> str:
        """The rule in words, for the record."""
        return (
            f"as many rounds as fit in {self.seconds:g} s a case and mode, at least {self.least} "
            f"and at most {self.most}, decided after the first warm-up and kept"
        )


@dataclass(frozen=True, slots=True)
class WarmUp:
    """Turns thrown away until two windows of `window` seconds agree, or `limit` is spent.

    agreement is the relative difference that two windows in succession may show.
    """

    window: float = 0.1
    agreement: float = 0.03
    limit: float = 2.0


@dataclass(slots=True)
class Rounds:
    """What came of a case in a mode: readings[id][i] is of round i, in the timer's unit.

    order[i] holds positions in the list of participants, in the order they took turns in
    round i. addresses[id] are the distinct places where its outputs lay.
    """

    order: list[list[int]]
    readings: dict[str, list[int | float]] = field(default_factory=dict)
    addresses: dict[str, set[int]] = field(default_factory=dict)


class ParticipantFailed(Exception):
    """A participant's call failed in a block; who is charged, and with what."""

    def __init__(self, charge: str, failure: VariantFailed) -> None:
        super().__init__(f"{charge}: {failure}")
        self.charge = charge
        self.fault = failure.fault


class charged:  # noqa: N801 - used like a function, and one that costs no generator
    """While it lasts, the ledger names the participant, and what fails is charged to it."""

    __slots__ = ("_ledger", "_participant")

    def __init__(self, ledger: Ledger, participant: Participant) -> None:
        self._ledger = ledger
        self._participant = participant

    def __enter__(self) -> None:
        self._ledger.enter(self._participant.number)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ledger.leave()
        if isinstance(error, VariantFailed):
            raise ParticipantFailed(self._participant.charge, error) from error


def draw_orders(seed: str, participants: int, rounds: int) -> list[list[int]]:
    """A random order of the participants for each round, the same for the same seed.

    Everyone comes first equally often: the first places of successive rounds go once to each
    participant, in random order, before anyone has a second. The rest of a round is shuffled.
    """
    chance = random.Random(seed)  # noqa: S311 - repeatable on purpose
    orders = []
    leaders: list[int] = []
    for _ in range(rounds):
        if not leaders:
            leaders = list(range(participants))
            chance.shuffle(leaders)
        first = leaders.pop()
        order = [one for one in range(participants) if one != first]
        chance.shuffle(order)
        orders.append([first, *order])
    return orders


@dataclass(slots=True)
class Table:
    """The participants of one case around their inputs, with clock, flush and ledger.

    flush is called before every sample, outside the timed region, and watch once between
    two rounds in the middle. Each participant's last output is held until its own next turn,
    so that no two ever write to one buffer.
    """

    participants: Sequence[Participant]
    inputs: Sequence[Any]
    timer: Timer
    ledger: Ledger
    flush: Callable[[], None]
    address: Callable[[Any], int]
    watch: Callable[[], None] | None = None
    _held: dict[str, Any] = field(default_factory=dict)

    def turn(self, participant: Participant) -> int | float:
        """One call of one participant: the raw reading. Raises ParticipantFailed."""
        self._held.pop(participant.id, None)
        if participant.ahead is not None:
            participant.ahead()
        self.flush()
        with charged(self.ledger, participant):
            output, reading = self.timer.sample(participant.function, self.inputs)
        self._held[participant.id] = output
        return reading

    def warm_up(self, rule: WarmUp, seed: str) -> float:
        """Take turns until the pace is steady; seconds that one round takes by then.

        The first round (compilation, page faults, lazy initialisation) is in no window.
        """
        begin = self.timer.now()
        chance = random.Random(f"{seed}/warm-up")  # noqa: S311 - repeatable on purpose
        for participant in self.participants:
            self.turn(participant)
        before = self._window(rule.window, chance)
        while True:
            pace = self._window(rule.window, chance)
            steady = abs(pace - before) <= rule.agreement * before
            if steady or self.timer.now() - begin >= rule.limit:
                return pace
            before = pace

    def _window(self, seconds: float, chance: random.Random) -> float:
        """Seconds a round over a window of at least so many seconds and one round."""
        begin = self.timer.now()
        rounds = 0
        order = list(self.participants)
        while True:
            chance.shuffle(order)
            for participant in order:
                self.turn(participant)
            rounds += 1
            spent = self.timer.now() - begin
            if spent >= seconds:
                return spent / rounds

    def rounds(self, orders: list[list[int]]) -> Rounds:
        """Every participant's turn in every round, in the orders given."""
        names = [participant.id for participant in self.participants]
        taken = Rounds(orders, {name: [] for name in names}, {name: set() for name in names})
        with no_collection():
            for number, order in enumerate(orders):
                if self.watch is not None and number == len(orders) // 2:
                    self.watch()
                for position in order:
                    participant = self.participants[position]
                    taken.readings[participant.id].append(self.turn(participant))
                    output = self._held[participant.id]
                    taken.addresses[participant.id].add(self.address(output))
        return taken


def no_flush() -> None:
    """What stands in for a flush where caches stay warm."""


@contextmanager
def no_collection() -> Iterator[None]:
    """Keep Python's garbage collector from running inside a sample."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
