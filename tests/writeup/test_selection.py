import json

import pytest

from tests.worlds import COMMIT, RUN, minimal_artifact
from writeup import result, selection
from writeup.selection import Miss, Wanted, classify, narrowed, one

OTHER = "20261201T0900Z-epyc"


@pytest.fixture(scope="module")
def record():
    document, _ = minimal_artifact(blocks=6, samples=2)
    later, _ = minimal_artifact(run=OTHER, blocks=6, samples=2)
    document["runs"] |= later["runs"]
    artifact = result.parse(json.dumps(document).encode(), f"{COMMIT}.json")
    return selection.rows([artifact], "softmax")


def of(record, variant, *facets, **defaults):
    own = [row for row in record if row.variant.id == variant]
    return narrowed(own, Wanted(facets, defaults), record)


def test_a_row_stands_for_each_mode_and_one_for_what_was_not_timed(record):
    here = [row for row in record if row.run.id == RUN and row.case.id == "wide"]
    assert [row.mode for row in here if row.variant.id == "eager"] == ["host", "host_hot"]
    (fused,) = [row for row in here if row.variant.id == "fused"]
    assert fused.timing is None
    assert fused.address == f"{COMMIT}/{RUN}/softmax.wide/fused"


def test_rows_come_sorted_and_of_one_subject_only(record):
    assert [row.address for row in record] == sorted(row.address for row in record)
    assert selection.rows([record[0].artifact], "gelu") == ()


def test_what_was_not_timed_has_no_samples_and_no_mode(record):
    fused = next(row for row in record if row.variant.id == "fused")
    with pytest.raises(LookupError, match="was not timed"):
        _ = fused.samples
    with pytest.raises(LookupError, match="was not timed"):
        _ = fused.mode


@pytest.mark.parametrize(
    ("word", "dimension"),
    [
        ("wide", "case"),
        ("host_hot", "mode"),
        ("float32", "dtype"),
        (RUN, "run"),
        (COMMIT, "commit"),
        (COMMIT[:7], "commit"),
        ("AMD EPYC", "device"),
    ],
)
def test_the_record_tells_what_a_word_is(record, word, dimension):
    assert classify(word, record) == dimension


@pytest.mark.parametrize("word", ["wid", COMMIT[:6], "abcdef0", "host-burst"])
def test_a_word_that_the_record_lacks_is_refused(record, word):
    with pytest.raises(Miss) as raised:
        classify(word, record)
    assert raised.value.rule == "unknown-citation"


def test_the_unknown_word_is_the_one_to_blame(record):
    with pytest.raises(Miss) as raised:
        of(record, "eager", "wide", "hsot")
    assert raised.value.facet == 1
    assert raised.value.hint == "did you mean 'host'?"


def test_words_narrow_each_in_its_dimension(record):
    (row,) = of(record, "eager", "wide", "host", RUN)
    assert (row.case.id, row.mode, row.run.id) == ("wide", "host", RUN)
    both = of(record, "eager", "wide", "host", "host_hot", RUN)
    assert [row.mode for row in both] == ["host", "host_hot"]


def test_a_facet_sets_the_default_of_its_dimension_aside_and_no_other(record):
    defaults = {"case": "wide", "mode": "host", "run": RUN}
    (row,) = of(record, "eager", "small", **defaults)
    assert (row.case.id, row.mode, row.run.id) == ("small", "host", RUN)


def test_all_cases_set_the_default_case_aside(record):
    own = [row for row in record if row.variant.id == "eager"]
    wanted = Wanted((), {"case": "wide", "mode": "host", "run": RUN}, all_cases=True)
    assert [row.case.id for row in narrowed(own, wanted, record)] == ["small", "wide"]


def test_a_mode_does_not_hide_what_was_never_timed(record):
    (row,) = of(record, "fused", "wide", "host", RUN)
    assert row.timing is None


def test_a_word_known_elsewhere_in_the_record_may_leave_nothing(record):
    rows = [row for row in record if row.case.id == "wide"]
    assert narrowed(rows, Wanted(("small",)), record) == ()


def test_one_row_or_a_reason(record):
    row = one(of(record, "eager", "wide", "host", RUN), "'eager'", ("case", "mode", "run"))
    assert row.variant.id == "eager"
    with pytest.raises(Miss) as none:
        one((), "'eager'", ("case",))
    assert (none.value.rule, none.value.message) == (
        "unknown-citation",
        "the record has no 'eager'",
    )


def test_several_rows_are_told_with_what_chooses_each(record):
    with pytest.raises(Miss) as raised:
        one(of(record, "eager", "host"), "'eager'", ("case", "mode", "run"))
    assert raised.value.rule == "ambiguous-citation"
    assert raised.value.message == "4 measurements are 'eager'"
    choices = [f"@ {case}, {run}" for case in ("small", "wide") for run in (RUN, OTHER)]
    assert raised.value.hint == f"choose one: {'; '.join(choices)}"
    for choice in choices:
        words = choice.removeprefix("@ ").split(", ")
        assert len(of(record, "eager", "host", *words)) == 1


def test_what_does_not_matter_makes_no_candidates(record):
    row = one(of(record, "eager", "wide", RUN), "'eager'", ("case", "run"))
    assert row.variant.id == "eager"


def test_many_candidates_are_counted_not_listed(record):
    artifact = record[0].artifact
    cases = {
        f"softmax.c{n}": {**artifact.raw["runs"][RUN]["cases"]["softmax.wide"], "id": f"c{n}"}
        for n in range(15)
    }
    document = {"schema": 1, "commit": COMMIT, "runs": {RUN: dict(artifact.raw["runs"][RUN])}}
    document["runs"][RUN] = {**document["runs"][RUN], "cases": cases, "experiments": {}}
    many = result.parse(json.dumps(document).encode(), f"{COMMIT}.json")
    rows = [r for r in selection.rows([many], "softmax") if r.variant.id == "eager"]
    with pytest.raises(Miss) as raised:
        one(rows, "'eager'", ("case",))
    assert raised.value.hint.endswith("; and 3 more")


def test_beside_is_the_same_case_and_mode(record):
    row = next(r for r in record if r.variant.id == "chunked" and r.timing)
    eager = row.beside(row.case.variants["eager"])
    assert (eager.case, eager.mode, eager.run) == (row.case, row.mode, row.run)
    assert row.beside(row.case.variants["fused"]) is None
