import errno
import importlib.util
import subprocess
import sys
import tempfile

import pytest

from harness import doctor
from harness.doctor import Level
from harness.timer import UnitCheck

GIB = 1 << 30


def one(findings):
    (finding,) = findings
    return finding


def test_every_question_is_answered_on_this_machine(tmp_path):
    found = doctor.examine(tmp_path, "cpu", commit="a" * 40)
    names = [finding.id for finding in found]
    assert len(names) == len(set(names))
    assert {
        "versions",
        "triton",
        "device",
        "idle",
        "timer",
        "compiler",
        "commit",
        "results",
    } <= set(names)
    assert {"disk", "memory", "tool-git-hash-object", "tool-gpp", "interpreter"} <= set(names)
    assert all(finding.text for finding in found)
    assert [
        f for f in found if f.id in ("versions", "commit", "results") and f.level != Level.OK
    ] == []
    assert list(tmp_path.iterdir()) == []


def test_a_machine_without_torch_is_told_only_that(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    finding = one(doctor.check_versions("cpu"))
    assert (finding.id, finding.level) == ("torch", Level.FAIL)


@pytest.mark.parametrize(
    ("version", "level"),
    [
        ("3.6.0", "ok"),
        ("3.9.1+git1234", "ok"),
        ("3.5.1", "warn"),
        ("3.10.0", "warn"),
        ("4.0", "warn"),
        (None, "warn"),
    ],
)
def test_triton_outside_the_known_releases_is_a_warning(version, level):
    assert one(doctor.check_triton(version)).level == level


def test_a_device_that_is_none_is_refused():
    assert one(doctor.check_device("tpu")).level == Level.FAIL
    assert one(doctor.check_device("cpu")).level == Level.OK


def test_a_missing_gpu_fails(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    finding = one(doctor.check_device("cuda"))
    assert finding.level == Level.FAIL
    assert "--device cpu" in finding.text


@pytest.mark.parametrize(
    ("others", "level"), [(0.0, "ok"), (0.1, "ok"), (0.5, "warn"), (None, "warn")]
)
def test_company_is_a_warning(others, level):
    assert doctor.judge_company(others, 0.3).level == level


def test_a_busy_neighbour_is_seen():
    neighbour = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        assert one(doctor.check_idle()).level == Level.WARN
    finally:
        neighbour.kill()
        neighbour.wait()


@pytest.mark.parametrize(("measured", "level"), [(50.1, "ok"), (50_000.0, "fail"), (0.05, "fail")])
def test_a_wrong_unit_fails(measured, level):
    check = UnitCheck(reference="a sleep", expected_ms=50.0, measured_ms=measured, step=30)
    assert one(doctor.check_timer(check)).level == level


def test_without_a_compiler_compiled_variants_are_warned_of(monkeypatch):
    monkeypatch.setattr(doctor, "compiler", lambda: None)
    assert one(doctor.check_compiler()).level == Level.WARN


def test_a_folder_without_history_needs_a_commit(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    finding = one(doctor.check_commit(tmp_path, None))
    assert finding.level == Level.FAIL
    assert "--commit" in finding.text
    assert one(doctor.check_commit(tmp_path, "a" * 40)).level == Level.OK
    assert one(doctor.check_commit(tmp_path, "main")).level == Level.FAIL


def test_a_results_folder_that_is_not_there_yet_is_judged_by_its_parent(tmp_path):
    found = list(doctor.check_results(tmp_path / "new" / "results"))
    assert [finding.id for finding in found] == ["results", "disk"]
    assert found[0].level == Level.OK
    assert not (tmp_path / "new").exists()


def test_a_results_folder_that_cannot_be_written_fails(tmp_path, monkeypatch):
    def refuse(**_options):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    finding = one(doctor.check_results(tmp_path))
    assert finding.level == Level.FAIL
    assert "Read-only file system; name another with --out" in finding.text


@pytest.mark.parametrize(
    ("free", "level"), [(5 * GIB, "ok"), (2 * GIB, "warn"), (GIB // 2, "fail")]
)
def test_space_runs_low_before_it_runs_out(free, level):
    assert doctor.judge_space("memory", free, low=4 * GIB, out=GIB).level == level


def test_available_memory_is_read_in_kibibytes(tmp_path):
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:    8388608 kB\n")
    finding = one(doctor.check_memory(tmp_path / "meminfo"))
    assert finding.text == "8.0 GiB available"
    assert one(doctor.check_memory(tmp_path / "absent")).level == Level.WARN


def test_a_tool_is_asked_for_the_flags_that_are_used():
    asked = {("git", "hash-object", "-h"): ("--stdin-paths", "--no-such-flag")}
    finding = one(doctor.check_tools(asked))
    assert finding.level == Level.WARN
    assert finding.text == "the help of `git hash-object` no longer names --no-such-flag"
    assert one(doctor.check_tools({("no-such-tool", "--help"): ("-x",)})).level == Level.WARN


def test_an_interpreter_that_fails_is_quoted_by_its_last_line(monkeypatch):
    failed = subprocess.CompletedProcess(
        [], 1, b"", b"Traceback\n  x\nTypeError: only 0-d arrays\n"
    )
    monkeypatch.setattr(subprocess, "run", lambda *_a, **_k: failed)
    finding = one(doctor.check_interpreter())
    assert finding.level == Level.WARN
    assert finding.text.endswith("TypeError: only 0-d arrays")
