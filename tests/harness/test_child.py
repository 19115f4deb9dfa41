"""Conversations with processes that end badly."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness import child
from harness.child import Charged, ChildFailed, Launcher, Limits

CHILD = """
import os, sys, time
from harness.child import serve

def work(job, send, ledger):
    send({"event": "hello", "pid": os.getpid()})
    print("a variant may print")
    if job["how"] == "bug":
        raise KeyError("our own bug")
    ledger.enter(5)
    if job["how"] == "exit":
        os._exit(0)
    if job["how"] == "abort":
        os.abort()
    if job["how"] == "hang":
        time.sleep(60)
    ledger.leave()
    if job["how"] == "wait":
        time.sleep(60)
    send({"event": "done"})

serve(work)
"""


@pytest.fixture
def launcher(tmp_path):
    (tmp_path / "scripted_child.py").write_text(CHILD)
    # A `harness` of the project's own, which must not be taken for ours.
    (tmp_path / "harness").mkdir()
    (tmp_path / "harness" / "__init__.py").write_text("raise ImportError('another harness')")
    (tmp_path / "path").mkdir()
    (tmp_path / "scripted_child.py").rename(tmp_path / "path" / "scripted_child.py")
    variables = {"PYTHONPATH": os.pathsep.join((str(Path.cwd()), str(tmp_path / "path")))}
    return Launcher(folder=tmp_path, limits=Limits(call=0.5, silence=0.5), variables=variables)


@pytest.fixture(autouse=True)
def path(monkeypatch, tmp_path):
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "path"))


def converse(launcher, how):
    with launcher.start("scripted_child", {"how": how}) as one:
        return list(one.events())


def test_events_come_back_and_prints_disturb_nothing(launcher):
    assert [event["event"] for event in converse(launcher, "well")] == ["hello", "done"]


@pytest.mark.parametrize("how", ["exit", "abort", "hang"])
def test_a_process_that_ends_in_a_call_is_charged_to_its_caller(launcher, how):
    with pytest.raises(Charged) as caught:
        converse(launcher, how)
    assert caught.value.number == 5
    assert caught.value.fault.status == ("timeout" if how == "hang" else "runtime_error")


def test_a_bug_outside_any_call_comes_back_with_its_traceback(launcher):
    with pytest.raises(ChildFailed, match="our own bug"):
        converse(launcher, "bug")


def test_silence_outside_any_call_is_nobodys_fault(launcher):
    with pytest.raises(ChildFailed, match="silent"):
        converse(launcher, "wait")


def test_a_child_does_not_outlive_its_parent(launcher, tmp_path):
    script = (
        "import sys; from pathlib import Path; from harness.child import *\n"
        "one = Launcher(folder=Path('.'), limits=Limits(), variables={})\n"
        "with one.start('scripted_child', {'how': 'wait'}) as c:\n"
        "    for event in c.events(): print(event['pid'], flush=True)\n"
    )
    home = Path(child.__file__).parent.parent
    path = os.pathsep.join((str(home), str(tmp_path / "path")))
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    ) as parent:
        pid = int(parent.stdout.readline())
        parent.kill()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and _alive(pid):
        time.sleep(0.05)
    assert not _alive(pid)


def _alive(pid):
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
        return text.rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
