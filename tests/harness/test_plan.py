"""What a session would do."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.discover import Subject
from harness.errors import SelectionError
from harness.experiment import Mistake
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
