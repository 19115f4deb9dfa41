"""The contract: a measurement without time, recorded, is a valid artifact."""

import copy
from dataclasses import replace

import pytest

from harness import assemble, block, environment, plan, record, supervise
from harness.assemble import Findings, SubjectFindings
from harness.device import Cpu
from harness.discover import find, load
from harness.faults import guarded
from harness.gate import Trials, case_facts, examine
from harness.ledger import Ledger
from harness.sample import no_flush
from harness.state import timestamp
from tests.harness.project import write_project
from tests.harness.scripted import ScriptedTimer

CACHE = 1 << 20


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    """Everything a session does, in this process and by a scripted clock."""
    tmp_path = tmp_path_factory.mktemp("scripted")
    root = write_project(tmp_path / "project", git=False)
    [subject] = find(root, ("kernels",))
    [planned] = plan.plan([(subject, load(subject, root))], plan.Selection())
    found = SubjectFindings(planned)
    for variant, case in planned.gate_pairs(interpreted=False):
        trials = Trials(planned.experiment)
        evidence = examine(variant, case, (1,), trials, guarded)
        outcome = {"status": "ok", "correctness": evidence.record("torch")}
        found.outcomes[variant.id, case.id] = outcome
        found.case_facts[case.id] = case_facts(planned.experiment, case)
    findings = Findings(subjects=[found])
    with Ledger.create(tmp_path / "ledger") as ledger:
        for number in (1, 2):
            found.blocks.append(_block(planned, ledger, number))
        findings.processes = [one.process for one in found.blocks]
        for when in ("start", "end"):
            bench = block.Bench(_device(ScriptedTimer(1000)), ledger, "1/calibration")
            process = supervise.Process(f"calibration.{when}", _facts("calibration"))
            findings.calibrations[when] = (process, block.calibrate(bench))
            findings.processes.append(process)
    return root, findings


@pytest.fixture
def measured(once):
    """The same findings, for each test to change."""
    root, findings = once
    [found] = findings.subjects
    blocks = [copy.deepcopy(one) for one in found.blocks]
    outcomes = copy.deepcopy(found.outcomes)
    return root, replace(findings, subjects=[replace(found, blocks=blocks, outcomes=outcomes)])


def _facts(role):
    return {"role": role, "started": timestamp()}


def _device(timer):
    return Cpu(CACHE, "l3", no_flush, timer=timer)


def _block(planned, ledger, number):
    timer = ScriptedTimer(50_000_000, 60_000_000, 80_000_000)
    bench = block.Bench(_device(timer), ledger, f"1/doubling.{number:02d}")
    done = supervise.Block(supervise.Process(f"doubling.{number:02d}", _facts("block")))
    entries = [{"id": "plain", "number": 0}, {"id": "pieces", "number": 1}]
    names = ["plain", "pieces", "twin-a", "twin-b", "copy"]
    groups = [{"mode": m, "rounds": 6, "participants": names} for m in ("host", "host_hot")]
    job = {
        "cases": [{"case": "middle", "variants": entries, "groups": groups}],
        "solo": [],
        "shapes": None,
        "target": 1.0,
        "window": 0.1,
        "warm_up": 0.0,
    }
    done.floors = block.measure_floors(bench, ["host", "host_hot"])["floors"]
    done.ceilings = block.measure_ceilings(bench, job, ["interleaved"])["samples"]
    events = []
    assert block.measure_cases(bench, planned.experiment, job, events.append)
    done.groups = [event for event in events if event["event"] == "group"]
    return done


def _run(root, findings):
    machine = environment.describe("cpu")
    return {
        "started": timestamp(),
        "ended": timestamp(),
        "command": ["harness", "run"],
        "seed": 1,
        "protocol": 1,
        "environment": machine,
        "sources": {"files": {}},
        **assemble.measured(
            findings, assemble.Known("cpu", CACHE, "l3"), root, software=machine["software"]
        ),
    }


def test_a_scripted_measurement_becomes_a_valid_artifact(measured, tmp_path):
    root, findings = measured
    run = _run(root, findings)
    path = record.add_run(tmp_path / "results", "0" * 40, "20261130T1812Z-epyc", run, {})
    kept = record.read(path)["runs"]["20261130T1812Z-epyc"]
    rounds = kept["cases"]["doubling.middle"]["rounds"]["host"]
    assert rounds["cache"] == "cold"
    readings = kept["cases"]["doubling.middle"]["variants"]["plain"]["timings"]["host"]
    assert readings["unit"] == "ns"
    assert {len(taken) for taken in readings["samples"].values()} == {6}
    assert {value for taken in readings["samples"].values() for value in taken} <= {
        50_000_000,
        60_000_000,
        80_000_000,
    }


def test_what_a_variant_is_comes_from_its_author_and_its_source(measured):
    root, findings = measured
    rows = assemble.measured(findings, assemble.Known("cpu", CACHE, "l3"), root, software={})[
        "cases"
    ]["doubling.middle"]["variants"]
    assert rows["pieces"]["file"] == "kernels/doubling/pieces.py"
    assert rows["pieces"]["function"] == "double"
    assert rows["pieces"]["correctness"]["error_beside"]["variant"] == "plain"
    assert rows["twin-a"]["twin_of"] == "plain"
    assert rows["copy"]["work"]["bytes"]["value"] == 8 * 64 * 512


def test_a_block_without_a_failed_variant_counts_places_among_all(measured):
    root, findings = measured
    [found] = findings.subjects
    late = found.blocks[1].groups[0]
    late["participants"].remove("pieces")
    del late["samples"]["pieces"]
    late["order"] = [[0, 1, 2, 3]] * 6
    found.outcomes["pieces", "middle"] |= {"status": "timeout", "reason": {"text": "hung"}}
    case = assemble.measured(findings, assemble.Known("cpu", CACHE, "l3"), root, software={})[
        "cases"
    ]["doubling.middle"]
    rounds = case["rounds"]["host"]
    assert rounds["participants"] == ["plain", "pieces", "twin-a", "twin-b", "copy"]
    assert rounds["blocks"]["doubling.02"]["order"][0] == [0, 2, 3, 4]
    kept = case["variants"]["pieces"]["timings"]["host"]["samples"]
    assert set(kept) == {"doubling.01"}


def test_a_variant_out_of_resources_keeps_no_samples(measured):
    root, findings = measured
    [found] = findings.subjects
    reason = {"text": "no memory"}
    found.outcomes["pieces", "middle"] |= {"status": "out_of_resources", "reason": reason}
    case = assemble.measured(findings, assemble.Known("cpu", CACHE, "l3"), root, software={})[
        "cases"
    ]["doubling.middle"]
    assert "timings" not in case["variants"]["pieces"]


def test_an_attempt_tells_the_settings_that_differ_from_its_parents(measured):
    _, findings = measured
    experiment = findings.subjects[0].plan.experiment
    pieces = experiment.variant("pieces")
    thin = replace(pieces, id="thin", role="attempt", parent="pieces", config={"piece": 64})
    experiment = replace(experiment, variants=(*experiment.variants, thin))
    assert assemble.varied_settings(experiment, thin) == {"piece": [256, 64]}


def test_a_step_names_no_parent_where_that_has_no_row(measured):
    root, findings = measured
    [found] = findings.subjects
    experiment = found.plan.experiment
    wider = replace(experiment.variant("pieces"), id="wider", parent="pieces")
    pieces = replace(experiment.variant("pieces"), cases=("small",))
    variants = (experiment.baseline, pieces, wider)
    found = replace(found, plan=replace(found.plan, variants=variants))
    middle, small = experiment.case("middle"), experiment.case("small")
    assert "parent" not in assemble.described(found, wider, middle, root)
    assert assemble.described(found, wider, small, root)["parent"] == "pieces"
