"""A subject measured again at one commit."""

import copy
import json

import pytest

from tests.worlds import COMMIT, RUN, minimal_artifact
from writeup import derive, dossier, rederive, repeats, result

AGAIN = "20261201T0900Z-epyc"


def measured_twice(**again):
    """An artifact with a second run, whose effects are given."""
    document, _ = minimal_artifact(kind="cpu")
    other, _ = minimal_artifact(kind="cpu", **again)
    run = copy.deepcopy(other["runs"][RUN])
    run["started"], run["ended"] = "2026-12-01T09:00:00Z", "2026-12-01T09:10:00Z"
    document["runs"][AGAIN] = run
    return result.parse(json.dumps(document).encode(), f"{COMMIT}.json"), document


def compared(artifact):
    [(first, again)] = repeats.neighbours(artifact, "softmax")
    assert (first.id, again.id) == (RUN, AGAIN)
    return repeats.repeats(artifact, first, again, "softmax")


def numbers(found):
    return {outcome: len(repeats.among(found, outcome)) for outcome in repeats.Outcome}


def test_equal_samples_give_equal_verdicts_on_every_case_and_mode():
    artifact, _ = measured_twice()
    found = compared(artifact)
    timed = {
        (case.key, mode, variant.id)
        for case in artifact.runs[RUN].cases.values()
        for variant in case.variants.values()
        if variant.role in ("step", "attempt")
        for mode in variant.timings
    }
    assert {(r.first.case.key, r.first.mode, r.first.variant.id) for r in found} == timed
    assert numbers(found)[repeats.Outcome.ALIKE] == len(timed)


def test_faster_and_then_slower_is_a_contradiction():
    artifact, _ = measured_twice(effects={"chunked": 0.5})
    contrary = repeats.among(compared(artifact), repeats.Outcome.CONTRARY)
    assert {one.first.variant.id for one in contrary} == {"chunked"}


def test_faster_and_then_unclear_moved_and_is_no_contradiction():
    artifact, _ = measured_twice(effects={"chunked": 1.0}, noise=0.2)
    found = [one for one in compared(artifact) if one.first.variant.id == "chunked"]
    assert {one.outcome for one in found} == {repeats.Outcome.MOVED}


def test_a_run_on_another_device_is_not_compared():
    artifact, document = measured_twice()
    document["runs"][AGAIN]["environment"]["device"]["name"] = "another processor"
    artifact = result.parse(json.dumps(document).encode(), f"{COMMIT}.json")
    assert list(repeats.neighbours(artifact, "softmax")) == []


@pytest.mark.parametrize("effect", [1.9, 0.5])
def test_the_counts_are_derived_again_from_the_raw_samples(effect):
    artifact, document = measured_twice(effects={"chunked": effect})
    records = rederive.Records({COMMIT: document}, {}, {})
    for outcome, number in numbers(compared(artifact)).items():
        first, again = artifact.runs[RUN], artifact.runs[AGAIN]
        evidence = derive.agreement(first, again, "softmax", outcome, number)
        entry = rederive.Entry(
            evidence.key, evidence.form, evidence.at, evidence.args, evidence.text
        )
        assert rederive.derive(entry, records).text == str(number)


def test_the_result_page_lists_what_did_not_come_out_alike():
    artifact, document = measured_twice(effects={"chunked": 0.5})
    content = json.dumps(document).encode()
    page = dossier.page(artifact, content, dossier.samples_table(artifact), (), {}, {})
    [again] = page.again
    expected = [one for one in compared(artifact) if one.outcome is not repeats.Outcome.ALIKE]
    assert len(again.rows) == len(expected) > 0


def test_a_single_run_has_nothing_to_be_compared_with():
    document, _ = minimal_artifact()
    artifact = result.parse(json.dumps(document).encode(), f"{COMMIT}.json")
    assert dossier.page(artifact, b"{}", b"", (), {}, {}).again == ()
