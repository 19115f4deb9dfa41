"""Rules that need history or several runs, and how problems are weighed.

The worlds of the other rules lie in `tests/cases`.
"""

import json
import os
import shutil
import subprocess
import tarfile

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


def test_a_checkout_with_turned_line_ends_holds_what_was_measured(repository, tmp_path):
    found = measured(repository)
    worlds.lay(repository, recorded(found))
    commit(repository, "recorded")
    turned = tmp_path / "turned"
    git(tmp_path, "clone", "--quiet", "-c", "core.autocrlf=true", str(repository), str(turned))
    for file in (SOURCES, worlds.STORY, f"results/{found}.json"):
        assert b"\r\n" in (turned / file).read_bytes()
        assert b"\r\n" not in (repository / file).read_bytes()
    assert checked(turned) == (0, [])
    (turned / SOURCES).write_text("later = True\n")
    assert checked(turned) == (0, [])


def test_an_object_that_differs_in_more_than_its_line_ends_is_found(repository):
    found = measured(repository)
    world = recorded(found)
    name = next(path for path in world if path.startswith("results/objects/"))
    turned = world[name].replace(b"\n", b"\r\n")
    worlds.lay(repository, {**world, name: turned})
    assert checked(repository) == (0, [])
    worlds.lay(repository, {**world, name: turned + b"# edited\r\n"})
    code, problems = checked(repository)
    assert code == 1
    assert {problem["rule"] for problem in problems} == {"bad-artifact"}


def test_a_build_makes_the_same_bytes_with_and_without_a_history(repository, tmp_path, monkeypatch):
    found = measured(repository)
    worlds.lay(repository, recorded(found))
    commit(repository, "recorded")
    clone, shallow, plain = tmp_path / "clone", tmp_path / "shallow", tmp_path / "plain"
    git(tmp_path, "clone", "--quiet", str(repository), str(clone))
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{repository}", str(shallow))
    plain.mkdir()
    git(clone, "archive", "--output", str(tmp_path / "release.tar"), "HEAD")
    with tarfile.open(tmp_path / "release.tar") as release:
        release.extractall(plain, filter="data")
    assert not (plain / ".git").exists()
    assert checked(plain) == (0, [])
    site = built(clone)
    assert f"results/{found}/index.html" in site
    assert built(shallow) == site
    monkeypatch.setenv("PATH", str(tmp_path))
    assert built(plain) == site


def built(folder):
    """The files that the command publishes, by path."""
    done = CliRunner().invoke(main, ["build", "-q", "--root", str(folder)])
    assert (done.exit_code, done.output) == (0, "")
    site = folder / "site"
    return {
        path.relative_to(site).as_posix(): path.read_bytes()
        for path in sorted(site.rglob("*"))
        if path.is_file()
    }


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
    ignore = config.Ignore("story-order", "kernels/*/story.md", "a guest's text")
    project = config.Config(tmp_path, ignore=(ignore,))
    found = [problem("story-order"), problem("no-attempts"), problem("story-order", "results/a")]
    assert set(check.weighed(found, project)) == set(found[1:])
    assert check.silenced(found, project) == {ignore: 1}


def test_of_two_ignores_that_cover_a_problem_the_second_is_idle(tmp_path):
    first = config.Ignore("story-order", "kernels/*", "a guest's text", line=2)
    second = config.Ignore("story-order", "*/story.md", "the same again", line=7)
    project = config.Config(tmp_path, source="writeup.toml", ignore=(first, second))
    (idle,) = check.idle_ignores([problem("story-order")], project)
    assert (idle.place, idle.rule) == ("writeup.toml:7:1", "bad-config")
    assert idle.severity is Severity.WARNING


def test_an_ignore_of_what_a_build_does_not_ask_is_not_idle_in_it(tmp_path):
    ignore = config.Ignore("source-mismatch", "results/*", "measured before the move")
    project = config.Config(tmp_path, source="writeup.toml", ignore=(ignore,))
    assert not list(check.idle_ignores([], project))
    assert len(list(check.idle_ignores([], project, ask_history=True))) == 1


IGNORE = """title = "World"

[[ignore]]
rule = "source-mismatch"
path = "results/*.json"
reason = "measured before the repository was moved"
"""


def test_what_is_ignored_is_told_in_the_summary_and_on_a_page(repository):
    found = measured(repository, {**sources(), SOURCES: b"other = True\n"})
    worlds.lay(repository, {**recorded(found), "writeup.toml": IGNORE.encode()})
    assert checked(repository) == (0, [])
    done = CliRunner().invoke(main, ["check", "--root", str(repository)])
    assert done.stderr.rstrip().endswith(
        "traced, 1 problem of source-mismatch ignored at results/*.json "
        "(measured before the repository was moved)"
    )
    page = built(repository)["literals/index.html"].decode()
    assert "measured before the repository was moved" in page
