"""The arrangement that fits the width: a row in registers, in the cache, or shared."""

from __future__ import annotations

import torch

from . import fused, online, split

# Columns up to which a program of eight warps holds a row, of any dtype.
NARROW = 8192
# Columns of float32 up to which rows under way stay in the second-level cache …
MIDDLE = 16384
# … and up to which two large programs share a row. Rows of narrower dtypes are shared in
# small parts as soon as they are not narrow: converted, they need as many registers.
WIDE = 32768
LARGE = {"part": 16384, "registers": 64, "num_warps": 16}


def softmax(x: torch.Tensor, *, out: torch.Tensor | None = None) -> torch.Tensor:
    """Softmax over the rows of x [rows, columns]; refuses what `contract.prepare` refuses."""
    columns = x.shape[-1] if x.ndim else 0
    if columns <= NARROW:
        return fused.softmax(x, num_warps=8, out=out)
    if x.dtype != torch.float32 or columns > WIDE:
        return split.softmax(x, out=out)
    if columns > MIDDLE:
        return split.softmax(x, **LARGE, out=out)
    return online.softmax(x, out=out)
