"""Compiles kernels of softmax_triton for sm_90 without a GPU, as a launch on their case would.

As a program it reads pairs of variant and case from its arguments (`fused:w4096`) and prints
what each takes, in JSON: with another release of Triton first on the path, it is that one's
answer.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import triton
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import get_ptxas
from triton.compiler import ASTSource

from kernels.softmax_triton import fused, naive, online, persistent, split
from kernels.softmax_triton.experiment import experiment

CAPABILITY = 90
REGISTERS = 65536  # of a multiprocessor
ELEMENTS = {"float32": "fp32", "bfloat16": "bf16"}
POINTERS = {"words": "*i64", "tickets": "*i64", "peaks": "*fp32", "totals": "*fp32"}
ALIGNED = [["tt.divisibility", 16]]


@dataclass(frozen=True)
class Resources:
    registers: int
    spilled: int  # bytes stored plus loaded
    shared: int  # bytes
    threads: int
    ptx: str
    cubin: bytes

    @property
    def residents(self):
        """How many programs a multiprocessor's registers hold at once."""
        return REGISTERS // (self.registers * self.threads)


def build(kernel, constants, dtype="float32", **options):
    """Compile a kernel for sm_90 as a launch on a round shape would."""
    signature, attributes = {}, {}
    for place, name in enumerate(kernel.arg_names):
        if name in constants:
            signature[name] = "constexpr"
            continue
        pointers = {"out": f"*{ELEMENTS[dtype]}", "x": f"*{ELEMENTS[dtype]}", **POINTERS}
        signature[name] = pointers.get(name, "i32")
        if name != "parts" or constants.get("SLOTS") == 16:
            attributes[place,] = ALIGNED
    source = ASTSource(kernel, signature, constants, attributes)
    made = triton.compile(source, target=GPUTarget("cuda", CAPABILITY, 32), options=options)
    registers, spilled = assemble(made.asm["ptx"])
    return Resources(
        registers=registers,
        spilled=spilled,
        shared=made.metadata.shared,
        threads=32 * options["num_warps"],
        ptx=made.asm["ptx"],
        cubin=made.asm["cubin"],
    )


def assemble(ptx):
    """Registers and spilled bytes, as the assembler that Triton uses tells them."""
    arch = re.search(r"^\.target (\w+)", ptx, re.MULTILINE).group(1)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "kernel.ptx")
        source.write_text(ptx)
        command = (get_ptxas(CAPABILITY).path, "-v", f"-arch={arch}", "-o", os.devnull, source)
        said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    spilled = sum(map(int, re.findall(r"(\d+) bytes spill", said)))
    return int(re.search(r"Used (\d+) registers", said).group(1)), spilled


def build_variant(name, case):
    """The launches of a variant on a case of the experiment, in order."""
    config = dict(experiment.variant(name).config)
    columns, dtype = experiment.case(case).shape["columns"], experiment.case(case).dtype
    family, warps = name.split("-", maxsplit=1)[0], config.get("num_warps")
    if family == "naive":
        chunk = {"CHUNK": config["chunk"]}
        kernels = (naive.maximum_kernel, naive.sum_kernel, naive.quotient_kernel)
        return [build(kernel, chunk, dtype, num_warps=warps) for kernel in kernels]
    if family == "fused":
        return [build(fused.fused_kernel, {"BLOCK": columns}, dtype, num_warps=warps)]
    if family == "persistent":
        constants = {"BLOCK": columns, "STAGES": config["stages"]}
        return [build(persistent.persistent_kernel, constants, dtype, num_warps=warps)]
    if family == "online":
        constants = {"CHUNK": config["chunk"], "KEEP": config["keep"]}
        return [build(online.online_kernel, constants, dtype, num_warps=warps)]
    parts = triton.cdiv(columns, config["part"])
    even = columns % config["part"] == 0
    slots = triton.next_power_of_2(parts)
    constants = {"PART": config["part"], "SLOTS": slots, "EVEN": even, "WAIT": True}
    # A launch compiles a one in.
    constants |= {"parts": 1} if parts == 1 else {}
    cap = {"maxnreg": config["registers"]} if even else {}
    return [build(split.split_kernel, constants, dtype, num_warps=warps, **cap)]


def taken(launches):
    """What a record says of launches: the most of each, all spills, and one digest."""
    return {
        "registers": max(one.registers for one in launches),
        "spills": sum(one.spilled for one in launches),
        "shared": max(one.shared for one in launches),
        "binary": hashlib.sha256(b"".join(one.cubin for one in launches)).hexdigest(),
        "compiler": f"triton {triton.__version__}, ptxas {get_ptxas(CAPABILITY).version}",
    }


if __name__ == "__main__":
    asked = [argument.split(":") for argument in sys.argv[1:]]
    json.dump([taken(build_variant(*pair)) for pair in asked], sys.stdout)
