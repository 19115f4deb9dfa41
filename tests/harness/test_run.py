"""Sessions from end to end, with real processes and real faults."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

import harness
from harness import record
from harness import run as session
from harness.child import ChildFailed, Limits
from harness.cli import main
from harness.discover import find, load
from harness.errors import Refused
from harness.journal import Journal, leftovers
from harness.plan import Selection, Settings, plan
from harness.progress import Progress
from harness.provenance import head_commit
from tests.harness.project import MISTAKE, commit, variant, write_project

EXTRA = """
import os
import sys
import time

import torch

IN_A_BLOCK = getattr(sys.modules["__main__"].__spec__, "name", "") == "harness.block"


def double(x):
    return x * 2


def raises(x):
    raise ValueError("no such row in /home/somebody/kernels")


def hangs(x):
    if x.shape[0] > 2:
        time.sleep(60)
    return x * 2


def leaves(x):
    if x.shape[0] > 2:
        os._exit(3)
    return x * 2


def wrong(x):
    y = x * 2
    y[0, 0] += 1
    return y


def vandal(x):
    y = x * 2
    x[0, 0] = 0
    return y


def alias(x):
    return x.mul_(2)


def dies_in_a_block(x):
    if IN_A_BLOCK:
        os.abort()
    return x * 2


def raises_in_a_block(x):
    if IN_A_BLOCK:
        raise MemoryError("no memory left")
    return x * 2


def hangs_in_a_block(x):
    if IN_A_BLOCK:
        time.sleep(60)
    return x * 2
"""
GATE_FAULTS = {
    "raises": "runtime_error",
    "hangs": "timeout",
    "leaves": "runtime_error",
    "wrong": "incorrect",
    "vandal": "incorrect",
    "alias": "incorrect",
}
BLOCK_FAULTS = {
    "dies_in_a_block": "runtime_error",
    "raises_in_a_block": "out_of_resources",
    "hangs_in_a_block": "timeout",
}


@pytest.fixture(autouse=True)
def small_machine(monkeypatch, tmp_path):
    """A small cache, so that flushes and ceilings are quick, and a lock of the test's own."""
    monkeypatch.setattr("harness.environment.llc_bytes", lambda: 1 << 20)
    monkeypatch.setattr("harness.company.lock_path", lambda: tmp_path / "lock")


def variants_of(names):
    return "\n".join(variant(name.replace("_", "-"), f"extra.{name}") for name in names)


def order(root, *, blocks=2, call=2.0, **selection):
    plans = plan([(s, load(s, root)) for s in find(root, ("kernels",))], Selection(**selection))
    return session.Order(
        root=root,
        results=root / "results",
        commit=head_commit(root),
        command=("harness", "run"),
        plans=tuple(plans),
        settings=Settings(blocks=blocks, seed=1, rounds=5, warm_up=0.2, limits=Limits(call=call)),
    )


def measure(root, **changes):
    told = []
    recorded = session.run(order(root, **changes), Progress(write=told.append))
    return record.read(recorded.path)["runs"][recorded.run_id], told


@pytest.fixture(scope="module")
def faulty(tmp_path_factory):
    """One session with every fault; several tests look at its record."""
    patch = pytest.MonkeyPatch()
    lock = tmp_path_factory.mktemp("lock") / "lock"
    patch.setattr("harness.environment.llc_bytes", lambda: 1 << 20)
    patch.setattr("harness.company.lock_path", lambda: lock)
    root = tmp_path_factory.mktemp("project")
    faults = variants_of([*GATE_FAULTS, *BLOCK_FAULTS])
    write_project(root, extra=EXTRA, variants=faults)
    with Journal(root, "20261130T1812Z-epyc") as journal:
        journal.write("begin", started="2026-11-30T18:12:03Z")
        journal.write("block", groups=[])
    found, told = measure(root, modes=("host_hot",))
    patch.undo()
    return root, found, told


@pytest.mark.parametrize(("name", "status"), GATE_FAULTS.items())
def test_a_variant_that_fails_its_gate_is_a_row_without_speed(faulty, name, status):
    row = faulty[1]["cases"]["doubling.middle"]["variants"][name]
    assert row["status"] == status
    assert row["reason"]["text"]
    assert "timings" not in row


@pytest.mark.parametrize(("name", "status"), BLOCK_FAULTS.items())
def test_a_variant_that_fails_in_a_block_is_charged_and_the_block_repeated(faulty, name, status):
    run = faulty[1]
    name = name.replace("_", "-")
    row = run["cases"]["doubling.middle"]["variants"][name]
    assert row["status"] == status
    assert row["correctness"]["passed"]
    charges = [p["charged"] for p in run["processes"].values() if "charged" in p]
    [charge] = [charge for charge in charges if charge["variant"] == name]
    assert charge["status"] == status
    assert charge["mode"] == "host_hot"


def test_the_survivors_are_measured_in_every_block(faulty):
    run = faulty[1]
    case = run["cases"]["doubling.middle"]
    for name in ("plain", "pieces", "twin-a", "twin-b", "copy"):
        samples = case["variants"][name]["timings"]["host_hot"]["samples"]
        assert {process: len(taken) for process, taken in samples.items()} == {
            "doubling.01": 5,
            "doubling.02": 5,
        }
    for process, block in case["rounds"]["host_hot"]["blocks"].items():
        assert len(block["order"]) == 5
        assert run["processes"][process]["role"] == "block"


def test_a_fault_on_one_case_says_nothing_about_another(faulty):
    small = faulty[1]["cases"]["doubling.small"]["variants"]
    assert small["hangs"]["status"] == "ok"
    assert small["leaves"]["status"] == "ok"
    assert small["raises"]["status"] == "runtime_error"


def test_no_private_path_reaches_the_record(faulty):
    root, run, _ = faulty
    text = json.dumps(run)
    assert "somebody" not in text
    assert str(root) not in text
    assert "no such row" in text


def test_sources_are_what_was_loaded_and_never_more(faulty):
    root, run, _ = faulty
    files = run["sources"]["files"]
    assert set(files) == {
        f"kernels/doubling/{name}.py" for name in ("experiment", "plain", "pieces", "extra")
    }
    for blob in files.values():
        assert (root / "results" / "objects" / blob).is_file()


def test_a_file_that_only_a_block_loads_is_among_the_sources(tmp_path):
    extra = (
        "import sys\n\n\ndef double(x):\n"
        "    if sys.modules['__main__'].__spec__.name == 'harness.block':\n"
        "        from . import late\n"
        "    return x * 2\n"
    )
    write_project(tmp_path, extra=extra, variants=variant("lazy", "extra.double"), git=False)
    (tmp_path / "kernels" / "doubling" / "late.py").write_text("")
    commit(tmp_path)
    run, _ = measure(tmp_path, blocks=1, modes=("host_hot",))
    assert "kernels/doubling/late.py" in run["sources"]["files"]


def test_a_source_that_changed_while_it_was_measured_is_refused():
    with pytest.raises(Refused, match=r"a\.py: changed while it was measured"):
        session._refuse_changes({"a.py": "1", "b.py": "2"}, {"a.py": "3", "b.py": "2", "c.py": "4"})


def test_the_unit_ceilings_floor_and_both_calibrations_are_of_this_run(faulty):
    run = faulty[1]
    check = run["timer"]["check"]
    assert check["measured"]["value"] == pytest.approx(check["expected"]["value"], rel=0.01)
    assert set(run["controls"]["calibration"]) == {
        "copy-start",
        "copy-end",
        "gemm-start",
        "gemm-end",
    }
    blocks = {"doubling.01", "doubling.02"}
    assert set(run["controls"]["floor"]["host_hot"]["samples"]) == blocks
    for ceiling in run["ceilings"].values():
        assert all(set(probe["samples"]) == blocks for probe in ceiling["probes"].values())


def test_a_planted_mistake_is_caught_and_recorded(faulty):
    [planted] = faulty[1]["experiments"]["doubling"]["mistakes"].values()
    assert planted["caught"]
    assert planted["error"] > 1
    assert planted["after"] == "for begin in range(0, 256, 256):"


def test_a_journal_left_behind_is_told_and_kept_and_the_sessions_own_is_removed(faulty):
    root, _, told = faulty
    assert (
        "an earlier session (begun 2026-11-30T18:12:03Z, 1 blocks finished) did not end; its "
        "journal stays at .writeup/journal/20261130T1812Z-epyc.jsonl\n"
    ) in told
    assert [left.path.stem for left in leftovers(root)] == ["20261130T1812Z-epyc"]


def test_a_mistake_that_the_gate_does_not_see_refuses_the_run(tmp_path):
    harmless = MISTAKE.replace("range(0, 256, 256)", "range(0, x.shape[1], 128 * 2)")
    write_project(tmp_path, mistakes=harmless)
    with pytest.raises(Refused, match="'last-piece' in 'pieces' is not caught on case 'middle'"):
        measure(tmp_path)
    assert not (tmp_path / "results").exists()
    assert leftovers(tmp_path) == ()


def test_a_bug_in_the_experiment_keeps_its_traceback_and_is_no_row(tmp_path):
    write_project(tmp_path)
    path = tmp_path / "kernels" / "doubling" / "experiment.py"
    path.write_text(path.read_text().replace("oracle=lambda x: x + x", "oracle=lambda x: x / no"))
    with pytest.raises(ChildFailed, match="name 'no' is not defined"):
        measure(tmp_path)


def test_a_kernel_for_a_device_is_checked_in_the_interpreter_and_not_timed(tmp_path):
    pytest.importorskip("triton")
    extra = """
import os

import torch


def double(x):
    assert os.environ["TRITON_INTERPRET"] == "1"
    y = torch.empty_like(x)
    assert y.isnan().all()
    return y.copy_(x * 2)
"""
    kernel = (
        'Variant(id="kernel", role="attempt", parent="plain", what="a kernel", '
        'function=extra.double, requires="cuda", interpreted=True),'
    )
    write_project(tmp_path, extra=extra, variants=kernel)
    run, _ = measure(tmp_path, blocks=1, modes=("host_hot",))
    small = run["cases"]["doubling.small"]["variants"]["kernel"]
    assert small["status"] == "unsupported"
    assert small["reason"]["code"] == "needs-device"
    assert small["correctness"]["checked"] == "interpreter"
    assert small["correctness"]["passed"]
    middle = run["cases"]["doubling.middle"]["variants"]["kernel"]
    assert middle["status"] == "unsupported"
    assert "correctness" not in middle
    assert "timings" not in middle


def test_a_killed_session_loses_no_finished_block(tmp_path):
    root = write_project(tmp_path / "project")
    home = str(Path(harness.__file__).parent.parent)
    (tmp_path / "tmp").mkdir()
    environment = {**os.environ, "PYTHONPATH": home, "TMPDIR": str(tmp_path / "tmp")}
    words = ["run", "--blocks", "99", "--rounds", "1", "--mode", "host_hot"]
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "harness", *words],
        cwd=root,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not _blocks(root):
            time.sleep(0.1)
        process.send_signal(signal.SIGKILL)
    assert _blocks(root) >= 1


def _blocks(root):
    return sum(left.blocks for left in leftovers(root))


def test_a_tree_without_history_is_measured_as_the_commit_that_is_given(tmp_path, monkeypatch):
    monkeypatch.chdir(write_project(tmp_path / "project", git=False))
    commit, carried = "0" * 40, str(tmp_path / "carried")
    words = ["--blocks", "1", "--rounds", "1", "--mode", "host_hot"]
    told = CliRunner().invoke(
        main, ["run", "--commit", commit, "--bundle", carried, *words], catch_exceptions=False
    )
    assert told.exit_code == 0, told.output
    merged = CliRunner().invoke(
        main, ["merge", carried, "--out", str(tmp_path / "here")], catch_exceptions=False
    )
    assert merged.exit_code == 0, merged.output
    assert len(record.read(tmp_path / "here" / f"{commit}.json")["runs"]) == 1
