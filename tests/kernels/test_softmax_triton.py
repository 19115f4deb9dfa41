"""The Triton variants of softmax: in the interpreter, refusing, and on a GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
import torch
import triton

from kernels.softmax_triton import (
    by_width,
    compiled,
    contract,
    eager,
    fused,
    naive,
    online,
    persistent,
    reference,
    split,
)

ROOT = Path(__file__).resolve().parent.parent.parent

KERNELS = {
    "naive": naive.softmax,
    "fused": fused.softmax,
    "persistent": persistent.softmax,
    "online": online.softmax,
    "split": split.softmax,
    "by-width": by_width.softmax,
}
REFUSERS = {**KERNELS, "compiled": compiled.softmax}
VARIANTS = {**REFUSERS, "eager": eager.softmax}
# The reasons stand beside the tolerances of kernels/softmax_triton/experiment.py.
TOLERANCES = {
    torch.float32: {"atol": 2e-7, "rtol": 3e-5},
    torch.float16: {"atol": 2e-5, "rtol": 0.01},
    torch.bfloat16: {"atol": 2e-5, "rtol": 0.01},
}


def every_variant(test):
    """Runs a test for each variant.

    Inductor uses what torch itself has deprecated, and says so when it splits a reduction.
    """
    deprecated = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
    split = pytest.mark.filterwarnings(r"ignore:\s*Online softmax is disabled:UserWarning")
    each = pytest.mark.parametrize("softmax", VARIANTS.values(), ids=VARIANTS)
    return deprecated(split(each(test)))


every_kernel = pytest.mark.parametrize("softmax", KERNELS.values(), ids=KERNELS)
every_dtype = pytest.mark.parametrize("dtype", TOLERANCES, ids=str)


def test_the_interpreter_finds_every_variant_right():
    """The interpreter runs in a process of its own: see interpreted_softmax_triton.py."""
    quick = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("interpreted_softmax_triton.py"))],
        env={**os.environ, **quick, "TRITON_INTERPRET": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 24
    assert {line.split()[0] for line in lines} == {"torch.float32", "torch.float16"}


@pytest.mark.parametrize("shape", [(1, 1), (7, 33), (3, 4097)], ids=str)
def test_reference_agrees_with_torch_in_float64(shape):
    x = torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(reference.softmax(x), torch.softmax(x, dim=-1))


@pytest.mark.parametrize("softmax", REFUSERS.values(), ids=REFUSERS)
def test_tensors_of_the_cpu_are_refused_outside_the_interpreter(softmax):
    with pytest.raises(ValueError, match="CUDA device, got cpu"):
        softmax(torch.randn(2, 3))


REFUSED = {
    "float64": (torch.empty(2, 3, dtype=torch.float64), "float32, float16 or bfloat16"),
    "no-columns": (torch.empty(2, 0), "1 to 131072 columns"),
    "too-wide": (torch.empty(2, 131073), "1 to 131072 columns"),
    "vector": (torch.empty(3), "must be a matrix"),
    "transposed": (torch.empty(3, 2).t(), "must be contiguous"),
    "sliced": (torch.empty(4, 6)[:, ::2], "must be contiguous"),
    "broadcast": (torch.empty(1, 3).expand(2, 3), "must be contiguous"),
    "gradient": (torch.empty(2, 3, requires_grad=True), "no backward"),
    "too-many": (torch.empty(2**15, 2**16, device="meta"), r"fewer than 2\*\*31"),
}


@pytest.fixture
def any_device(monkeypatch):
    """The contract as the interpreter has it: any device will do."""
    monkeypatch.setattr(triton.knobs.runtime, "interpret", True)


@pytest.mark.usefixtures("any_device")
@pytest.mark.parametrize(("x", "match"), REFUSED.values(), ids=REFUSED)
def test_what_the_contract_leaves_out_is_refused(x, match):
    with pytest.raises(ValueError, match=match):
        contract.prepare(x, None)


@pytest.mark.usefixtures("any_device")
def test_an_input_that_wants_a_gradient_is_taken_while_gradients_are_off():
    with torch.no_grad():
        assert contract.prepare(torch.randn(2, 3, requires_grad=True), None).shape == (2, 3)


@pytest.mark.usefixtures("any_device")
@pytest.mark.parametrize(
    "out",
    [
        torch.empty(3, 2),
        torch.empty(2, 3).half(),
        torch.empty(3, 2).t(),
        torch.empty(2, 3, device="meta"),
    ],
    ids=["shape", "dtype", "strides", "device"],
)
def test_an_output_that_does_not_fit_is_refused(out):
    with pytest.raises(ValueError, match="out must be contiguous"):
        contract.prepare(torch.randn(2, 3), out)


@pytest.mark.usefixtures("any_device")
def test_the_input_is_no_output():
    x = torch.randn(2, 3)
    with pytest.raises(ValueError, match="must not be x"):
        contract.prepare(x, x)


@pytest.mark.usefixtures("any_device")
@pytest.mark.parametrize("softmax", [fused.softmax, persistent.softmax])
def test_a_row_that_no_program_holds_is_refused(softmax):
    with pytest.raises(ValueError, match="1 to 32768 columns"):
        softmax(torch.empty(2, 32769))


@pytest.mark.usefixtures("any_device")
def test_more_parts_than_multiprocessors_are_refused():
    parts = persistent.INTERPRETED_MULTIPROCESSORS + 1
    with pytest.raises(ValueError, match=f"a row of {parts} parts needs as many multiprocessors"):
        split.softmax(torch.empty(2, parts), part=1)


@pytest.mark.usefixtures("any_device")
@pytest.mark.parametrize("softmax", REFUSERS.values(), ids=REFUSERS)
def test_no_rows_launch_nothing(softmax):
    assert softmax(torch.empty(0, 3)).shape == (0, 3)


def test_scratch_begins_where_the_kernel_is_specialised_for():
    for rows, parts in ((1, 1), (3, 5), (1024, 16)):
        scratch = split.Scratch.make(rows, parts, torch.device("cpu"))
        assert scratch.words.numel() >= rows * parts
        assert scratch.tickets.numel() == 1
        places = {scratch.words.data_ptr() % 16, scratch.tickets.data_ptr() % 16}
        assert places == {0}


def on_gpu(*shape, dtype=torch.float32):
    return torch.randn(shape, device="cuda", generator=seeded()).to(dtype)


def seeded():
    return torch.Generator("cuda").manual_seed(20261130)


def check(softmax, x, **options):
    """Right against float64, into memory full of NaN, and the input as it was."""
    before = x.clone()
    expected = reference.softmax(x.double()).to(x.dtype)
    tolerance = dict(TOLERANCES[x.dtype])
    if x.shape[1] > 10**4:
        # So small that the relative tolerance decides, but a step of float16's smallest values.
        tolerance["atol"] = 6e-8 if x.dtype == torch.float16 else 2e-12
    out = torch.full_like(x, torch.nan)
    assert softmax(x, out=out, **options) is out
    torch.testing.assert_close(out, expected, **tolerance)
    torch.testing.assert_close(softmax(x, **options), expected, **tolerance)
    assert torch.equal(x, before)


def fits(softmax, columns):
    return softmax not in (fused.softmax, persistent.softmax) or columns <= fused.MOST_COLUMNS


@pytest.mark.gpu
@every_dtype
@every_variant
def test_gpu_shapes(softmax, dtype):
    shapes = ((1, 1), (1823, 1), (7, 33), (1823, 781), (3, 8193), (257, 16384), (100, 32768))
    for rows, columns in (*shapes, (3, 40009), (67, 131071), (33, 131072)):
        if fits(softmax, columns):
            check(softmax, on_gpu(rows, columns, dtype=dtype))


@pytest.mark.gpu
@every_variant
def test_gpu_extremes(softmax):
    peaks = torch.full((3, 4097), -1000.0, device="cuda")
    peaks[0], peaks[2, 2048] = 1000, 1000
    check(softmax, peaks)
    infinite = on_gpu(3, 30001)
    infinite[0, :20000] = -torch.inf
    infinite[1] = -torch.inf
    out = softmax(infinite)
    assert out[1].isnan().all()
    torch.testing.assert_close(out[::2], reference.softmax(infinite[::2].double()).float())


@pytest.mark.gpu
@every_variant
def test_gpu_rows_sum_to_one(softmax):
    sums = softmax(on_gpu(257, 32768)).double().sum(-1)
    torch.testing.assert_close(sums, torch.ones_like(sums), atol=1e-5, rtol=0)


@pytest.mark.gpu
@every_variant
def test_gpu_launch_goes_to_the_current_stream(softmax):
    stream = torch.cuda.Stream()
    x = on_gpu(64, 30000)
    softmax(x)  # compiled before, so that the launch is not late by itself
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        x.fill_(1)
        out = softmax(x)
    stream.synchronize()
    torch.testing.assert_close(out, torch.full_like(x, 1 / 30000))


@pytest.mark.gpu
@every_kernel
def test_gpu_a_captured_graph_replays(softmax):
    x, out = on_gpu(67, 32768), torch.empty(67, 32768, device="cuda")
    softmax(x, out=out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        softmax(x, out=out)
    for seed in range(20):
        x.normal_(generator=torch.Generator("cuda").manual_seed(seed))
        out.fill_(torch.nan)
        graph.replay()
        torch.testing.assert_close(out, torch.softmax(x, dim=-1), atol=2e-12, rtol=3e-5)


@pytest.mark.gpu
def test_gpu_split_meets_thousands_of_times():
    """Odd and even numbers of replays, with other launches of the stream in between."""
    x, out = on_gpu(64, 131072), torch.empty(64, 131072, device="cuda")
    expected = torch.softmax(x, dim=-1)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        split.softmax(x, out=out)
    for times in (1, 2, 7, 1000, 1001):
        for _ in range(times):
            graph.replay()
        torch.testing.assert_close(out, expected, atol=2e-12, rtol=3e-5)
        for rows in (1, 64, 5):
            check(split.softmax, x[:rows])


@pytest.mark.gpu
def test_gpu_split_on_two_streams_at_once():
    streams = [torch.cuda.Stream() for _ in range(2)]
    inputs = [on_gpu(128, 131072), on_gpu(128, 131072).neg()]
    torch.cuda.synchronize()
    for _ in range(20):
        outs = []
        for stream, x in zip(streams, inputs, strict=True):
            with torch.cuda.stream(stream):
                outs.append(split.softmax(x))
        torch.cuda.synchronize()
        for out, x in zip(outs, inputs, strict=True):
            torch.testing.assert_close(out, torch.softmax(x, dim=-1), atol=2e-12, rtol=3e-5)


@pytest.mark.gpu
@pytest.mark.parametrize("part", [1024, 4096, 32768])
def test_gpu_split_of_other_parts(part):
    check(partial(split.softmax, part=part, registers=255, num_warps=8), on_gpu(67, 131072))
