"""What was predicted beside what was measured: in a sentence, in a table, and derived again."""

import json
import re

import pytest

from tests.worlds import COMMIT, RUN, minimal_artifact
from writeup import derive, predictions, rederive, result, views
from writeup.evidence import Evidence

SAID = {"variant": "chunked", "over": "eager", "ratio": 1.4, "case": "wide", "mode": "host"}


def made(*said, **options):
    document, _ = minimal_artifact(**{"blocks": 6, "samples": 2} | options)
    document["runs"][RUN]["experiments"]["softmax"]["predicted"] = list(said)
    artifact = result.parse(json.dumps(document).encode(), f"{COMMIT}.json")
    return artifact, artifact.runs[RUN]


def plain(words):
    return views.clean(words).replace("\u202f", " ")


def told(**changes):
    artifact, run = made(SAID | changes)
    return plain(predictions.told(predictions.foreseen(artifact, run, "softmax", 0)))


def again(evidence, artifact):
    """What the other program says of a piece of evidence."""
    entry = rederive.Entry(evidence.key, evidence.form, evidence.at, evidence.args, evidence.text)
    return rederive.derive(entry, rederive.Records({COMMIT: artifact.raw}, {}, {}))


@pytest.mark.parametrize(
    ("ratio", "outcome"),
    [
        (1.4, r"the prediction lies below the band, 12\.\d+ % off"),
        (1.6, r"the prediction lies within the band"),
        (2.0, r"the prediction lies above the band, 2[45]\.\d+ % off"),
    ],
)
def test_a_prediction_lies_within_above_or_below_the_band(ratio, outcome):
    shape = rf"predicted {ratio:.2f} ×, measured 1\.6\d* × \(1\.\d+–1\.6\d+ ×\): {outcome}"
    assert re.fullmatch(shape, told(ratio=ratio)), told(ratio=ratio)


def test_without_a_band_nothing_is_said_of_it_but_the_distance():
    artifact, run = made(SAID, blocks=5)
    words = plain(predictions.told(predictions.foreseen(artifact, run, "softmax", 0)))
    assert re.fullmatch(
        r"predicted 1\.40 ×, measured 1\.60 ×: we cannot tell without a band, 12\.\d % off", words
    )


@pytest.mark.parametrize("ratio", [0.2, 1.4, 1.599, 1.6, 1.601, 2.0, 55.0])
@pytest.mark.parametrize("blocks", [5, 6])
def test_the_other_program_derives_the_same(ratio, blocks):
    artifact, run = made(SAID | {"ratio": ratio}, blocks=blocks)
    found = predictions.foreseen(artifact, run, "softmax", 0)
    sides = (found.pair.row, found.pair.other)
    for evidence in (
        derive.foretold(artifact, found.pointer, *sides),
        derive.missed(artifact, found.pointer, *sides),
    ):
        derived = again(evidence, artifact)
        assert derived.text == evidence.text
        if evidence.value is not None:
            assert derived.value == pytest.approx(evidence.value, rel=1e-12)


@pytest.mark.parametrize("edit", ["variant", "over", "case", "mode", "subject"])
def test_the_other_program_refuses_a_prediction_beside_what_it_does_not_name(edit):
    artifact, run = made(SAID)
    found = predictions.foreseen(artifact, run, "softmax", 0)
    good = derive.foretold(artifact, found.pointer, found.pair.row, found.pair.other)
    pointer, variant, over = good.at
    base = f"{COMMIT}/{RUN}/softmax"
    wrong = {
        "variant": (pointer, variant.replace("chunked", "compiled"), over),
        "over": (pointer, variant, over.replace("eager", "compiled")),
        "case": (pointer, f"{base}.small/chunked/host", f"{base}.small/eager/host"),
        "mode": (pointer, f"{base}.wide/chunked/host_hot", f"{base}.wide/eager/host_hot"),
        "subject": (pointer.replace("experiments/softmax", "experiments/gelu"), variant, over),
    }[edit]
    again(good, artifact)
    with pytest.raises(rederive.UnderivableError):
        again(Evidence(good.form, wrong, good.text), artifact)


def test_what_a_prediction_leaves_open_is_chosen_or_the_first():
    bare = {key: SAID[key] for key in ("variant", "over", "ratio")}
    artifact, run = made(bare)
    found = predictions.foreseen(artifact, run, "softmax", 0)
    assert (found.case.id, found.mode) == ("small", "host")
    chosen = predictions.foreseen(artifact, run, "softmax", 0, case="wide", mode="host_hot")
    assert (chosen.case.id, chosen.mode) == ("wide", "host_hot")
    fixed, run = made(SAID)
    kept = predictions.foreseen(fixed, run, "softmax", 0, case="small", mode="host_hot")
    assert (kept.case.id, kept.mode) == ("wide", "host")


def test_all_predictions_are_listed_the_furthest_off_first_and_the_unmeasured_last():
    artifact, run = made(
        SAID | {"variant": "fused", "ratio": 9.0},
        SAID | {"ratio": 1.6},
        SAID | {"variant": "compiled", "ratio": 0.5},
        SAID | {"ratio": 2.0},
    )
    found = predictions.of(artifact, run, "softmax")
    assert [views.clean(each.variant) for each in found] == [
        "compiled",
        "chunked",
        "chunked",
        "fused",
    ]
    assert [each.held and views.clean(each.held.word) for each in found] == [
        "below the band",
        "above the band",
        "within the band",
        None,
    ]
    assert [each.id.rpartition("/")[2] for each in found] == ["2", "3", "1", "0"]
    assert [each.held and each.held.tone for each in found] == [
        views.Tone.FAILED,
        views.Tone.FAILED,
        views.Tone.OK,
        None,
    ]
    assert found[0].measured.band is not None
    assert found[2].held.sentence == ""


def test_sides_that_may_not_be_compared_are_not_set_beside_a_prediction():
    document, _ = minimal_artifact(blocks=6, samples=2)
    case = document["runs"][RUN]["cases"]["softmax.wide"]
    case["variants"]["chunked"]["precision"] = "tf32"
    case["variants"]["eager"]["precision"] = "ieee"
    artifact = result.parse(json.dumps(document).encode(), f"{COMMIT}.json")
    found = predictions.foreseen(artifact, artifact.runs[RUN], "softmax", 0)
    assert found.pair is None
    assert predictions.told(found) == ""
