"""A GPU as the device that is measured on."""

import json
import os
import subprocess
import sys

import pytest

from tests.harness.project import write_project

KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(out, x, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, 2 * tl.load(x + at, mask=at < count), mask=at < count)


@triton.jit
def greedy_kernel(out, x, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a = tl.load(x + at[:, None] * BLOCK + at[None, :])
    for _ in tl.range(0, 8, num_stages=6):
        b = tl.load(x + at[:, None] * BLOCK + at[None, :])
        a = tl.dot(a, b, allow_tf32=True)
    tl.store(out + at[:, None] * BLOCK + at[None, :], a)


def double(x, out=None):
    out = torch.empty_like(x) if out is None else out
    kernel[(triton.cdiv(x.numel(), 256),)](out, x, x.numel(), BLOCK=256)
    return out


def greedy(x):
    out = torch.empty_like(x)
    big = torch.empty((256, 256), device=x.device)
    greedy_kernel[(1,)](big, big, BLOCK=256)
    return out


def astray(x):
    out = torch.empty_like(x)
    kernel[(1 << 20,)](out, x, 1 << 60, BLOCK=256)
    return out
"""


def variant(name, function, **more):
    options = "".join(f", {key}={value!r}" for key, value in more.items())
    return (
        f'Variant(id="{name}", role="attempt", parent="plain", what="{name}", '
        f'function=extra.{function}, requires="cuda"{options}),'
    )


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A small subject, measured on the GPU by the command; its run, and what was printed."""
    folder = tmp_path_factory.mktemp("gpu")
    variants = "\n".join(
        (
            variant("double", "double", writes_out=True, interpreted=True),
            variant("greedy", "greedy"),
            variant("astray", "astray"),
        )
    )
    root = write_project(folder / "project", extra=KERNEL, variants=variants, git=False)
    path = root / "kernels" / "doubling" / "experiment.py"
    text = path.read_text().replace('mode="host"', 'mode="do_bench"')
    modes = (
        'modes=("do_bench", "graph", "host", "do_bench-burst", "do_bench-sustained"), '
        'headline=("double",), predicted=('
    )
    path.write_text(text.replace("predicted=(", modes))
    words = ["run", "--device", "cuda", "--blocks", "1", "--rounds", "6", "--commit", "0" * 40]
    answer = subprocess.run(
        [sys.executable, "-P", "-m", "harness", *words, "--bundle", str(folder / "bundle")],
        cwd=root,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    [artifact] = (root / "results").glob("*.json")
    [run] = json.loads(artifact.read_text())["runs"].values()
    assert (folder / "bundle").is_file()
    return run


pytestmark = pytest.mark.gpu


def test_every_mode_and_regime_is_sampled_by_everyone_who_takes_part(measured):
    case = measured["cases"]["doubling.middle"]
    for mode in ("do_bench", "graph", "host"):
        assert set(case["rounds"][mode]["participants"]) == {
            "plain",
            "pieces",
            "double",
            "twin-a",
            "twin-b",
            "copy",
        }
    for mode in ("do_bench-burst", "do_bench-sustained"):
        assert set(case["rounds"][mode]["participants"]) == {
            "plain",
            "double",
            "twin-a",
            "twin-b",
            "copy",
        }
    for row in case["variants"].values():
        for timing in row.get("timings", {}).values():
            assert {len(taken) for taken in timing["samples"].values()} == {6}


def test_outputs_come_from_one_pool_and_twins_never_write_to_one_place(measured):
    rows = measured["cases"]["doubling.middle"]["variants"]
    for mode in ("do_bench", "graph", "do_bench-burst"):
        timings = {
            name: row["timings"][mode]
            for name, row in rows.items()
            if mode in row.get("timings", {})
        }
        pooled = [one for one in timings.values() if one["outputs"] == "pool"]
        assert len(pooled) >= 4
        for process in pooled[0]["addresses"]:
            places = [one["addresses"][process] for one in pooled]
            assert len(set(places)) == len(places)


def test_a_graph_holds_many_calls_over_buffers_beyond_the_cache(measured):
    case = measured["cases"]["doubling.middle"]
    launches = {
        row["timings"]["graph"]["launches"]
        for row in case["variants"].values()
        if "graph" in row.get("timings", {})
    }
    assert len(launches) == 1
    assert launches.pop() > 100
    settings = case["rounds"]["graph"]["settings"]
    l2 = measured["environment"]["device"]["caches"]["l2"]["value"]
    assert settings["buffer_sets"] * settings["bytes_a_set"] >= 2 * l2


def test_the_unit_is_confirmed_and_the_state_is_seen_between_rounds(measured):
    check = measured["timer"]["check"]
    assert measured["timer"]["unit"] == "ms"
    assert check["measured"]["value"] == pytest.approx(check["expected"]["value"], rel=0.01)
    for rounds in measured["cases"]["doubling.middle"]["rounds"].values():
        for block in rounds["blocks"].values():
            assert block["between"]
            assert block["before"]["frequency"]["value"] > 1e8


def test_do_bench_itself_is_asked_once_for_everyone(measured):
    rows = measured["cases"]["doubling.middle"]["variants"]
    for name in ("plain", "pieces", "double", "twin-a", "copy"):
        solo = rows[name]["timings"]["do_bench"]["solo"]
        assert solo["name"] == "triton.testing.do_bench"
        assert solo["unit"] == "ms"
        assert len(solo["samples"]) >= 5


def test_resources_of_triton_kernels_are_read_and_those_of_torch_left_out(measured):
    rows = measured["cases"]["doubling.middle"]["variants"]
    found = rows["double"]["resources"]
    assert found["registers"] > 0
    assert found["spills"] == {"value": 0, "unit": "byte"}
    assert len(found["binary"]) == 64
    assert "resources" not in rows["plain"]


def test_too_much_shared_memory_is_a_row_with_the_figures(measured):
    row = measured["cases"]["doubling.middle"]["variants"]["greedy"]
    assert row["status"] == "out_of_resources"
    assert row["reason"]["required"]["value"] > row["reason"]["limit"]["value"]


def test_an_access_out_of_range_ends_no_more_than_its_own_process(measured):
    rows = measured["cases"]["doubling.middle"]["variants"]
    assert rows["astray"]["status"] in ("runtime_error", "incorrect")
    assert rows["double"]["status"] == "ok"


def test_ceilings_are_sampled_in_every_regime(measured):
    regimes = {one["regime"] for one in measured["ceilings"].values()}
    assert regimes == {"interleaved", "burst", "sustained"}
    dtypes = {one.get("dtype") for one in measured["ceilings"].values()}
    assert {"bfloat16", "float16", "tf32", "float32"} <= dtypes
