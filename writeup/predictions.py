"""What was predicted of a subject, beside what its run measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from writeup import comparable, derive, exhibits, sentences, views
from writeup.evidence import Evidence
from writeup.result import Artifact, Case, Run
from writeup.selection import Row
from writeup.sentences import Comparison
from writeup.strict import Json, pointer

# A prediction outside the band failed, on whichever side: arrows would contradict the words.
_TONES = {"within": views.Tone.OK, "above": views.Tone.FAILED, "below": views.Tone.FAILED}


@dataclass(frozen=True, slots=True)
class Foreseen:
    """A prediction, and where it was put to the test.

    pair is absent where either side has no time there, or they may not be compared.
    """

    artifact: Artifact
    run: Run
    pointer: str
    predicted: Evidence
    variant: str
    over: str
    case: Case
    mode: str
    pair: Comparison | None


def foreseen(
    artifact: Artifact,
    run: Run,
    subject: str,
    index: int,
    *,
    case: str | None = None,
    mode: str | None = None,
) -> Foreseen:
    """The prediction at an index. What it leaves open is `case` and `mode`, else the first."""
    said: Mapping[str, Json] = run.experiments[subject]["predicted"][index]
    cases = {each.id: each for each in run.cases.values() if each.subject == subject}
    chosen = cases[said.get("case", case or next(iter(cases)))]
    taken = said.get("mode", mode or next(iter(chosen.modes), ""))
    return Foreseen(
        artifact=artifact,
        run=run,
        pointer=run.pointer + pointer("experiments", subject, "predicted", index),
        predicted=derive.prediction(artifact, run, subject, index),
        variant=said["variant"],
        over=said["over"],
        case=chosen,
        mode=taken,
        pair=_pair(artifact, run, chosen, taken, (said["variant"], said["over"])),
    )


def _pair(
    artifact: Artifact, run: Run, case: Case, mode: str, names: tuple[str, str]
) -> Comparison | None:
    rows = [
        Row(artifact, run, case, case.variants[name], case.variants[name].timings.get(mode))
        for name in names
        if name in case.variants
    ]
    if len(rows) < len(names):
        return None
    pair = Comparison(rows[0], rows[1])
    return None if comparable.differences(pair) else pair


def told(each: Foreseen) -> views.Words:
    """`predicted …, measured …: the prediction lies above the band, … off`; "" without a pair."""
    if each.pair is None:
        return ""
    row, other = each.pair.row, each.pair.other
    return (
        "predicted ", each.predicted, ", measured ", *sentences.figures(row, other), ": ",
        *_outcome(each, row, other),
    )  # fmt: skip


def _outcome(each: Foreseen, row: Row, other: Row) -> Iterator[views.Piece]:
    word = derive.foretold(each.artifact, each.pointer, row, other)
    off = derive.missed(each.artifact, each.pointer, row, other)
    if word.text not in _TONES:
        yield from ("we ", word, " without a band, ", off, " off")
        return
    yield from ("the prediction lies ", word, " the band")
    if word.text != "within":
        yield from (", ", off, " off")


def of(
    artifact: Artifact, run: Run, subject: str, story: views.Link | None = None
) -> tuple[views.Prediction, ...]:
    """Every prediction of a subject in a run beside what was measured, the furthest off first."""
    count = len(run.experiments.get(subject, {}).get("predicted", ()))
    found = [
        _view(foreseen(artifact, run, subject, index), f"{subject}/predicted/{index}", story)
        for index in range(count)
    ]
    return tuple(sorted(found, key=missed, reverse=True))


def missed(prediction: views.Prediction) -> float:
    """How far a prediction was off, as a factor of at least one; unmeasured ones come last."""
    predicted = prediction.predicted.value
    if prediction.measured is None or not isinstance(predicted, (int, float)):
        return 0.0
    factor = float(predicted) / prediction.measured.value
    return max(factor, 1 / factor)


def _view(each: Foreseen, place: str, story: views.Link | None) -> views.Prediction:
    pair = each.pair
    return views.Prediction(
        id=f"{each.run.id}/experiments/{place}",
        variant=exhibits.named(each.artifact, each.variant),
        baseline=exhibits.named(each.artifact, each.over),
        case=exhibits.named(each.artifact, each.case.id),
        mode=exhibits.named(each.artifact, each.mode),
        predicted=each.predicted,
        measured=exhibits.ratio(pair.row, pair.other) if pair else None,
        held=_held(each, pair.row, pair.other) if pair else None,
        story=story,
    )


def _held(each: Foreseen, row: Row, other: Row) -> views.Verdict:
    word = derive.foretold(each.artifact, each.pointer, row, other)
    tone = _TONES.get(word.text, views.Tone.UNCLEAR)
    if word.text == "within":
        return views.Verdict(tone, (word, " the band"))
    off = derive.missed(each.artifact, each.pointer, row, other)
    side = (word, " the band") if word.text in _TONES else (word,)
    return views.Verdict(tone, side, (off, " off"))
