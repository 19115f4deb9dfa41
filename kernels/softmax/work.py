"""Counted work of softmax over rows: what must be computed and what must move.

A term is a whole array read or written by one operation, in elements of the matrix; what
is kept once a row (maximum, sum) is left out. Bytes are counted at the level of arrays: an
operand that still lies in a cache is counted like any other, so the count of an
implementation is an upper bound of its DRAM traffic.
"""

from __future__ import annotations

from dataclasses import dataclass

FLOAT32 = 4  # bytes an element


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """One operation over every element: arrays read, arrays written, flop an element.

    An exponential and a division are one flop each, and so is a comparison of the maximum.
    """

    what: str
    reads: int
    writes: int
    flops: int


# What no implementation can avoid: the input once, the output once, and the arithmetic.
COMPULSORY = (
    Sweep(what="maximum of x", reads=1, writes=0, flops=1),
    Sweep(what="x - maximum", reads=0, writes=0, flops=1),
    Sweep(what="exponential", reads=0, writes=0, flops=1),
    Sweep(what="sum", reads=0, writes=0, flops=1),
    Sweep(what="quotient", reads=0, writes=1, flops=1),
)

# naive.py and inplace.py: each operation reads and writes whole arrays.
SEPARATE = (
    Sweep(what="maximum of x", reads=1, writes=0, flops=1),
    Sweep(what="x - maximum", reads=1, writes=1, flops=1),
    Sweep(what="exponential", reads=1, writes=1, flops=1),
    Sweep(what="sum", reads=1, writes=0, flops=1),
    Sweep(what="quotient", reads=1, writes=1, flops=1),
)

# chunked.py: the first sweep keeps only maximum and sum, the second computes all again.
CHUNKED = (
    Sweep(what="maximum of a chunk", reads=1, writes=0, flops=1),
    Sweep(what="chunk - maximum", reads=1, writes=1, flops=1),
    Sweep(what="exponential", reads=1, writes=1, flops=1),
    Sweep(what="sum", reads=1, writes=0, flops=1),
    Sweep(what="chunk - maximum, again", reads=1, writes=1, flops=1),
    Sweep(what="exponential, again", reads=1, writes=1, flops=1),
    Sweep(what="quotient", reads=1, writes=1, flops=1),
)

# split.py, where a row is more than one piece.
SPLIT = (
    Sweep(what="softmax of a piece", reads=1, writes=1, flops=5),
    Sweep(what="maximum of a piece of x", reads=1, writes=0, flops=1),
    Sweep(what="maximum of a piece of the output", reads=1, writes=0, flops=1),
    Sweep(what="piece times its weight", reads=1, writes=1, flops=1),
)


def moved(sweeps: tuple[Sweep, ...], rows: int, columns: int) -> int:
    """Bytes that these sweeps read plus write over a float32 matrix."""
    return sum(sweep.reads + sweep.writes for sweep in sweeps) * rows * columns * FLOAT32


def computed(sweeps: tuple[Sweep, ...], rows: int, columns: int) -> int:
    """Flop of these sweeps over a matrix."""
    return sum(sweep.flops for sweep in sweeps) * rows * columns
