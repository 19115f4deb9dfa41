"""What was measured, provable by content: git's own ids of the files that were loaded.

Nothing here needs git where there is none: an id can be computed from the bytes alone. With
git at hand its own rules decide what the stored text is (line endings, filters).
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

# Variables that tie git to one repository (git rev-parse --local-env-vars): what a hook left
# behind must not make it answer for another one.
_LOCAL = frozenset(
    {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_DIR",
        "GIT_GRAFT_FILE",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_SHALLOW_FILE",
        "GIT_WORK_TREE",
    }
)
_HINT = "pass --commit with the forty hexadecimal digits of the commit that is measured"


class ProvenanceError(Exception):
    """Where the code comes from cannot be told; the message is for a person."""


def blob_id(content: bytes) -> str:
    """The id that git gives to a file of this content.

    Source: git-hash-object(1), "blob" objects in a SHA-1 repository.
    """
    header = b"blob %d\0" % len(content)
    return hashlib.sha1(header + content, usedforsecurity=False).hexdigest()


def sources(files: Iterable[Path | str], root: Path) -> tuple[dict[str, str], dict[str, bytes]]:
    """Blob id by path relative to the root, and text by blob id.

    The text is what git would store for that path: in a work tree, git applies the
    attributes and settings that hold there (with `text=auto` or `core.autocrlf`, CRLF line
    ends become LF), so that the id is the one a commit of the file has. Without git the
    bytes stand as they are. Nothing is written to the repository. A relative path is taken
    from the root. Stories are left out: prose is not measured.

    Raises ProvenanceError for a file that is outside the root (installed code is recorded
    by `distributions`), that cannot be read, or that a filter of git's cannot store.
    """
    found: dict[str, str] = {}
    objects: dict[str, bytes] = {}
    contents = dict(_read(files, root))
    for path, (identifier, text) in _as_git_stores(contents, root).items():
        found[path] = identifier
        objects[identifier] = text
    return found, objects


def distributions(modules: Iterable[str]) -> dict[str, str]:
    """Version by distribution, of the installed distributions that the modules are from.

    Names may be dotted; the top level counts. The standard library and modules of no
    distribution (the project's own) are left out.
    """
    tops = {name.partition(".")[0] for name in modules} - sys.stdlib_module_names
    owners = importlib.metadata.packages_distributions()
    names = {owner for top in tops for owner in owners.get(top, ())}
    return {name: importlib.metadata.version(name) for name in sorted(names)}


def head_commit(root: Path) -> str:
    """The commit that is checked out, also in a linked worktree or with a detached head.

    Raises ProvenanceError that names `--commit` where there is no history to ask. Whether
    the files are those of the commit is another question: see `dirty_files`.
    """
    answer = _git(root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if answer is None:
        raise ProvenanceError(f"git is not installed; {_HINT}")
    if answer.returncode != 0:
        inside = _git(root, "rev-parse", "--is-inside-work-tree")
        if inside is not None and inside.returncode == 0:
            raise ProvenanceError(f"nothing has been committed here yet; commit first, or {_HINT}")
        said = inside.stderr.decode(errors="replace") if inside is not None else ""
        if "safe.directory" in said:
            raise ProvenanceError(
                f"git does not trust this folder, which another user owns; {_HINT}, or allow it "
                "with `git config --global --add safe.directory`"
            )
        raise ProvenanceError(f"there is no git history here; {_HINT}")
    commit = answer.stdout.decode().strip()
    if len(commit) != 40:
        raise ProvenanceError(f"the repository names commits by SHA-256; {_HINT}")
    return commit


def dirty_files(commit: str, files: Mapping[str, str], root: Path) -> tuple[str, ...] | None:
    """Loaded files whose text the commit does not hold at their path, sorted.

    files maps paths, relative to the root, to blob ids, as `sources` gives them. The answer
    is None where git cannot say: no git, no history, or not this commit.
    """
    if not files:
        return ()
    answer = _git(root, "ls-tree", "-r", "-z", commit, "--", *files)
    if answer is None or answer.returncode != 0:
        return None
    held: dict[str, str] = {}
    for entry in answer.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1]:
        facts, _, path = entry.partition("\t")
        held[path] = facts.split(" ")[2]
    return tuple(sorted(path for path, blob in files.items() if held.get(path) != blob))


def _read(files: Iterable[Path | str], root: Path) -> Iterable[tuple[str, bytes]]:
    top = root.resolve()
    for file in files:
        path = (top / file).resolve()
        if not path.is_relative_to(top):
            raise ProvenanceError(f"{path}: is not inside the project, {top}")
        if path.name == "story.md":
            continue
        try:
            yield path.relative_to(top).as_posix(), path.read_bytes()
        except OSError as error:
            raise ProvenanceError(f"{path}: cannot be read: {error.strerror}") from error


def _as_git_stores(contents: Mapping[str, bytes], root: Path) -> dict[str, tuple[str, bytes]]:
    """Id and stored text by path; the bytes as they are where git has no say."""
    plain = {path: (blob_id(content), content) for path, content in contents.items()}
    top = _work_tree(root)
    if not contents or top is None:
        return plain
    # Paths on standard input are taken from the top of the work tree, wherever git is called.
    prefix = root.resolve().relative_to(top)
    asked = "".join(f"{prefix / path}\n" for path in contents)
    answer = _git(top, "hash-object", "--stdin-paths", given=os.fsencode(asked))
    if answer is None or answer.returncode != 0:
        said = answer.stderr.decode(errors="replace").strip() if answer else "no answer"
        raise ProvenanceError(f"git cannot say how it would store the loaded files: {said}")
    stored = dict(zip(contents, answer.stdout.decode().split(), strict=True))
    return {
        path: plain[path] if stored[path] == plain[path][0] else _filtered(path, content, root)
        for path, content in contents.items()
    }


def _filtered(path: str, content: bytes, root: Path) -> tuple[str, bytes]:
    """Id and text of content as git would store it at path, after its filters.

    The object is made in a folder of its own, so the repository stays as it is.
    """
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder)
        made = _git(
            root, "hash-object", "-w", "--stdin", "--path", path, given=content, store=store
        )
        if made is None or made.returncode != 0:
            raise ProvenanceError(f"{path}: git cannot say how it would store this file")
        identifier = made.stdout.decode().strip()
        text = _git(root, "cat-file", "blob", identifier, store=store)
        if text is None or blob_id(text.stdout) != identifier:
            raise ProvenanceError(f"{path}: git names an object that it does not hold")
        return identifier, text.stdout


def _work_tree(root: Path) -> Path | None:
    """Top of the work tree that the root is in; None outside of any, and without git."""
    answer = _git(root, "rev-parse", "--show-toplevel")
    if answer is None or answer.returncode != 0:
        return None
    return Path(os.fsdecode(answer.stdout.removesuffix(b"\n"))).resolve()


def _git(
    root: Path, *words: str, given: bytes = b"", store: Path | None = None
) -> subprocess.CompletedProcess[bytes] | None:
    """Ask git in the root; None where there is no git. Objects are made in store, if given."""
    environ = {name: value for name, value in os.environ.items() if name not in _LOCAL}
    environ |= {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}
    if store is not None:
        environ["GIT_OBJECT_DIRECTORY"] = str(store)
    try:
        return subprocess.run(
            ["git", "-C", str(root), *words],
            input=given,
            capture_output=True,
            check=False,
            env=environ,
        )
    except FileNotFoundError:
        return None
