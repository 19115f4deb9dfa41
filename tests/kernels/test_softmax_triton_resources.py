"""What the kernels take of an sm_90 multiprocessor, compiled without a GPU.

A record's figures of an attempt that spills or does not fit are found here again. Registers
and spilled bytes differ a little between releases of the compiler, so that what is asserted
of them is what the attempt is about.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass

import pytest
import triton
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import get_ptxas
from triton.compiler import ASTSource

from kernels.softmax_triton import by_width, fused, naive, online, persistent, split
from kernels.softmax_triton.experiment import experiment

CAPABILITY = 90
SHARED_LIMIT = 232448  # bytes a block may have
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

    @property
    def residents(self):
        """How many programs a multiprocessor's registers hold at once."""
        return REGISTERS // (self.registers * self.threads)


@pytest.fixture
def build(monkeypatch, tmp_path):
    """Compiles a kernel for sm_90 as a launch on a round shape would."""
    monkeypatch.setenv("TRITON_DISABLE_LINE_INFO", "1")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))

    def build_(kernel, constants, dtype="float32", **options):
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
        target = GPUTarget("cuda", CAPABILITY, 32)
        made = triton.compile(source, target=target, options=options)
        registers, spilled = assemble(made.asm["ptx"], tmp_path)
        threads = 32 * options["num_warps"]
        return Resources(registers, spilled, made.metadata.shared, threads, made.asm["ptx"])

    return build_


def assemble(ptx, folder):
    """Registers and spilled bytes, as the assembler that Triton uses tells them."""
    (folder / "kernel.ptx").write_text(ptx)
    arch = re.search(r"^\.target (\w+)", ptx, re.MULTILINE).group(1)
    said = subprocess.run(
        [
            *(get_ptxas(CAPABILITY).path, "-v", f"-arch={arch}"),
            *("-o", os.devnull, folder / "kernel.ptx"),
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stderr
    spilled = sum(map(int, re.findall(r"(\d+) bytes spill", said)))
    return int(re.search(r"Used (\d+) registers", said).group(1)), spilled


def build_variant(build, name, case):
    """The resources of a variant's kernel on a case of the experiment."""
    config = dict(experiment.variant(name).config)
    columns, dtype = experiment.case(case).shape["columns"], experiment.case(case).dtype
    family, warps = name.split("-", maxsplit=1)[0], config["num_warps"]
    if family == "fused":
        return build(fused.fused_kernel, {"BLOCK": columns}, dtype, num_warps=warps)
    if family == "persistent":
        constants = {"BLOCK": columns, "STAGES": config["stages"]}
        return build(persistent.persistent_kernel, constants, dtype, num_warps=warps)
    if family == "online":
        constants = {"CHUNK": config["chunk"], "KEEP": config["keep"]}
        return build(online.online_kernel, constants, dtype, num_warps=warps)
    slots = columns // config["part"]
    constants = {"PART": config["part"], "SLOTS": slots, "EVEN": True, "WAIT": True}
    return build(split.split_kernel, constants, dtype, num_warps=warps, maxnreg=config["registers"])


@pytest.mark.parametrize("dtype", ELEMENTS)
def test_a_long_row_held_by_few_warps_spills_and_by_more_does_not(build, dtype):
    case = "w32768" if dtype == "float32" else "w32768-bf16"
    few = build_variant(build, "fused-few-warps", case)
    enough = build_variant(build, "fused", case)
    assert few.spilled > 500
    assert enough.spilled == 0
    assert enough.registers < 128


def test_two_rows_on_their_way_fit_in_shared_memory_and_three_do_not(build):
    one, two, three = (
        build_variant(build, name, "w32768")
        for name in ("persistent", "persistent-pipelined", "persistent-deep")
    )
    row = 32768 * 4
    assert one.shared < 1024
    # A buffer less than stages, since one row is in registers, and what a reduction needs.
    assert row < two.shared < row + 1024
    assert 2 * row < three.shared < 2 * row + 1024
    assert two.shared <= SHARED_LIMIT < three.shared


def test_a_tighter_cap_of_registers_spills(build):
    kept = build_variant(build, "split", "w131072")
    capped = build_variant(build, "split-capped", "w131072")
    assert (kept.registers, capped.registers) == (80, 64)
    # The newest compiler spills a few words under the cap that is kept.
    assert kept.spilled <= 16
    assert capped.spilled > 400
    assert capped.residents > kept.residents


def test_two_large_programs_share_a_row_without_spilling(build):
    slots = by_width.WIDE // by_width.LARGE["part"]
    constants = {"PART": by_width.LARGE["part"], "SLOTS": slots, "EVEN": True, "WAIT": True}
    warps, cap = by_width.LARGE["num_warps"], by_width.LARGE["registers"]
    made = build(split.split_kernel, constants, num_warps=warps, maxnreg=cap)
    assert made.spilled == 0
    assert made.residents == 2


def test_an_eviction_policy_changes_loads_and_nothing_else(build):
    last = build_variant(build, "online", "w131072")
    first = build_variant(build, "online-evict-first", "w131072")
    assert last.spilled == first.spilled == 0
    assert last.residents == first.residents == 2
    assert "evict_last" in last.ptx
    assert "evict_last" not in first.ptx


def test_a_promise_of_even_parts_saves_registers(build):
    constants = {"PART": 8192, "SLOTS": 16, "WAIT": True}
    even, ragged = (
        build(split.split_kernel, {**constants, "EVEN": promise}, num_warps=4)
        for promise in (True, False)
    )
    assert even.registers < ragged.registers


def test_programs_that_wait_for_each_other_wait_at_no_barrier(build):
    """Warps look at the words at their own pace, so a barrier among them could hang."""
    ptx = build_variant(build, "split", "w131072").ptx
    body = ptx[ptx.index("ld.volatile.global") :]
    assert "bar.sync" not in body
    assert "barrier" not in body


def test_naive_keeps_its_chunk_in_registers(build):
    for kernel in (naive.maximum_kernel, naive.sum_kernel, naive.quotient_kernel):
        assert build(kernel, {"CHUNK": 4096}, num_warps=8).spilled == 0


@pytest.mark.parametrize("dtype", ELEMENTS)
def test_contiguous_rows_are_moved_sixteen_bytes_at_a_time(build, dtype):
    made = build(fused.fused_kernel, {"BLOCK": 16384}, dtype, num_warps=16)
    assert "ld.global.v4.b32" in made.ptx
    assert "st.global.v4.b32" in made.ptx
