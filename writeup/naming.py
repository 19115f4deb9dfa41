"""Names that prose may type although they hold digits: those of the record, and a glossary.

A version is a name only together with what it is the version of ("torch 2.13.0"), so that
a bare figure never passes for being equal to one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from writeup.document import BLANK, Story
from writeup.numerals import Names
from writeup.result import Artifact, Case, Run
from writeup.strict import Json

# Terms of the field with a digit or a multiple in them, and why they are no results.
TERMS: Mapping[str, str] = {
    "L1": "a level of cache",
    "L2": "a level of cache",
    "L3": "a level of cache",
    "A/A": "two equal variants compared",
    "double precision": "a floating-point format",
    "half precision": "a floating-point format",
    "double buffering": "a technique",
    "double-buffered": "a technique",
    "fp16": "a floating-point format",
    "fp32": "a floating-point format",
    "fp64": "a floating-point format",
    "bf16": "a floating-point format",
    "tf32": "a floating-point format",
    "float16": "a floating-point format",
    "float32": "a floating-point format",
    "float64": "a floating-point format",
    "bfloat16": "a floating-point format",
    "AVX2": "an instruction set",
    "AVX-512": "an instruction set",
    "x86-64": "an instruction set",
    "sm_90": "a compilation target",
    "sm_90a": "a compilation target",
    "SHA-256": "a digest",
    "cuCtxResetPersistingL2Cache": "a function of the CUDA driver",
    "UTF-8": "an encoding",
}


def glossary(configured: Mapping[str, str], stories: Iterable[Story]) -> Mapping[str, str]:
    """Every term with its reason: the field's, the project's own, and ids that are planned.

    A blank story cites ids that no record names yet; they are listed until one does.
    """
    planned = {
        word: "an id that a story plans to measure"
        for story in stories
        if story.front.status == BLANK
        for word in _cited(story)
        if any(character.isdigit() for character in word)
    }
    return {**planned, **TERMS, **configured}


def _cited(story: Story) -> Iterator[str]:
    """The words of a story's citations that are ids."""
    for placed in story.citations:
        for name in ("variant", "over", "other"):
            word = getattr(placed.citation, name, None)
            if word is not None:
                yield word.text
        facets = getattr(placed.citation, "facets", None)
        yield from (word.text for word in facets.words) if facets else ()


def of_record(artifacts: Iterable[Artifact]) -> Names:
    """The names of these artifacts."""
    return Names(word for artifact in artifacts for word in words(artifact))


def words(artifact: Artifact) -> Iterator[str]:
    """Ids, dtypes, devices, files, and versions behind the name of what they belong to."""
    for run in artifact.runs.values():
        yield run.id
        yield from _environment(run)
        for name, ceiling in run.ceilings.items():
            yield name
            yield from ceiling.probes
        yield from run.raw.get("controls", {}).get("calibration", {})
        for subject, experiment in run.experiments.items():
            yield subject
            yield from experiment.get("mistakes", {})
        for case in run.cases.values():
            yield from _case(case)


def _environment(run: Run) -> Iterator[str]:
    yield run.device
    yield from run.environment["device"].get("caches", {})
    host = run.environment.get("host", {})
    yield from (str(host[key]) for key in ("cpu", "os", "libc", "compiler") if key in host)
    versions: dict[str, Json] = dict(run.environment.get("software", {}))
    versions |= run.raw.get("sources", {}).get("distributions", {})
    for distribution, version in versions.items():
        yield f"{distribution} {version}"


def _case(case: Case) -> Iterator[str]:
    yield from (case.id, case.key, case.dtype, *case.shape)
    yield from case.modes
    for variant in case.variants.values():
        yield variant.id
        if "file" in variant.raw:
            yield str(variant.raw["file"])
            yield str(variant.raw["file"]).rsplit("/", 1)[-1]
        yield from (key for key in variant.config)
