"""Whether two measurements may be set beside each other."""

import json

import pytest

from tests.worlds import COMMIT, RUN, minimal_artifact
from writeup import comparable, result, selection
from writeup.sentences import Comparison


def rows_of(document):
    artifact = result.parse(json.dumps(document).encode(), f"{COMMIT}.json")
    return {
        (row.variant.id, row.case.id, row.timing.mode if row.timing else ""): row
        for row in selection.rows([artifact], "softmax")
    }


def configured(**varies):
    document, _ = minimal_artifact()
    run = document["runs"][RUN]
    run["experiments"]["softmax"] |= varies
    for case in run["cases"].values():
        case["variants"]["chunked"]["config"] = {"precision": "tf32"}
        case["variants"]["compiled"]["config"] = {"precision": "ieee"}
    return rows_of(document)


@pytest.fixture(scope="module")
def rows():
    return rows_of(minimal_artifact()[0])


def pair(rows, a, b, case="wide", mode="host", other_case=None, other_mode=None):
    return Comparison(rows[a, case, mode], rows[b, other_case or case, other_mode or mode])


def test_equal_rounds_are_comparable(rows):
    assert comparable.differences(pair(rows, "chunked", "eager")) == ()
    assert pair(rows, "chunked", "eager").formed


def test_a_difference_of_case_or_mode_is_told_with_both_values(rows):
    assert comparable.differences(pair(rows, "chunked", "eager", other_mode="host_hot")) == (
        "they differ in mode: host and host_hot",
    )
    assert comparable.differences(pair(rows, "chunked", "eager", other_case="small")) == (
        "they differ in case: wide and small",
    )


@pytest.mark.parametrize("failed", ["row", "other"])
def test_a_failed_side_is_told_alone(rows, failed):
    fused, eager = rows["fused", "wide", ""], rows["eager", "small", "host"]
    sides = (fused, eager) if failed == "row" else (eager, fused)
    assert not Comparison(*sides).formed
    assert comparable.differences(Comparison(*sides)) == ("'fused' was not timed (unsupported)",)


def test_a_setting_is_told_unless_the_experiment_varies_it():
    told = comparable.differences(pair(configured(), "chunked", "compiled"))
    assert told == ("they differ in precision: tf32 and ieee",)
    declared = configured(varies=["precision"])
    assert comparable.differences(pair(declared, "chunked", "compiled")) == ()


def test_a_setting_that_one_side_alone_records_is_unknown_of_the_other():
    assert comparable.differences(pair(configured(), "chunked", "eager")) == (
        "they differ in precision: tf32 and not recorded",
    )
    declared = configured(varies=["precision"])
    assert comparable.differences(pair(declared, "chunked", "eager")) == ()


def changed(name, **fields):
    """The rows of a record in which a variant of the case `wide` has other fields."""
    document, _ = minimal_artifact()
    document["runs"][RUN]["cases"]["softmax.wide"]["variants"][name] |= fields
    return rows_of(document)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"precision": "tf32"}, "they differ in precision: tf32 and not recorded"),
        ({"dtype": "bfloat16"}, "they differ in dtype: bfloat16 and float32"),
        ({"devices": 2}, "they differ in devices: 2 and 1"),
        ({"config": {"batch_size": 8}}, "they differ in batch_size: 8 and not recorded"),
        ({"config": {"allow_tf32": True}}, "they differ in allow_tf32: True and not recorded"),
    ],
)
def test_a_field_of_its_own_counts_like_a_setting(fields, told):
    rows = changed("chunked", **fields)
    assert comparable.differences(pair(rows, "chunked", "eager")) == (told,)
    assert comparable.differences(pair(rows, "compiled", "eager")) == ()


def test_what_says_what_everybody_has_is_no_difference():
    rows = changed("chunked", dtype="float32", devices=1)
    assert comparable.differences(pair(rows, "chunked", "eager")) == ()


def test_a_setting_of_the_case_holds_for_variants_that_do_not_say_it():
    document, _ = minimal_artifact()
    case = document["runs"][RUN]["cases"]["softmax.wide"]
    case["settings"] = {"batch": 8}
    case["variants"]["chunked"]["config"] = {"batch": 8}
    case["variants"]["compiled"]["config"] = {"batch": 4}
    rows = rows_of(document)
    assert comparable.differences(pair(rows, "chunked", "eager")) == ()
    assert comparable.differences(pair(rows, "compiled", "eager")) == (
        "they differ in batch: 4 and 8",
    )


@pytest.mark.parametrize(
    ("dimension", "other"),
    [("case", {"other_case": "small"}), ("mode", {"other_mode": "host_hot"})],
)
def test_no_declaration_lets_rounds_differ(dimension, other):
    document, _ = minimal_artifact()
    document["runs"][RUN]["experiments"]["softmax"]["varies"] = [dimension]
    (told,) = comparable.differences(pair(rows_of(document), "chunked", "eager", **other))
    assert told.startswith(f"they differ in {dimension}: ")


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("outputs", "pool", "they differ in outputs: pool and allocated"),
        ("launches", 4, "they differ in calls in a sample: 4 and 1"),
    ],
)
def test_samples_are_of_one_kind(field, value, told):
    document, _ = minimal_artifact()
    case = document["runs"][RUN]["cases"]["softmax.wide"]
    case["variants"]["chunked"]["timings"]["host"][field] = value
    rows = rows_of(document)
    assert comparable.differences(pair(rows, "chunked", "eager")) == (told,)


def test_blocks_that_do_not_meet_are_told():
    document, _ = minimal_artifact()
    case = document["runs"][RUN]["cases"]["softmax.wide"]
    rounds = case["rounds"]["host"]
    where = {name: rounds["participants"].index(name) for name in ("chunked", "eager")}
    for number, (process, block) in enumerate(rounds["blocks"].items()):
        gone = "chunked" if number % 2 else "eager"
        block["order"] = [[n for n in each if n != where[gone]] for each in block["order"]]
        del case["variants"][gone]["timings"]["host"]["samples"][process]
    apart = pair(rows_of(document), "chunked", "eager")
    assert not apart.formed
    assert comparable.differences(apart) == ("no block holds samples of both",)
