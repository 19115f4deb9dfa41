"""Checks the Triton softmax in Triton's interpreter; a process of its own, see the test.

The interpreter is chosen before triton is first imported, and a process that interprets
cannot compile. Says what it checked, one line each; fails with the first wrong answer.
bfloat16 is left out: the interpreter truncates it, so it is judged on a GPU.
"""

from __future__ import annotations

import torch

from kernels.softmax import fused, reference

SHAPES = [(0, 3), (1, 1), (7, 33), (3, 1025), (2, 8192)]
# The contract's: float16 keeps eleven bits, and softmax of wide rows is small.
TOLERANCES = {
    torch.float32: {"atol": 2e-7, "rtol": 3e-5},
    torch.float16: {"atol": 2e-5, "rtol": 0.01},
}


def inputs(dtype):
    """Tensors by what is hard about them."""
    base = torch.randn(24, 36).to(dtype)
    peaks = torch.full((3, 4097), -1000.0)
    peaks[0] = 1000
    peaks[2, 2048] = 1000
    infinite = torch.randn(4, 45)
    infinite[0, :20] = -torch.inf
    infinite[1] = -torch.inf
    yield from ((f"{rows} × {columns}", torch.randn(rows, columns)) for rows, columns in SHAPES)
    yield "peaks", peaks
    yield "infinite", infinite
    yield "equal", torch.full((3, 65), 3.5)
    yield "transposed", base.t()
    yield "sliced", base[1::3, 2:30:5]
    yield "broadcast rows", base[:1].expand(5, 36)
    yield "broadcast columns", base[:, :1].expand(24, 9)


def main():
    torch.manual_seed(20261130)
    # Fresh memory is NaN in this mode, so that an element nobody wrote is seen.
    torch.use_deterministic_algorithms(True)
    for dtype, tolerance in TOLERANCES.items():
        for name, drawn in inputs(dtype):
            x = drawn.to(dtype)
            before = x.clone()
            out = fused.softmax(x)
            expected = reference.softmax(x.double()).to(dtype) if x.numel() else before
            torch.testing.assert_close(out, expected, equal_nan=True, **tolerance)
            assert out.is_contiguous()
            assert torch.equal(x, before)
            print(dtype, name)  # noqa: T201 - what the test reads


if __name__ == "__main__":
    main()
