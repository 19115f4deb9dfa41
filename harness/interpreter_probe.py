"""Asks Triton's interpreter for a sum over a row; run as a program with TRITON_INTERPRET=1.

Ends with status zero if the answer is right. The loop has a bound that is known at run time
only, which some pairs of Triton and numpy cannot interpret.
"""

import torch
import triton
import triton.language as tl

_ELEMENTS, _BLOCK = 100, 32


@triton.jit  # type: ignore[untyped-decorator]
def _row_sum(x_ptr, out_ptr, elements, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: N803, ANN001, ANN202
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, elements, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + offsets, mask=offsets < elements, other=0.0)
    tl.store(out_ptr, tl.sum(total, axis=0))


def main() -> None:
    """Raises SystemExit if the interpreter gives another sum than torch."""
    x = torch.arange(_ELEMENTS, dtype=torch.float32)
    out = torch.full((1,), float("nan"))
    _row_sum[(1,)](x, out, _ELEMENTS, BLOCK=_BLOCK)
    if not torch.equal(out[0], x.sum()):
        raise SystemExit(f"the interpreter answers {out.item()} instead of {x.sum().item()}")


if __name__ == "__main__":
    main()
