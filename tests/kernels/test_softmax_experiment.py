"""What the softmax experiment declares: its counts, its attempts and its planted mistakes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

from harness import discover, mistakes
from kernels.softmax import work
from kernels.softmax.experiment import LONG, experiment

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "kernels" / "softmax"

# Those that need no interpreter; the test of the kernel plants its own there.
ON_CPU = [m for m in experiment.mistakes if experiment.variant(m.variant).requires == "cpu"]


def draw(case, seed=11):
    """The input of a case."""
    generator = torch.Generator().manual_seed(seed)
    (x,) = case.make_inputs(case, generator, torch.device("cpu"))
    return x


def wrong(found, variant, case):
    """How many elements lie further from the truth than the case tolerates."""
    chosen = found.case(case)
    x = draw(chosen)
    truth = found.oracle(x.double())
    limits = {"atol": chosen.tolerance.atol, "rtol": chosen.tolerance.rtol}
    answer = found.variant(variant).function(x)
    return int((~torch.isclose(answer.double(), truth, **limits)).sum())


@pytest.fixture
def planted(tmp_path):
    def plant(mistake):
        copies = mistakes.plant(experiment, FOLDER, tmp_path, "experiment.py")
        copy = next(copy for copy in copies if copy.mistake == mistake)
        return discover.load(discover.Subject("softmax", copy.folder), copy.folder, "planted")

    return plant


@pytest.mark.parametrize("mistake", ON_CPU, ids=[mistake.id for mistake in ON_CPU])
def test_a_planted_mistake_passes_the_smallest_case_and_no_more(planted, mistake):
    smallest = min(experiment.cases, key=lambda case: case.shape["rows"] * case.shape["columns"])
    assert mistake.passes == smallest.id
    changed = planted(mistake)
    assert wrong(changed, mistake.variant, mistake.passes) == 0
    assert wrong(changed, mistake.variant, mistake.fails) > 0
    # It is the mistake that fails there, not the variant.
    assert wrong(experiment, mistake.variant, mistake.fails) == 0


def test_three_mistakes_can_be_planted_without_a_gpu():
    assert len(ON_CPU) >= 3


@pytest.mark.parametrize(
    "attempt",
    [variant for variant in experiment.variants if variant.role == "attempt"],
    ids=lambda variant: variant.id,
)
def test_an_attempt_differs_from_its_parent_in_one_field(attempt):
    parent = experiment.variant(attempt.parent)
    assert attempt.config.keys() == parent.config.keys()
    differing = [name for name in attempt.config if attempt.config[name] != parent.config[name]]
    assert len(differing) == 1
    # What the record says is what the function does.
    (value,) = attempt.function.keywords.values()
    assert str(value).removeprefix("torch.") == str(attempt.config[differing[0]])
    assert list(attempt.function.keywords) == differing


@pytest.mark.parametrize("name", ["blocked", "chunked", "split"])
def test_a_recorded_configuration_is_the_function_s_default(name):
    variant = experiment.variant(name)
    defaults = variant.function.__kwdefaults__
    for field, value in variant.config.items():
        assert str(defaults[field]).removeprefix("torch.") == str(value)


def test_compulsory_bytes_are_the_input_and_the_output():
    for case in experiment.cases:
        x = draw(case)
        assert case.work.bytes == 2 * x.numel() * x.element_size()


def test_counts_of_a_matrix_by_hand():
    assert work.moved(work.COMPULSORY, 3, 5) == 2 * 15 * 4
    assert work.computed(work.COMPULSORY, 3, 5) == 5 * 15
    # Read for maximum, difference, exponential, sum, quotient; written by three of them.
    assert work.moved(work.SEPARATE, 3, 5) == 8 * 15 * 4
    assert work.computed(work.SEPARATE, 3, 5) == 5 * 15
    assert work.moved(work.CHUNKED, 3, 5) == 12 * 15 * 4
    assert work.moved(work.SPLIT, 3, 5) == 6 * 15 * 4


def test_split_counts_a_merge_only_where_a_row_has_pieces():
    counted = experiment.variant("split").work
    assert counted(experiment.case("tall")) is None
    assert counted(experiment.case("lone")).bytes > experiment.case("lone").work.bytes


def test_long_rows_leave_nothing_to_the_absolute_tolerance():
    for case in experiment.cases:
        if case.shape["columns"] > LONG:
            assert case.tolerance.atol < 1e-3 / case.shape["columns"]


def test_inputs_repeat_for_a_seed_and_change_with_it():
    for name in ("small", "peaks", "transposed"):
        case = experiment.case(name)
        first, again, other = (draw(case, seed) for seed in (1, 1, 2))
        assert torch.equal(first, again)
        assert not torch.equal(first, other)
        assert first.shape == (case.shape["rows"], case.shape["columns"])


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
        assert not re.search(r"\d", re.sub(r"\bfloat(32|64)\b", "", text)), text


def test_compiled_meets_no_more_shapes_than_torch_compiles():
    named = experiment.variant("compiled").gate_cases
    timed = {case.id for case in experiment.cases if case.timed}
    assert timed <= set(named)
    assert len(named) <= torch._dynamo.config.recompile_limit
