"""What the kernels of a variant use of a GPU, read from what Triton compiled and launched."""

from __future__ import annotations

import functools
import hashlib
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import triton
from triton.backends.nvidia.compiler import get_ptxas
from triton.runtime.jit import JITFunction

from harness.child import Event
from harness.faults import VariantFailed
from harness.place import Place

_SPILLED = re.compile(r"(\d+) bytes spill (?:stores|loads)")
_TARGET = re.compile(r"^\.target\s+(\w+)", re.MULTILINE)
# Without line information, as every child compiles.
_QUIET = ("-lineinfo", "-suppress-debug-info")
# Flags that releases of Triton give its assembler besides those that a kernel's options ask for.
# Which of them were given shows in the binary.
_FLAGS: tuple[tuple[str, ...], ...] = ((), ("--regAllocOptLevel=2",))


class Gpu(Place):
    """The current GPU, as a place to judge on."""

    device = torch.device("cuda")

    def drain(self) -> None:
        torch.cuda.synchronize()

    def works(self) -> bool:
        try:
            torch.cuda.empty_cache()
            torch.cuda.synchronize()
        except RuntimeError:
            return False
        return True

    def resources(self, call: Callable[[], Any]) -> Event:
        with launched() as kernels:
            try:
                call()
            except VariantFailed:
                # It was right a moment ago; whatever this is, it says nothing about resources.
                return {}
        return {"resources": used(kernels)} if kernels else {}


@contextmanager
def launched() -> Iterator[list[Any]]:
    """The compiled kernels that Triton launches meanwhile, in order."""
    kernels: list[Any] = []
    run = JITFunction.run

    @functools.wraps(run)
    def noted(self: Any, *arguments: Any, **options: Any) -> Any:
        kernel = run(self, *arguments, **options)
        if kernel is not None:
            kernels.append(kernel)
        return kernel

    JITFunction.run = noted
    try:
        yield kernels
    finally:
        JITFunction.run = run


def used(kernels: Sequence[Any]) -> Event:
    """Of several launches: the most registers and shared memory, and all their spills.

    The digest is that of their binaries in the order of launches.
    """
    spills = [
        spilled(kernel.asm["ptx"], kernel.asm["cubin"], asked(kernel.metadata))
        for kernel in kernels
    ]
    first = target(kernels[0].asm["ptx"])
    found: Event = {
        "registers": max(kernel.n_regs for kernel in kernels),
        "shared": _byte(max(kernel.metadata.shared for kernel in kernels)),
        "shared_limit": _byte(_shared_limit()),
        "warps": max(kernel.metadata.num_warps for kernel in kernels),
        "binary": hashlib.sha256(b"".join(k.asm["cubin"] for k in kernels)).hexdigest(),
        "compiler": f"triton {triton.__version__}, ptxas {assembler(first)[1]}",
        "target": " ".join(sorted({target(kernel.asm["ptx"]) for kernel in kernels})),
    }
    known = [spill for spill in spills if spill is not None]
    if len(known) == len(spills):
        found["spills"] = _byte(sum(known))
    return found


def target(ptx: str) -> str:
    """The architecture that assembly was written for."""
    match = _TARGET.search(ptx)
    if match is None:
        raise ValueError("this assembly names no target")
    return match[1]


def asked(metadata: Any) -> tuple[str, ...]:
    """What a compiled kernel's own options ask of the assembler."""
    fused = () if metadata.enable_fp_fusion else ("--fmad=false",)
    return (*fused, *(metadata.ptx_options or "").split())


@functools.cache
def spilled(ptx: str, binary: bytes, options: tuple[str, ...] = ()) -> int | None:
    """Bytes that a thread of this assembly stores and loads for want of registers.

    The assembly is assembled again and told to be verbose. What it says counts only where the
    same binary comes out, byte for byte; None where none of the ways known to us leads there.
    """
    tool, _ = assembler(target(ptx))
    with tempfile.TemporaryDirectory(prefix="writeup-ptxas-") as folder:
        source, made = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_text(ptx, encoding="utf-8")
        for flags in _FLAGS:
            answer = subprocess.run(
                [
                    *(tool, "-v", *_QUIET, *options, *flags),
                    *(f"--gpu-name={target(ptx)}", source, "-o", made),
                ],
                capture_output=True,
                check=False,
                text=True,
            )
            if answer.returncode == 0 and made.read_bytes() == binary:
                return sum(map(int, _SPILLED.findall(answer.stderr)))
    return None


@functools.cache
def assembler(architecture: str) -> tuple[str, str]:
    """The assembler that Triton uses for an architecture such as sm_90a, and its version."""
    number = re.search(r"\d+", architecture)
    tool = get_ptxas(int(number[0]) if number else 0)
    return tool.path, tool.version


def _shared_limit() -> int:
    """Bytes of shared memory that a block of threads may have."""
    device = triton.runtime.driver.active.get_current_device()
    properties = triton.runtime.driver.active.utils.get_device_properties(device)
    return int(properties["max_shared_mem"])


def _byte(value: int) -> Event:
    return {"value": value, "unit": "byte"}
