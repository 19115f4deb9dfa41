"""One assembler for everybody who compiles in a run."""

import subprocess
import sys

import pytest

from harness import assembler

pytest.importorskip("triton")


def test_triton_is_kept_to_the_assembler_it_ships():
    [(name, path)] = assembler.pinned({}).items()
    assert name == "TRITON_PTXAS_PATH"
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
    assert "ptx optimizing assembler" in said.lower()


def test_an_assembler_that_somebody_chose_is_kept():
    chosen = {"TRITON_PTXAS_PATH": "/opt/assembler"}
    assert assembler.pinned(chosen) == chosen
    assert str(assembler.used(90, chosen)) == "/opt/assembler"


@pytest.mark.parametrize("capability", [80, 90, 100])
def test_what_we_take_for_triton_s_assembler_is_what_triton_takes(capability):
    from triton.backends.nvidia.compiler import get_ptxas

    assert str(assembler.used(capability, {})) == get_ptxas(capability).path


def test_a_pinned_process_keeps_its_assembler_when_torch_would_choose_another(tmp_path):
    """torch's compiler sets the variable for whoever compiles after it, unless it is set."""
    program = (
        "import os; from torch._inductor.runtime import compile_tasks as c;"
        "c._set_triton_ptxas_path(); print(os.environ['TRITON_PTXAS_PATH'])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program],
        env=assembler.pinned({}),
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout.strip() == assembler.pinned({})["TRITON_PTXAS_PATH"]
