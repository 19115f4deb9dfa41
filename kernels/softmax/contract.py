"""What every CPU variant of this subject takes and gives."""

from __future__ import annotations

import torch


def check(x: torch.Tensor) -> None:
    """Refuse an input that the contract does not cover.

    x is a float32 matrix on the CPU of any strides, with any number of rows and at least
    one column. Raises ValueError, and says what came instead.
    """
    if x.ndim != 2 or x.dtype != torch.float32 or x.device.type != "cpu" or x.shape[1] == 0:
        raise ValueError(
            "softmax takes a float32 matrix with at least one column on the CPU, "
            f"got {x.dtype} of shape {tuple(x.shape)} on {x.device}"
        )
    if x.requires_grad and torch.is_grad_enabled():
        raise ValueError("softmax has no backward here: detach x, or turn gradients off")


def prepare(x: torch.Tensor, out: torch.Tensor | None) -> torch.Tensor:
    """Check x, then give the contiguous memory to write to: `out`, or fresh from the allocator.

    Raises ValueError too where `out` is not contiguous or not of x's shape and dtype.
    """
    check(x)
    if out is None:
        return torch.empty(x.shape, dtype=x.dtype)
    if out.shape != x.shape or out.dtype != x.dtype or not out.is_contiguous():
        raise ValueError(
            f"out must be contiguous, {x.dtype} and of shape {tuple(x.shape)}, "
            f"got {out.dtype} of shape {tuple(out.shape)}, strides {out.stride()}"
        )
    return out
