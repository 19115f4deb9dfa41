"""One file that carries an artifact and its objects from where it was measured.

Some machines hand back a few files only. `harness run --bundle FILE` writes such a file beside
the folder of results, and `harness merge FILE` takes it like any folder.
"""

from __future__ import annotations

import io
import json
import re
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.errors import HarnessError

# Nothing else is a bundle's: a name is a place on the disk of whoever opens it.
_MEMBER = re.compile(r"(?:[0-9a-f]{40}|imported-[0-9a-f]{64})\.json|objects/[0-9a-f]{40}")


class BundleError(HarnessError):
    """A file that is no bundle, or one that cannot be written; the message is for a person."""


def write(artifact: Path, target: Path) -> None:
    """Put an artifact, with the objects beside it that it names, into one compressed file."""
    runs = json.loads(artifact.read_bytes())["runs"].values()
    trees = [tree for run in runs for tree in (run.get("sources", {}), *_others(run))]
    objects = {blob for tree in trees for blob in tree.get("files", {}).values()}
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(target, "w:gz") as archive:
            _add(archive, artifact.name, artifact.read_bytes())
            for blob in sorted(objects):
                content = (artifact.parent / "objects" / blob).read_bytes()
                _add(archive, f"objects/{blob}", content)
    except OSError as error:
        raise BundleError(f"{target}: cannot be written: {error.strerror}") from error


def _others(run: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from run.get("trees", {}).values()


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


def is_bundle(path: Path) -> bool:
    """Whether this is a file that only a bundle can be: not a folder, not an artifact."""
    return path.is_file() and path.suffix != ".json"


@contextmanager
def opened(path: Path) -> Iterator[Path]:
    """The folder of results that a bundle holds, for a while. Raises BundleError."""
    with tempfile.TemporaryDirectory(prefix="writeup-bundle-") as name:
        folder = Path(name)
        try:
            with tarfile.open(path) as archive:
                for member in archive:
                    _unpack(archive, member, path, folder)
        except (tarfile.TarError, EOFError, OSError) as error:
            raise BundleError(f"{path}: cannot be read as a bundle of results: {error}") from error
        yield folder


def _unpack(archive: tarfile.TarFile, member: tarfile.TarInfo, path: Path, folder: Path) -> None:
    content = archive.extractfile(member) if member.isfile() else None
    if content is None or not _MEMBER.fullmatch(member.name):
        raise BundleError(f"{path}: holds {member.name!r}, which is no result")
    target = folder / member.name
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(content.read())
