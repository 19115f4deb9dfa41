"""The expression as one would write it: the product is stored, then read again."""

from __future__ import annotations

import torch

SCALE = 3.0


def scale_and_shift(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return x * SCALE + bias
