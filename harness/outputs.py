"""Output buffers, dealt anew in every block.

Two equal kernels on buffers of their own can differ for as long as the buffers last, by where
these lie. So all participants draw from one pool, and every block deals it anew.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Pool:
    """Places with one or more buffers each, one place a participant."""

    places: Sequence[Sequence[Any]]
    dealt: dict[str, int]

    @classmethod
    def deal(cls, names: Sequence[str], buffers: int, make: Callable[[], Any], seed: str) -> Pool:
        """A place with so many buffers from make() for each name, dealt by the seed."""
        order = list(range(len(names)))
        random.Random(seed).shuffle(order)  # noqa: S311 - repeatable on purpose
        places = [[make() for _ in range(buffers)] for _ in names]
        return cls(places, dict(zip(names, order, strict=True)))

    def of(self, name: str) -> Sequence[Any]:
        """The buffers of a participant."""
        return self.places[self.dealt[name]]
