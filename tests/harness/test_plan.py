"""What a session would do."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.discover import Subject
from harness.errors import SelectionError
from harness.experiment import Mistake
from harness.modes import INTERLEAVED
from harness.plan import Selection, Settings, duration, estimate, lines, plan
from tests.harness.test_validate import BASELINE, case, experiment, variant

SETTINGS = Settings(blocks=12, seed=1)
MISTAKE = Mistake(id="m", variant="fused", before="a", after="b", passes="small", fails="tall")


def known(**changes):
    given = {
        "cases": (case("small", timed=False), case("tall"), case("wide")),
        "variants": (BASELINE, variant(), variant("online")),
        "mistakes": (MISTAKE,),
    }
    return [(Subject("softmax", Path("kernels/softmax")), experiment(**(given | changes)))]


def test_everything_is_planned_when_nothing_is_named():
    [one] = plan(known(), Selection())
    assert [c.id for c in one.timed] == ["tall", "wide"]
    assert [c.id for c in one.gated] == ["small", "tall", "wide"]
    assert [v.id for v in one.variants] == ["eager", "fused", "online"]


def test_the_baseline_runs_whatever_is_selected():
    [one] = plan(known(), Selection(variants=("online",), cases=("softmax.wide",)))
    assert [v.id for v in one.variants] == ["eager", "online"]
    assert [c.id for c in one.timed] == ["wide"]
    assert one.mistakes == ()


def test_a_selected_attempt_brings_what_it_departs_from():
    wider = variant("wider", role="attempt", parent="online")
    [one] = plan(
        known(variants=(BASELINE, variant(), variant("online"), wider)),
        Selection(variants=("wider",)),
    )
    assert [v.id for v in one.variants] == ["eager", "online", "wider"]


def test_a_selected_mistake_brings_its_cases_to_the_gate_only():
    [one] = plan(known(), Selection(cases=("wide",)))
    assert [c.id for c in one.timed] == ["wide"]
    assert [c.id for c in one.gated] == ["small", "tall", "wide"]


@pytest.mark.parametrize(
    "selection",
    [
        Selection(subjects=("sofmax",)),
        Selection(cases=("tal",)),
        Selection(variants=("fusd",)),
        Selection(modes=("graph",)),
    ],
)
def test_a_name_that_nothing_has_is_told_with_what_there_is(selection):
    with pytest.raises(SelectionError, match="there are: "):
        plan(known(), selection)


def test_a_case_that_is_only_checked_cannot_be_all_there_is_to_time():
    with pytest.raises(SelectionError, match="nothing that was selected is timed"):
        plan(known(), Selection(cases=("small",)))


def test_a_variant_for_a_device_is_checked_where_it_says_and_never_timed():
    kernel = variant("kernel", requires="cuda", interpreted=True, gate_cases=("small",))
    device = variant("device", requires="cuda")
    [one] = plan(known(variants=(BASELINE, variant(), kernel, device)), Selection())
    wide = one.experiment.case("wide")
    assert [v.id for v in one.contenders(wide)] == ["eager", "fused"]
    assert [v.id for v in one.rows(wide)] == ["eager", "fused", "kernel", "device"]
    checked = one.gate_pairs(interpreted=True)
    assert [(v.id, c.id) for v, c in checked] == [("kernel", "small")]
    assert all(v.id not in {"kernel", "device"} for v, _ in one.gate_pairs(interpreted=False))


def test_a_variant_left_out_of_a_cases_gate_has_no_row_there():
    tight = variant(gate_cases=("tall", "wide"))
    [one] = plan(known(variants=(BASELINE, tight), mistakes=()), Selection())
    assert [v.id for v in one.rows(one.experiment.case("small"))] == ["eager"]


def test_the_plan_says_who_how_long_and_how_large():
    shown = "\n".join(lines(plan(known(), Selection()), SETTINGS))
    assert "softmax.tall (host, host_hot): eager, fused, online, twin-a, twin-b, copy" in shown
    assert "checked only: small" in shown
    assert "12 blocks" in shown
    assert "seed 1" in shown


def test_more_rounds_and_blocks_mean_more_time_and_samples():
    plans = plan(known(), Selection())
    once = estimate(plans, replace(SETTINGS, rounds=10))
    more = estimate(plans, replace(SETTINGS, rounds=20, blocks=24))
    assert more.total > once.total
    # Six participants, two cases, two modes, ten rounds, twelve blocks.
    assert once.samples == 6 * 2 * 2 * 10 * 12
    assert more.samples == 4 * once.samples


def test_durations_are_told_roughly():
    assert [duration(value) for value in (7.4, 119, 600)] == ["7 s", "119 s", "10 min"]


KEYS = ("host", "do_bench", "do_bench-burst", "do_bench-sustained")


def on_a_gpu(selection=None, **changes):
    kernel = variant("kernel", requires="cuda", interpreted=True, gate_cases=("small",))
    given = {"variants": (BASELINE, variant(), kernel), "modes": KEYS, "headline": ("kernel",)}
    [one] = plan(known(**(given | changes)), selection or Selection(), "cuda")
    return one


def test_on_a_gpu_its_kernels_are_checked_on_every_case_and_timed():
    one = on_a_gpu()
    wide = one.experiment.case("wide")
    assert [v.id for v in one.contenders(wide)] == ["eager", "fused", "kernel"]
    assert ("kernel", "wide") in [(v.id, c.id) for v, c in one.gate_pairs(interpreted=False)]
    assert one.gate_pairs(interpreted=True) == []


def test_modes_stand_in_the_order_of_the_device():
    assert on_a_gpu().modes == ("do_bench", "host", "do_bench-burst", "do_bench-sustained")


def test_only_the_headline_works_back_to_back():
    one = on_a_gpu()
    wide = one.experiment.case("wide")
    assert [v.id for v in one.takers(wide, "do_bench")] == ["eager", "fused", "kernel"]
    assert [v.id for v in one.takers(wide, "do_bench-burst")] == ["eager", "kernel"]


def test_a_case_and_a_variant_can_be_limited_to_some_modes():
    cases = (case("small", timed=False), case("tall", modes=("host",)), case("wide"))
    quiet = variant(modes=("do_bench",))
    one = on_a_gpu(cases=cases, variants=(BASELINE, quiet), headline=())
    assert one.modes_of(one.experiment.case("tall")) == ("host",)
    assert [v.id for v in one.takers(one.experiment.case("wide"), "host")] == ["eager"]
    assert [v.id for v in one.takers(one.experiment.case("wide"), "do_bench")] == ["eager", "fused"]


def test_a_mode_of_another_device_is_told():
    with pytest.raises(SelectionError, match="mode do_bench cannot be measured on cpu"):
        plan(known(modes=KEYS), Selection(modes=("do_bench",)))


def test_a_processor_takes_the_modes_it_has():
    [one] = plan(known(modes=KEYS), Selection())
    assert one.modes == ("host",)
    assert one.regimes == (INTERLEAVED,)


def test_what_needs_a_processor_is_no_row_of_speed_on_a_gpu():
    one = on_a_gpu(variants=(BASELINE, variant(requires="cpu")), headline=())
    fused = one.experiment.variant("fused")
    assert one.lacks(fused) == "cpu"
    assert fused not in one.contenders(one.experiment.case("wide"))


def test_sustained_work_is_in_every_second_block_of_a_run_of_record():
    whole = Settings.on("cuda", blocks=12, seed=1)
    assert [n for n in range(1, 13) if whole.sustains(n)] == [2, 4, 6, 8, 10, 12]
    few = Settings.on("cuda", blocks=4, seed=1)
    assert all(few.sustains(n) for n in range(1, 5))


def test_bursts_cost_their_pauses_and_sustained_work_its_length():
    whole = Settings.on("cuda", blocks=12, seed=1)
    every = estimate([on_a_gpu()], whole).total
    without = estimate([on_a_gpu(modes=("host", "do_bench"))], whole).total
    # Two cases, five participants: 0.16 s in twelve blocks, 0.6 s in six of them.
    assert every - without > 2 * 5 * (0.16 * 12 + 0.6 * 6)
