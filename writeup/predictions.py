"""What was predicted of a subject, beside what its run measured."""

from __future__ import annotations

from writeup import derive, exhibits, views
from writeup.result import Artifact, Run
from writeup.selection import Row


def of(
    artifact: Artifact, run: Run, subject: str, story: views.Link | None = None
) -> tuple[views.Prediction, ...]:
    """Every prediction of a subject in a run, beside what was measured."""
    cases = {case.id: case for case in run.cases.values() if case.subject == subject}
    found = []
    for index, said in enumerate(run.experiments.get(subject, {}).get("predicted", ())):
        case = cases[said["case"]] if "case" in said else next(iter(cases.values()))
        mode = said.get("mode", next(iter(case.modes), ""))
        row, other = (
            Row(artifact, run, case, case.variants[name], case.variants[name].timings.get(mode))
            if name in case.variants
            else None
            for name in (said["variant"], said["over"])
        )
        both = (row, other) if row and other and row.timing and other.timing else None
        found.append(
            views.Prediction(
                id=f"{run.id}/experiments/{subject}/predicted/{index}",
                variant=exhibits.named(artifact, said["variant"]),
                baseline=exhibits.named(artifact, said["over"]),
                case=exhibits.named(artifact, case.id),
                mode=exhibits.named(artifact, mode),
                predicted=derive.prediction(artifact, run, subject, index),
                measured=exhibits.ratio(*both) if both else None,
                verdict=exhibits.verdict(*both) if both else None,
                story=story,
            )
        )
    return tuple(found)
