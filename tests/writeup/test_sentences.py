"""What is said of two measurements that stand beside each other."""

import json

import pytest

from tests.worlds import COMMIT, RUN, minimal_artifact, write_results
from writeup import build, comparable, config, result, selection, sentences, verify, views
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


# What an experiment varies.


def plain(words):
    return views.clean(words).replace("\u202f", " ")


def varying(*names, chunked=None, eager=None):
    """The record of an experiment that varies `names`, with fields of two variants."""
    document, objects = minimal_artifact(blocks=6, samples=2)
    run = document["runs"][RUN]
    run["experiments"]["softmax"]["varies"] = list(names)
    for case in run["cases"].values():
        case["variants"]["chunked"] |= chunked or {}
        case["variants"]["eager"] |= eager or {}
    return document, objects


BY_DESIGN = [
    ("precision", {"precision": "tf32"}, {"precision": "ieee"}, "precision tf32 beside ieee"),
    (
        "precision",
        {"config": {"precision": "tf32"}},
        {"precision": "ieee"},
        "precision tf32 beside ieee",
    ),
    ("dtype", {"dtype": "bfloat16"}, {}, "dtype bfloat16 beside float32"),
    ("devices", {"devices": 4}, {}, "devices 4 beside a single one"),
    ("batch", {"config": {"batch": 8}}, {"config": {"batch": 1}}, "batch 8 beside 1"),
    (
        "packing",
        {"config": {"packing": [1, 2]}},
        {"config": {"packing": [2]}},
        "packing 1, 2 beside 2",
    ),
    ("BLOCK_2", {"config": {"BLOCK_2": 8}}, {"config": {"BLOCK_2": 4}}, "BLOCK_2 8 beside 4"),
]


@pytest.mark.parametrize(("name", "chunked", "eager", "expected"), BY_DESIGN)
def test_both_values_of_what_is_varied_stand_beside_the_ratio(name, chunked, eager, expected):
    rows = rows_of(varying(name, chunked=chunked, eager=eager)[0])
    both = pair(rows, "chunked", "eager")
    assert comparable.differences(both) == ()
    told = plain(sentences.told_verdict(both.row, both.other))
    assert told.startswith("chunked is faster than eager, 1.")
    assert told.endswith(f" ×, {expected} by design)")
    assert plain(sentences.figures(both.row, both.other)).endswith(f" ×, {expected} by design)")


@pytest.mark.parametrize(("name", "chunked", "eager", "expected"), BY_DESIGN[:5])
def test_what_is_not_declared_stays_incomparable_wherever_it_is_recorded(
    name, chunked, eager, expected
):
    rows = rows_of(varying(chunked=chunked, eager=eager)[0])
    (reason,) = comparable.differences(pair(rows, "chunked", "eager"))
    assert reason.startswith(f"they differ in {name}: ")


def test_equal_values_of_what_may_vary_are_not_told():
    rows = rows_of(varying("dtype", "precision", "case")[0])
    both = pair(rows, "chunked", "eager")
    assert sentences.by_design(both.row, both.other) == ()
    assert plain(sentences.figures(both.row, both.other)).endswith(" ×)")


def test_over_several_measurements_what_is_varied_is_told_once():
    rows = rows_of(varying("dtype", chunked={"dtype": "bfloat16"})[0])
    pairs = [pair(rows, "chunked", "eager", case) for case in ("small", "wide")]
    told = plain(sentences.over_cases(pairs, "them"))
    assert told.endswith(" over 2 cases, dtype bfloat16 beside float32 by design)")
    faster = Claim(Word("chunked"), Relation.FASTER, Word("eager"), Measure(Field.TIME))
    claimed = plain(sentences.told_claim(faster, pairs))
    assert claimed.endswith(" ×, dtype bfloat16 beside float32 by design")
    assert claimed.count("by design") == 1
    ordered = plain(sentences.told_order(claim(Field.ERROR), pairs))
    assert ordered.endswith(", dtype bfloat16 beside float32 by design")


def test_a_ratio_of_five_blocks_has_no_band_but_says_what_is_varied():
    document, _ = minimal_artifact(blocks=5)
    run = document["runs"][RUN]
    run["experiments"]["softmax"]["varies"] = ["dtype"]
    run["cases"]["softmax.wide"]["variants"]["chunked"]["dtype"] = "bfloat16"
    both = pair(rows_of(document), "chunked", "eager")
    told = plain(sentences.figures(both.row, both.other))
    assert told.endswith(" × (dtype bfloat16 beside float32 by design)")


def test_free_words_that_are_varied_stand_in_the_result_and_not_in_every_sentence(tmp_path):
    document, objects = varying(
        "backend", "precision", chunked={"backend": "Triton", "precision": "tf32"},
        eager={"precision": "ieee"},
    )  # fmt: skip
    both = pair(rows_of(document), "chunked", "eager")
    assert "Triton" not in plain(sentences.told_verdict(both.row, both.other))
    write_results(tmp_path / "results", document, objects)
    project = config.find(tmp_path)
    site = build.build(project)
    page = site.files["stories/softmax/index.html"].decode()
    assert "<dt>backend, varied by design</dt><dd>Triton beside ATen</dd>" in page
    assert "<dt>precision, varied by design</dt>" in page
    assert verify.verify(build.publish(site, project)) == []
