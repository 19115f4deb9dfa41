"""Rules that need history or several runs, and how problems are weighed.

The worlds of the other rules lie in `tests/cases`.
"""

import json
import os
import shutil
import subprocess

import pytest
from click.testing import CliRunner

from tests.cases import worlds
from tests.worlds import COMMIT, RUN, minimal_artifact
from writeup import check, config
from writeup.cli import main
from writeup.errors import Problem, Severity

CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
NOBODY = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
}
ARTIFACT = f"results/{COMMIT}.json"
SOURCES = "kernels/softmax/chunked.py"


def git(folder, *arguments):
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments],
        check=True,
        capture_output=True,
        text=True,
        env=CLEAN | NOBODY,
    )
    return done.stdout.strip()


def commit(folder, message="m"):
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD")


def checked(folder, *options):
    done = CliRunner().invoke(
        main, ["check", "-q", "--root", str(folder), "--format", "json", *options]
    )
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, json.loads(done.stdout)


# Sources and history: real repositories.


def sources():
    """The texts that a run of the base world loaded, by path."""
    base = worlds.contents()
    (run,) = json.loads(base[ARTIFACT])["runs"].values()
    return {path: base[f"results/objects/{blob}"] for path, blob in run["sources"]["files"].items()}


def recorded(measured):
    """The base world as if it had been measured at a commit."""
    base = worlds.contents()
    content = base.pop(ARTIFACT).replace(COMMIT.encode(), measured.encode())
    return {**base, f"results/{measured}.json": content}


@pytest.fixture
def repository(tmp_path):
    """A project whose sources are committed, and not yet measured."""
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    (folder / "README.md").write_text("ours\n")
    commit(folder)
    return folder


def measured(folder, texts=None):
    """Commit sources on a branch of their own; the commit."""
    git(folder, "checkout", "--quiet", "-b", "work")
    worlds.lay(folder, texts or sources())
    return commit(folder)


def test_sources_that_their_commit_holds_pass(repository):
    found = measured(repository)
    worlds.lay(repository, recorded(found))
    assert checked(repository) == (0, [])
    commit(repository, "recorded")
    (repository / SOURCES).write_text("later = True\n")
    commit(repository, "later")
    assert checked(repository) == (0, [])


def test_one_edit_before_measuring_is_a_mismatch(repository):
    texts = sources()
    found = measured(repository, {**texts, SOURCES: texts[SOURCES] + b"# edited\n"})
    worlds.lay(repository, recorded(found))
    code, (problem,) = checked(repository)
    assert code == 1
    assert (problem["rule"], problem["severity"]) == ("source-mismatch", "error")
    assert problem["path"] == f"results/{found}.json"
    assert RUN in problem["message"]
    assert found[:12] in problem["message"]


def test_a_commit_that_nobody_has_is_a_mismatch(repository):
    worlds.lay(repository, recorded("a" * 40))
    commit(repository)
    code, (problem,) = checked(repository)
    assert (code, problem["rule"]) == (1, "source-mismatch")
    assert "is not in this history" in problem["message"]
    assert problem["hint"]


def forgotten(folder, branch):
    """Take a branch and all that only it reached out of a repository."""
    git(folder, "branch", "--quiet", "-D", branch)
    git(folder, "reflog", "expire", "--expire=now", "--all")
    git(folder, "gc", "--quiet", "--prune=now")


def test_a_squashed_commit_is_told_with_the_one_that_holds_its_sources(repository):
    found = measured(repository)
    git(repository, "checkout", "--quiet", "main")
    git(repository, "merge", "--quiet", "--squash", "work")
    squashed = commit(repository, "squashed")
    forgotten(repository, "work")
    worlds.lay(repository, recorded(found))
    code, (problem,) = checked(repository)
    assert (code, problem["severity"]) == (0, "warning")
    assert squashed[:12] in problem["message"]


def test_a_rebased_commit_is_told_with_the_one_that_holds_its_sources(repository):
    found = measured(repository)
    git(repository, "checkout", "--quiet", "main")
    (repository / "README.md").write_text("theirs\n")
    commit(repository)
    git(repository, "checkout", "--quiet", "work")
    git(repository, "rebase", "--quiet", "main")
    rebased = git(repository, "rev-parse", "HEAD")
    git(repository, "branch", "--quiet", "kept")
    git(repository, "checkout", "--quiet", "kept")
    forgotten(repository, "work")
    worlds.lay(repository, recorded(found))
    code, (problem,) = checked(repository)
    assert (code, problem["severity"]) == (0, "warning")
    assert rebased[:12] in problem["message"]


def test_a_shallow_clone_says_what_it_could_not_ask_and_how_to_fetch_it(repository, tmp_path):
    found = measured(repository)
    worlds.lay(repository, recorded(found))
    (repository / SOURCES).write_text("later = True\n")
    commit(repository)
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{repository}", str(shallow))
    code, (problem,) = checked(shallow)
    assert (code, problem["severity"]) == (0, "warning")
    assert "could not be asked" in problem["message"]
    assert "git fetch --unshallow" in problem["hint"]
    git(shallow, "fetch", "--quiet", "--unshallow")
    assert checked(shallow) == (0, [])


def test_without_git_or_a_repository_history_has_no_say(repository, tmp_path, monkeypatch):
    worlds.lay(repository, recorded("a" * 40))
    plain = tmp_path / "plain"
    shutil.copytree(repository, plain, ignore=shutil.ignore_patterns(".git"))
    assert checked(plain) == (0, [])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert checked(repository) == (0, [])


# Comparisons over several runs.


SECOND = "20261201T0900Z-epyc"


def two_runs():
    """An artifact of two runs, of which only the second measured `unrolled`."""
    first = [name for name in worlds.VARIANTS if name != "unrolled"]
    document, objects = minimal_artifact(variants=first, blocks=6, samples=2)
    other, more = minimal_artifact(run=SECOND, variants=worlds.VARIANTS, blocks=6, samples=2)
    document["runs"] |= other["runs"]
    return document, objects | more


def world(story):
    document, objects = two_runs()
    texts = {f"results/objects/{blob}": content for blob, content in objects.items()}
    return {ARTIFACT: json.dumps(document).encode(), worlds.STORY: story.encode(), **texts}


STUDY = """+++
title = "A study"
kind = "study"
case = "wide"
mode = "host"
run = "{run}"
+++

{text}
"""


def test_a_ratio_over_two_runs_is_incomparable(tmp_path):
    text = "It gains {{ chunked.speedup over compiled }}."
    folder = worlds.lay(tmp_path / "one", world(STUDY.format(run=RUN, text=text)))
    assert checked(folder) == (0, [])
    text = "It gains {{ chunked.speedup over unrolled }}."
    folder = worlds.lay(tmp_path / "two", world(STUDY.format(run=RUN, text=text)))
    code, (problem,) = checked(folder)
    assert (code, problem["rule"]) == (1, "incomparable")
    assert "they differ in run: 20261130T1812Z-e" in problem["message"]
    assert (problem["line"], problem["column"]) == (9, 10)


def test_a_citation_without_a_run_asks_which_where_there_are_two(tmp_path):
    story = STUDY.format(run=RUN, text="It takes {{ chunked.time }}.")
    story = story.replace(f'run = "{RUN}"\n', "")
    code, problems = checked(worlds.lay(tmp_path, world(story)))
    assert code == 1
    assert {problem["rule"] for problem in problems} == {"ambiguous-citation"}
    citation, page = sorted(problems, key=lambda problem: problem["line"], reverse=True)
    assert citation["hint"] == f"choose one: @ {RUN}; @ {SECOND}"
    assert all(f'run = "{run}"' in page["hint"] for run in (RUN, SECOND))


# Weighing.


def problem(rule="typed-number", path="kernels/softmax/story.md"):
    return Problem(path, 1, 1, rule, "m")


def test_problems_come_sorted_and_once(tmp_path):
    found = [problem(path="b"), problem(path="a"), problem(path="b")]
    weighed = check.weighed(found, config.Config(tmp_path))
    assert [each.path for each in weighed] == ["a", "b"]


def test_a_rule_weighs_what_the_project_says(tmp_path):
    project = config.Config(tmp_path, severity={"typed-number": Severity.WARNING})
    one, two = check.weighed([problem(), problem("incomparable")], project)
    assert (one.rule, one.severity) == ("incomparable", Severity.ERROR)
    assert (two.rule, two.severity) == ("typed-number", Severity.WARNING)


def test_an_ignore_holds_for_its_rule_and_its_path(tmp_path):
    ignore = config.Ignore("typed-number", "kernels/*/story.md", "a guest's text")
    project = config.Config(tmp_path, ignore=(ignore,))
    found = [problem(), problem("incomparable"), problem(path="results/a.json")]
    assert set(check.weighed(found, project)) == set(found[1:])
