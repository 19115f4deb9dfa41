"""The loop, without time."""

import pytest

from harness.ledger import NOBODY, Ledger
from harness.sample import (
    Participant,
    ParticipantFailed,
    Table,
    TimeTarget,
    WarmUp,
    draw_orders,
    no_flush,
)
from tests.harness.scripted import ScriptedTimer


@pytest.fixture
def ledger(tmp_path):
    with Ledger.create(tmp_path / "ledger") as ledger:
        yield ledger


def table(ledger, participants, timer=None, flush=no_flush):
    return Table(
        participants=participants,
        inputs=("x",),
        timer=timer or ScriptedTimer(),
        ledger=ledger,
        flush=flush,
        address=id,
    )


def participant(name, function=lambda _: object(), number=0):
    return Participant(name, function, name, number)


def test_orders_repeat_for_one_seed_and_differ_for_another():
    assert draw_orders("1/softmax.01", 5, 20) == draw_orders("1/softmax.01", 5, 20)
    assert draw_orders("1/softmax.01", 5, 20) != draw_orders("1/softmax.02", 5, 20)


def test_every_round_gives_every_participant_one_turn():
    assert all(sorted(order) == [0, 1, 2, 3] for order in draw_orders("s", 4, 30))


@pytest.mark.parametrize("participants", [4, 7, 15, 19])
def test_the_baseline_comes_first_as_often_as_anyone(participants):
    orders = [o for block in range(12) for o in draw_orders(f"1/s.{block}", participants, 64)]
    share = sum(order[0] == 0 for order in orders) / len(orders)
    assert 0.05 <= share <= 0.3
    seconds = {order[1] for order in orders if order[0] == 0}
    assert len(seconds) > participants / 2


def test_a_look_is_taken_once_between_two_rounds_in_the_middle(ledger):
    seen = []
    around = table(ledger, [participant("a", lambda _: seen.append("turn") or object())])
    around.watch = lambda: seen.append("watch")
    around.rounds([[0]] * 4)
    assert seen == ["turn", "turn", "watch", "turn", "turn"]


def test_a_reading_belongs_to_the_round_it_was_taken_in(ledger):
    both = [participant("a"), participant("b")]
    taken = table(ledger, both, ScriptedTimer(10, 20, 30, 40)).rounds([[1, 0], [0, 1]])
    assert taken.readings == {"a": [20, 30], "b": [10, 40]}
    assert taken.order == [[1, 0], [0, 1]]


def test_flush_comes_before_each_call_and_outside_the_reading(ledger):
    seen = []
    one = participant("a", lambda _: seen.append("call") or object())
    table(ledger, [one], flush=lambda: seen.append("flush")).rounds([[0], [0]])
    assert seen == ["flush", "call", "flush", "call"]


def test_outputs_are_held_until_the_next_turn_so_that_nobody_shares_memory(ledger):
    alive = []

    class Output:
        def __init__(self):
            alive.append(self)

        def __del__(self):
            released.append(True)

    released = []
    both = [participant(name, lambda _: Output()) for name in "ab"]
    around = table(ledger, both)
    around.rounds([[0, 1]])
    assert len(set(map(id, alive))) == 2
    alive.clear()
    assert not released
    around.rounds([[0, 1]])
    assert len(released) == 2


def test_distinct_addresses_are_counted_for_each_participant(ledger):
    kept = [object(), object()]
    places = iter(kept * 2)
    fixed = object()
    both = [participant("a", lambda _: next(places)), participant("b", lambda _: fixed)]
    taken = table(ledger, both).rounds([[0, 1]] * 4)
    assert {name: len(seen) for name, seen in taken.addresses.items()} == {"a": 2, "b": 1}


def test_time_target_keeps_within_its_bounds_and_needs_no_verdict():
    rule = TimeTarget(1.5)
    assert rule.rounds(1.0) == 5
    assert rule.rounds(0.1) == 15
    assert rule.rounds(0.001) == 64
    assert rule.rounds(0.0) == 64


def test_warm_up_ends_when_two_windows_agree(ledger):
    # The first turn is compilation; then 200 ms, 200 ms.
    timer = ScriptedTimer(5_000_000_000, 200_000_000)
    pace = table(ledger, [participant("a")], timer).warm_up(WarmUp(limit=100), "seed")
    assert timer.calls >= 3
    assert pace == pytest.approx(0.2, rel=0.01) or timer.calls > 3


def test_warm_up_gives_up_at_its_limit(ledger):
    readings = [100_000_000 * 2**step for step in range(12)]
    timer = ScriptedTimer(*readings)
    table(ledger, [participant("a")], timer).warm_up(WarmUp(limit=5), "seed")
    assert 5 <= timer.now() < 20


def test_a_failing_participant_is_charged_by_the_name_it_carries(ledger):
    def broken(x):
        raise ValueError("no such row")

    twin = Participant("twin-a", broken, "eager", 0)
    with pytest.raises(ParticipantFailed) as caught:
        table(ledger, [twin]).rounds([[0]])
    assert caught.value.charge == "eager"
    assert caught.value.fault.status == "runtime_error"
    assert ledger.open == NOBODY


def test_a_bug_in_the_timer_keeps_its_traceback_and_charges_nobody(ledger):
    class Broken(ScriptedTimer):
        def sample(self, *_):
            raise KeyError("ours")

    with pytest.raises(KeyError, match="ours"):
        table(ledger, [participant("a")], Broken()).rounds([[0]])


def test_the_ledger_names_who_is_being_called(ledger):
    seen = []
    one = participant("a", lambda _: seen.append(ledger.open), number=7)
    table(ledger, [one]).rounds([[0]])
    assert seen == [7]
    assert ledger.open == NOBODY
