"""The page of a subject that nobody has told: made from its newest run, whole.

It has the parts of a story in their order, each with its generated block, and says nothing
that the record does not say. Where no headline can be formed (nothing was timed, or no step
beside a baseline) it shows every case as the record's own page does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from writeup import roofs
from writeup.document import Front, Story, parse_page
from writeup.result import Case
from writeup.selection import Miss, Row
from writeup.told import Resolved, Scene, Setting, Told, scene

_BARE = """\
## Problem

{{ problem }}

## What was recorded

{{ result }}

## Measuring it again

{{ reproduce }}
"""
_WHOLE = """\
## Problem

{{ problem }}

## Roofline

%(roofline)s

## Steps

{{ steps }}

### What did not work

{{ attempts }}
%(searched)s
## Result

{{ result }}

## Measuring it again

{{ reproduce }}
"""
_NO_ROOFLINE = "There is no roofline: %s."


def newest(record: Sequence[Row]) -> tuple[Row, ...]:
    """Everything recorded in the run that began last; of equal beginnings the last by id."""
    last = max(record, key=lambda row: (row.run.started, row.run.address)).run.address
    return tuple(row for row in record if row.run.address == last)


def tell(subject: str, record: tuple[Row, ...], plan: Story | None = None) -> Told:
    """What the newest run of a subject says by itself.

    record must not be empty. plan is a blank story: its words head the page, and are judged
    like any other prose, but what it plans to say waits until somebody says it.
    """
    focus = newest(record)
    played = _scene(focus)
    setting = played or Setting(focus[0].artifact, focus[0].run, _first(focus))
    story = _story(setting, played, plan)
    return Told(
        subject=subject,
        story=story,
        record=record,
        focus=focus,
        scene=played,
        resolved={placed: Resolved(placed, "", focus) for placed in story.citations},
        problems=(),
        setting=setting,
    )


def _first(focus: Sequence[Row]) -> Case:
    run, own = focus[0].run, {row.case.key for row in focus}
    return next(case for key, case in run.cases.items() if key in own)


def _scene(focus: tuple[Row, ...]) -> Scene | None:
    """The first case, in the order of the record, on which a headline can be formed."""
    own = {row.case.key for row in focus}
    for key, case in focus[0].run.cases.items():
        if key in own and case.modes:
            try:
                return scene(focus, Front(case=case.id))
            except Miss:
                continue
    return None


def _story(setting: Setting, played: Scene | None, plan: Story | None) -> Story:
    page = parse_page(_text(played), setting.artifact.path)
    experiment = setting.experiment
    front = Front(
        title=_said(experiment.get("title")),
        description=_said(experiment.get("question")),
        audience=_said(experiment.get("audience")),
        # The rules of a story's form are about what an author chose to show.
        kind="study",
    )
    if plan is None:
        return replace(page, front=front)
    own = {
        name: pieces
        for name in ("title", "description", "audience")
        if (pieces := getattr(plan.front, name)) and all(isinstance(p, str) for p in pieces)
    }
    return replace(
        page, path=plan.path, text=plan.text, runs=plan.runs, front=replace(front, **own)
    )


def _said(text: object) -> tuple[str, ...]:
    return (str(text),) if text else ()


def _text(played: Scene | None) -> str:
    if played is None:
        return _BARE
    lacking = _lacking(played)
    tuned = any("tuning" in row.variant.raw for row in played.rows.values())
    return _WHOLE % {
        "roofline": _NO_ROOFLINE % lacking if lacking else "{{ roofline }}",
        "searched": "\n{{ searched }}\n" if tuned else "",
    }


def _lacking(played: Scene) -> str:
    """Why no roofline can be drawn; "" where one can."""
    above = roofs.over(played.run, played.case, played.mode)
    if above.memory is None or above.compute is None:
        return "the run measured no ceilings for this case and mode"
    held = roofs.holding(played.run, played.case, played.mode)
    if held is not None and above.memory.level == "dram":
        return "these data stay in a cache of which the run measured no ceiling"
    if not {"flops", "bytes"} <= played.case.work.keys():
        return "the work of this case was not counted"
    return ""
