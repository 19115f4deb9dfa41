"""What the gate sees, in one process."""

import math
from dataclasses import replace

import pytest
import torch

from harness.experiment import Case, Experiment, Tolerance, Variant, Work
from harness.faults import VariantFailed, guarded
from harness.gate import Trials, case_facts, draw, examine

SEEDS = (1, 2, 3)


def normal(case, generator, device):
    return (torch.randn(case.shape["rows"], generator=generator, device=device),)


CASE = Case(
    id="row",
    what="a row",
    shape={"rows": 100},
    dtype="float32",
    make_inputs=normal,
    distribution="normal(0, 1)",
    tolerance=Tolerance(atol=1e-6, rtol=1e-5),
    work=Work(flops=100, bytes=800, flops_method="counted", bytes_method="counted"),
)


def oracle(values):
    return values.exp()


def judged(function, case=CASE, **changes):
    variant = Variant(id="v", role="step", what="it", function=function, **changes)
    experiment = Experiment(
        title="t",
        question="q",
        audience="a",
        hypothesis="h",
        variable="v",
        cannot_conclude="c",
        next="n",
        contract="c",
        oracle=oracle,
        oracle_name="o",
        cases=(case,),
        variants=(variant,),
    )
    return examine(variant, case, SEEDS, Trials(experiment), guarded)


def test_a_right_variant_passes_with_its_error_recorded():
    found = judged(torch.exp)
    assert found.wrong is None
    assert found.compared == 300
    assert 0 < found.max_abs_error < 1e-5
    assert found.record("torch")["seeds"] == [1, 2, 3]


def test_a_wrong_value_in_one_element_is_seen():
    def wrong(x):
        y = x.exp()
        y[37] += 1e-3
        return y

    found = judged(wrong)
    assert "tolerance" in found.wrong
    assert found.mismatched == 1
    assert found.max_abs_error == pytest.approx(1e-3, rel=0.01)


def test_nan_never_passes_and_leaves_no_nan_in_the_record():
    def lost(x):
        y = x.exp()
        y[3] = math.nan
        return y

    found = judged(lost)
    assert (found.mismatched, found.nonfinite) == (1, 1)
    assert math.isfinite(found.max_abs_error)


def test_infinity_is_right_only_where_the_oracle_says_so():
    def large(case, generator, device):
        return (torch.full((4,), 200.0),)

    case = replace(CASE, make_inputs=large, shape={"rows": 4})
    assert judged(torch.exp, case).wrong is None
    assert judged(lambda x: -x.exp(), case).mismatched == 4


def test_changed_inputs_are_seen_bit_for_bit():
    def vandal(x):
        y = x.exp()
        x[5] = -x[5]
        return y

    found = judged(vandal)
    assert found.wrong == "an input was changed by the call"
    assert not found.inputs_unchanged


def test_changes_in_the_gaps_of_a_strided_input_are_seen():
    def strided(case, generator, device):
        return (torch.randn(200, generator=generator)[::2],)

    def reaches_beyond(x):
        y = x.exp().contiguous()
        torch.as_strided(x, (200,), (1,))[1] = 0
        return y

    found = judged(reaches_beyond, replace(CASE, make_inputs=strided))
    assert not found.inputs_unchanged


def test_an_alias_of_an_input_is_refused():
    found = judged(lambda x: x.exp_())
    assert "shares memory" in found.wrong


def test_handing_out_the_same_memory_twice_is_refused():
    kept = torch.empty(100)
    assert "shares memory" in judged(lambda x: torch.exp(x, out=kept)).wrong


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: x.exp()[:50].clone(), "shape 50, not 100"),
        (lambda x: x.exp().double(), "float64, not float32"),
        (lambda x: x.exp().tolist(), "a list, not a tensor"),
        (lambda _: None, "a NoneType, not a tensor"),
    ],
)
def test_an_output_of_another_kind_is_told_in_words(function, words):
    assert words in judged(function).wrong


def test_an_element_that_is_never_written_shows_as_nan():
    def forgetful(x, out=None):
        out = torch.empty_like(x).copy_(x.exp()) if out is None else out
        out[:-1] = x[:-1].exp()
        return out

    found = judged(forgetful, writes_out=True)
    assert found.prefilled_nan
    assert found.mismatched == 1


def test_an_exception_of_the_variant_is_its_failure():
    def broken(x):
        return x @ torch.ones(3)

    with pytest.raises(VariantFailed) as caught:
        judged(broken)
    assert caught.value.fault.status == "runtime_error"


def test_an_exception_of_the_experiment_is_no_failure_of_a_variant():
    def no_tensor(case, generator, device):
        return [1]

    with pytest.raises(TypeError, match="a tuple of tensors"):
        judged(torch.exp, replace(CASE, make_inputs=no_tensor))


def test_inputs_repeat_for_a_seed_and_differ_between_seeds():
    assert torch.equal(draw(CASE, 1)[0], draw(CASE, 1)[0])
    assert not torch.equal(draw(CASE, 1)[0], draw(CASE, 2)[0])


def test_strides_go_by_the_oracles_own_names():
    experiment = type("E", (), {"oracle": staticmethod(oracle)})
    assert case_facts(experiment, CASE) == {"strides": {"values": [1]}}
    experiment = type("E", (), {"oracle": staticmethod(torch.exp)})
    assert case_facts(experiment, CASE) == {"strides": {"input1": [1]}}
