"""Rules of a story's form: its parts, its order, and what it may not leave out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

from writeup import roofs, stats
from writeup.document import PARTS, Placed, four_parts, text_runs
from writeup.errors import Problem
from writeup.language import Block, BlockName
from writeup.places import Run
from writeup.sources import Sources
from writeup.told import Scene, Told

# Words that compare. "Up to" names the best case and hides the rest.
_COMPARATIVE = re.compile(
    r"\b(?:fast|slow|quick|speedi|cheap)(?:er|est)\b|\bout(?:perform|run|pace)\w*|\bbeat(?:s|en|ing)?\b"
    r"|\b(?:wins?|won|winning|loses?|lost|losing)\s+(?:to|over|against)\b|\bup\s+to\b"
    r"|\b(?:better|worse|longer|shorter|sooner|later)\s+than\b|\b(?:less|more)\s+time\b"
    r"|\b(?:more|less)\s+efficient\b|\b(?:super|infer)ior\b|\btrounc\w+|\bin\s+the\s+dust\b",
    re.IGNORECASE,
)
_CITATION = re.compile(r"\{\{.*?\}\}")
_SENTENCE = re.compile(r"(?<=[.!?;:])\s+")


def _stories(told: Mapping[str, Told]) -> Iterator[Told]:
    """Measured stories that follow the four parts; studies are free in form."""
    for each in told.values():
        if each.story.front.kind == "story" and not each.blank:
            yield each


def _blocks(each: Told) -> dict[BlockName, Placed]:
    """The first block of each name."""
    found: dict[BlockName, Placed] = {}
    for placed in each.story.citations:
        if isinstance(placed.citation, Block):
            found.setdefault(placed.citation.name, placed)
    return found


def story_order(_: Sources, told: Mapping[str, Told]) -> Iterator[Problem]:
    """The four parts, each there and in order."""
    for each in _stories(told):
        parts = four_parts(each.story)
        names = [part.text.casefold() for part in parts]
        wanted = ", ".join(f"## {name.capitalize()}" for name in PARTS)
        for name in PARTS:
            if name not in names:
                message = f"the story has no part '{name.capitalize()}'"
                hint = f"a story has the headings {wanted}, in this order"
                yield each.problem(1, 1, "story-order", message, hint)
        places = [PARTS.index(name) for name in names]
        for (before, after), part in zip(pairwise(places), parts[1:], strict=True):
            if after <= before:
                message = f"'{part.text}' stands after '{PARTS[before].capitalize()}'"
                hint = f"the headings stand in this order: {wanted}"
                yield each.problem(part.line, part.column, "story-order", message, hint)


def no_attempts(_: Sources, told: Mapping[str, Told]) -> Iterator[Problem]:
    """A failed or lost attempt, or the search, must be shown."""
    for each in _stories(told):
        blocks = _blocks(each)
        if BlockName.SEARCHED in blocks or each.scene is None:
            continue
        tried = [v for v in each.scene.case.variants.values() if v.role == "attempt"]
        if BlockName.ATTEMPTS not in blocks or not tried:
            what = "shows no attempt" if tried else "has no attempt to show"
            message = f"the story {what} and no search"
            hint = "keep what did not work as variants of the role attempt, and put {{ attempts }}"
            yield each.problem(1, 1, "no-attempts", message, hint)


def hidden_loss(_: Sources, told: Mapping[str, Told]) -> Iterator[Problem]:
    """The result block lists every case and mode where the headline fails; it must stand."""
    for each in _stories(told):
        if BlockName.RESULT not in _blocks(each):
            message = "the story leaves out the result block, and with it where its headline fails"
            hint = "put {{ result }} on a line of its own in the last part"
            yield each.problem(1, 1, "hidden-loss", message, hint)


def result_incomplete(_: Sources, told: Mapping[str, Told]) -> Iterator[Problem]:
    """Time, speed-up, band, shape, dtype and device, or no result."""
    for each in _stories(told):
        placed = _blocks(each).get(BlockName.RESULT)
        if placed is None or each.scene is None:
            continue
        missing = list(_missing(each.scene))
        if missing:
            message = f"the result lacks {', '.join(missing)}"
            hint = "the record does not hold it: measure again"
            yield each.problem(placed.line, placed.column, "result-incomplete", message, hint)


def _missing(scene: Scene) -> Iterator[str]:
    pairs = set(scene.headline.samples) & set(scene.baseline.samples)
    if len(pairs) < stats.MIN_BLOCKS:
        yield "a band, for which it has too few blocks"
    if not scene.case.shape:
        yield "a shape"
    if not scene.run.device.strip():
        yield "the name of the device"


def datasheet_ceiling(_: Sources, told: Mapping[str, Told]) -> Iterator[Problem]:
    """A roofline needs ceilings of its own run, regime and memory level."""
    for each in told.values():
        placed = _blocks(each).get(BlockName.ROOFLINE)
        if placed is None or each.scene is None:
            continue
        scene = each.scene
        above = roofs.over(scene.run, scene.case, scene.mode)
        missing = [
            what
            for what, ceiling in (("memory", above.memory), ("compute", above.compute))
            if ceiling is None
        ]
        if missing:
            message = (
                f"the run measured no {' and no '.join(missing)} ceiling for "
                f"{scene.case.id} in {scene.mode}"
            )
            hint = "measure ceilings with the variants; a datasheet is no ceiling of this machine"
            yield each.problem(placed.line, placed.column, "datasheet-ceiling", message, hint)


def steps_without_measurement(_: Sources, told: Mapping[str, Told]) -> Iterator[Problem]:
    """Every step needs a time, or a status, and the same of the step before it."""
    for each in _stories(told):
        placed = _blocks(each).get(BlockName.STEPS)
        if placed is None or each.scene is None:
            continue
        for name, parent in _unmeasured(each.scene):
            scene = each.scene
            message = f"the step '{name}' has no measurement of '{parent}' on {scene.case.id}"
            hint = "measure a step and its parent on one case and in one mode"
            yield each.problem(
                placed.line, placed.column, "step-without-measurement", message, hint
            )


def _unmeasured(scene: Scene) -> Iterator[tuple[str, str]]:
    """Steps, and parents of steps, that have no row on the scene's case and mode."""
    for variant in scene.case.variants.values():
        if variant.role != "step":
            continue
        if variant.status == "ok" and variant.id not in scene.rows:
            yield variant.id, variant.id
        elif variant.parent and variant.parent not in scene.rows:
            yield variant.id, variant.parent


def bare_comparatives(_: Sources, told: Mapping[str, Told]) -> Iterator[Problem]:
    """A word that compares, in a sentence that names a variant."""
    for each in told.values():
        names = {row.variant.id for row in each.record}
        names |= {name.replace("-", " ") for name in names} | ({"baseline"} if names else set())
        for run in text_runs(each.story):
            for found in _COMPARATIVE.finditer(run.text):
                named = _named(each, run, found.start(), names)
                if named:
                    message = f"'{found[0]}' beside '{named}' rests on nothing"
                    hint = (
                        f"write {{{{ claim {named} faster than … }}}}, "
                        f"or let {{{{ {named} vs … }}}} say what the samples bear out"
                    )
                    yield run.problem(found.start(), found.end(), "bare-comparative", message, hint)


def _named(each: Told, run: Run, at: int, names: set[str]) -> str:
    """A variant that the sentence around a place of a run names in typed words; "" for none."""
    line, column = run.place(at)
    lines = each.story.text.split("\n")
    first = line
    while first > 1 and lines[first - 2].strip():
        first -= 1
    last = line
    while last < len(lines) and lines[last].strip():
        last += 1
    offset = sum(len(text) + 1 for text in lines[first - 1 : line - 1]) + column - 1
    paragraph = _CITATION.sub(lambda m: " " * len(m[0]), "\n".join(lines[first - 1 : last]))
    start = max((m.end() for m in _SENTENCE.finditer(paragraph) if m.end() <= offset), default=0)
    end = min(
        (m.start() for m in _SENTENCE.finditer(paragraph) if m.start() > offset),
        default=len(paragraph),
    )
    sentence = " ".join(paragraph[start:end].casefold().split())
    named = (n for n in names if re.search(rf"(?<![\w-]){re.escape(n)}(?![\w-])", sentence))
    return min(named, default="")
