"""Rules of a story's form: its parts, its order, and what it may not leave out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from writeup import derive, roofs, stats
from writeup.checks.words import says_nothing
from writeup.document import PARTS, Heading, Placed, four_parts
from writeup.errors import Problem
from writeup.language import Block, BlockName, Claim, Ratio, Versus
from writeup.result import Variant
from writeup.sources import Sources
from writeup.stats import Verdict
from writeup.told import Scene, Told

_WANTED = ", ".join(f"## {name.capitalize()}" for name in PARTS)
# Blocks that belong into the part of their name.
_OWN = (BlockName.PROBLEM, BlockName.ROOFLINE, BlockName.STEPS, BlockName.RESULT)


def _by_authors(told: Mapping[str, Told]) -> Iterator[Told]:
    """What somebody told; a record without a story says itself what it lacks."""
    return (each for each in told.values() if each.setting is None)


def _stories(told: Mapping[str, Told]) -> Iterator[Told]:
    """Measured stories that follow the four parts; studies are free in form."""
    for each in _by_authors(told):
        if each.story.front.kind == "story" and not each.blank:
            yield each


def _blocks(each: Told) -> dict[BlockName, Placed]:
    """The first block of each name."""
    found: dict[BlockName, Placed] = {}
    for placed in each.story.citations:
        if isinstance(placed.citation, Block):
            found.setdefault(placed.citation.name, placed)
    return found


def _part(each: Told, name: str) -> tuple[int, int]:
    """Where a part begins; where the story does if it has no such part."""
    found = (h for h in four_parts(each.story) if h.text.casefold() == name)
    return next(((part.line, part.column) for part in found), (1, 1))


def story_order(_: Sources, told: Mapping[str, Told]) -> Iterator[Problem]:
    """The four parts, each there, told, and in order."""
    for each in _stories(told):
        yield from _missing_parts(each)
        yield from _misplaced_parts(each)
        yield from _empty_parts(each)
        yield from _misplaced_blocks(each)


def _missing_parts(each: Told) -> Iterator[Problem]:
    names = {part.text.casefold() for part in four_parts(each.story)}
    for name in PARTS:
        if name in names:
            continue
        shown = name.capitalize()
        near = _nearly(each, name)
        if near is not None:
            message = f"'{near.text}' is no part of a story, and '{shown}' is missing"
            hint = f"did you mean '## {shown}'?"
            yield each.problem(near.line, near.column, "story-order", message, hint)
            continue
        message = f"the story has no part '{shown}'"
        hint = f'a story has the headings {_WANTED}, in this order; a page without: kind = "study"'
        yield each.problem(*_gap(each, name), "story-order", message, hint)


def _nearly(each: Told, name: str) -> Heading | None:
    """A heading that may have been meant for a part: a word of it is the part's, or nearly."""
    for heading in each.story.headings:
        words = ["".join(filter(str.isalpha, word)) for word in heading.text.casefold().split()]
        if heading.text.casefold() not in PARTS and get_close_matches(name, words, 1, 0.8):
            return heading
    return None


def _gap(each: Told, name: str) -> tuple[int, int]:
    """Where a missing part would stand: before the next of those that are there."""
    later = PARTS[PARTS.index(name) + 1 :]
    found = (h for h in four_parts(each.story) if h.text.casefold() in later)
    return next(((part.line, part.column) for part in found), (1, 1))


def _misplaced_parts(each: Told) -> Iterator[Problem]:
    before = -1
    for part in four_parts(each.story):
        place = PARTS.index(part.text.casefold())
        if place <= before:
            after = PARTS[before].capitalize()
            message = (
                f"'{part.text}' stands here for the second time"
                if place == before
                else f"'{part.text}' stands after '{after}'"
            )
            hint = f"the headings stand in this order, each once: {_WANTED}"
            yield each.problem(part.line, part.column, "story-order", message, hint)
        before = max(before, place)


def _empty_parts(each: Told) -> Iterator[Problem]:
    """Parts of which a reader would see the heading alone, or words that say nothing."""
    ends = [h.line for h in each.story.headings if h.level <= 2]
    ends.append(each.story.text.count("\n") + 2)
    headings = {heading.line for heading in each.story.headings}
    for part in four_parts(each.story):
        lines = range(part.line + 1, min(line for line in ends if line > part.line))
        cited = any(placed.line in lines for placed in each.story.citations)
        typed = [r.text for r in each.story.runs if r.line in lines and r.line not in headings]
        if not cited and says_nothing(" ".join(typed)):
            message = f"the part '{part.text}' is empty"
            hint = f"tell it, or let {{{{ {part.text.casefold()} }}}} on a line of its own do so"
            yield each.problem(part.line, part.column, "story-order", message, hint)


def _misplaced_blocks(each: Told) -> Iterator[Problem]:
    sections = {str(name) for name in _OWN} & {h.slug for h in four_parts(each.story)}
    for name, placed in _blocks(each).items():
        if name in _OWN and str(name) in sections and placed.section != str(name):
            message = f"the block '{name}' stands outside of its part"
            hint = f"put it below '## {name.capitalize()}'"
            yield each.at(placed, "story-order", message, hint)


def no_attempts(_: Sources, told: Mapping[str, Told]) -> Iterator[Problem]:
    """A failed or lost attempt must be shown, or a search in which others lost."""
    for each in _stories(told):
        if each.scene is None:
            continue
        shown = _blocks(each)
        if BlockName.SEARCHED in shown and any(_searches(v) for v in _variants(each.scene)):
            continue
        place = _part(each, "steps")
        tried = [v for v in _variants(each.scene) if v.role == "attempt"]
        failed = any(_failed(each.scene, variant) for variant in tried)
        if failed and BlockName.ATTEMPTS in shown:
            continue
        if failed:
            message = "the story shows none of its attempts, and no search"
            hint = "put {{ attempts }} on a line of its own"
        elif tried:
            names = ", ".join(f"'{name}'" for name in dict.fromkeys(v.id for v in tried))
            message = f"the story has no failed attempt and no search: none of {names} lost here"
            hint = "what is faster than its parent is a step; keep what did not work as an attempt"
        else:
            message = "the story has no attempt to show and no search"
            hint = 'keep what did not work: Variant(role="attempt", parent=…), and {{ attempts }}'
        yield each.problem(*place, "no-attempts", message, hint)


def _variants(scene: Scene) -> Iterator[Variant]:
    """The variants of every case of the scene's subject, also of cases that were only gated."""
    for case in scene.run.cases.values():
        if case.subject == scene.case.subject:
            yield from case.variants.values()


def _searches(variant: Variant) -> bool:
    """Whether something else was tried than what was chosen."""
    return len(variant.raw.get("tuning", {}).get("tried", ())) > 1


def _failed(scene: Scene, variant: Variant) -> bool:
    """Whether an attempt could not run, or is not faster than its parent somewhere.

    What needs another machine was not tried on this one.
    """
    if variant.status != "ok":
        return variant.status != "unsupported"
    for case in scene.cases:
        for mode in case.modes:
            row = scene.timed(case, mode, variant.id)
            parent = scene.timed(case, mode, variant.parent or "")
            if row is None or parent is None or not set(row.samples) & set(parent.samples):
                continue
            if derive.judgement(row, parent).verdict is not Verdict.FASTER:
                return True
    return False


def hidden_loss(_: Sources, told: Mapping[str, Told]) -> Iterator[Problem]:
    """The result block lists every case and mode where the headline fails; it must stand.

    A study without a headline has nothing to hide behind it.
    """
    for each in _by_authors(told):
        trimmed = any(problem.rule == "hidden-loss" for problem in each.story.problems)
        if each.blank or trimmed or BlockName.RESULT in _blocks(each):
            continue
        if each.story.front.kind == "story":
            message = "the story leaves out the result block, and with it where its headline fails"
            place = _part(each, "result")
        else:
            headline = _headline(each)
            if headline is None:
                continue
            message = "the study has a headline, and leaves out where it fails"
            place = headline
        hint = "put {{ result }} on a line of its own in the last part"
        yield each.problem(*place, "hidden-loss", message, hint)


def _headline(each: Told) -> tuple[int, int] | None:
    """Where a study has a headline: the key, or a comparison in its front matter or a heading."""
    if each.story.front.headline is not None:
        return each.story.front.place("headline")
    headings = {heading.line for heading in each.story.headings}
    fence = _front_end(each)
    for placed in each.story.citations:
        above = placed.line < fence or placed.line in headings
        if above and isinstance(placed.citation, (Ratio, Versus, Claim)):
            return placed.line, placed.column
    return None


def _front_end(each: Told) -> int:
    """The line of the second `+++`."""
    lines = each.story.text.split("\n")
    return next((n for n, line in enumerate(lines[1:], 2) if line.rstrip() == "+++"), 1)


def result_incomplete(_: Sources, told: Mapping[str, Told]) -> Iterator[Problem]:
    """Time, speed-up, band, shape, dtype and device, or no result."""
    for each in _by_authors(told):
        placed = _blocks(each).get(BlockName.RESULT)
        if placed is None or each.scene is None:
            continue
        for missing, hint in _missing(each.scene):
            message = f"the result lacks {missing}"
            yield each.at(placed, "result-incomplete", message, hint)


def _missing(scene: Scene) -> Iterator[tuple[str, str]]:
    pairs = set(scene.headline.samples) & set(scene.baseline.samples)
    if len(pairs) < stats.MIN_BLOCKS:
        counted = f"{len(pairs)} blocks are too few, {stats.MIN_BLOCKS} are needed"
        yield f"a band: {counted}", "measure again with more blocks"
    if not scene.case.shape:
        hint = f"give '{scene.case.id}' its shape in experiment.py, and measure again"
        yield "a shape", hint
    if says_nothing(scene.run.device):
        yield "the name of the device", "measure again where the device gives its name"


def datasheet_ceiling(_: Sources, told: Mapping[str, Told]) -> Iterator[Problem]:
    """A roofline needs ceilings of its own run, regime and memory level."""
    for each in _by_authors(told):
        placed = _blocks(each).get(BlockName.ROOFLINE)
        if placed is None:
            if each.story.front.kind == "story" and not each.blank:
                message = "the story draws no roofline, so no measured ceiling stands over it"
                hint = "put {{ roofline }} on a line of its own below '## Roofline'"
                yield each.problem(*_part(each, "roofline"), "datasheet-ceiling", message, hint)
        elif each.scene is not None:
            found = _no_roof(each.scene)
            if found is not None:
                yield each.at(placed, "datasheet-ceiling", *found)


def _no_roof(scene: Scene) -> tuple[str, str] | None:
    """Which ceiling is missing over a scene, and what there is instead; None where none is."""
    here = f"{scene.case.id} in {scene.mode}"
    uncounted = [what for what in ("flops", "bytes") if what not in scene.case.work]
    if uncounted:
        message = (
            f"no roof can be drawn over {here}: its {' and '.join(uncounted)} were not counted"
        )
        return message, "count them in work.py, and measure again"
    above = roofs.over(scene.run, scene.case, scene.mode)
    missing = []
    if above.memory is None:
        missing.append("memory")
    if above.compute is None:
        missing.append("compute")
    hint = "measure ceilings with the variants; a datasheet is no ceiling of this machine"
    if missing:
        message = f"the run measured no {' and no '.join(missing)} ceiling for {here}"
        return message, f"{hint}{_instead(scene, missing)}"
    cache = roofs.holding(scene.run, scene.case, scene.mode)
    if cache is not None and above.memory is not None and above.memory.level == "dram":
        message = f"{here} stays in {cache}, and the roof over it is that of the main memory"
        return message, f"measure a ceiling of {cache} with the variants"
    return None


def _instead(scene: Scene, missing: list[str]) -> str:
    """The ceilings of the resources in question that the run does hold."""
    held = [
        f"{ceiling.id} ({ceiling.level or ceiling.dtype}, {ceiling.regime})"
        for ceiling in scene.run.ceilings.values()
        if ceiling.resource in missing
    ]
    return f"; there are {', '.join(sorted(held))}" if held else ""


def steps_without_measurement(_: Sources, told: Mapping[str, Told]) -> Iterator[Problem]:
    """Every step needs a time, or a status, and a time of the step before it."""
    for each in _stories(told):
        placed = _blocks(each).get(BlockName.STEPS)
        if placed is None:
            message = "the story leaves out the block of its steps"
            hint = "put {{ steps }} on a line of its own below '## Steps'"
            place = _part(each, "steps")
            yield each.problem(*place, "step-without-measurement", message, hint)
        elif each.scene is not None:
            for message, hint in _unmeasured(each.scene):
                yield each.at(placed, "step-without-measurement", message, hint)


def _unmeasured(scene: Scene) -> Iterator[tuple[str, str]]:
    """Links of the chain of steps that have no measurement on the scene's case and mode."""
    here = f"on {scene.case.id} in {scene.mode}"
    hint = "measure a step and its parent on one case and in one mode"
    for variant in scene.case.variants.values():
        if variant.role != "step":
            continue
        row, parent = scene.rows.get(variant.id), scene.rows.get(variant.parent or "")
        if row is None:
            yield f"the step '{variant.id}' was not measured {here}", hint
        elif variant.parent is None:
            message = f"the step '{variant.id}' names no step before it"
            yield message, 'say which: parent="…" in experiment.py, and measure again'
        elif row.timing is not None and (parent is None or parent.timing is None):
            message = (
                f"the step '{variant.id}' comes after '{variant.parent}', which has no time {here}"
            )
            yield message, hint
