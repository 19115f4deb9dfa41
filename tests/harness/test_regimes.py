"""Calls back to back, by a scripted clock."""

import pytest

from harness.ledger import Ledger
from harness.modes import BURST, SUSTAINED
from harness.regimes import VISITS, Visit, Visits, order_of_visits
from harness.sample import Participant, ParticipantFailed
from harness.timer import EventTimer
from tests.harness.scripted import ScriptedStream


@pytest.fixture
def ledger(tmp_path):
    with Ledger.create(tmp_path / "ledger") as ledger:
        yield ledger


def visits(ledger, stream, seen, functions=None):
    timer = EventTimer(make=stream.event, spin=stream.spin, null=stream.call, version="1")
    given = functions or {"a": stream.call, "b": stream.call}
    return Visits(
        participants=[Participant(name, call, name, 0) for name, call in given.items()],
        inputs=(),
        timer=timer,
        ledger=ledger,
        clear=lambda: None,
        forget=lambda: seen.append("forget"),
        watch=lambda: seen.append("watch"),
        sleep=seen.append,
    )


def taken(ledger, visit, count, turn=0):
    seen = []
    around = visits(ledger, ScriptedStream(1.0, 2.0), seen)
    around._paces = {"a": 0.0015, "b": 0.0015}
    return around.take(visit, count, turn), seen


def test_everyone_gives_as_many_readings_and_each_stands_in_a_round(ledger):
    rounds, _ = taken(ledger, VISITS[BURST], 6)
    assert {name: len(found) for name, found in rounds.readings.items()} == {"a": 6, "b": 6}
    assert rounds.order == [[1, 0]] * 6


def test_a_burst_follows_a_pause_and_a_look_follows_each_visit(ledger):
    _, seen = taken(ledger, VISITS[BURST], 6)
    assert seen == [0.16, "forget", "watch"] * 2
    assert VISITS[BURST].pause >= 0.15


def test_the_next_block_visits_in_the_opposite_order(ledger):
    rounds, _ = taken(ledger, VISITS[SUSTAINED], 5, turn=1)
    assert rounds.order == [[0, 1]] * 5


@pytest.mark.parametrize("participants", [4, 5, 6, 7, 12])
def test_of_two_blocks_each_participant_is_once_the_earlier_one(participants):
    for turn in range(0, 12, 2):
        here, next_one = (
            order_of_visits(participants, turn),
            order_of_visits(participants, turn + 1),
        )
        assert here == next_one[::-1]
        assert sorted(here) == list(range(participants))


@pytest.mark.parametrize("participants", [4, 5, 6, 7])
@pytest.mark.parametrize("blocks", [6, 12])
def test_the_baseline_is_visited_first_now_and_then(participants, blocks):
    firsts = [order_of_visits(participants, turn)[0] for turn in range(blocks)]
    assert 0.05 <= firsts.count(0) / blocks <= 0.3


@pytest.mark.parametrize("regime", VISITS)
@pytest.mark.parametrize("pace", [1e-5, 1e-4, 3e-3, 0.5])
@pytest.mark.parametrize("count", [5, 8, 64])
def test_readings_are_of_different_calls_that_count(regime, pace, count):
    visit = VISITS[regime]
    calls = visit.calls(pace, count)
    kept = visit.kept(calls, count)
    assert len(set(kept)) == count
    assert kept == sorted(kept)
    assert max(kept) < calls
    assert min(kept) >= visit.warm
    assert min(kept) >= (calls - visit.warm) * (1 - visit.counted) - 1


def test_of_sustained_work_only_the_end_counts():
    visit = Visit(seconds=0.6, counted=1 / 3)
    assert min(visit.kept(visit.calls(1e-3, 8), 8)) >= 399


def test_slow_calls_are_kept_in_smaller_number_but_never_fewer_than_a_median_wants():
    assert VISITS[BURST].samples(1e-4) == 64
    assert VISITS[BURST].samples(1e-3) == 15
    assert VISITS[BURST].samples(1.0) == 5


def test_whoever_fails_in_a_visit_is_charged(ledger):
    def broken():
        raise ValueError("no")

    stream = ScriptedStream(1.0)
    around = visits(ledger, stream, [], {"a": stream.call, "b": broken})
    with pytest.raises(ParticipantFailed) as caught:
        around.pace()
    assert caught.value.charge == "b"
