"""Puts a site on disk, all or nothing.

The new site is written to a folder beside the old one and takes its place in one step; a
build that fails or is killed leaves the old site whole.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import hashlib
import json
import os
import shutil
import stat
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from writeup.errors import WriteupError

MANIFEST = "manifest.json"
GENERATOR = "writeup"
_SEGMENT_BYTES = 255  # the longest file name of common file systems

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_NO_EXCHANGE = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM})


@dataclass(frozen=True, slots=True)
class Published:
    """What a publication did: counts of files, and whether anything was touched at all."""

    files: int
    written: int
    removed: int

    @property
    def changed(self) -> bool:
        return bool(self.written or self.removed)


def manifest(outputs: Mapping[str, bytes], inputs: Mapping[str, str], version: str) -> bytes:
    """The `manifest.json` of these outputs; inputs are sha256 digests by path."""
    content = {
        "schema": 1,
        "generator": f"{GENERATOR} {version}",
        "inputs": dict(inputs),
        "outputs": {
            path: hashlib.sha256(content).hexdigest()
            for path, content in outputs.items()
            if path != MANIFEST
        },
    }
    return (json.dumps(content, indent=1, sort_keys=True, ensure_ascii=True) + "\n").encode()


def publish(
    pages: Mapping[str, bytes], site: Path, *, root: Path, sources: Iterable[Path] = ()
) -> Published:
    """Makes `site` hold exactly `pages`, their manifest among them.

    root is the project's folder and sources the folders it is made from; neither may lie in
    the site, nor the site in a source. Raises WriteupError, with the old site left as it
    was, if the target is not ours to replace, is being written by another build, or cannot
    be written.
    """
    if MANIFEST not in pages:
        raise ValueError("a site without its manifest could not be replaced by the next build")
    _check_paths(pages)
    _check_place(site, root, sources)
    try:
        site.parent.mkdir(parents=True, exist_ok=True)
        with _locked(site):
            _repair(site)
            old = _old_files(site)
            return _replace(pages, site, old)
    except OSError as error:
        reason = error.strerror or str(error)
        raise WriteupError(
            f"the site cannot be written to '{site}': {reason}; the old one is as it was"
        ) from error


def replace_text(path: Path, content: bytes) -> None:
    """Give a file other content in one step; who may read it stays. Raises WriteupError."""
    staging = path.with_name(f".pin-{path.name}-{os.getpid()}")
    try:
        try:
            staging.write_bytes(content)
            shutil.copymode(path, staging)
            staging.replace(path)
        finally:
            staging.unlink(missing_ok=True)
    except OSError as error:
        raise WriteupError(f"cannot write {path}: {error.strerror or error}") from error


def _check_paths(pages: Iterable[str]) -> None:
    """Refuses names that would leave the site, or mean two things on some system."""
    seen: dict[str, str] = {}
    folders: dict[str, str] = {}
    for path in sorted(pages):
        reason = _unsafe(path)
        if reason:
            raise WriteupError(f"the page name {path!r} {reason}")
        folded = _fold(path)
        if folded in seen:
            raise WriteupError(f"{path!r} and {seen[folded]!r} are one file on some systems")
        seen[folded] = path
        parts = path.split("/")[:-1]
        for depth in range(1, len(parts) + 1):
            folder = "/".join(parts[:depth])
            known = folders.setdefault(_fold(folder), folder)
            if known != folder:
                raise WriteupError(f"{folder!r} and {known!r} are one folder on some systems")
    for folded in folders.keys() & seen.keys():
        raise WriteupError(f"{seen[folded]!r} is a page and a folder at once")


def _fold(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()


def _unsafe(path: str) -> str:
    """What is wrong with a path, empty if nothing is."""
    segments = path.split("/")
    if path.startswith("/") or "" in segments:
        return "is absolute or has an empty part"
    if "." in segments or ".." in segments:
        return "has a part that names a folder above or itself"
    if any(each in path for each in "\\$") or any(
        unicodedata.category(each).startswith("C") for each in path
    ):
        return "holds a backslash, a dollar or a control character"
    if any(len(each.encode()) > _SEGMENT_BYTES for each in segments):
        return "has a part that is longer than file systems allow"
    return ""


def _check_place(site: Path, root: Path, sources: Iterable[Path]) -> None:
    """Refuses a target that holds the project, or lies in what it is made from."""
    if site.is_symlink():
        raise WriteupError(f"'{site}' is a symbolic link; name the folder it leads to")
    if site.exists() and not site.is_dir():
        raise WriteupError(f"'{site}' is a file, not a folder")
    target = site.resolve()
    if root.resolve().is_relative_to(target):
        raise WriteupError(f"'{site}' holds the project itself; name a folder of its own")
    for source in [*sources, root / ".git"]:
        folder = source.resolve()
        if target.is_relative_to(folder) or folder.is_relative_to(target):
            raise WriteupError(f"'{site}' and the sources in '{source}' may not hold each other")


def _staging(site: Path) -> Path:
    return site.with_name(f".{site.name}.staging")


def _aside(site: Path) -> Path:
    return site.with_name(f".{site.name}.old")


@contextmanager
def _locked(site: Path) -> Iterator[None]:
    """Keeps a second build out; the system drops the lock if the process dies."""
    path = site.with_name(f".{site.name}.lock")
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise WriteupError(
                f"another build is writing '{site}'; run this one again when it is done"
            ) from None
        # Whoever held the lock before may have removed the file between open and lock.
        if not (path.exists() and os.path.samestat(os.fstat(descriptor), path.stat())):
            raise WriteupError(f"another build has just written '{site}'; run this one again")
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def _repair(site: Path) -> None:
    """Undoes what a killed build left: half a staging folder, or a site between two names."""
    aside = _aside(site)
    if aside.is_dir() and not site.exists():
        aside.rename(site)
    for leftover in (aside, _staging(site)):
        if leftover.is_symlink():
            raise WriteupError(f"'{leftover}' is a symbolic link; remove it")
        if leftover.exists():
            shutil.rmtree(leftover)


def _old_files(site: Path) -> frozenset[str]:
    """Paths of the files of the site that stands there, all of them ours.

    Raises WriteupError if no build of ours made the folder, or something was added to it.
    """
    if not site.exists() or not any(site.iterdir()):
        return frozenset()
    listed = _listed(site)
    found = frozenset(_walk(site))
    foreign = sorted(found - listed)
    if foreign:
        more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        raise WriteupError(
            f"'{site}' holds '{foreign[0]}'{more}, which no build wrote; move it away,"
            " or build into another folder"
        )
    return found


def _listed(site: Path) -> frozenset[str]:
    """The files that the manifest of the old site lists, itself among them."""
    refusal = WriteupError(
        f"'{site}' is not empty and no build made it; build into another folder, or empty it"
    )
    path = site / MANIFEST
    if path.is_symlink() or not path.is_file():
        raise refusal
    try:
        content = json.loads(path.read_bytes())
    except ValueError:
        raise refusal from None
    if not isinstance(content, dict) or not isinstance(content.get("outputs"), dict):
        raise refusal
    if not str(content.get("generator", "")).startswith(f"{GENERATOR} "):
        raise refusal
    return frozenset(content["outputs"]) | {MANIFEST}


def _walk(folder: Path, prefix: str = "") -> Iterator[str]:
    """Everything in a folder that is no folder itself, links not followed."""
    with os.scandir(folder) as entries:
        for entry in entries:
            name = prefix + entry.name
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(Path(entry.path), name + "/")
            else:
                yield name


def _same(path: Path, content: bytes) -> bool:
    """Whether a regular file holds exactly these bytes."""
    status = path.lstat()
    if not stat.S_ISREG(status.st_mode) or status.st_size != len(content):
        return False
    return path.read_bytes() == content


def _replace(pages: Mapping[str, bytes], site: Path, old: frozenset[str]) -> Published:
    kept = {path for path in sorted(old & pages.keys()) if _same(site / path, pages[path])}
    written, removed = len(pages) - len(kept), len(old - pages.keys())
    if not written and not removed:
        return Published(len(pages), 0, 0)
    staging = _staging(site)
    try:
        _fill(staging, pages, site, kept)
        _swap(staging, site)
    except OSError:
        # The old site stands; what was staged goes, and the first failure is the one told.
        shutil.rmtree(staging, ignore_errors=True)
        raise
    shutil.rmtree(staging, ignore_errors=True)
    return Published(len(pages), written, removed)


def _fill(staging: Path, pages: Mapping[str, bytes], site: Path, kept: set[str]) -> None:
    """Writes the new site; a file that did not change is the old one under a second name."""
    staging.mkdir()
    folders = {staging}
    for path in sorted(pages):
        target = staging / path
        target.parent.mkdir(parents=True, exist_ok=True)
        folders.update(each for each in target.parents if each.is_relative_to(staging))
        if path in kept and _link(site / path, target):
            continue
        with target.open("xb") as file:
            file.write(pages[path])
            file.flush()
            os.fsync(file.fileno())
    for folder in sorted(folders, reverse=True):
        _sync(folder)


def _link(old: Path, new: Path) -> bool:
    """False where the file system has no second names; the caller writes instead."""
    try:
        os.link(old, new, follow_symlinks=False)
    except OSError:
        return False
    return True


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _swap(staging: Path, site: Path) -> None:
    """Gives the staged site its name; the old one, if there is one, goes away."""
    if not site.exists():
        staging.rename(site)
    elif not _exchange(staging, site):
        aside = _aside(site)
        site.rename(aside)
        try:
            staging.rename(site)
        except OSError:
            aside.rename(site)
            raise
        shutil.rmtree(aside, ignore_errors=True)
    _sync(site.parent)


def _exchange(first: Path, second: Path) -> bool:
    """Swaps two folders in one step; False where the system cannot (renameat2, Linux)."""
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    done = renameat2(
        _AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), _RENAME_EXCHANGE
    )
    if done == 0:
        return True
    code = ctypes.get_errno()
    if code in _NO_EXCHANGE:
        return False
    raise OSError(code, os.strerror(code), str(second))
