"""What the harness asks of the CUDA driver."""

import subprocess
import sys
import textwrap

import pytest

from harness.driver import Driver


class Library:
    """Answers as the driver would."""

    def __init__(self, code):
        self.code = code

    def cuCtxResetPersistingL2Cache(self):  # noqa: N802 - the driver's name
        return self.code


@pytest.mark.parametrize("code", [0, 801])
def test_a_device_without_persisting_lines_has_none_to_forget(code):
    Driver(Library(code)).forget_persisting()


def test_what_the_driver_refuses_is_told_with_its_number():
    with pytest.raises(RuntimeError, match="answered 201"):
        Driver(Library(201)).forget_persisting()


# One call leaves lines to be kept, another reads more than the cache holds in two sweeps.
PROGRAM = """
import statistics
import torch
import triton
import triton.language as tl
from harness.cuda import Cuda


@triton.jit
def keep(x, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, eviction_policy="evict_last"))


x = torch.randn((4096, 32768), device="cuda")
out = torch.empty_like(x)
device = Cuda.open(None)
device.wake()


def softmax():
    return torch.softmax(x, -1, out=out)


def after(before, flush):
    readings = []
    for _ in range(15):
        before()
        device.lead()
        flush()
        readings.append(device.timer.sample(softmax, ())[1])
    return statistics.median(readings)


def kept():
    keep[(x.numel() // 4096,)](x, out, BLOCK=4096)


def flush():
    device.forget()
    device.clear()


softmax(), kept()
alone = after(softmax, flush)
cleared, forgotten = after(kept, device.clear), after(kept, flush)
print(alone, cleared, forgotten)
assert cleared > 1.05 * alone, "nothing outlives the clearing here: is it still needed?"
assert abs(forgotten - alone) < 0.01 * alone
"""


@pytest.mark.gpu
def test_what_a_neighbour_asked_the_cache_to_keep_costs_the_next_one_nothing(tmp_path, root):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM))
    answer = subprocess.run(
        [sys.executable, str(program)], cwd=root, capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
