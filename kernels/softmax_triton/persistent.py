"""As many programs as the device holds at once, each taking row after row."""

from __future__ import annotations

import functools

import torch
import triton
import triton.language as tl

from . import contract

MOST_COLUMNS = 32768
# What the interpreter, which has no multiprocessors, takes for their number.
INTERPRETED_MULTIPROCESSORS = 16


@triton.jit
def persistent_kernel(out, x, rows, columns, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    """Rows `program_id(0)`, plus the number of programs, and so on, of x into out.

    STAGES above one keep the loads of so many rows less one in flight, in shared memory.
    """
    column = tl.arange(0, BLOCK)
    live = column < columns
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=STAGES):
        logits = tl.load(x + row * columns + column, mask=live, other=float("-inf"))  # [BLOCK]
        logits = logits.to(tl.float32)
        exponentials = tl.exp(logits - tl.max(logits, axis=0))
        share = exponentials / tl.sum(exponentials, axis=0)
        tl.store(out + row * columns + column, share, mask=live)


@functools.cache
def multiprocessors(device: torch.device) -> int:
    """How many multiprocessors the device has."""
    if device.type != "cuda":
        return INTERPRETED_MULTIPROCESSORS
    return torch.cuda.get_device_properties(device).multi_processor_count


def softmax(
    x: torch.Tensor,
    *,
    residents: int = 4,
    stages: int = 1,
    num_warps: int = 16,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """Softmax over the rows of x [rows, columns], up to MOST_COLUMNS of them; math in float32.

    Launches `residents` programs a multiprocessor. Refuses what `contract.prepare` refuses.
    """
    out = contract.prepare(x, out, MOST_COLUMNS)
    rows, columns = x.shape
    if rows == 0:
        return out
    programs = min(rows, residents * multiprocessors(x.device))
    block = triton.next_power_of_2(columns)
    options = {"BLOCK": block, "STAGES": stages, "num_warps": num_warps}
    with torch.cuda.device_of(x):
        persistent_kernel[(programs,)](out, x, rows, columns, **options)
    return out
