"""Two sweeps over chunks of a row: an online maximum and sum, then the quotients.

The first sweep asks the L2 cache to keep what it read, and the second finds it there, so a
row need not fit in registers to be read from DRAM once. Source of the online form: Milakov
and Gimelshein, "Online normalizer calculation for softmax", 2018.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from . import contract


@triton.jit
def online_kernel(out, x, columns, CHUNK: tl.constexpr, KEEP: tl.constexpr):
    """Row `program_id(0)` of x into the same row of out, CHUNK columns at a time.

    KEEP is the eviction policy of the first sweep's loads.
    """
    row = tl.program_id(0)
    peak = -float("inf")
    total = 0.0
    for start in range(0, columns, CHUNK):
        column = start + tl.arange(0, CHUNK)
        logits = tl.load(
            x + row * columns + column,
            mask=column < columns,
            other=float("-inf"),
            eviction_policy=KEEP,
        ).to(tl.float32)
        top = tl.maximum(peak, tl.max(logits, axis=0))
        # A row that was -inf so far has nothing to rescale, and -inf - -inf is NaN.
        base = tl.where(top == -float("inf"), 0.0, top)
        total = total * tl.exp(peak - base) + tl.sum(tl.exp(logits - base), axis=0)
        peak = top
    for start in range(0, columns, CHUNK):
        column = start + tl.arange(0, CHUNK)
        live = column < columns
        # Read for the last time: the cache may drop it first.
        logits = tl.load(x + row * columns + column, mask=live, eviction_policy="evict_first")
        share = tl.exp(logits.to(tl.float32) - peak) / total
        tl.store(out + row * columns + column, share, mask=live)


def softmax(
    x: torch.Tensor,
    *,
    chunk: int = 16384,
    num_warps: int = 16,
    keep: str = "evict_last",
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """Softmax over the rows of x [rows, columns] in two sweeps; math in float32.

    keep is "evict_last", "evict_first" or "" for the cache's own choice. Refuses what
    `contract.prepare` refuses.
    """
    out = contract.prepare(x, out)
    rows, columns = x.shape
    if rows == 0:
        return out
    with torch.cuda.device_of(x):
        online_kernel[(rows,)](out, x, columns, CHUNK=chunk, KEEP=keep, num_warps=num_warps)
    return out
