"""What the softmax_triton experiment declares: its counts, its attempts, its planted mistakes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from harness import mistakes
from kernels.softmax_triton import work
from kernels.softmax_triton.experiment import LONG, experiment

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "kernels" / "softmax_triton"
ATTEMPTS = [variant for variant in experiment.variants if variant.role == "attempt"]


def draw(case, seed):
    generator = torch.Generator().manual_seed(seed)
    (x,) = case.make_inputs(case, generator, torch.device("cpu"))
    return x


def judge(root, *pairs):
    """Elements beyond the tolerance for each `variant:case`; kernels below `root` come first."""
    quick = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    places = {"PYTHONPATH": f"{root}{os.pathsep}{ROOT}", "TRITON_INTERPRET": "1"}
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("planted_softmax_triton.py")), *pairs],
        env={**os.environ, **quick, **places},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [int(line) for line in done.stdout.split()]


def test_without_a_mistake_the_hard_cases_pass():
    pairs = [f"{mistake.variant}:{mistake.fails}" for mistake in experiment.mistakes]
    assert judge(ROOT, *pairs) == [0] * len(experiment.mistakes)


@pytest.mark.parametrize("mistake", experiment.mistakes, ids=lambda mistake: mistake.id)
def test_a_planted_mistake_passes_the_smallest_case_and_no_more(tmp_path, mistake):
    smallest = min(experiment.cases, key=lambda case: case.shape["rows"] * case.shape["columns"])
    assert mistake.passes == smallest.id
    planted = mistakes.plant(experiment, FOLDER, tmp_path / "copies", "experiment.py")
    (copy,) = [copy for copy in planted if copy.mistake == mistake]
    shutil.copytree(copy.folder, tmp_path / "kernels" / "softmax_triton")
    pairs = [f"{mistake.variant}:{case}" for case in (mistake.passes, mistake.fails)]
    passes, fails = judge(tmp_path, *pairs)
    assert passes == 0
    assert fails > 0


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda variant: variant.id)
def test_an_attempt_differs_from_its_parent_in_one_field(attempt):
    parent = experiment.variant(attempt.parent)
    assert attempt.config.keys() == parent.config.keys()
    differing = {name for name in attempt.config if attempt.config[name] != parent.config[name]}
    # What the record says is what the function does.
    assert differing == set(attempt.function.keywords)
    assert len(differing) == 1
    (name,) = differing
    assert attempt.function.keywords[name] == attempt.config[name]


@pytest.mark.parametrize("name", ["naive", "fused", "persistent", "online", "split"])
def test_a_recorded_configuration_is_the_function_s_default(name):
    variant = experiment.variant(name)
    defaults = variant.function.__kwdefaults__
    assert {field: defaults[field] for field in variant.config} == dict(variant.config)


def test_both_dtypes_have_every_timed_shape():
    shapes = {"float32": [], "bfloat16": []}
    for case in experiment.cases:
        if case.timed:
            shapes[case.dtype].append((case.shape["rows"], case.shape["columns"]))
    assert shapes["float32"] == shapes["bfloat16"]
    assert shapes["float32"] == [
        (4096, 4096),
        (4096, 16384),
        (4096, 32768),
        (1024, 131072),
        (128, 512),
    ]


def test_compulsory_bytes_are_the_input_and_the_output():
    for name in ("small", "peaks", "short", "short-bf16"):
        case = experiment.case(name)
        x = draw(case, case.seed)
        assert str(x.dtype) == f"torch.{case.dtype}"
        assert tuple(x.shape) == tuple(case.shape.values())
        assert case.work.bytes == 2 * x.numel() * x.element_size()


def test_counts_of_a_matrix_by_hand():
    assert work.moved(work.COMPULSORY, elements=15, dtype="float32") == 2 * 15 * 4
    assert work.computed(work.COMPULSORY, elements=15) == 5 * 15
    # Three reads and a write; the exponential of a difference is computed in two of them.
    assert work.moved(work.SEPARATE, elements=15, dtype="bfloat16") == 4 * 15 * 2
    assert work.computed(work.SEPARATE, elements=15) == 7 * 15
    assert work.moved(work.ONLINE, elements=15, dtype="float32") == 3 * 15 * 4


@pytest.mark.parametrize(
    ("case", "sweeps"), [("w4096", 2), ("w16384", 3), ("w16384-bf16", 2), ("w131072", 2)]
)
def test_by_width_counts_the_sweeps_of_what_it_picks(case, sweeps):
    chosen = experiment.case(case)
    counted = experiment.variant("by-width").work(chosen) or chosen.work
    assert counted.bytes * 2 == chosen.work.bytes * sweeps


def test_long_rows_leave_nothing_to_the_absolute_tolerance():
    for case in experiment.cases:
        if case.shape["columns"] > LONG:
            assert case.tolerance.atol < 0.01 * case.tolerance.rtol / case.shape["columns"]


def test_the_interpreter_is_spared_bfloat16_and_large_cases():
    for variant in experiment.variants:
        if variant.interpreted:
            named = [experiment.case(name) for name in variant.gate_cases]
            assert all(case.dtype == "float32" for case in named)
            assert all(case.shape["rows"] * case.shape["columns"] < 2e6 for case in named)


def test_the_texts_of_the_experiment_hold_no_figures():
    """They are prose on a page; predictions and settings are numbers of the record."""
    texts = [
        getattr(noun, field)
        for noun, fields in (
            (experiment, ("question", "hypothesis", "variable", "cannot_conclude", "next")),
            (experiment, ("title", "audience", "contract", "limiter", "independent_check")),
            *((variant, ("what", "idea", "backend")) for variant in experiment.variants),
            *((case, ("what",)) for case in experiment.cases),
        )
        for field in fields
    ]
    texts += [text for c in experiment.cases for text in (c.work.flops_method, c.work.convention)]
    for text in filter(None, texts):
        assert not re.search(r"\d", re.sub(r"\bb?float(16|32|64)\b", "", text)), text
        assert not re.search(r"\b(twice|half|double|thrice)", text), text
