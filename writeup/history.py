"""What git knows about measured sources: does a commit hold them, or another one?

Asks the `git` program and changes nothing. Where history cannot answer (no checkout, a
shallow clone) the answer says so, and what would help.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SECONDS = 120.0


class Held(StrEnum):
    """How history answers whether a commit holds given blobs at given paths."""

    YES = "yes"
    ELSEWHERE = "elsewhere"  # another commit does: the measured one was squashed or rebased
    NO = "no"  # no commit that can be reached does: the sources were never committed
    UNASKED = "unasked"  # a shallow clone lacks the commits that would know
    UNAVAILABLE = "unavailable"  # there is no history here


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome for one commit.

    commit is the one that holds the blobs, if any does; missing the paths at which the
    asked commit does not hold them; explanation a sentence for a person, hint what helps.
    """

    held: Held
    commit: str | None = None
    missing: tuple[str, ...] = ()
    explanation: str = ""
    hint: str = ""


class _GitError(Exception):
    """git could not answer; the message is its own."""


def _git(root: Path, *arguments: str, given: str | None = None) -> str:
    """Output of a git command run in `root`. Raises _GitError with what git said."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment = kept | {
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "LC_ALL": "C",
    }
    try:
        done = subprocess.run(
            ["git", "--literal-pathspecs", "-C", str(root), *arguments],
            input=(given or "").encode("utf-8", "surrogateescape"),
            capture_output=True,
            env=environment,
            timeout=_SECONDS,
            check=True,
        )
    except FileNotFoundError:
        raise _GitError("there is no git program here") from None
    except subprocess.TimeoutExpired:
        raise _GitError(f"git {arguments[0]} did not answer in time") from None
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip().splitlines()
        raise _GitError(said[0] if said else f"git {arguments[0]} failed") from None
    return done.stdout.decode("utf-8", "surrogateescape")


def blobs_at(root: Path, commit: str, paths: Iterable[str]) -> dict[str, str]:
    """Blob ids that `commit` holds at `paths` (relative to `root`), those it lacks left out.

    Empty where there is no such commit or no history at all.
    """
    if not _COMMIT.fullmatch(commit):
        return {}
    try:
        listed = _git(root, "ls-tree", "-r", "-z", commit)
    except _GitError:
        return {}
    wanted = set(paths)
    found: dict[str, str] = {}
    for entry in filter(None, listed.split("\0")):
        described, _, path = entry.partition("\t")
        _, kind, blob = described.split()
        if kind == "blob" and path in wanted:
            found[path] = blob
    return found


def holds(root: Path, commit: str, blobs: Mapping[str, str]) -> Answer:
    """Whether `commit` holds each blob id of `blobs` at its path (relative to `root`)."""
    if not _COMMIT.fullmatch(commit):
        return Answer(
            Held.UNAVAILABLE, explanation="the record names no commit, so history has no say"
        )
    try:
        return _ask(root, commit, blobs)
    except _GitError as error:
        return Answer(Held.UNAVAILABLE, explanation=f"history could not be asked: {error}")


def _ask(root: Path, commit: str, blobs: Mapping[str, str]) -> Answer:
    if not _tracked(root):
        return Answer(
            Held.UNAVAILABLE,
            explanation="this folder is no checkout: the repository around it does not track it",
        )
    known = _is_commit(root, commit)
    at_commit = blobs_at(root, commit, blobs) if known else {}
    missing = tuple(sorted(path for path, blob in blobs.items() if at_commit.get(path) != blob))
    if known and not missing:
        return Answer(Held.YES, commit)
    short = commit[:12]
    other = next(_holders(root, blobs), None)
    if other is not None:
        why = "is not in this history" if not known else "holds other sources"
        return Answer(
            Held.ELSEWHERE,
            other,
            missing,
            f"{short} {why}, but {other[:12]} holds what was measured: squashed or rebased",
        )
    if _git(root, "rev-parse", "--is-shallow-repository").strip() == "true":
        what = "holds other sources" if known else "is not among the commits of this shallow clone"
        return Answer(
            Held.UNASKED,
            None,
            missing,
            f"{short} {what}; the commits beyond the clone's depth could not be asked",
            "fetch them with `git fetch --unshallow` (in a workflow: `fetch-depth: 0`)",
        )
    if known:
        return Answer(
            Held.NO,
            None,
            missing,
            f"neither {short} nor any other commit holds {_named(missing)} as measured",
            "commit first, then measure; if it lies on a branch elsewhere, fetch that branch",
        )
    return Answer(
        Held.NO,
        None,
        missing,
        f"{short} is not in this history, and no commit holds {_named(missing)} as measured",
        "fetch the branch it is on, or measure a committed state",
    )


def _named(paths: tuple[str, ...]) -> str:
    """The first of some paths, and how many more there are."""
    rest = len(paths) - 1
    return f"{paths[0]} and {rest} more" if rest > 0 else "".join(paths)


def _is_commit(root: Path, commit: str) -> bool:
    try:
        return _git(root, "cat-file", "-t", commit).strip() == "commit"
    except _GitError:
        return False


def _tracked(root: Path) -> bool:
    """Whether the repository that `root` lies in knows this folder at all.

    A release unpacked inside someone's repository lies in a repository that says nothing
    about it. Raises _GitError outside of any repository.
    """
    prefix = _git(root, "rev-parse", "--show-prefix").strip("\n")
    if not prefix:
        return True
    if _git(root, "ls-files", "-z", "--", "."):
        return True
    try:
        return bool(_git(root, "rev-list", "--all", "--max-count=1", "--", "."))
    except _GitError:
        return False


def _holders(root: Path, blobs: Mapping[str, str]) -> Iterator[str]:
    """Commits, newest first, that hold every blob at its path.

    Only a commit that changes one of the paths, or a merge, can be the first to hold a new
    combination of them; `--full-history` keeps merges that simplification would drop.
    """
    paths = sorted(blobs)
    if not paths or any("\n" in path for path in paths):
        return
    commits = _git(root, "rev-list", "--all", "--full-history", "--", *paths).split()
    asked = "".join(f"{commit}:./{path}\n" for commit in commits for path in paths)
    answers = _git(root, "cat-file", "--batch-check=%(objectname)", given=asked).splitlines()
    for index, commit in enumerate(commits):
        found = answers[index * len(paths) : (index + 1) * len(paths)]
        if found == [blobs[path] for path in paths]:
            yield commit
