import os
import subprocess

import pytest

from writeup.history import Held, blobs_at, holds

CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
NOBODY = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
}


def git(folder, *arguments):
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments],
        check=True,
        capture_output=True,
        text=True,
        env=CLEAN | NOBODY,
    )
    return done.stdout.strip()


def commit(folder, message="m", **contents):
    for name, text in contents.items():
        path = folder / name.replace("__", "/")
        path = path.with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    commit(folder, kernels__a="a\n", kernels__b="b\n")
    return folder


PATHS = ("kernels/a.py", "kernels/b.py")


def test_a_commit_that_holds_the_blobs_says_yes(repository):
    measured = git(repository, "rev-parse", "HEAD")
    blobs = blobs_at(repository, measured, PATHS)
    assert blobs["kernels/a.py"] == git(repository, "hash-object", "kernels/a.py")
    commit(repository, kernels__a="later\n")
    answer = holds(repository, measured, blobs)
    assert (answer.held, answer.commit, answer.missing) == (Held.YES, measured, ())


def test_a_path_that_a_commit_lacks_is_left_out(repository):
    measured = git(repository, "rev-parse", "HEAD")
    assert list(blobs_at(repository, measured, ["kernels/a.py", "gone.py"])) == ["kernels/a.py"]
    assert blobs_at(repository, "0" * 40, PATHS) == {}
    assert blobs_at(repository, "--help", PATHS) == {}


def test_sources_that_were_never_committed_are_a_mismatch(repository):
    measured = git(repository, "rev-parse", "HEAD")
    (repository / "kernels/a.py").write_text("edited\n")
    edited = git(repository, "hash-object", "kernels/a.py")
    blobs = blobs_at(repository, measured, PATHS) | {"kernels/a.py": edited}
    answer = holds(repository, measured, blobs)
    assert (answer.held, answer.missing) == (Held.NO, ("kernels/a.py",))
    assert measured[:12] in answer.explanation


def test_blobs_of_two_commits_together_are_held_by_none(repository):
    first = blobs_at(repository, git(repository, "rev-parse", "HEAD"), PATHS)
    second = commit(repository, kernels__a="a2\n", kernels__b="b2\n")
    mixed = {**blobs_at(repository, second, PATHS), "kernels/a.py": first["kernels/a.py"]}
    assert holds(repository, second, mixed).held is Held.NO


def test_a_squashed_commit_is_found_under_its_new_name(repository):
    git(repository, "checkout", "--quiet", "-b", "work")
    commit(repository, kernels__a="a2\n")
    measured = commit(repository, kernels__b="b2\n")
    blobs = blobs_at(repository, measured, PATHS)
    git(repository, "checkout", "--quiet", "main")
    git(repository, "merge", "--quiet", "--squash", "work")
    squashed = commit(repository, "squashed")
    git(repository, "branch", "--quiet", "-D", "work")
    answer = holds(repository, measured, blobs)
    assert answer.held is Held.YES, "the old commit still lies in the object store"
    git(repository, "reflog", "expire", "--expire=now", "--all")
    git(repository, "gc", "--quiet", "--prune=now")
    answer = holds(repository, measured, blobs)
    assert (answer.held, answer.commit) == (Held.ELSEWHERE, squashed)
    assert squashed[:12] in answer.explanation


def test_a_rebased_commit_is_found_though_its_base_changed(repository):
    git(repository, "checkout", "--quiet", "-b", "work")
    measured = commit(repository, kernels__a="a2\n")
    blobs = blobs_at(repository, measured, PATHS)
    git(repository, "checkout", "--quiet", "main")
    commit(repository, other="o\n")
    git(repository, "checkout", "--quiet", "work")
    git(repository, "rebase", "--quiet", "main")
    rebased = git(repository, "rev-parse", "HEAD")
    commit(repository, kernels__a="a3\n")
    git(repository, "reflog", "expire", "--expire=now", "--all")
    git(repository, "gc", "--quiet", "--prune=now")
    answer = holds(repository, measured, blobs)
    assert (answer.held, answer.commit) == (Held.ELSEWHERE, rebased)


def test_a_merge_that_alone_joins_both_changes_is_found(repository):
    git(repository, "checkout", "--quiet", "-b", "work")
    commit(repository, kernels__a="a2\n")
    git(repository, "checkout", "--quiet", "main")
    commit(repository, kernels__b="b2\n")
    git(repository, "merge", "--quiet", "--no-ff", "-m", "both", "work")
    merged = git(repository, "rev-parse", "HEAD")
    blobs = blobs_at(repository, merged, PATHS)
    commit(repository, kernels__a="a3\n")
    answer = holds(repository, "1" * 40, blobs)
    assert (answer.held, answer.commit) == (Held.ELSEWHERE, merged)


def clone(repository, folder, *options):
    git(repository.parent, "clone", "--quiet", *options, f"file://{repository}", str(folder))
    return folder


def test_a_shallow_clone_says_what_it_could_not_ask(repository, tmp_path):
    measured = git(repository, "rev-parse", "HEAD")
    blobs = blobs_at(repository, measured, PATHS)
    commit(repository, kernels__a="later\n")
    shallow = clone(repository, tmp_path / "shallow", "--depth=1")
    answer = holds(shallow, measured, blobs)
    assert answer.held is Held.UNASKED
    assert "fetch --unshallow" in answer.hint
    git(shallow, "fetch", "--quiet", "--unshallow")
    assert holds(shallow, measured, blobs).held is Held.YES


def test_a_shallow_clone_answers_for_the_commit_it_has(repository, tmp_path):
    measured = git(repository, "rev-parse", "HEAD")
    shallow = clone(repository, tmp_path / "shallow", "--depth=1")
    blobs = blobs_at(shallow, measured, PATHS)
    assert len(blobs) == 2
    assert holds(shallow, measured, blobs).held is Held.YES


def test_line_ends_of_a_checkout_do_not_change_what_a_commit_holds(repository):
    measured = git(repository, "rev-parse", "HEAD")
    blobs = blobs_at(repository, measured, PATHS)
    git(repository, "config", "core.autocrlf", "true")
    for path in PATHS:
        (repository / path).unlink()
    git(repository, "checkout", "--quiet", "--", ".")
    assert (repository / "kernels/a.py").read_bytes() == b"a\r\n"
    assert blobs_at(repository, measured, PATHS) == blobs
    assert holds(repository, measured, blobs).held is Held.YES


def test_paths_are_relative_to_the_project_within_a_larger_repository(tmp_path):
    outer = tmp_path / "outer"
    (outer / "bench").mkdir(parents=True)
    git(outer, "init", "--quiet", "--initial-branch=main")
    measured = commit(outer, bench__kernels__a="a\n")
    blobs = blobs_at(outer / "bench", measured, ["kernels/a.py"])
    assert list(blobs) == ["kernels/a.py"]
    assert holds(outer / "bench", measured, blobs).held is Held.YES
    commit(outer, bench__kernels__a="a2\n")
    assert holds(outer / "bench", "1" * 40, blobs).held is Held.ELSEWHERE


def test_a_release_without_history_has_no_say(tmp_path):
    answer = holds(tmp_path, "1" * 40, {"a.py": "2" * 40})
    assert answer.held is Held.UNAVAILABLE
    assert "not a git repository" in answer.explanation


def test_a_release_unpacked_within_a_repository_has_no_say(repository):
    inner = repository / "vendor"
    inner.mkdir()
    (inner / "a.py").write_text("a\n")
    answer = holds(inner, "1" * 40, {"a.py": "2" * 40})
    assert answer.held is Held.UNAVAILABLE
    assert "does not track it" in answer.explanation


def test_a_repository_without_commits_holds_nothing(tmp_path):
    git(tmp_path, "init", "--quiet")
    assert holds(tmp_path, "1" * 40, {"a.py": "2" * 40}).held is Held.NO


def test_an_imported_result_has_no_commit_to_ask(repository):
    answer = holds(repository, "imported-" + "0" * 64, {"a.py": "2" * 40})
    assert answer.held is Held.UNAVAILABLE


def test_names_that_look_like_patterns_or_options_are_names(repository):
    (repository / "kernels" / "*.py").write_text("star\n")
    (repository / "--all").write_text("dashes\n")
    measured = commit(repository)
    blobs = blobs_at(repository, measured, ["kernels/*.py", "--all"])
    assert len(blobs) == 2
    assert holds(repository, measured, blobs).held is Held.YES
    commit(repository, kernels__a="a2\n")
    assert holds(repository, "1" * 40, blobs).commit == measured


def test_a_hook_or_variable_of_the_caller_does_not_lead_elsewhere(
    repository, tmp_path, monkeypatch
):
    measured = git(repository, "rev-parse", "HEAD")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    assert len(blobs_at(repository, measured, PATHS)) == 2
