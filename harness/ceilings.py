"""What a device can do at most: passes over memory and cache, and products of matrices.

Probes are sampled inside blocks, a few times each, turn by turn and in a seeded order, so
that a ceiling has blocks and a band like anything else. A copy moves twice its size: read
once, written once. The floor is a call that does nothing, timed like any other.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from harness.ledger import NOBODY
from harness.modes import INTERLEAVED
from harness.sample import Participant, Rounds, Table, draw_orders

MIB = 1024**2
# Where the system does not say how large the last-level cache is: more than most have.
UNKNOWN_LLC = 64 * MIB
FLUSH_FACTOR = 4
SAMPLES = 5
# Of a probe that works back to back.
SERIAL_SAMPLES = 8
FLOOR_SAMPLES = 15
# Two buffers of it must fit beside everything else on an ordinary machine.
_LARGEST = 2048 * MIB
_PRODUCTS = (512, 1024, 1536)
_CALIBRATION_SAMPLES = 15
_CALIBRATION_PRODUCT = 1024

CPU = torch.device("cpu")
CUDA = torch.device("cuda")
GIB = 1024**3
# On a GPU: bytes of one buffer. Above four times any second-level cache there is.
_CUDA_SIZES = (GIB // 4, GIB // 2, GIB, 2 * GIB, 4 * GIB, 8 * GIB)
# Rows, columns and inner length of products, by arithmetic. Without matrix units a product of
# the largest would take most of a block's time.
_CUDA_PRODUCTS = {
    "bfloat16": ((4096, 4096, 4096), (8192, 8192, 8192), (8192, 8192, 16384)),
    "float16": ((4096, 4096, 4096), (8192, 8192, 8192), (8192, 8192, 16384)),
    "tf32": ((4096, 4096, 4096), (8192, 8192, 8192)),
    "float32": ((4096, 4096, 4096), (8192, 8192, 4096)),
}
# Back to back each ceiling has one probe: long enough for its rate, and no longer.
_CUDA_SERIAL_SIZE = 4 * GIB
_CUDA_SERIAL_PRODUCT = {
    "bfloat16": (8192, 8192, 8192),
    "float16": (8192, 8192, 8192),
    "tf32": (8192, 8192, 8192),
    "float32": (4096, 4096, 4096),
}


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
            facts={"resource": "compute", "dtype": "float32", "regime": INTERLEAVED},
            probes=tuple(_product((size,) * 3, "float32", CPU) for size in _PRODUCTS),
        ),
    )


def cuda_ceilings(regime: str) -> tuple[Ceiling, ...]:
    """Passes over DRAM, and products by arithmetic, in a regime."""
    serial = regime != INTERLEAVED
    suffix = f"-{regime}" if serial else ""
    sizes = (_CUDA_SERIAL_SIZE,) if serial else _CUDA_SIZES
    shapes = {
        dtype: (_CUDA_SERIAL_PRODUCT[dtype],) if serial else several
        for dtype, several in _CUDA_PRODUCTS.items()
    }
    memory = {"resource": "memory", "level": "dram", "regime": regime, "mode": "do_bench"}
    passes = {"copy": _copy, "read": _read, "write": _write}
    return (
        *(
            Ceiling(
                id=f"memory-dram-{name}{suffix}",
                facts=memory,
                probes=tuple(probe(size, CUDA) for size in sizes),
            )
            for name, probe in passes.items()
        ),
        *(
            Ceiling(
                id=f"compute-{dtype}{suffix}",
                facts={
                    "resource": "compute",
                    "dtype": dtype,
                    "regime": regime,
                    "mode": "do_bench",
                },
                probes=tuple(_product(shape, dtype, CUDA) for shape in several),
            )
            for dtype, several in shapes.items()
        ),
    )


def limited(
    known: Sequence[Ceiling], shapes: Mapping[str, Sequence[str]] | None
) -> tuple[Ceiling, ...]:
    """The same ceilings with only the probes that are named, where any of a ceiling's are."""
    if shapes is None:
        return tuple(known)
    kept = []
    for one in known:
        probes = tuple(probe for probe in one.probes if probe.id in shapes.get(one.id, ()))
        kept.append(replace(one, probes=probes or one.probes))
    return tuple(kept)


def _memory(name: str, level: str, sizes: Sequence[int]) -> Ceiling:
    facts = {"resource": "memory", "level": level, "regime": INTERLEAVED}
    return Ceiling(id=name, facts=facts, probes=tuple(_copy(size, CPU) for size in sizes))


Made = tuple[Callable[..., Any], tuple[torch.Tensor, ...]]


def _values(size: int, place: torch.device) -> torch.Tensor:
    """So many bytes of float32 values that differ: zeros would be quicker to move and add."""
    if place.type == "cpu":
        return torch.arange(size // 4, dtype=torch.float32)
    return torch.rand(size // 4, dtype=torch.float32, device=place)


def _copy(size: int, place: torch.device) -> Probe:
    def make() -> Made:
        target = torch.zeros(size // 4, dtype=torch.float32, device=place)
        return torch.Tensor.copy_, (target, _values(size, place))

    return Probe(
        id=f"copy-{size}",
        what="torch copy_ of float32 values from one buffer into another",
        config={"bytes": size},
        work={"bytes": {"value": 2 * size, "unit": "byte"}},
        make=make,
    )


def _read(size: int, place: torch.device) -> Probe:
    def make() -> Made:
        return torch.sum, (_values(size, place),)

    return Probe(
        id=f"read-{size}",
        what="torch sum of float32 values, each of them read once",
        config={"bytes": size},
        work={"bytes": {"value": size, "unit": "byte"}},
        make=make,
    )


def _write(size: int, place: torch.device) -> Probe:
    def make() -> Made:
        target = torch.zeros(size // 4, dtype=torch.float32, device=place)
        return functools.partial(torch.Tensor.fill_, value=1.5), (target,)

    return Probe(
        id=f"write-{size}",
        what="torch fill_ of a buffer with one float32 value",
        config={"bytes": size},
        work={"bytes": {"value": size, "unit": "byte"}},
        make=make,
    )


def _product(shape: tuple[int, int, int], dtype: str, place: torch.device) -> Probe:
    """The product of an m×k and a k×n matrix; dtype may be tf32, whose data are float32."""
    m, n, k = shape
    kept: torch.dtype = torch.float32 if dtype == "tf32" else getattr(torch, dtype)

    def make() -> Made:
        left = torch.randn(m, k, device=place).to(kept)
        right = torch.randn(k, n, device=place).to(kept)
        out = torch.empty(m, n, dtype=kept, device=place)

        def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            return torch.mm(a, b, out=out)

        return (_in_tf32(product) if dtype == "tf32" else product), (left, right)

    square = m == n == k
    return Probe(
        id=f"gemm-{m}" if square else f"gemm-{m}-{n}-{k}",
        what=f"torch mm of two {'square ' if square else ''}{dtype} matrices into a third",
        config={"m": m, "n": n, "k": k},
        # One multiplication and one addition for each of m·n·k terms.
        work={"flops": {"value": 2 * m * n * k, "unit": "flop"}},
        make=make,
    )


def _in_tf32(product: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """The product with torch's float32 matrices rounded to TF32, for the time of its launch."""

    def rounded(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        matmul = torch.backends.cuda.matmul
        before, matmul.allow_tf32 = matmul.allow_tf32, True
        try:
            return product(a, b)
        finally:
            matmul.allow_tf32 = before

    return rounded


def seated(probes: Sequence[Probe]) -> list[Participant]:
    """Probes as participants: each around tensors of its own, and no variant charged."""
    made = [(probe, *probe.make()) for probe in probes]
    return [
        Participant(probe.id, _bound(function, inputs), probe.id, NOBODY)
        for probe, function, inputs in made
    ]


def sample_probes(
    probes: Sequence[Probe], table: Callable[..., Table], seed: str, count: int
) -> Rounds:
    """So many readings of each probe after one thrown away, turn by turn."""
    participants = seated(probes)
    filled = table(participants)
    for participant in participants:
        filled.turn(participant)
    return filled.rounds(draw_orders(seed, len(participants), count))


def _bound(function: Callable[..., Any], inputs: tuple[torch.Tensor, ...]) -> Callable[[], Any]:
    def probe() -> Any:
        return function(*inputs)

    return probe


def cpu_calibration(llc: int | None) -> tuple[tuple[str, Probe, int], ...]:
    """What is timed at both ends of a run, and how often: a copy and a product."""
    size = FLUSH_FACTOR * (llc or UNKNOWN_LLC)
    product = _product((_CALIBRATION_PRODUCT,) * 3, "float32", CPU)
    return (
        ("copy", _copy(size, CPU), _CALIBRATION_SAMPLES),
        ("gemm", product, _CALIBRATION_SAMPLES),
    )


def cuda_calibration() -> tuple[tuple[str, Probe, int], ...]:
    """The same on a GPU: a copy far beyond its caches, and a product by its matrix units."""
    return (
        ("copy", _copy(2 * GIB, CUDA), _CALIBRATION_SAMPLES),
        ("gemm", _product((8192, 8192, 8192), "bfloat16", CUDA), _CALIBRATION_SAMPLES),
    )


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
