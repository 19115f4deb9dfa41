"""Rules of numbers that somebody typed, in stories and in the free words of a record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from writeup import naming, numerals
from writeup.document import text_runs
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
