"""Checks the variants of softmax_triton in Triton's interpreter; a process of its own.

The interpreter is chosen before triton is first imported, and a process that interprets
cannot compile. Says what it checked, one line each; fails with the first wrong answer.
bfloat16 is left out: the interpreter truncates it, so it is judged on a GPU.
"""

from __future__ import annotations

from functools import partial

import torch

from kernels.softmax_triton import by_width, fused, naive, online, persistent, reference, split

# Small chunks and parts, so that small shapes have several of each and a rest.
VARIANTS = {
    "naive": partial(naive.softmax, chunk=1024),
    "fused": fused.softmax,
    "persistent": partial(persistent.softmax, residents=1),
    "online": partial(online.softmax, chunk=1024),
    "split": partial(split.softmax, part=2048),
    "split-in-one": split.softmax,
    "by-width": by_width.softmax,
}
SHAPES = [(0, 3), (1, 1), (37, 1), (7, 33), (3, 1025), (23, 781), (1, 9001), (2, 20001)]
# The contract's: float16 keeps eleven bits, and softmax of wide rows is small.
TOLERANCES = {
    torch.float32: {"atol": 2e-7, "rtol": 3e-5},
    torch.float16: {"atol": 2e-5, "rtol": 0.01},
}


def inputs():
    """Tensors by what is hard about them."""
    peaks = torch.full((3, 4097), -1000.0)
    peaks[0] = 1000
    peaks[2, 2048] = 1000
    infinite = torch.randn(5, 5000)
    infinite[0, :2500] = -torch.inf  # the first chunks and the first part
    infinite[1, 2000:4100] = -torch.inf  # some in the middle
    infinite[2, 1:] = -torch.inf  # all but one
    infinite[3] = -torch.inf
    infinite[4, 7] = torch.inf
    yield from ((f"{rows} × {columns}", torch.randn(rows, columns)) for rows, columns in SHAPES)
    yield "peaks", peaks
    yield "infinite", infinite
    yield "rising", torch.linspace(-80, 80, 5001).unsqueeze(0)
    yield "falling", torch.linspace(80, -80, 5001).unsqueeze(0)


def check(softmax, x, tolerance):
    """The answer is right, fresh or in the memory given, and the input is as it was."""
    before = x.clone()
    expected = reference.softmax(x.double()).to(x.dtype) if x.numel() else before
    close = partial(torch.testing.assert_close, equal_nan=True, **tolerance)
    out = softmax(x)
    close(out, expected)
    assert out.is_contiguous()
    given = torch.full_like(x, -1)
    assert softmax(x, out=given) is given
    close(given, expected)
    assert torch.equal(x, before)


def main():
    torch.manual_seed(20261130)
    # Fresh memory is NaN in this mode, so that an element nobody wrote is seen.
    torch.use_deterministic_algorithms(True)
    for dtype, tolerance in TOLERANCES.items():
        for name, drawn in inputs():
            for softmax in VARIANTS.values():
                check(softmax, drawn.to(dtype), tolerance)
            print(dtype, name)  # noqa: T201 - what the test reads


if __name__ == "__main__":
    main()
