"""What a session has finished, on disk as it finishes.

One line of JSON for each finished thing, synced before the session goes on, so that a kill,
a full disk or a power cut loses only what was under way. A session that ends well removes
its journal, for the artifact then holds everything.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

FOLDER = Path(".writeup")
_JOURNALS = FOLDER / "journal"


@dataclass(frozen=True, slots=True)
class Leftover:
    """The journal of a session that did not end: its path, start, and finished blocks."""

    path: Path
    started: str
    blocks: int


class Journal:
    """An open journal; lines are on disk when `write` returns."""

    def __init__(self, root: Path, run_id: str) -> None:
        folder = root / _JOURNALS
        folder.mkdir(parents=True, exist_ok=True)
        # Everything below is ours and nothing of it belongs in a commit.
        (root / FOLDER / ".gitignore").write_text("*\n", encoding="ascii")
        self.path = _unused(folder, run_id)
        self._file = self.path.open("x", encoding="utf-8")
        _sync_folder(folder)

    def write(self, kind: str, **facts: Any) -> None:
        """Add a line. OSError when it cannot reach the disk: the session must not go on."""
        self._file.write(json.dumps({"kind": kind, **facts}, allow_nan=False) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def remove(self) -> None:
        """The artifact is written; the journal has served."""
        self._file.close()
        self.path.unlink()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()


def read(path: Path) -> Iterator[dict[str, Any]]:
    """The whole lines of a journal; a last line that was cut off while written is left out."""
    for line in path.read_bytes().split(b"\n")[:-1]:
        yield json.loads(line)


def leftovers(root: Path) -> tuple[Leftover, ...]:
    """Journals of sessions that did not end, oldest first. Call it while holding the lock."""
    found = []
    for path in sorted((root / _JOURNALS).glob("*.jsonl")):
        lines = list(read(path))
        started = next((line["started"] for line in lines if line["kind"] == "begin"), "")
        blocks = sum(line["kind"] == "block" for line in lines)
        found.append(Leftover(path, started, blocks))
    return tuple(found)


def _unused(folder: Path, run_id: str) -> Path:
    """A path for this run; an earlier session of the same minute keeps its own."""
    number = 1
    path = folder / f"{run_id}.jsonl"
    while path.exists():
        number += 1
        path = folder / f"{run_id}-{number}.jsonl"
    return path


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
