"""The arrangement that fits the width: a row in registers, in the L2 cache, or shared."""

from __future__ import annotations

import torch

from . import fused, online, split

# Columns up to which a row is held by one program of eight warps …
NARROW = 8192
# … and up to which one program of more warps takes it alone.
MIDDLE = 16384


def softmax(x: torch.Tensor, *, out: torch.Tensor | None = None) -> torch.Tensor:
    """Softmax over the rows of x [rows, columns]; refuses what `contract.prepare` refuses."""
    columns = x.shape[-1] if x.ndim else 0
    if columns <= NARROW:
        return fused.softmax(x, num_warps=8, out=out)
    if columns > MIDDLE:
        return split.softmax(x, out=out)
    # A row of narrow elements is quicker held than read again; a row of wide ones is not.
    if x.element_size() == 4:
        return online.softmax(x, out=out)
    return fused.softmax(x, num_warps=32, out=out)
