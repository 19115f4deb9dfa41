"""Softmax over rows in one Triton kernel: a program keeps its row in registers.

One read and one write of DRAM an element, whatever the strides of the input.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

MOST_COLUMNS = 8192
DTYPES = (torch.float32, torch.float16, torch.bfloat16)


@triton.jit
def softmax_kernel(
    out_pointer,
    x_pointer,
    stride_row,
    stride_column,
    columns,
    BLOCK: tl.constexpr,
):
    """Row `program_id(0)` of x into the same row of out, which is contiguous.

    Strides are in elements, may be zero, and x spans fewer than 2**31 of them. BLOCK is a
    power of two of at least `columns`.
    """
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    live = column < columns
    address = x_pointer + row * stride_row + column * stride_column
    logits = tl.load(address, mask=live, other=float("-inf")).to(tl.float32)  # [BLOCK]
    # Lanes beyond the row hold -inf: never the maximum, and exp makes them zero.
    exponentials = tl.exp(logits - tl.max(logits, axis=0))
    share = exponentials / tl.sum(exponentials, axis=0)
    tl.store(out_pointer + row * columns + column, share, mask=live)


def softmax(x: torch.Tensor, *, num_warps: int = 4) -> torch.Tensor:
    """Softmax over the rows of x [rows, columns], computed in float32, in the dtype of x.

    x is float32, float16 or bfloat16 on a CUDA device (in Triton's interpreter on any),
    with any strides and 1 to 8192 columns; num_warps is 4 or 8. The output is fresh and
    contiguous. One launch on the current stream of x's device; none where x has no rows.
    Raises ValueError for anything else.
    """
    _check(x, num_warps)
    rows, columns = x.shape
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    if rows == 0:
        return out
    block = triton.next_power_of_2(columns)
    with torch.cuda.device_of(x):
        softmax_kernel[(rows,)](out, x, *x.stride(), columns, BLOCK=block, num_warps=num_warps)
    return out


def _check(x: torch.Tensor, num_warps: int) -> None:
    # In the interpreter triton.jit gives another class, which takes tensors of the CPU.
    if not x.is_cuda and isinstance(softmax_kernel, triton.JITFunction):
        raise ValueError(f"x must lie on a CUDA device, got {x.device}")
    if x.dtype not in DTYPES:
        raise ValueError(f"x must be float32, float16 or bfloat16, got {x.dtype}")
    if x.ndim != 2 or not 1 <= x.shape[1] <= MOST_COLUMNS:
        raise ValueError(
            f"x must be a matrix of 1 to {MOST_COLUMNS} columns, got shape {tuple(x.shape)}"
        )
    if num_warps not in (4, 8):
        raise ValueError(f"num_warps must be 4 or 8, got {num_warps}")
    if x.requires_grad and torch.is_grad_enabled():
        raise ValueError("softmax has no backward here: detach x, or turn gradients off")
    reach = sum((size - 1) * stride for size, stride in zip(x.shape, x.stride(), strict=True))
    if max(x.numel(), reach + 1) >= 2**31:
        raise ValueError("x must hold and span fewer than 2**31 elements")
