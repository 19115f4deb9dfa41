"""`--allowed-skip`: a complete run cannot pass by skipping."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

WORLD = """
import pytest

def test_that_passes(): pass

@pytest.mark.skip(reason="needs a CUDA device")
def test_of_a_kernel(): pass
"""

SURPRISE = """
@pytest.mark.skip(reason="flaky")
def test_that_is_flaky(): pass
"""

MODULE = """
import pytest

pytest.skip("not today", allow_module_level=True)
"""


@pytest.fixture
def skips(root, tmp_path):
    """Runs pytest with our conftest over the given test files; gives status and output."""

    def run(*files):
        shutil.copy(root / "tests" / "conftest.py", tmp_path)
        for number, text in enumerate(files):
            (tmp_path / f"test_{number}.py").write_text(text)
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "-p", "no:cacheprovider"),
                *("--rootdir", tmp_path, "-c", "/dev/null"),
                *("--allowed-skip", "needs a CUDA device", tmp_path),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout

    return run


def test_an_allowed_skip_passes_and_is_counted(skips):
    status, output = skips(WORLD)
    assert status == 0
    assert "1 × needs a CUDA device (allowed)" in output


def test_any_other_skip_fails_the_run_and_is_named(skips):
    status, output = skips(WORLD + SURPRISE)
    assert status == 1
    assert "1 × flaky (not allowed)" in output
    assert "test_0.py::test_that_is_flaky" in output


def test_a_module_that_skips_itself_fails_the_run_too(skips):
    status, output = skips(WORLD, MODULE)
    assert status == 1
    assert "not today (not allowed)" in output
