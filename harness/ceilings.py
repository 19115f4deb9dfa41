"""What this processor can do at most: copies from memory and from cache, and products.

Probes are sampled inside every block, a few times each, turn by turn and in a seeded order,
so that a ceiling has blocks and a band like anything else. A copy moves twice its size: read
once, written once. The floor is a call that does nothing, timed like any other.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from harness.sample import Participant, Rounds, Table, draw_orders, no_flush
from harness.timer import Timer

MIB = 1024**2
# Where the system does not say how large the last-level cache is: more than most have.
UNKNOWN_LLC = 64 * MIB
FLUSH_FACTOR = 4
SAMPLES = 5
FLOOR_SAMPLES = 15
# Two buffers of it must fit beside everything else on an ordinary machine.
_LARGEST = 2048 * MIB
_PRODUCTS = (512, 1024, 1536)
_CALIBRATION_SAMPLES = 15
_CALIBRATION_PRODUCT = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One size of one ceiling. work is `{"bytes": …}` or `{"flops": …}` of one call."""

    id: str
    what: str
    config: dict[str, Any]
    work: dict[str, Any]
    make: Callable[[], tuple[Callable[..., Any], tuple[torch.Tensor, ...]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """A resource with the probes that look for its limit; facts are the record's fields."""

    id: str
    facts: dict[str, Any]
    probes: tuple[Probe, ...]


def flush_bytes(llc: int | None) -> int:
    """Size of the buffer that is read to leave nothing of a case in the last-level cache."""
    return FLUSH_FACTOR * (llc or UNKNOWN_LLC)


def flusher(size: int) -> Callable[[], None]:
    """A function that reads a buffer of so many bytes, with all threads.

    Reading leaves clean lines behind: nobody's next call pays for writing them back. The
    buffer is written once here, so that it has pages of its own.
    """
    buffer = torch.ones(size // 4, dtype=torch.float32)

    def flush() -> None:
        buffer.sum()

    return flush


def cpu_ceilings(llc: int | None, level: str) -> tuple[Ceiling, ...]:
    """DRAM copy, last-level cache copy and float32 product; level names that cache."""
    cache = llc or UNKNOWN_LLC
    # Source and destination together: beyond the flush buffer, and at most half the cache.
    dram = [size for size in (FLUSH_FACTOR * cache, 2 * FLUSH_FACTOR * cache) if size <= _LARGEST]
    near = [cache // 16, cache // 8, cache // 4]
    return (
        _memory("memory-dram-copy", "dram", dram),
        _memory(f"memory-{level}-copy", level, near),
        Ceiling(
            id="compute-float32",
            facts={"resource": "compute", "dtype": "float32", "regime": "interleaved"},
            probes=tuple(_product(size) for size in _PRODUCTS),
        ),
    )


def _memory(name: str, level: str, sizes: Sequence[int]) -> Ceiling:
    facts = {"resource": "memory", "level": level, "regime": "interleaved"}
    return Ceiling(id=name, facts=facts, probes=tuple(_copy(size) for size in sizes))


def _copy(size: int) -> Probe:
    def make() -> tuple[Callable[..., Any], tuple[torch.Tensor, ...]]:
        target = torch.zeros(size // 4, dtype=torch.float32)
        source = torch.arange(size // 4, dtype=torch.float32)
        return torch.Tensor.copy_, (target, source)

    return Probe(
        id=f"copy-{size}",
        what="torch copy_ of float32 values from one buffer into another",
        config={"bytes": size},
        work={"bytes": {"value": 2 * size, "unit": "byte"}},
        make=make,
    )


def _product(size: int) -> Probe:
    def make() -> tuple[Callable[..., Any], tuple[torch.Tensor, ...]]:
        left, right = torch.randn(size, size), torch.randn(size, size)
        out = torch.empty(size, size)

        def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            return torch.mm(a, b, out=out)

        return product, (left, right)

    return Probe(
        id=f"gemm-{size}",
        what="torch mm of two square float32 matrices into a third",
        config={"m": size, "n": size, "k": size},
        # One multiplication and one addition for each of m·n·k terms.
        work={"flops": {"value": 2 * size**3, "unit": "flop"}},
        make=make,
    )


def sample_probes(
    probes: Sequence[Probe], table: Callable[..., Table], seed: str, count: int
) -> Rounds:
    """So many readings of each probe after one thrown away, turn by turn."""
    made = [probe.make() for probe in probes]
    participants = [
        # A probe stands around its own tensors, and no variant is charged with it.
        Participant(probe.id, _bound(function, inputs), probe.id, -1)
        for probe, (function, inputs) in zip(probes, made, strict=True)
    ]
    filled = table(participants, (), no_flush)
    for participant in participants:
        filled.turn(participant)
    return filled.rounds(draw_orders(seed, len(participants), count))


def _bound(function: Callable[..., Any], inputs: tuple[torch.Tensor, ...]) -> Callable[[], Any]:
    def probe() -> Any:
        return function(*inputs)

    return probe


def floor(timer: Timer, inputs: Sequence[Any], flush: Callable[[], None]) -> list[int | float]:
    """Readings of a call that does nothing, with the same inputs and the same flush."""
    readings = []
    for _ in range(FLOOR_SAMPLES):
        flush()
        readings.append(timer.sample(_empty, inputs)[1])
    return readings


def _empty(*_inputs: Any) -> None:
    return None


def calibration(llc: int | None) -> Iterator[tuple[str, Probe, int]]:
    """What is timed at both ends of a run, and how often: a copy and a product."""
    yield "copy", _copy(FLUSH_FACTOR * (llc or UNKNOWN_LLC)), _CALIBRATION_SAMPLES
    yield "gemm", _product(_CALIBRATION_PRODUCT), _CALIBRATION_SAMPLES


def copied_bytes(size: int) -> int:
    """What the matched copy of a case of `size` bytes moves: whole float32 values, both ways."""
    return 8 * max(1, size // 8)


def matched_copy(inputs: Sequence[torch.Tensor], size: int) -> Callable[..., torch.Tensor]:
    """A copy that reads and writes `copied_bytes(size)` together, into fresh memory.

    An input of half that size is cloned as it is; otherwise a buffer stands in for it.
    """
    half = copied_bytes(size) // 2
    for number, tensor in enumerate(inputs):
        if tensor.nbytes == half and tensor.is_contiguous():
            return functools.partial(_clone_one, number)
    buffer = torch.arange(half // 4, dtype=torch.float32)
    return functools.partial(_clone_buffer, buffer)


def _clone_one(number: int, *inputs: torch.Tensor) -> torch.Tensor:
    return inputs[number].clone()


def _clone_buffer(buffer: torch.Tensor, *_inputs: torch.Tensor) -> torch.Tensor:
    return buffer.clone()
