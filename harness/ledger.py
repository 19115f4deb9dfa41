"""Whose turn it is, written where it outlives the process.

Before a variant is called, its process notes the caller's number in a mapped file: two
plain stores, no system call, nothing that wakes the parent while a sample is taken. When
the process then dies or falls silent, the parent reads who is to be charged.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path
from types import TracebackType
from typing import Self

# A sequence number that changes with every entry, and the number of who is being called.
_LAYOUT = struct.Struct("=qq")
NOBODY = -1


class Ledger:
    """The mapped file, seen from either side.

    The process that calls variants uses `enter` and `leave`; its parent reads `sequence`
    (unchanged for long: silence) and `open` (who is being called, or NOBODY).
    """

    __slots__ = ("_map", "_turn")

    def __init__(self, path: Path) -> None:
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), _LAYOUT.size)
        self._turn = 0

    @classmethod
    def create(cls, path: Path) -> Ledger:
        """A new ledger in which nobody is being called."""
        path.write_bytes(_LAYOUT.pack(0, NOBODY))
        return cls(path)

    def enter(self, who: int) -> None:
        """Note that the caller with this number is about to be called."""
        self._turn += 1
        _LAYOUT.pack_into(self._map, 0, self._turn, who)

    def leave(self) -> None:
        """Note that the call came back."""
        self._turn += 1
        _LAYOUT.pack_into(self._map, 0, self._turn, NOBODY)

    @property
    def sequence(self) -> int:
        """A number that differs after every entry and every return."""
        return int(_LAYOUT.unpack_from(self._map)[0])

    @property
    def open(self) -> int:
        """The number of who is being called, or NOBODY."""
        return int(_LAYOUT.unpack_from(self._map)[1])

    def close(self) -> None:
        self._map.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
