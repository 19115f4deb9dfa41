import importlib.metadata
import os
import subprocess

import pytest

from harness.provenance import (
    ProvenanceError,
    blob_id,
    dirty_files,
    distributions,
    head_commit,
    sources,
)


def git(folder, *words, given=None):
    environ = {
        **os.environ,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.org",
    }
    answer = subprocess.run(
        ["git", *words], cwd=folder, env=environ, input=given, capture_output=True, check=True
    )
    return answer.stdout.decode().strip()


@pytest.fixture(autouse=True)
def plain_git(monkeypatch, tmp_path):
    """No settings of this machine's user, and no repository around the temporary folder."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))


@pytest.fixture
def project(tmp_path):
    root = tmp_path / "project"
    (root / "kernels" / "a b").mkdir(parents=True)
    (root / "kernels" / "a b" / "é.py").write_text("x = 1\n")
    (root / "plain.py").write_text("y = 2\n")
    return root


@pytest.fixture
def repository(project):
    git(project, "init", "-q")
    git(project, "add", ".")
    git(project, "commit", "-qm", "first")
    return project


FILES = ["kernels/a b/é.py", "plain.py"]


@pytest.mark.parametrize("content", [b"", b"x\n", b"\x00\xff\r\n" * 100])
def test_an_id_is_the_one_git_computes(tmp_path, content):
    assert blob_id(content) == git(tmp_path, "hash-object", "--stdin", given=content)


def test_sources_without_history_are_the_bytes_themselves(project):
    files, objects = sources(FILES, project)
    assert files == {"kernels/a b/é.py": blob_id(b"x = 1\n"), "plain.py": blob_id(b"y = 2\n")}
    assert objects == {blob_id(b"x = 1\n"): b"x = 1\n", blob_id(b"y = 2\n"): b"y = 2\n"}


def test_sources_are_what_the_commit_holds(repository):
    files, _ = sources(FILES, repository)
    for path, blob in files.items():
        assert git(repository, "rev-parse", f"HEAD:{path}") == blob


def test_absolute_paths_are_taken_from_the_root(project):
    assert sources([project / "plain.py"], project)[0] == sources(["plain.py"], project)[0]


def test_line_ends_are_stored_as_git_stores_them(repository):
    (repository / ".gitattributes").write_text("*.py text=auto\n")
    (repository / "plain.py").write_bytes(b"y = 2\r\nz = 3\r\n")
    files, objects = sources(["plain.py"], repository)
    assert objects[files["plain.py"]] == b"y = 2\nz = 3\n"
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "second")
    assert git(repository, "rev-parse", "HEAD:plain.py") == files["plain.py"]


def test_line_ends_stay_where_git_leaves_them(repository):
    (repository / "plain.py").write_bytes(b"y = 2\r\n")
    files, objects = sources(["plain.py"], repository)
    assert objects == {files["plain.py"]: b"y = 2\r\n"}


def test_hashing_adds_nothing_to_the_repository(repository):
    (repository / ".gitattributes").write_text("*.py text=auto\n")
    (repository / "plain.py").write_bytes(b"new = 1\r\n")
    before = git(repository, "count-objects")
    sources(FILES, repository)
    assert git(repository, "count-objects") == before


def test_a_root_inside_a_repository_has_paths_of_its_own(repository):
    root = repository / "kernels"
    files, _ = sources(["a b/é.py"], root)
    assert list(files) == ["a b/é.py"]
    assert dirty_files(head_commit(root), files, root) == ()


def test_a_story_is_never_a_source(project):
    (project / "story.md").write_text("prose")
    assert sources(["story.md"], project) == ({}, {})


def test_a_file_outside_the_project_is_refused(project, tmp_path):
    (tmp_path / "other.py").write_text("")
    with pytest.raises(ProvenanceError, match="is not inside the project"):
        sources([tmp_path / "other.py"], project)
    (project / "link.py").symlink_to(tmp_path / "other.py")
    with pytest.raises(ProvenanceError, match="is not inside the project"):
        sources(["link.py"], project)


def test_a_missing_file_is_named(project):
    with pytest.raises(ProvenanceError, match=r"absent\.py: cannot be read: No such file"):
        sources(["absent.py"], project)


def test_git_that_is_not_installed_is_not_needed_for_sources(repository, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert sources(["plain.py"], repository)[0] == {"plain.py": blob_id(b"y = 2\n")}
    assert dirty_files("0" * 40, {"plain.py": "0" * 40}, repository) is None
    with pytest.raises(ProvenanceError, match="git is not installed; pass --commit"):
        head_commit(repository)


def test_the_commit_is_known_with_a_detached_head_and_in_a_linked_worktree(repository, tmp_path):
    commit = git(repository, "rev-parse", "HEAD")
    assert head_commit(repository) == commit
    git(repository, "checkout", "-q", "--detach")
    assert head_commit(repository) == commit
    git(repository, "worktree", "add", "-q", str(tmp_path / "linked"))
    assert head_commit(tmp_path / "linked") == commit


def test_a_hook_of_another_repository_does_not_mislead(repository, tmp_path, monkeypatch):
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    commit = git(repository, "rev-parse", "HEAD")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    assert head_commit(repository) == commit


def test_without_history_the_way_out_is_told(project):
    with pytest.raises(ProvenanceError, match="no git history here; pass --commit"):
        head_commit(project)


def test_before_the_first_commit_the_way_out_is_told(project):
    git(project, "init", "-q")
    with pytest.raises(ProvenanceError, match="nothing has been committed here yet"):
        head_commit(project)


def test_a_repository_that_git_distrusts_is_told_apart(repository, monkeypatch):
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    with pytest.raises(ProvenanceError, match=r"--add safe\.directory"):
        head_commit(repository)


def test_files_that_differ_from_the_commit_are_listed(repository):
    commit = head_commit(repository)
    assert dirty_files(commit, sources(FILES, repository)[0], repository) == ()
    (repository / "plain.py").write_text("y = 3\n")
    (repository / "new.py").write_text("")
    files, _ = sources([*FILES, "new.py"], repository)
    assert dirty_files(commit, files, repository) == ("new.py", "plain.py")


def test_a_commit_that_is_not_here_cannot_be_asked(repository):
    assert dirty_files("0" * 40, {"plain.py": "0" * 40}, repository) is None
    assert dirty_files("0" * 40, {}, repository) == ()


def test_loaded_modules_are_named_by_distribution():
    found = distributions(["jsonschema.validators", "os", "os.path", "no_such_module"])
    assert found == {"jsonschema": importlib.metadata.version("jsonschema")}


def test_an_odd_path_is_not_read_as_an_option(repository):
    (repository / "-w").write_text("odd\n")
    files, _ = sources(["-w"], repository)
    assert files == {"-w": blob_id(b"odd\n")}
    assert dirty_files(head_commit(repository), files, repository) == ("-w",)


def test_a_filter_that_git_cannot_run_is_an_error(repository):
    (repository / ".gitattributes").write_text("plain.py filter=absent\n")
    git(repository, "config", "filter.absent.clean", "false")
    git(repository, "config", "filter.absent.required", "true")
    with pytest.raises(ProvenanceError, match=r"plain\.py: clean filter 'absent' failed"):
        sources(["plain.py"], repository)
