"""Softmax over rows, written out: the truth, for correctness only."""

from __future__ import annotations

import torch


def softmax(x: torch.Tensor) -> torch.Tensor:
    """Softmax over the last dimension of x [rows, columns], in the dtype of x.

    Called with float64 it is the oracle. Written out rather than `torch.softmax`, so that
    it shares no kernel with the baseline; tests compare the two. A row that is -inf
    throughout is NaN, as in torch.
    """
    exponentials = torch.exp(x - torch.amax(x, dim=-1, keepdim=True))
    return exponentials / torch.sum(exponentials, dim=-1, keepdim=True)
