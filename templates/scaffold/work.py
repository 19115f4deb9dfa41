"""Counted work of $subject: what must be computed and moved, whoever computes it."""

from __future__ import annotations


def flops(rows: int, columns: int) -> int:
    """A product and a sum for each element."""
    return 2 * rows * columns


def compulsory_bytes(rows: int, columns: int, itemsize: int) -> int:
    """Each input read once, each output written once."""
    return (2 * rows * columns + columns) * itemsize


def eager_bytes(rows: int, columns: int, itemsize: int) -> int:
    """The same, and the stored product written once and read once."""
    return compulsory_bytes(rows, columns, itemsize) + 2 * rows * columns * itemsize
