"""What the kernels take of an sm_90 multiprocessor, compiled without a GPU.

The record's rows that do not fit or that spill are compiled again by the release that made
them, and must give the same binaries and figures. By the installed release registers and spilled
bytes may differ a little, so that what is asserted of them is what an attempt is about.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from kernels.softmax_triton import by_width, fused, naive, split
from tests.kernels.compiled_softmax_triton import ELEMENTS, build, build_variant

ROOT = Path(__file__).resolve().parent.parent.parent
COMPILERS = Path(sys.prefix) / "compilers"
SHARED_LIMIT = 232448  # bytes a block may have


@pytest.fixture(autouse=True)
def _compiling(monkeypatch, tmp_path):
    monkeypatch.setenv("TRITON_DISABLE_LINE_INFO", "1")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))


def one(name, case):
    """The only launch of a variant on a case."""
    [launch] = build_variant(name, case)
    return launch


@pytest.mark.parametrize("dtype", ELEMENTS)
def test_a_long_row_held_by_few_warps_spills_and_by_more_does_not(dtype):
    case = "w32768" if dtype == "float32" else "w32768-bf16"
    few = one("fused-few-warps", case)
    enough = one("fused", case)
    assert few.spilled > 500
    assert enough.spilled == 0
    assert enough.registers < 128


def test_two_rows_on_their_way_fit_in_shared_memory_and_three_do_not():
    single, two, three = (
        one(name, "w32768") for name in ("persistent", "persistent-pipelined", "persistent-deep")
    )
    row = 32768 * 4
    assert single.shared < 1024
    # A buffer less than stages, since one row is in registers, and what a reduction needs.
    assert row < two.shared < row + 1024
    assert 2 * row < three.shared < 2 * row + 1024
    assert two.shared <= SHARED_LIMIT < three.shared


def test_a_tighter_cap_of_registers_spills():
    kept = one("split", "w131072")
    capped = one("split-capped", "w131072")
    assert (kept.registers, capped.registers) == (80, 64)
    # The newest compiler spills a few words under the cap that is kept.
    assert kept.spilled <= 16
    assert capped.spilled > 400
    assert capped.residents > kept.residents


def test_two_large_programs_share_a_row_without_spilling():
    slots = by_width.WIDE // by_width.LARGE["part"]
    constants = {"PART": by_width.LARGE["part"], "SLOTS": slots, "EVEN": True, "WAIT": True}
    warps, cap = by_width.LARGE["num_warps"], by_width.LARGE["registers"]
    made = build(split.split_kernel, constants, num_warps=warps, maxnreg=cap)
    assert made.spilled == 0
    assert made.residents == 2


def test_an_eviction_policy_changes_loads_and_nothing_else():
    last = one("online", "w131072")
    first = one("online-evict-first", "w131072")
    assert last.spilled == first.spilled == 0
    assert last.residents == first.residents == 2
    assert "evict_last" in last.ptx
    assert "evict_last" not in first.ptx


def test_a_promise_of_even_parts_saves_registers():
    constants = {"PART": 8192, "SLOTS": 16, "WAIT": True}
    even, ragged = (
        build(split.split_kernel, {**constants, "EVEN": promise}, num_warps=4)
        for promise in (True, False)
    )
    assert even.registers < ragged.registers


def test_programs_that_wait_for_each_other_wait_at_no_barrier():
    """Warps look at the words at their own pace, so a barrier among them could hang."""
    ptx = one("split", "w131072").ptx
    body = ptx[ptx.index("ld.volatile.global") :]
    assert "bar.sync" not in body
    assert "barrier" not in body


def test_naive_keeps_its_chunk_in_registers():
    for kernel in (naive.maximum_kernel, naive.sum_kernel, naive.quotient_kernel):
        assert build(kernel, {"CHUNK": 4096}, num_warps=8).spilled == 0


@pytest.mark.parametrize("dtype", ELEMENTS)
def test_contiguous_rows_are_moved_sixteen_bytes_at_a_time(dtype):
    made = build(fused.fused_kernel, {"BLOCK": 16384}, dtype, num_warps=16)
    assert "ld.global.v4.b32" in made.ptx
    assert "st.global.v4.b32" in made.ptx


def told_run():
    """The run that the story tells of."""
    text = (ROOT / "kernels" / "softmax_triton" / "story.md").read_text()
    front = tomllib.loads(text.split("+++")[1])
    artifact = json.loads((ROOT / "results" / f"{front['results']}.json").read_text())
    return artifact["runs"][front["run"]]


def told_rows(run):
    """Its rows of our own kernels on timed cases: by variant and case."""
    return {
        (name, case["id"]): row
        for case in run["cases"].values()
        if case.get("rounds")
        for name, row in case["variants"].items()
        if "num_warps" in row.get("config", {}) and name != "by-width"
    }


def recompiled(pairs, release):
    """What each pair takes when a release of Triton compiles it."""
    compiler = COMPILERS / f"triton-{release}"
    assert compiler.is_dir(), f"install triton {release} there: make test does"
    answer = subprocess.run(
        [sys.executable, "-m", "tests.kernels.compiled_softmax_triton", *map(":".join, pairs)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(compiler), str(ROOT)))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    return dict(zip(pairs, json.loads(answer.stdout), strict=True))


def test_every_row_of_our_own_kernels_is_found_again_by_the_compiler_that_made_it():
    """The same binaries and figures: those that spill, that do not fit, and all others."""
    run = told_run()
    rows = told_rows(run)
    found = recompiled(sorted(rows), run["environment"]["software"]["triton"])
    assert {row["status"] for row in rows.values()} == {"ok", "out_of_resources"}
    for pair, row in rows.items():
        if row["status"] == "out_of_resources":
            assert found[pair]["shared"] == row["reason"]["required"]["value"], pair
            assert row["reason"]["required"]["value"] > row["reason"]["limit"]["value"]
            assert row["reason"]["limit"]["value"] == SHARED_LIMIT
            continue
        recorded = row["resources"]
        assert found[pair] == {
            "registers": recorded["registers"],
            "spills": recorded["spills"]["value"],
            "shared": recorded["shared"]["value"],
            "binary": recorded["binary"],
            "compiler": recorded["compiler"],
        }, pair


def test_an_attempt_of_the_record_spills_and_its_parent_does_not():
    rows = told_rows(told_run())
    few, enough = rows["fused-few-warps", "w32768"], rows["fused", "w32768"]
    assert few["parent"] == "fused"
    assert few["resources"]["spills"]["value"] > 500
    assert enough["resources"]["spills"]["value"] == 0
