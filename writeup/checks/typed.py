"""Rules of numbers that somebody typed, in stories and in the free words of a record."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from writeup import naming, numerals
from writeup.document import Literal, text_runs
from writeup.errors import Problem
from writeup.numerals import Names
from writeup.result import Artifact
from writeup.sources import Sources
from writeup.strict import Json, pointer
from writeup.told import Told

TYPED = "typed-number"
_HINT_TYPED = (
    'cite it from the record: {{ variant.time }}; if it is no result, […]{.literal reason="…"}'
)

# What a record says in free words: these pass the gate like every other prose.
_EXPERIMENT_PROSE = (
    "title",
    "audience",
    "question",
    "hypothesis",
    "variable",
    "cannot_conclude",
    "next",
    "contract",
    "oracle",
    "independent_check",
    "limiter",
)
MOST_LITERALS = 5
# How far behind a literal a unit can stand, or before it what makes it a ratio.
_BEHIND = 24
_FACTOR = re.compile(
    r"(?:\b(?:factors?|speed-?ups?|ratios?|multiples?)\s+of|[×*])\s*$", re.IGNORECASE
)
_COMPARING = re.compile(r"[×%]|\b(?:fast|slow|quick|bett|worse|more|less)", re.IGNORECASE)
_VARIANT_PROSE = ("what", "idea", "backend", "rounding")


def typed_numbers(sources: Sources, told: Mapping[str, Told]) -> Iterator[Problem]:
    """Numerals in stories, where they stand; the finished pages are looked at again."""
    terms = naming.glossary(sources.config.glossary, sources.stories.values())
    for each in told.values():
        artifacts = {row.artifact.commit: row.artifact for row in each.focus or each.record}
        words = [word for a in artifacts.values() for word in naming.words(a)]
        names = Names([*terms, *words])
        for run in text_runs(each.story):
            for found in numerals.typed(run.text, names):
                message = f"'{found.text}' is typed, not measured"
                yield run.problem(found.start, found.end, TYPED, message, _HINT_TYPED)


def typed_numbers_of_records(sources: Sources, _: Mapping[str, Told]) -> Iterator[Problem]:
    """Numerals in the free words of an artifact."""
    terms = naming.glossary(sources.config.glossary, sources.stories.values())
    for artifact in sources.artifacts.values():
        names = Names([*terms, *naming.words(artifact)])
        for where, text in prose(artifact):
            for found in numerals.typed(text, names):
                message = f"{where}: '{found.text}' is typed in free words"
                hint = "figures have fields of their own: a prediction, a configuration, a limit"
                yield Problem(artifact.path, 0, 0, TYPED, message, hint)


def figures_in_facts(sources: Sources, _: Mapping[str, Told]) -> Iterator[Problem]:
    """Results told in fields that hold code, names and settings, which are shown as they are."""
    for artifact in sources.artifacts.values():
        for where, text, named in _facts(artifact):
            for found in numerals.figures(text, ratios_only=named):
                message = f"{where}: '{found.text}' reads as a result"
                hint = "this field is shown as it stands: it holds code, a name or a setting"
                yield Problem(artifact.path, 0, 0, TYPED, message, hint)


def _facts(artifact: Artifact) -> Iterator[tuple[str, str, bool]]:
    """Texts that pages show as evidence: pointer, text, and whether it is the name of a part."""
    for run in artifact.runs.values():
        for part in ("device", "host", "software", "flags", "variables"):
            where = run.pointer + pointer("environment", part)
            yield from _strings(where, run.environment.get(part, {}), named=True)
        yield from _strings(run.pointer + "/timer", run.raw.get("timer", {}), named=True)
        yield from _strings(run.pointer + "/command", run.raw.get("command", ()), named=True)
        for case in run.cases.values():
            yield from _strings(case.pointer + "/inputs", case.raw.get("inputs", {}), named=False)
            for variant in case.variants.values():
                shown = {
                    key: variant.raw.get(key, {}) for key in ("expression", "precision", "config")
                }
                yield from _strings(variant.pointer, shown, named=False)


def _strings(where: str, held: Json, *, named: bool) -> Iterator[tuple[str, str, bool]]:
    """Every text and key of a value, however deep."""
    if isinstance(held, str):
        yield where, held, named
    elif isinstance(held, Mapping):
        for key, value in held.items():
            yield where, key, named
            yield from _strings(where + pointer(key), value, named=named)
    elif isinstance(held, list | tuple):
        for index, value in enumerate(held):
            yield from _strings(where + pointer(index), value, named=named)


def glossary_of_figures(sources: Sources, _: Mapping[str, Told]) -> Iterator[Problem]:
    """Terms of the project's glossary that are figures and no names."""
    for word in sources.config.glossary:
        if numerals.figures(word) or not any(character.isalpha() for character in word):
            message = f"the glossary's {word!r} is a figure, not a name"
            hint = "a glossary holds names with digits in them, such as that of a model"
            yield Problem(sources.config.source, 0, 0, "bad-config", message, hint)


def literals(_: Sources, told: Mapping[str, Told]) -> Iterator[Problem]:
    """Literals that are results after all, and more of them than a few."""
    for each in told.values():
        for index, literal in enumerate(each.story.literals):
            before, behind = _around(each, literal)
            told_as_result = (
                numerals.figures(literal.text + behind)
                or _COMPARING.search(literal.text)
                or _FACTOR.search(before)
            )
            if told_as_result:
                message = f"the literal '{literal.text}' is a result: it has a unit or compares"
                yield each.problem(literal.line, literal.column, TYPED, message, _HINT_TYPED)
            elif index == MOST_LITERALS:
                message = f"the story holds more literals than {MOST_LITERALS}"
                hint = "a literal is for a digit that is no result; name it in the glossary"
                yield each.problem(literal.line, literal.column, TYPED, message, hint)


def _around(each: Told, literal: Literal) -> tuple[str, str]:
    """What a reader sees right before a literal and right behind it, in its paragraph."""
    lines = each.story.text.split("\n")
    start = sum(len(line) + 1 for line in lines[: literal.line - 1]) + literal.column - 1
    end = each.story.text.find("}", start)
    before = behind = ""
    for run in each.story.runs:
        first, last = run.offset(0), run.offset(len(run.text) - 1)
        if last < start and "\n\n" not in each.story.text[last:start]:
            before = run.text[-_BEHIND:]
        if first > end and not behind and "\n\n" not in each.story.text[end:first]:
            behind = run.text[:_BEHIND]
    return before, behind


def prose(artifact: Artifact) -> Iterator[tuple[str, str]]:
    """The free words of an artifact, each with its JSON pointer."""
    for run in artifact.runs.values():
        for subject, experiment in run.experiments.items():
            where = run.pointer + pointer("experiments", subject)
            yield from _texts(where, experiment, _EXPERIMENT_PROSE)
        for case in run.cases.values():
            yield from _texts(case.pointer, case.raw, ("what", "layout"))
            for variant in case.variants.values():
                yield from _texts(variant.pointer, variant.raw, _VARIANT_PROSE)
                if variant.reason:
                    yield from _texts(variant.pointer + "/reason", variant.reason, ("text",))
        for ceiling in run.ceilings.values():
            for probe in ceiling.probes.values():
                where = ceiling.pointer + pointer("probes", probe.id, "what")
                yield where, probe.what


def _texts(
    where: str, held: Mapping[str, Json], keys: tuple[str, ...]
) -> Iterator[tuple[str, str]]:
    for key in keys:
        if isinstance(held.get(key), str):
            yield where + pointer(key), held[key]
