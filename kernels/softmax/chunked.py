"""Online softmax: a running maximum and normaliser over chunks of columns, in two sweeps.

Source: Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018.
"""

from __future__ import annotations

import torch

from . import contract


def softmax(
    x: torch.Tensor,
    *,
    chunk: int = 32768,
    accumulate: torch.dtype = torch.float32,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """Softmax over the rows of x [rows, columns], `chunk` columns at a time.

    The sum is kept in the dtype `accumulate`. Refuses what `contract.prepare` refuses.
    """
    out = contract.prepare(x, out)
    peak = torch.full((x.shape[0], 1), -torch.inf)  # [rows, 1]
    total = torch.zeros((x.shape[0], 1), dtype=accumulate)  # [rows, 1]
    for part in x.split(chunk, dim=1):
        top = torch.maximum(peak, torch.amax(part, dim=1, keepdim=True))
        # Rows that were -inf so far have nothing to rescale, and -inf - -inf is NaN.
        base = top.masked_fill(torch.isneginf(top), 0)
        total.mul_(torch.exp(peak - base))
        total.add_(torch.sum(torch.exp(part - base), dim=1, keepdim=True, dtype=accumulate))
        peak = top
    total = total.to(x.dtype)
    for part, result in zip(x.split(chunk, dim=1), out.split(chunk, dim=1), strict=True):
        torch.sub(part, peak, out=result)
        result.exp_()
        result.div_(total)
    return out
