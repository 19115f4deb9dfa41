"""A row shared by several programs that meet at a counter, in one launch.

Each program keeps the exponentials of its part in registers, publishes the part's maximum
and sum, waits until the row's other parts have done so, and scales what it holds. While it
waits, the loads of its next part are under way.

Nobody waits for a program that cannot run. The launch is cooperative: the driver starts all
programs together or refuses. Programs of a group take the same rows in the same order, and
each publishes before it waits, so the group's slowest program never waits.

A counter needs no reset. One part of a row adds 2**31 less the number of the others and each
other adds one, so the top bit flips when all have arrived, and the bits below are zero again:
the next launch, or the next replay of a captured graph, finds a counter like the first one.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl

from . import contract
from .persistent import multiprocessors


@triton.jit
def split_kernel(
    out,
    x,
    pairs,
    counters,
    rows,
    columns,
    parts,
    PART: tl.constexpr,
    SLOTS: tl.constexpr,
    AHEAD: tl.constexpr,
    WAIT: tl.constexpr,
):
    """Part `program_id(0) % parts` of one row in every `num_programs(0) / parts`.

    pairs [rows, parts, 2] holds maximum and sum of each part, counters [rows] one int32 a row
    whose low 31 bits are zero between launches. SLOTS is a power of two ≥ parts. AHEAD loads
    the next part before waiting. Without WAIT a program takes the pairs as it finds them.
    """
    part = tl.program_id(0) % parts
    group = tl.program_id(0) // parts
    groups = tl.num_programs(0) // parts
    # Modulo 2**32 the parts of a row add up to 2**31.
    arrival = tl.where(part == 0, 0x7FFFFFFF - (parts - 2), 1)
    column = part * PART + tl.arange(0, PART)
    live = column < columns
    slot = tl.arange(0, SLOTS)
    if AHEAD:
        ahead = tl.load(x + group * columns + column, mask=live, other=float("-inf"))  # [PART]
    for row in tl.range(group, rows, groups, num_stages=1):
        if not AHEAD:
            ahead = tl.load(x + row * columns + column, mask=live, other=float("-inf"))
        logits = ahead.to(tl.float32)
        peak = tl.max(logits, axis=0)
        # A part that is -inf throughout has a sum of zero, and -inf - -inf is NaN.
        base = tl.where(peak == float("-inf"), 0.0, peak)
        exponentials = tl.exp(logits - base)
        pair = pairs + (row * parts + part) * 2
        tl.store(pair, peak)
        tl.store(pair + 1, tl.sum(exponentials, axis=0))
        # Release: whoever sees the arrival sees the pair.
        tl.debug_barrier()
        before = tl.atomic_add(counters + row, arrival, sem="release", scope="gpu")
        following = row + groups
        if AHEAD:
            mask = live & (following < rows)
            ahead = tl.load(x + following * columns + column, mask=mask, other=float("-inf"))
        if WAIT:
            now = tl.atomic_add(counters + row, 0, sem="acquire", scope="gpu")
            while (now ^ before) >= 0:
                now = tl.atomic_add(counters + row, 0, sem="acquire", scope="gpu")
        # Past the first-level cache, which is not coherent.
        place = pairs + (row * parts + slot) * 2
        peaks = tl.load(place, mask=slot < parts, other=float("-inf"), cache_modifier=".cg")
        totals = tl.load(place + 1, mask=slot < parts, other=0.0, cache_modifier=".cg")
        top = tl.max(peaks, axis=0)
        weight = tl.exp(peak - top) / tl.sum(totals * tl.exp(peaks - top), axis=0)
        tl.store(out + row * columns + column, exponentials * weight, mask=live)


@dataclass(frozen=True, slots=True)
class Scratch:
    """What the programs of one launch write for each other: see `split_kernel`.

    It serves a launch at a time: launches that may overlap need a scratch each.
    """

    pairs: torch.Tensor  # [rows × parts × 2] float32, of any content
    counters: torch.Tensor  # [rows] int32, the low 31 bits zero

    @classmethod
    def make(cls, rows: int, parts: int, device: torch.device) -> Scratch:
        """Scratch for matrices of up to so many rows and parts; its counters are zeroed."""
        return cls(
            torch.empty(rows * parts * 2, dtype=torch.float32, device=device),
            torch.zeros(rows, dtype=torch.int32, device=device),
        )

    def fits(self, rows: int, parts: int) -> bool:
        """Whether it is large enough."""
        return self.counters.numel() >= rows and self.pairs.numel() >= rows * parts * 2


# Launches on one stream never overlap, so a stream keeps its scratch.
_kept: dict[tuple[torch.device, int], Scratch] = {}


def _scratch(rows: int, parts: int, device: torch.device) -> Scratch:
    """The current stream's scratch; under capture a fresh one, zeroed by the graph itself.

    Graphs captured on one stream may be replayed on several at once, so each has its own.
    """
    if device.type != "cuda" or torch.cuda.is_current_stream_capturing():
        return Scratch.make(rows, parts, device)
    key = (device, torch.cuda.current_stream(device).cuda_stream)
    kept = _kept.get(key)
    if kept is None or not kept.fits(rows, parts):
        kept = _kept[key] = Scratch.make(rows, parts, device)
    return kept


def softmax(
    x: torch.Tensor,
    *,
    part: int = 16384,
    residents: int = 2,
    ahead: bool = True,
    num_warps: int = 16,
    out: torch.Tensor | None = None,
    scratch: Scratch | None = None,
) -> torch.Tensor:
    """Softmax over the rows of x [rows, columns], `part` columns a program; math in float32.

    Launches up to `residents` programs a multiprocessor, and fails where the device cannot
    hold them together. scratch replaces the one that the stream keeps. Refuses what
    `contract.prepare` refuses.
    """
    out = contract.prepare(x, out)
    rows, columns = x.shape
    if rows == 0:
        return out
    parts = triton.cdiv(columns, part)
    with torch.cuda.device_of(x):
        own = scratch or _scratch(rows, parts, x.device)
        grid = (_groups(rows, parts, residents * multiprocessors(x.device)) * parts,)
        arguments = (out, x, own.pairs, own.counters, rows, columns, parts)
        options = {
            "PART": part,
            "SLOTS": triton.next_power_of_2(parts),
            "AHEAD": ahead,
            "num_warps": num_warps,
            "launch_cooperative_grid": True,
        }
        if x.is_cuda:
            split_kernel[grid](*arguments, WAIT=True, **options)
        else:
            # The interpreter runs one program after another, and none can wait for a later
            # one: the first round publishes all pairs, the second finds them.
            split_kernel[grid](*arguments, WAIT=False, **options)
            split_kernel[grid](*arguments, WAIT=False, **options)
    return out


def _groups(rows: int, parts: int, programs: int) -> int:
    """How many groups of `parts` programs share the rows, none with over a row more than another.

    programs is how many run at once. Raises ValueError where they are too few for a row.
    """
    most = programs // parts
    if most == 0:
        raise ValueError(f"a row needs {parts} programs at once, and the device runs {programs}")
    return triton.cdiv(rows, triton.cdiv(rows, most))
