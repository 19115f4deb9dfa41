"""What single functions answer; what a citation makes of them is in test_resolve."""

import json

import pytest

from tests.worlds import COMMIT, RUN, minimal_artifact
from writeup import answers, result, selection
from writeup.evidence import Evidence
from writeup.language import ORDERED, Denominator, Field, Measure, Word


@pytest.fixture(scope="module")
def row():
    return row_of(minimal_artifact()[0])


def row_of(document, variant="chunked"):
    artifact = result.parse(json.dumps(document).encode(), f"{COMMIT}.json")
    return next(
        row
        for row in selection.rows([artifact], "softmax")
        if (row.variant.id, row.case.id) == (variant, "wide")
    )


def answered(row, measure):
    """The words, or the sentence in their place."""
    try:
        return answers.measured(row, measure)
    except LookupError as error:
        return error.args[0]


@pytest.mark.parametrize("field", Field)
def test_every_field_is_answered_or_refused_with_a_sentence(row, field):
    name = Word("x") if field in (Field.METRIC, Field.COUNTER) else None
    found = answered(row, Measure(field, name=name))
    assert found
    prose = (Field.BACKEND, Field.ROUNDING, Field.IDEA, Field.WHAT)
    assert not isinstance(found, str) or "chunked" in found or field in prose


def test_every_field_with_an_order_has_a_number_where_it_is_recorded(row):
    recorded = ORDERED - {
        Field.REGISTERS,
        Field.SPILLS,
        Field.STACK,
        Field.SHARED,
        Field.SHARED_LIMIT,
        Field.WARPS,
        Field.MISMATCHED,
        Field.REQUIRED,
        Field.LIMIT,
        Field.METRIC,
        Field.COUNTER,
    }
    for field in recorded:
        found = answers.measured(row, Measure(field))
        assert isinstance(found, Evidence), field
        assert isinstance(found.value, (int, float)), field


@pytest.mark.parametrize("of", Denominator)
def test_a_fraction_names_the_missing_denominator(of):
    document, _ = minimal_artifact()
    run = document["runs"][RUN]
    run["ceilings"] = {}
    for case in run["cases"].values():
        del case["variants"]["copy"]["timings"]
    with pytest.raises(LookupError, match=r"no copy|no memory ceiling"):
        answers.measured(row_of(document), Measure(Field.FRACTION, of=of))


def test_a_missing_compute_ceiling_is_named_with_the_dtype():
    document, _ = minimal_artifact()
    del document["runs"][RUN]["ceilings"]["compute-float32"]
    with pytest.raises(LookupError, match="no compute ceiling for 'float32'"):
        answers.measured(row_of(document), Measure(Field.FRACTION, of=Denominator.ATTAINABLE))


def test_an_environment_is_asked_by_short_or_full_names(row):
    short = answers.environment(row, (Word("torch"),))
    full = answers.environment(row, (Word("software"), Word("torch")))
    assert short == full
    assert answers.environment(row, ()).text == "AMD EPYC"


def test_a_part_of_the_environment_is_no_fact(row):
    with pytest.raises(LookupError, match="no 'software'"):
        answers.environment(row, (Word("software"),))


def test_an_extent_named_like_a_fact_is_the_extent():
    document, _ = minimal_artifact()
    document["runs"][RUN]["cases"]["softmax.wide"]["shape"] = {"bytes": 7, "rows": 64}
    assert answers.of_case(row_of(document), (Word("bytes"),)).text == "7"
