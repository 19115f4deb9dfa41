"""The operations in place, for so many rows at a time as stay in a cache."""

from __future__ import annotations

import torch

from . import contract


def softmax(
    x: torch.Tensor, *, block_bytes: int = 4 * 2**20, out: torch.Tensor | None = None
) -> torch.Tensor:
    """Softmax over the rows of x [rows, columns], at least one row at a time.

    block_bytes bounds the input of one block; its output takes as much again. Refuses what
    `contract.prepare` refuses.
    """
    out = contract.prepare(x, out)
    rows, columns = x.shape
    step = max(1, block_bytes // (columns * x.element_size()))
    for start in range(0, rows, step):
        block, result = x[start : start + step], out[start : start + step]
        torch.sub(block, torch.amax(block, dim=-1, keepdim=True), out=result)
        result.exp_()
        result.div_(torch.sum(result, dim=-1, keepdim=True))
    return out
