"""What kernels use, read from what Triton compiles for a GPU that is not here."""

import subprocess
import sys
import textwrap

import pytest

pytest.importorskip("triton")

# In a process of its own: what is compiled here must not be interpreted.
PROGRAM = """
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from harness.resources import asked, assembler, spilled, target


@triton.jit
def double(out, x, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, 2 * tl.load(x + at))


def compiled(block, **options):
    source = ASTSource(double, {"out": "*fp32", "x": "*fp32", "BLOCK": "constexpr"}, {"BLOCK": block})
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)


def told(kernel):
    return spilled(kernel.asm["ptx"], kernel.asm["cubin"], asked(kernel.metadata))


small = compiled(1024, num_warps=4)
ptx = small.asm["ptx"]
assert target(ptx).startswith("sm_90"), target(ptx)
assert assembler(target(ptx))[1]
assert told(small) == 0
large = compiled(32768, num_warps=4, maxnreg=64)
assert told(large) > 0
exact = compiled(1024, num_warps=4, enable_fp_fusion=False)
assert asked(exact.metadata) == ("--fmad=false",)
assert told(exact) == 0
assert spilled(ptx, large.asm["cubin"]) is None
"""


def test_spills_are_told_of_the_very_binary_and_unknown_where_another_comes_out(tmp_path, root):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM))
    answer = subprocess.run(
        [sys.executable, str(program)],
        cwd=tmp_path,
        env={
            "PYTHONPATH": str(root),
            "PATH": "/usr/bin:/bin",
            "HOME": str(tmp_path),
            "TRITON_DISABLE_LINE_INFO": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
