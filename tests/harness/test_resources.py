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

from harness.resources import _USED, assembler, spilled, target


@triton.jit
def double(out, x, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, 2 * tl.load(x + at))


def compiled(block, **options):
    source = ASTSource(double, {"out": "*fp32", "x": "*fp32", "BLOCK": "constexpr"}, {"BLOCK": block})
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)


small = compiled(1024, num_warps=4).asm["ptx"]
assert target(small).startswith("sm_90"), target(small)
tool, version = assembler(target(small))
assert version
import subprocess
def registers(ptx):
    with open("kernel.ptx", "w") as file:
        file.write(ptx)
    command = [tool, "-v", f"-arch={target(ptx)}", "kernel.ptx", "-o", "/dev/null"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    return int(_USED.search(said)[1])
assert spilled(small, registers(small)) == 0
assert spilled(small, 9999) is None
large = compiled(32768, num_warps=4, maxnreg=64).asm["ptx"]
assert spilled(large, registers(large)) > 0
"""


def test_spills_are_the_assemblers_own_count_and_unknown_where_it_disagrees(tmp_path, root):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM))
    answer = subprocess.run(
        [sys.executable, str(program)],
        cwd=tmp_path,
        env={"PYTHONPATH": str(root), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
