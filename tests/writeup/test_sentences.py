"""Whether two measurements may be set beside each other, and what is said of them."""

import json

import pytest

from tests.worlds import COMMIT, RUN, minimal_artifact
from writeup import result, selection, sentences
from writeup.language import Claim, Field, Measure, Relation, Word
from writeup.selection import Miss
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
    assert sentences.differences(pair(rows, "chunked", "eager")) == ()
    assert pair(rows, "chunked", "eager").formed


def test_a_difference_of_case_or_mode_is_told_with_both_values(rows):
    assert sentences.differences(pair(rows, "chunked", "eager", other_mode="host_hot")) == (
        "they differ in mode: host and host_hot",
    )
    assert sentences.differences(pair(rows, "chunked", "eager", other_case="small")) == (
        "they differ in case: wide and small",
    )


@pytest.mark.parametrize("failed", ["row", "other"])
def test_a_failed_side_is_told_alone(rows, failed):
    fused, eager = rows["fused", "wide", ""], rows["eager", "small", "host"]
    sides = (fused, eager) if failed == "row" else (eager, fused)
    assert not Comparison(*sides).formed
    assert sentences.differences(Comparison(*sides)) == ("'fused' was not timed (unsupported)",)


def test_a_setting_is_told_unless_the_experiment_varies_it():
    told = sentences.differences(pair(configured(), "chunked", "compiled"))
    assert told == ("they differ in precision: tf32 and ieee",)
    declared = configured(varies=["precision"])
    assert sentences.differences(pair(declared, "chunked", "compiled")) == ()


def test_a_setting_that_one_side_does_not_have_is_no_difference():
    assert sentences.differences(pair(configured(), "chunked", "eager")) == ()


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
    assert sentences.differences(apart) == ("no block holds samples of both",)


def test_over_all_cases_nothing_is_said_while_a_case_lacks_a_side(rows):
    whole = [pair(rows, "chunked", "eager", case) for case in ("small", "wide")]
    assert len(sentences.over_cases(whole, "them")) > 1
    lacking = [whole[0], Comparison(rows["fused", "wide", ""], rows["eager", "wide", "host"])]
    assert sentences.over_cases(lacking, "them") == ""
    with pytest.raises(Miss, match="no case has both"):
        sentences.over_cases([], "them")


def claim(field):
    return Claim(Word("chunked"), Relation.BELOW, Word("eager"), Measure(field))


def test_an_order_compares_bands_of_what_was_timed(rows):
    first, second = sentences.ordered(claim(Field.TIME), pair(rows, "chunked", "eager"))
    assert first.low < first.evidence.value < first.high < second.low


def test_an_order_of_facts_has_no_bands(rows):
    first, second = sentences.ordered(claim(Field.ERROR), pair(rows, "chunked", "eager"))
    assert first.low == first.high == second.low


def test_there_is_no_order_where_a_side_is_not_recorded_or_has_no_band(rows):
    assert sentences.ordered(claim(Field.REGISTERS), pair(rows, "chunked", "eager")) is None
    few = rows_of(minimal_artifact(blocks=5)[0])
    assert sentences.ordered(claim(Field.TIME), pair(few, "chunked", "eager")) is None
