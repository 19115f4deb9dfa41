"""Torch's softmax through torch.compile: the kernels that inductor writes for a shape."""

from __future__ import annotations

from collections.abc import Callable

import torch

from . import contract

# A process may meet this many shapes and dtypes; one more is an error.
torch._dynamo.config.recompile_limit = 64  # noqa: SLF001 - where torch documents it

DEFAULT = "default"
TUNED = "max-autotune-no-cudagraphs"
# A kernel a shape, and an error where torch would fall back to running uncompiled.
SETTINGS = {"dynamic": False, "fullgraph": True}


def _by_default(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, dim=-1, out=out)


# A function of its own, because torch counts compilations by function.
def _tuned(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, dim=-1, out=out)


_COMPILED: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    DEFAULT: torch.compile(_by_default, mode=DEFAULT, **SETTINGS),
    TUNED: torch.compile(_tuned, mode=TUNED, **SETTINGS),
}


def softmax(
    x: torch.Tensor, *, mode: str = DEFAULT, out: torch.Tensor | None = None
) -> torch.Tensor:
    """Softmax over the rows of x [rows, columns]; the first call on a shape compiles.

    mode is one of torch.compile's: DEFAULT, or TUNED, which tries more configurations of
    each kernel. Refuses what `contract.prepare` refuses.
    """
    out = contract.prepare(x, out)
    if x.shape[0] == 0:
        return out
    return _COMPILED[mode](x, out)
