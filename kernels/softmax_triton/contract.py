"""What every variant of this subject takes and gives."""

from __future__ import annotations

import torch
from triton import knobs

DTYPES = (torch.float32, torch.float16, torch.bfloat16)
MOST_COLUMNS = 131072


def check(x: torch.Tensor, most_columns: int = MOST_COLUMNS) -> None:
    """Refuse an input that the contract does not cover.

    x is a contiguous float32, float16 or bfloat16 matrix on a CUDA device (in Triton's
    interpreter on any), of 1 to most_columns columns, any number of rows, and fewer than
    2**31 elements. Raises ValueError, and says what came instead.
    """
    if not x.is_cuda and not knobs.runtime.interpret:
        raise ValueError(f"x must lie on a CUDA device, got {x.device}")
    if x.dtype not in DTYPES:
        raise ValueError(f"x must be float32, float16 or bfloat16, got {x.dtype}")
    if x.ndim != 2 or not 1 <= x.shape[1] <= most_columns:
        raise ValueError(
            f"x must be a matrix of 1 to {most_columns} columns, got shape {tuple(x.shape)}"
        )
    if not x.is_contiguous():
        raise ValueError(f"x must be contiguous, got strides {x.stride()}")
    if x.numel() >= 2**31:
        raise ValueError(f"x must hold fewer than 2**31 elements, got {x.numel()}")
    if x.requires_grad and torch.is_grad_enabled():
        raise ValueError("softmax has no backward here: detach x, or turn gradients off")


def prepare(
    x: torch.Tensor, out: torch.Tensor | None, most_columns: int = MOST_COLUMNS
) -> torch.Tensor:
    """Check x, then give the memory to write to: `out`, or fresh from the allocator.

    Raises ValueError too where `out` is not contiguous, is not like x, or is x.
    """
    check(x, most_columns)
    if out is None:
        return torch.empty_like(x)
    if (
        out.shape != x.shape
        or out.dtype != x.dtype
        or out.device != x.device
        or not out.is_contiguous()
    ):
        raise ValueError(
            f"out must be contiguous, {x.dtype}, of shape {tuple(x.shape)} and on {x.device}, got "
            f"{out.dtype} of shape {tuple(out.shape)}, strides {out.stride()} on {out.device}"
        )
    if x.numel() and out.data_ptr() == x.data_ptr():
        raise ValueError("out must not be x: the input stays as it is")
    return out
