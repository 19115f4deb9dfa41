"""The truth that every variant of $subject is checked against; plain torch, never timed."""

from __future__ import annotations

import torch

SCALE = 3.0


def scale_and_shift(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """`x * SCALE + bias`: x is [rows, columns], bias is [columns]."""
    return x * SCALE + bias
