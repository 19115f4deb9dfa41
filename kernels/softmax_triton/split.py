"""A row shared by several programs that tell each other maximum and sum, in one launch.

A program keeps the exponentials of its part in registers, publishes the part's maximum and
sum as one word, looks at the words of the row until all are there, and scales what it holds.

Nobody waits for a program that cannot run. A program takes its part by a ticket that it draws
when it starts, rows in order and parts within a row, and waits for parts of its own row only.
Of a row whose tickets are all drawn every program is running, and publishes before it waits.
Only the newest row can lack a program, and those that wait for it are fewer than a row has
parts, so the device has room to start it as long as it holds a row's programs at once.
Launches that overlap on several streams keep such a row each: of a device that holds a
program a multiprocessor, at most multiprocessors / parts of them may overlap.

Nothing is reset between launches. The sum in a word is never negative, so its sign bit is
free: it turns over with every launch, and a word is new when its sign bit is that of the
program's own. Whoever draws the last ticket puts the counter back to zero, since no program
is left to draw. A captured graph can therefore be replayed at will.
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
    words,
    tickets,
    columns,
    parts,
    PART: tl.constexpr,
    SLOTS: tl.constexpr,
    EVEN: tl.constexpr,
    WAIT: tl.constexpr,
):
    """PART columns of a row of x into out; `rows * parts` programs.

    words [rows * parts] int64 hold a float32 maximum above a float32 sum whose sign is the
    launch's, tickets [1] int64 is zero between launches. SLOTS is a power of two ≥ parts. EVEN
    promises that columns are parts * PART. Without WAIT a program takes the words it finds.
    """
    ticket = tl.atomic_add(tickets, 1, sem="relaxed", scope="gpu").to(tl.int32)
    tl.store(tickets, 0, mask=ticket == tl.num_programs(0) - 1)
    row = ticket // parts
    part = ticket % parts
    start = row * columns + part * PART
    lane = tl.arange(0, PART)
    live = lane < columns - part * PART
    # A load without a mask needs fewer registers, so that more programs fit.
    if EVEN:
        logits = tl.load(x + start + lane)  # [PART]
    else:
        logits = tl.load(x + start + lane, mask=live, other=float("-inf"))
    logits = logits.to(tl.float32)
    sign = ((tl.load(words + ticket) >> 31) & 1) ^ 1
    peak = tl.max(logits, axis=0)
    # A part that is -inf throughout has a sum of zero, and -inf - -inf is NaN.
    base = tl.where(peak == float("-inf"), 0.0, peak)
    exponentials = tl.exp(logits - base)
    total = tl.sum(exponentials, axis=0)
    high = peak.to(tl.int32, bitcast=True).to(tl.int64) << 32
    low = total.to(tl.int32, bitcast=True).to(tl.int64) & 0x7FFFFFFF
    word = high | low | (sign << 31)
    # The word is all that a reader needs, so nothing has to be ordered before it.
    tl.atomic_xchg(words + ticket, word, sem="relaxed", scope="gpu")
    slot = tl.arange(0, SLOTS)
    here = slot < parts
    place = words + row * parts + slot
    found = tl.load(place, mask=here, other=word, volatile=True)  # [SLOTS]
    if WAIT:
        # Every warp looks for itself: no barrier until the words are there.
        while tl.sum((found >> 31) & 1, axis=0) != SLOTS * sign:
            found = tl.load(place, mask=here, other=word, volatile=True)
    peaks = (found >> 32).to(tl.int32).to(tl.float32, bitcast=True)
    totals = (found & 0x7FFFFFFF).to(tl.int32).to(tl.float32, bitcast=True)
    top = tl.max(tl.where(here, peaks, float("-inf")), axis=0)
    whole = tl.sum(tl.where(here, totals * tl.exp(peaks - top), 0.0), axis=0)
    share = exponentials * (tl.exp(peak - top) / whole)
    if EVEN:
        tl.store(out + start + lane, share)
    else:
        tl.store(out + start + lane, share, mask=live)


@dataclass(frozen=True, slots=True)
class Scratch:
    """What the programs of a launch write for each other: see `split_kernel`.

    It serves one launch at a time, of any number of rows but always so many parts: launches
    that may overlap need a scratch each.
    """

    words: torch.Tensor  # [rows * parts] int64, the signs of a row alike
    tickets: torch.Tensor  # [1] int64, zero

    @classmethod
    def make(cls, rows: int, parts: int, device: torch.device) -> Scratch:
        """Scratch for matrices of up to so many rows, of exactly so many parts."""
        zeros = torch.zeros(rows * parts + 2, dtype=torch.int64, device=device)
        # Both begin at a multiple of sixteen bytes, which the kernel is specialised for.
        return cls(words=zeros[2:], tickets=zeros[:1])


# Launches on one stream never overlap, so a stream keeps its scratch.
_kept: dict[tuple[torch.device, int, int], Scratch] = {}


def _scratch(rows: int, parts: int, device: torch.device) -> Scratch:
    """The current stream's scratch; under capture a fresh one, zeroed by the graph itself.

    Graphs captured on one stream may be replayed on several at once, so each has its own.
    """
    if device.type != "cuda" or torch.cuda.is_current_stream_capturing():
        return Scratch.make(rows, parts, device)
    key = (device, torch.cuda.current_stream(device).cuda_stream, parts)
    kept = _kept.get(key)
    if kept is None or kept.words.numel() < rows * parts:
        kept = _kept[key] = Scratch.make(rows, parts, device)
    return kept


def softmax(
    x: torch.Tensor,
    *,
    part: int = 8192,
    registers: int = 80,
    num_warps: int = 4,
    out: torch.Tensor | None = None,
    scratch: Scratch | None = None,
) -> torch.Tensor:
    """Softmax over the rows of x [rows, columns], `part` columns a program; math in float32.

    registers caps those of a thread where the parts are even. scratch replaces the one that
    the stream keeps. Refuses what `contract.prepare` refuses, and with ValueError rows of
    more parts than the device has multiprocessors.
    """
    out = contract.prepare(x, out)
    rows, columns = x.shape
    if rows == 0:
        return out
    parts = triton.cdiv(columns, part)
    if parts > multiprocessors(x.device):
        raise ValueError(
            f"a row of {parts} parts needs as many multiprocessors, "
            f"and {x.device} has {multiprocessors(x.device)}"
        )
    even = columns % part == 0
    options = {
        "PART": part,
        "SLOTS": triton.next_power_of_2(parts),
        "EVEN": even,
        "num_warps": num_warps,
        "maxnreg": registers if even else None,
    }
    with torch.cuda.device_of(x):
        own = scratch or _scratch(rows, parts, x.device)
        launch = split_kernel[(rows * parts,)]
        if x.is_cuda:
            launch(out, x, own.words, own.tickets, columns, parts, WAIT=True, **options)
        else:
            # The interpreter runs one program after another, and none can wait for a later
            # one: the first round publishes every word, the second finds them all.
            for _ in range(2):
                launch(out, x, own.words, own.tickets, columns, parts, WAIT=False, **options)
    return out
