"""One launch, one program a row, the row in registers: each element read once and written once."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from . import contract

# Thirty-two float32 a thread of the largest program; beyond it registers run out.
MOST_COLUMNS = 32768


@triton.jit
def fused_kernel(out, x, columns, BLOCK: tl.constexpr):
    """Row `program_id(0)` of x into the same row of out; BLOCK is a power of two ≥ columns."""
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    live = column < columns
    logits = tl.load(x + row * columns + column, mask=live, other=float("-inf"))  # [BLOCK]
    logits = logits.to(tl.float32)
    # Lanes beyond the row hold -inf: never the maximum, and exp makes them zero.
    exponentials = tl.exp(logits - tl.max(logits, axis=0))
    share = exponentials / tl.sum(exponentials, axis=0)
    tl.store(out + row * columns + column, share, mask=live)


def softmax(
    x: torch.Tensor, *, num_warps: int = 16, out: torch.Tensor | None = None
) -> torch.Tensor:
    """Softmax over the rows of x [rows, columns], up to MOST_COLUMNS of them; math in float32.

    Refuses what `contract.prepare` refuses.
    """
    out = contract.prepare(x, out, MOST_COLUMNS)
    rows, columns = x.shape
    if rows == 0:
        return out
    block = triton.next_power_of_2(columns)
    with torch.cuda.device_of(x):
        fused_kernel[(rows,)](out, x, columns, BLOCK=block, num_warps=num_warps)
    return out
