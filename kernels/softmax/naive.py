"""The definition, one torch operation a line: every intermediate is a fresh matrix."""

from __future__ import annotations

import torch

from . import contract


def softmax(x: torch.Tensor) -> torch.Tensor:
    """Softmax over the rows of x [rows, columns]; refuses what `contract.check` refuses."""
    contract.check(x)
    shifted = x - torch.amax(x, dim=-1, keepdim=True)
    exponentials = torch.exp(shifted)
    # The operations keep the strides of a transposed input; the output is to be contiguous.
    return (exponentials / torch.sum(exponentials, dim=-1, keepdim=True)).contiguous()
