"""Faults of experiments, all at once."""

from dataclasses import replace

import pytest

from harness.experiment import (
    Case,
    Experiment,
    Mistake,
    Prediction,
    Tolerance,
    Variant,
    Work,
)
from harness.validate import RESERVED, faults_of

WORK = Work(flops=1, bytes=8, flops_method="counted", bytes_method="counted")


def case(name="wide", **changes):
    given = {
        "id": name,
        "what": "a case",
        "shape": {"rows": 2},
        "dtype": "float32",
        "make_inputs": lambda *_: (),
        "distribution": "none",
        "tolerance": Tolerance(atol=0, rtol=0),
        "work": WORK,
    }
    return Case(**(given | changes))


def variant(name="fused", **changes):
    return Variant(**({"id": name, "role": "step", "what": "it", "function": len} | changes))


BASELINE = variant("eager", role="baseline", expression="f(x)", backend="b", rounding="r")


def experiment(**changes):
    given = {
        "title": "t",
        "question": "q",
        "audience": "a",
        "hypothesis": "h",
        "variable": "v",
        "cannot_conclude": "c",
        "next": "n",
        "contract": "c",
        "oracle": len,
        "oracle_name": "o",
        "cases": (case(),),
        "variants": (BASELINE, variant()),
    }
    return Experiment(**(given | changes))


def test_a_sound_experiment_has_no_faults():
    assert faults_of(experiment()) == []


@pytest.mark.parametrize("name", ["Fused", "2pass", "x4", "copy", "twin-a", *sorted(RESERVED)])
def test_a_variant_cannot_have_a_name_that_citations_need(name):
    [fault] = faults_of(experiment(variants=(BASELINE, variant(name))))
    assert repr(name) in fault


def test_a_name_that_only_begins_like_a_factor_is_fine():
    assert faults_of(experiment(variants=(BASELINE, variant("x4-unrolled")))) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"variants": (variant(),)}, "exactly one variant has the role baseline; here: none"),
        ({"variants": (BASELINE, replace(BASELINE, id="other"))}, "here: eager, other"),
        ({"variants": (BASELINE, variant(), variant())}, "2 of them share this id"),
        ({"variants": (BASELINE, variant(parent="fusd"))}, "its parent 'fusd' is no variant"),
        ({"variants": (BASELINE, variant(role="attempt"))}, "an attempt names the parent"),
        ({"variants": (BASELINE, variant(cases=("tall",)))}, "no case is called 'tall'"),
        (
            {
                "cases": (case(), case("tall")),
                "variants": (
                    BASELINE,
                    variant(cases=("tall",)),
                    variant("wider", role="attempt", parent="fused"),
                ),
            },
            "variant 'wider': its parent 'fused' does not run on case 'wide'",
        ),
        ({"variants": (BASELINE, variant(gate_cases=()))}, "case 'wide' is timed"),
        ({"variants": (replace(BASELINE, backend=None), variant())}, "a baseline says its backend"),
        ({"cases": (case(timed=False),)}, "no case is timed"),
        ({"cases": (case(), case())}, "2 of them share this id"),
        ({"cases": (case(dtype="float33"),)}, "'float33' is no dtype"),
        ({"cases": (case(shape={"Rows": 2}),)}, "a dimension cannot be called 'Rows'"),
        ({"modes": ("graf",)}, "no mode is called 'graf'"),
        ({"headline": ("fusd",)}, "headline: no variant is called 'fusd'"),
        ({"cases": (case(modes=("graf",)),)}, "case 'wide': no mode is called 'graf'"),
        ({"variants": (BASELINE, variant(modes=("graf",)))}, "variant 'fused': no mode is called"),
        ({"variants": (replace(BASELINE, modes=("host",)), variant())}, "is timed in every mode"),
        ({"margin": 0.0}, "margin"),
        (
            {
                "mistakes": (
                    Mistake(
                        id="m", variant="fusd", before="a", after="b", passes="wide", fails="x"
                    ),
                )
            },
            "no variant is called 'fusd'",
        ),
        (
            {
                "predicted": (
                    Prediction(variant="fused", over="eager", ratio=2, case="tall", mode="host"),
                )
            },
            "no case is called 'tall'",
        ),
    ],
)
def test_each_fault_is_told(changes, words):
    assert any(words in fault for fault in faults_of(experiment(**changes)))


def test_all_faults_are_told_at_once():
    faulty = experiment(margin=2.0, modes=("graf",), cases=(case("Wide"),))
    assert len(faults_of(faulty)) == 3
