"""The Triton softmax: in the interpreter, as a binary for sm_90, and on a GPU."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from kernels.softmax import fused, reference

ROOT = Path(__file__).resolve().parent.parent.parent
TOOLS = Path(triton.__file__).parent / "backends" / "nvidia" / "bin"
SHARED_LIMIT = 232448  # bytes a block may have on sm_90


def interpret(root):
    """Runs the checks of interpreted_softmax.py on the kernel below `root`."""
    quick = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, str(Path(__file__).with_name("interpreted_softmax.py"))],
        env={**os.environ, **quick, "TRITON_INTERPRET": "1", "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_interpreter_finds_float32_and_float16_right():
    done = interpret(ROOT)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 24
    assert {line.split()[0] for line in lines} == {"torch.float32", "torch.float16"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("column * stride_column", "column"),
        ('other=float("-inf")', "other=0.0"),
        ("row * columns + column, share", "row * stride_row + column, share"),
    ],
    ids=["stride", "mask", "store"],
)
def test_the_interpreter_catches_a_planted_mistake(tmp_path, before, after):
    folder = tmp_path / "kernels" / "softmax"
    folder.mkdir(parents=True)
    source = (ROOT / "kernels" / "softmax" / "fused.py").read_text()
    assert source.count(before) == 1
    (folder / "fused.py").write_text(source.replace(before, after))
    (folder / "reference.py").write_text((ROOT / "kernels/softmax/reference.py").read_text())
    done = interpret(tmp_path)
    assert done.returncode == 1
    assert "Tensor-likes are not close" in done.stderr


@pytest.fixture
def compile_for_hopper(monkeypatch, tmp_path):
    """Compiles the kernel for sm_90 as a launch on a contiguous matrix would."""
    monkeypatch.setenv("TRITON_DISABLE_LINE_INFO", "1")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))

    def compile_(element, block, num_warps):
        pointer = f"*{element}"
        source = ASTSource(
            fused.softmax_kernel,
            signature={
                "out_pointer": pointer,
                "x_pointer": pointer,
                "stride_row": "i32",
                "stride_column": "constexpr",
                "columns": "i32",
                "BLOCK": "constexpr",
            },
            constexprs={"stride_column": 1, "BLOCK": block},
            attrs={(place,): [["tt.divisibility", 16]] for place in (0, 1, 2, 4)},
        )
        target = GPUTarget("cuda", 90, 32)
        return triton.compile(source, target=target, options={"num_warps": num_warps})

    return compile_


def assemble(ptx, folder):
    """Registers and spilled bytes, as the shipped assembler tells them."""
    (folder / "kernel.ptx").write_text(ptx)
    arch = re.search(r"^\.target (\w+)", ptx, re.MULTILINE).group(1)
    said = subprocess.run(
        [TOOLS / "ptxas", "-v", f"-arch={arch}", "-o", os.devnull, folder / "kernel.ptx"],
        capture_output=True,
        text=True,
        check=True,
    ).stderr
    spilled = sum(map(int, re.findall(r"(\d+) bytes spill", said)))
    return int(re.search(r"Used (\d+) registers", said).group(1)), spilled


def dumped_registers(cubin, folder):
    """Registers, as the shipped dump of the binary tells them."""
    (folder / "kernel.cubin").write_bytes(cubin)
    said = subprocess.run(
        [TOOLS / "cuobjdump", "--dump-resource-usage", folder / "kernel.cubin"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return int(re.search(r"REG:(\d+)", said).group(1))


@pytest.mark.parametrize("num_warps", [4, 8])
@pytest.mark.parametrize("element", ["fp32", "bf16"])
def test_the_widest_row_fits_in_the_registers_of_sm_90(
    compile_for_hopper, tmp_path, element, num_warps
):
    kernel = compile_for_hopper(element, fused.MOST_COLUMNS, num_warps)
    registers, spilled = assemble(kernel.asm["ptx"], tmp_path)
    assert spilled == 0
    # Each thread holds its share of the row, and little besides.
    assert fused.MOST_COLUMNS // (32 * num_warps) < registers < 128
    assert dumped_registers(kernel.asm["cubin"], tmp_path) == registers
    assert kernel.metadata.shared <= SHARED_LIMIT


def test_contiguous_rows_are_loaded_four_elements_at_a_time(compile_for_hopper):
    ptx = compile_for_hopper("fp32", 4096, 4).asm["ptx"]
    assert "ld.global.v4" in ptx
    assert "st.global.v4" in ptx


def test_tensors_of_the_cpu_are_refused_outside_the_interpreter():
    with pytest.raises(ValueError, match="CUDA device, got cpu"):
        fused.softmax(torch.randn(2, 3))


def check_on_gpu(x, **options):
    tolerance = (2e-7, 3e-5) if x.dtype == torch.float32 else (2e-5, 0.01)
    before = x.clone()
    out = fused.softmax(x, **options)
    expected = reference.softmax(x.double()).to(x.dtype)
    torch.testing.assert_close(out, expected, atol=tolerance[0], rtol=tolerance[1])
    assert out.is_contiguous()
    assert torch.equal(x, before)


@pytest.mark.gpu
@pytest.mark.parametrize("num_warps", [4, 8])
@pytest.mark.parametrize("dtype", fused.DTYPES, ids=str)
def test_gpu_shapes_strides_and_extremes(dtype, num_warps):
    torch.manual_seed(20261130)
    base = torch.randn(256, 257, device="cuda", dtype=dtype)
    peaks = torch.full((3, 4097), -1000.0, device="cuda", dtype=dtype)
    peaks[0], peaks[2, 2048] = 1000, 1000
    for rows, columns in ((1, 1), (7, 33), (1823, 781), (3, 8192)):
        check_on_gpu(torch.randn(rows, columns, device="cuda").to(dtype), num_warps=num_warps)
    for x in (base.t(), base[1::3, 5:250:7], base[:1].expand(6, 257), base[:, :1].expand(256, 9)):
        check_on_gpu(x, num_warps=num_warps)
    check_on_gpu(peaks, num_warps=num_warps)


@pytest.mark.gpu
def test_gpu_launch_goes_to_the_current_stream():
    stream = torch.cuda.Stream()
    x = torch.randn(1823, 781, device="cuda")
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        x.fill_(1)
        out = fused.softmax(x)
    stream.synchronize()
    torch.testing.assert_close(out, torch.full_like(x, 1 / 781))


@pytest.mark.gpu
def test_gpu_every_element_is_written(monkeypatch):
    monkeypatch.setattr(
        torch, "empty", lambda shape, **options: torch.full(shape, torch.nan, **options)
    )
    check_on_gpu(torch.randn(7, 33, device="cuda"))


@pytest.mark.gpu
def test_gpu_no_rows_launch_nothing(monkeypatch):
    monkeypatch.setattr(fused, "softmax_kernel", None)
    monkeypatch.setattr(fused, "_check", lambda *_arguments: None)
    assert fused.softmax(torch.empty(0, 3, device="cuda")).shape == (0, 3)


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("x", "options", "match"),
    [
        (torch.empty(2, 3, dtype=torch.float64), {}, "float32, float16 or bfloat16"),
        (torch.empty(2, 0), {}, "1 to 8192 columns"),
        (torch.empty(2, 8193), {}, "1 to 8192 columns"),
        (torch.empty(3), {}, "must be a matrix"),
        (torch.empty(2, 3), {"num_warps": 3}, "num_warps must be 4 or 8"),
        (torch.empty(2, 3, requires_grad=True), {}, "no backward"),
    ],
    ids=["dtype", "narrow", "wide", "vector", "warps", "gradient"],
)
def test_gpu_what_the_contract_leaves_out_is_refused(x, options, match):
    with pytest.raises(ValueError, match=match):
        fused.softmax(x.cuda(), **options)
