"""Counted work of softmax over rows: what must be computed and what must move.

A term is the whole matrix, read or written by one sweep over it, in elements; what is kept
once a row (maximum, sum, counter) is left out. Bytes are counted at the level of sweeps: one
that finds the matrix in a cache is counted like any other, so the count of an implementation
is an upper bound of its DRAM traffic.
"""

from __future__ import annotations

from dataclasses import dataclass

# Bytes an element, by torch's name of the dtype.
SIZES = {"float32": 4, "float16": 2, "bfloat16": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """One pass over every element: matrices read, matrices written, flop an element.

    An exponential and a division are one flop each, and so is a comparison of the maximum.
    """

    what: str
    reads: int
    writes: int
    flops: int


# What no implementation can avoid: the input once, the output once, and the arithmetic.
COMPULSORY = (
    Sweep(what="maximum of x", reads=1, writes=0, flops=1),
    Sweep(what="exponential of x - maximum", reads=0, writes=0, flops=2),
    Sweep(what="sum", reads=0, writes=0, flops=1),
    Sweep(what="quotient", reads=0, writes=1, flops=1),
)

# naive.py: each launch reads x, and the last two compute the exponential.
SEPARATE = (
    Sweep(what="maximum of x", reads=1, writes=0, flops=1),
    Sweep(what="sum of exponentials of x - maximum", reads=1, writes=0, flops=3),
    Sweep(what="quotient of the exponential, again, and the sum", reads=1, writes=1, flops=3),
)

# online.py: the second sweep reads x and computes the exponential again.
ONLINE = (
    Sweep(what="maximum of x and sum of exponentials", reads=1, writes=0, flops=4),
    Sweep(what="quotient of the exponential, again, and the sum", reads=1, writes=1, flops=3),
)


def moved(sweeps: tuple[Sweep, ...], *, elements: int, dtype: str) -> int:
    """Bytes that these sweeps read plus write over a matrix of so many elements."""
    return sum(sweep.reads + sweep.writes for sweep in sweeps) * elements * SIZES[dtype]


def computed(sweeps: tuple[Sweep, ...], *, elements: int) -> int:
    """Flop of these sweeps over a matrix of so many elements."""
    return sum(sweep.flops for sweep in sweeps) * elements
