import fcntl
import json
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from writeup import write
from writeup.errors import WriteupError
from writeup.write import MANIFEST, manifest, publish


def made(**pages):
    content = {path.replace("__", "/") + ".html": text.encode() for path, text in pages.items()}
    return {**content, MANIFEST: manifest(content, {"a.md": "0" * 64}, "0.1.0")}


def files(site):
    return {p.relative_to(site).as_posix(): p.read_bytes() for p in site.rglob("*") if p.is_file()}


def leftovers(site):
    return sorted(p.name for p in site.parent.iterdir() if p.name.startswith(f".{site.name}."))


@pytest.fixture
def root(tmp_path):
    (tmp_path / "kernels").mkdir()
    (tmp_path / "results").mkdir()
    return tmp_path


def put(pages, root, site=None):
    sources = (root / "kernels", root / "results")
    return publish(pages, site or root / "site", root=root, sources=sources)


def test_a_first_site_is_put_there_whole(root):
    done = put(made(index="a", stories__b="b"), root)
    assert files(root / "site") == made(index="a", stories__b="b")
    assert (done.files, done.written, done.removed) == (3, 3, 0)
    assert leftovers(root / "site") == []


def test_the_next_site_replaces_it_and_nothing_old_stays(root):
    put(made(index="a", old="b"), root)
    done = put(made(index="c", new="d"), root)
    assert files(root / "site") == made(index="c", new="d")
    assert done.removed == 1
    assert leftovers(root / "site") == []


def test_equal_bytes_are_not_rewritten(root):
    put(made(index="a"), root)
    before = {p: p.stat() for p in [root / "site", *(root / "site").iterdir()]}
    done = put(made(index="a"), root)
    assert not done.changed
    for path, status in before.items():
        assert (path.stat().st_ino, path.stat().st_mtime_ns) == (
            status.st_ino,
            status.st_mtime_ns,
        )


def test_an_unchanged_page_keeps_its_file_beside_a_changed_one(root):
    put(made(index="a", other="b"), root)
    before = (root / "site/other.html").stat()
    done = put(made(index="c", other="b"), root)
    after = (root / "site/other.html").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert done.written == 2, "the page and the manifest"


def test_a_page_of_equal_length_that_changed_is_written(root):
    put(made(index="a"), root)
    (root / "site/index.html").write_bytes(b"z")
    put(made(index="a"), root)
    assert files(root / "site") == made(index="a")


def test_without_an_exchange_two_renames_do(root, monkeypatch):
    monkeypatch.setattr(write, "_exchange", lambda *_: False)
    put(made(index="a"), root)
    put(made(index="b"), root)
    assert files(root / "site") == made(index="b")
    assert leftovers(root / "site") == []


def test_a_site_left_between_two_names_is_repaired(root):
    put(made(index="a"), root)
    (root / "site").rename(root / ".site.old")
    (root / ".site.staging").mkdir()
    (root / ".site.staging/half.html").write_text("x")
    put(made(index="b"), root)
    assert files(root / "site") == made(index="b")
    assert leftovers(root / "site") == []


def test_a_repair_alone_gives_the_old_site_back(root):
    put(made(index="a"), root)
    (root / "site").rename(root / ".site.old")
    done = put(made(index="a"), root)
    assert not done.changed
    assert files(root / "site") == made(index="a")


def test_a_killed_build_leaves_the_old_site_and_the_next_one_cleans_up(root):
    put(made(index="a"), root)
    script = textwrap.dedent(
        """
        import os, sys
        from pathlib import Path
        from writeup import write
        root = Path(sys.argv[1])
        def die(staging, site):
            os.kill(os.getpid(), 9)
        write._swap = die
        pages = {"index.html": b"b"}
        pages["manifest.json"] = write.manifest(pages, {}, "0.1.0")
        write.publish(pages, root / "site", root=root)
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(root)],
        check=False,
        cwd=Path(write.__file__).parent.parent,
    )
    assert done.returncode == -signal.SIGKILL
    assert files(root / "site") == made(index="a")
    assert ".site.staging" in leftovers(root / "site")
    put(made(index="c"), root)
    assert files(root / "site") == made(index="c")
    assert leftovers(root / "site") == []


def test_a_full_target_leaves_the_old_site_and_says_so(root):
    put(made(index="a"), root)
    script = textwrap.dedent(
        """
        import resource, sys
        from pathlib import Path
        from writeup import write
        from writeup.errors import WriteupError
        root = Path(sys.argv[1])
        pages = {"index.html": b"b" * 100_000}
        pages["manifest.json"] = write.manifest(pages, {}, "0.1.0")
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        try:
            write.publish(pages, root / "site", root=root)
        except WriteupError as error:
            sys.exit(str(error))
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(root)],
        check=False,
        cwd=Path(write.__file__).parent.parent,
        capture_output=True,
        text=True,
    )
    assert "File too large; the old one is as it was" in done.stderr
    assert files(root / "site") == made(index="a")
    assert leftovers(root / "site") == []


def test_a_read_only_target_is_told():
    # A folder that refuses new files even to the superuser.
    with pytest.raises(WriteupError, match="cannot be written to '/proc/self/site'"):
        publish(made(index="a"), Path("/proc/self/site"), root=Path("/nonexistent/project"))


def test_a_second_build_at_once_is_told_to_wait(root):
    with (root / ".site.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(WriteupError, match="another build is writing"):
            put(made(index="a"), root)
    assert not (root / "site").exists()
    put(made(index="a"), root)
    assert leftovers(root / "site") == []


def test_a_folder_that_is_not_ours_is_left_alone(root):
    (root / "site").mkdir()
    (root / "site/thesis.tex").write_text("years of work")
    with pytest.raises(WriteupError, match="no build made it"):
        put(made(index="a"), root)
    assert files(root / "site") == {"thesis.tex": b"years of work"}


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"outputs": {}}', json.dumps({"generator": "hugo 1", "outputs": {}})]
)
def test_a_manifest_of_something_else_makes_no_site_ours(root, content):
    (root / "site").mkdir()
    (root / "site" / MANIFEST).write_text(content)
    with pytest.raises(WriteupError, match="no build made it"):
        put(made(index="a"), root)


def test_a_file_added_to_our_site_is_not_lost(root):
    put(made(index="a"), root)
    (root / "site/CNAME").write_text("example.org")
    with pytest.raises(WriteupError, match="'CNAME', which no build wrote"):
        put(made(index="b"), root)
    assert (root / "site/CNAME").read_text() == "example.org"


def test_a_link_within_our_site_is_neither_followed_nor_removed(root):
    put(made(index="a"), root)
    (root / "site/kernels").symlink_to(root / "kernels")
    with pytest.raises(WriteupError, match="'kernels', which no build wrote"):
        put(made(index="b"), root)
    assert (root / "kernels").is_dir()


def test_an_empty_folder_may_become_the_site(root):
    (root / "site").mkdir()
    put(made(index="a"), root)
    assert files(root / "site") == made(index="a")


def test_a_symbolic_link_as_target_is_refused(root):
    (root / "elsewhere").mkdir()
    (root / "site").symlink_to(root / "elsewhere")
    with pytest.raises(WriteupError, match="symbolic link"):
        put(made(index="a"), root)


def test_a_staging_folder_that_is_a_link_is_refused(root):
    put(made(index="a"), root)
    (root / ".site.staging").symlink_to(root / "kernels")
    with pytest.raises(WriteupError, match="symbolic link"):
        put(made(index="b"), root)


@pytest.mark.parametrize("target", [".", "..", "kernels", "kernels/softmax", "results", ".git/x"])
def test_a_target_that_holds_or_lies_in_the_project_is_refused(root, target):
    with pytest.raises(WriteupError, match=r"holds the project|may not hold each other"):
        put(made(index="a"), root, root / target)


def test_a_file_as_target_is_refused(root):
    (root / "site").write_text("x")
    with pytest.raises(WriteupError, match="is a file"):
        put(made(index="a"), root)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/etc/passwd", "absolute"),
        ("a//b.html", "empty part"),
        ("a/", "empty part"),
        ("../a.html", "folder above"),
        ("a/./b.html", "folder above or itself"),
        ("a/../../b.html", "folder above"),
        ("a\\b.html", "backslash"),
        ("$HOME/a.html", "dollar"),
        ("a\nb.html", "control"),
        ("a\x00b.html", "control"),
        ("a\u202eb.html", "control"),
        ("x" * 256, "longer"),
    ],
)
def test_a_name_that_would_leave_the_site_is_refused(root, path, reason):
    with pytest.raises(WriteupError, match=reason):
        put({**made(index="a"), path: b""}, root)
    assert not (root / "site").exists()


@pytest.mark.parametrize(
    "names",
    [("a/B.html", "a/b.html"), ("A/x.html", "a/y.html"), ("caf\u00e9", "cafe\u0301"), ("a", "a/b")],
)
def test_names_that_are_one_on_some_systems_are_refused(root, names):
    with pytest.raises(WriteupError, match=r"some systems|page and a folder"):
        put({**made(index="a"), **dict.fromkeys(names, b"")}, root)


def test_a_manifest_is_sorted_and_leaves_itself_out():
    text = manifest({"b.html": b"b", MANIFEST: b"x", "a.html": b"a"}, {"z": "1", "y": "2"}, "0.1.0")
    found = json.loads(text)
    assert list(found["outputs"]) == ["a.html", "b.html"]
    assert list(found["inputs"]) == ["y", "z"]
    assert found["generator"] == "writeup 0.1.0"
    assert text == manifest({"a.html": b"a", "b.html": b"b"}, {"y": "2", "z": "1"}, "0.1.0")


def test_a_site_without_its_manifest_is_a_bug(root):
    with pytest.raises(ValueError, match="manifest"):
        put({"index.html": b"a"}, root)


def test_the_exchange_swaps_two_folders_in_one_step(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    if not write._exchange(tmp_path / "a", tmp_path / "b"):
        pytest.skip("this file system has no exchange")
    assert (tmp_path / "a/b").exists()
    assert (tmp_path / "b/a").exists()
