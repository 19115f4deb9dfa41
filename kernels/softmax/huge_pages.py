"""Torch's softmax into an output whose memory comes in huge pages.

The allocator returns a large block to the system when it is freed, so a large fresh output
is memory that was never touched, and the kernel's first write to each page stops to have
that page cleared and mapped. A huge page makes that stop once for hundreds of small ones.
"""

from __future__ import annotations

import mmap

import torch

from . import contract

# What x86-64 maps with one entry of the last directory but one.
HUGE_PAGE = 2 * 2**20  # bytes


def softmax(x: torch.Tensor) -> torch.Tensor:
    """Softmax over the rows of x [rows, columns].

    Refuses what `contract.check` refuses, and raises RuntimeError where the system has no
    huge pages on request.
    """
    contract.check(x)
    if x.numel() == 0:
        return torch.empty(x.shape, dtype=x.dtype)
    return torch.softmax(x, dim=-1, out=_empty_like(x))


def _empty_like(x: torch.Tensor) -> torch.Tensor:
    """Contiguous memory for x, aligned to a huge page and unmapped when the tensor dies."""
    if not hasattr(mmap, "MADV_HUGEPAGE"):
        raise RuntimeError("this system does not give huge pages on request (MADV_HUGEPAGE)")
    size = x.numel() * x.element_size()
    # Private, because pages of a shared mapping follow another setting of the system.
    memory = mmap.mmap(-1, size + HUGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_HUGEPAGE)
    # The tensor holds the mapping, which ends with its last view.
    flat = torch.frombuffer(memory, dtype=torch.uint8)
    start = -flat.data_ptr() % HUGE_PAGE
    return flat[start : start + size].view(x.dtype).view(x.shape)
