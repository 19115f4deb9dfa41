"""Softmax as it is written down: a launch for the maximum, one for the sum, one for the quotient.

Nothing but a maximum and a sum a row outlives a launch, so the matrix is read three times.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from . import contract


@triton.jit
def maximum_kernel(peaks, x, columns, CHUNK: tl.constexpr):
    """peaks[row] is the maximum of the row of x; a program a row, CHUNK columns at a time."""
    row = tl.program_id(0)
    peak = tl.full((CHUNK,), float("-inf"), tl.float32)
    for start in range(0, columns, CHUNK):
        column = start + tl.arange(0, CHUNK)
        logits = tl.load(x + row * columns + column, mask=column < columns, other=float("-inf"))
        peak = tl.maximum(peak, logits.to(tl.float32))
    tl.store(peaks + row, tl.max(peak, axis=0))


@triton.jit
def sum_kernel(totals, peaks, x, columns, CHUNK: tl.constexpr):
    """totals[row] is the sum of exp(x - peaks[row]) over the row."""
    row = tl.program_id(0)
    peak = tl.load(peaks + row)
    total = tl.zeros((CHUNK,), tl.float32)
    for start in range(0, columns, CHUNK):
        column = start + tl.arange(0, CHUNK)
        logits = tl.load(x + row * columns + column, mask=column < columns, other=float("-inf"))
        total += tl.exp(logits.to(tl.float32) - peak)
    tl.store(totals + row, tl.sum(total, axis=0))


@triton.jit
def quotient_kernel(out, totals, peaks, x, columns, CHUNK: tl.constexpr):
    """out is exp(x - peaks[row]) / totals[row]."""
    row = tl.program_id(0)
    peak = tl.load(peaks + row)
    total = tl.load(totals + row)
    for start in range(0, columns, CHUNK):
        column = start + tl.arange(0, CHUNK)
        live = column < columns
        logits = tl.load(x + row * columns + column, mask=live).to(tl.float32)
        tl.store(out + row * columns + column, tl.exp(logits - peak) / total, mask=live)


def softmax(
    x: torch.Tensor, *, chunk: int = 4096, num_warps: int = 8, out: torch.Tensor | None = None
) -> torch.Tensor:
    """Softmax over the rows of x [rows, columns] in three launches; math in float32.

    Refuses what `contract.prepare` refuses. Scratch is two float32 a row.
    """
    out = contract.prepare(x, out)
    rows, columns = x.shape
    if rows == 0:
        return out
    peaks, totals = torch.empty((2, rows), dtype=torch.float32, device=x.device)
    options = {"CHUNK": chunk, "num_warps": num_warps}
    with torch.cuda.device_of(x):
        maximum_kernel[(rows,)](peaks, x, columns, **options)
        sum_kernel[(rows,)](totals, peaks, x, columns, **options)
        quotient_kernel[(rows,)](out, totals, peaks, x, columns, **options)
    return out
