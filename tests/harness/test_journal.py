"""What survives a kill."""

import subprocess
import sys
from pathlib import Path

import pytest

import harness
from harness.company import alone
from harness.errors import CompanyError
from harness.journal import Journal, leftovers, read
from harness.ledger import NOBODY, Ledger

KILLED = """
import os, signal, sys
from pathlib import Path
from harness.journal import Journal
journal = Journal(Path(sys.argv[1]), "20261130T1812Z-epyc")
journal.write("begin", started="2026-11-30T18:12:03Z")
journal.write("block", groups=[1, 2, 3])
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_session_leaves_its_finished_blocks(tmp_path):
    home = str(Path(harness.__file__).parent.parent)
    told = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path)],
        check=False,
        env={"PYTHONPATH": home},
    )
    assert told.returncode == -9
    [left] = leftovers(tmp_path)
    assert (left.started, left.blocks) == ("2026-11-30T18:12:03Z", 1)
    assert list(read(left.path))[1]["groups"] == [1, 2, 3]


def test_a_line_that_was_cut_off_is_left_out_and_the_rest_is_read(tmp_path):
    with Journal(tmp_path, "run") as journal:
        journal.write("begin", started="now")
        journal.write("block", groups=[])
    with journal.path.open("ab") as file:
        file.write(b'{"kind": "block", "gro')
    [left] = leftovers(tmp_path)
    assert left.blocks == 1


def test_an_earlier_journal_of_the_same_minute_is_kept(tmp_path):
    with Journal(tmp_path, "run") as first, Journal(tmp_path, "run") as second:
        assert first.path != second.path


def test_journals_stay_out_of_commits_and_go_when_they_have_served(tmp_path):
    journal = Journal(tmp_path, "run")
    assert (tmp_path / ".writeup" / ".gitignore").read_text() == "*\n"
    journal.remove()
    assert leftovers(tmp_path) == ()


def test_two_sessions_at_once_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("harness.company.lock_path", lambda: tmp_path / "lock")
    with alone(), pytest.raises(CompanyError, match="another session"), alone():
        pytest.fail("two sessions at once")
    with alone():
        pass


def test_a_ledger_outlives_the_process_that_wrote_it(tmp_path):
    path = tmp_path / "ledger"
    with Ledger.create(path) as seen:
        assert seen.open == NOBODY
        before = seen.sequence
        script = "import os, sys; from pathlib import Path; from harness.ledger import Ledger; "
        script += "Ledger(Path(sys.argv[1])).enter(3); os._exit(9)"
        home = str(Path(harness.__file__).parent.parent)
        subprocess.run(
            [sys.executable, "-c", script, str(path)], check=False, env={"PYTHONPATH": home}
        )
        assert seen.open == 3
        assert seen.sequence != before
