"""What is said of two measurements that stand beside each other."""

import json

import pytest

from tests.worlds import COMMIT, minimal_artifact
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


@pytest.fixture(scope="module")
def rows():
    return rows_of(minimal_artifact()[0])


def pair(rows, a, b, case="wide", mode="host", other_case=None, other_mode=None):
    return Comparison(rows[a, case, mode], rows[b, other_case or case, other_mode or mode])


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
