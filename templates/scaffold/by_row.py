"""An attempt: a call for each row, in the hope that a row stays in a cache."""

from __future__ import annotations

import torch

SCALE = 3.0


def scale_and_shift(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for row, target in zip(x, out, strict=True):
        torch.add(bias, row, alpha=SCALE, out=target)
    return out
