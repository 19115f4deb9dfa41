"""Which measurement a citation means: words and defaults narrow the record to one.

A `Row` is a variant of a case, in a mode where it was timed. The record alone decides
what a facet's word names (a case, a mode, a dtype, a run, a commit), and defaults of the
story hold only where no facet speaks of the same thing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING

from writeup.language import nearest

if TYPE_CHECKING:
    from writeup.result import Artifact, Case, Run, Timing, Variant

# Dimensions in the order in which a hint names them.
DIMENSIONS = ("case", "mode", "dtype", "run", "commit", "device")
_PREFIX = 7
_HEX = re.compile(r"[0-9a-f]{7,40}")


@dataclass(frozen=True, slots=True)
class Row:
    """One variant on one case; with a timing where it was timed in a mode."""

    artifact: Artifact
    run: Run
    case: Case
    variant: Variant
    timing: Timing | None = None

    def of(self, dimension: str) -> str:
        """What this row is in a dimension; "" for the mode of what was not timed."""
        match dimension:
            case "case":
                return self.case.id
            case "mode":
                return self.timing.mode if self.timing else ""
            case "dtype":
                return self.case.dtype
            case "run":
                return self.run.id
            case "commit":
                return self.artifact.commit
            case _:
                return self.run.device

    @property
    def address(self) -> str:
        return self.timing.address if self.timing else self.variant.address

    @property
    def mode(self) -> str:
        """The mode key. Raises LookupError where nothing was timed."""
        return self.taken.mode

    @property
    def samples(self) -> Mapping[str, Sequence[float]]:
        """Seconds by process. Raises LookupError where nothing was timed."""
        return self.taken.samples

    @property
    def taken(self) -> Timing:
        """The timing. Raises LookupError where nothing was timed."""
        if self.timing is None:
            raise LookupError(f"{self.variant.address} was not timed")
        return self.timing

    def beside(self, variant: Variant) -> Row | None:
        """Another variant of this case in this mode; None where it was not timed there."""
        timing = variant.timings.get(self.mode)
        return replace(self, variant=variant, timing=timing) if timing else None


class Miss(Exception):
    """No row, or more than one: why, and a hint. facet is the index of the word to blame."""

    def __init__(self, rule: str, message: str, hint: str = "", facet: int | None = None) -> None:
        super().__init__(message)
        self.rule = rule
        self.message = message
        self.hint = hint
        self.facet = facet


@dataclass(frozen=True, slots=True)
class Wanted:
    """What narrows: words of facets, as typed, and the story's defaults by dimension."""

    facets: tuple[str, ...] = ()
    defaults: Mapping[str, str] = field(default_factory=dict)
    all_cases: bool = False


def rows(artifacts: Iterable[Artifact], subject: str) -> tuple[Row, ...]:
    """Everything recorded of a subject, sorted by address."""
    found = []
    for artifact in artifacts:
        for run in artifact.runs.values():
            for case in run.cases.values():
                if case.subject != subject:
                    continue
                for variant in case.variants.values():
                    timed = [Row(artifact, run, case, variant, t) for t in variant.timings.values()]
                    found += timed or [Row(artifact, run, case, variant)]
    return tuple(sorted(found, key=lambda row: row.address))


def classify(word: str, among: Sequence[Row]) -> str:
    """The dimension that a facet's word belongs to. Raises Miss where it is none's."""
    for dimension in DIMENSIONS:
        if any(is_(row.of(dimension), word, dimension) for row in among):
            return dimension
    known = sorted({row.of(d) for d in DIMENSIONS[:4] for row in among} - {""})
    hint = nearest(word, known) or f"the record knows {', '.join(known)}" if known else ""
    raise Miss("unknown-citation", f"the record has no case, mode, dtype or run '{word}'", hint)


def is_(value: str, word: str, dimension: str) -> bool:
    """Whether a word names a value of a dimension; a commit is named by its beginning too."""
    if dimension == "commit":
        return value == word or (bool(_HEX.fullmatch(word)) and value.startswith(word))
    return value == word


def narrowed(among: Sequence[Row], wanted: Wanted, everything: Sequence[Row]) -> tuple[Row, ...]:
    """The rows that facets and defaults leave. Raises Miss for a word the record lacks.

    everything is what the words may speak of: the subject's whole record, so that a word
    is known even where this variant has no such row.
    """
    chosen: dict[str, set[str]] = {}
    for index, word in enumerate(wanted.facets):
        try:
            chosen.setdefault(classify(word, everything), set()).add(word)
        except Miss as miss:
            raise Miss(miss.rule, miss.message, miss.hint, index) from None
    for dimension, word in wanted.defaults.items():
        if dimension not in chosen and not (dimension == "case" and wanted.all_cases):
            chosen[dimension] = {word}
    left = among
    for dimension, words in chosen.items():
        # What was never timed has no mode, and is meant all the same.
        left = [
            row
            for row in left
            if (dimension == "mode" and row.timing is None)
            or any(is_(row.of(dimension), word, dimension) for word in words)
        ]
    return tuple(left)


def one(among: Sequence[Row], what: str, key: Iterable[str], several: str = "") -> Row:
    """The only row, by the dimensions that matter to what is cited. Raises Miss.

    Rows that agree in all of `key` are one (the registers of a variant are the same in
    every mode). several names what there are several of, where that is no measurement.
    """
    dimensions = tuple(key)
    distinct: dict[tuple[str, ...], Row] = {}
    for row in among:
        distinct.setdefault(tuple(row.of(d) for d in dimensions), row)
    if not distinct:
        raise Miss("unknown-citation", f"the record has no {what}")
    if len(distinct) > 1:
        hint = f"choose one: {choices(tuple(distinct.values()), dimensions)}"
        said = f"{several} match" if several else f"measurements are {what}"
        raise Miss("ambiguous-citation", f"{len(distinct)} {said}", hint)
    return next(iter(distinct.values()))


# Of many candidates, this many are listed.
_MOST = 12


def choices(among: Sequence[Row], dimensions: Sequence[str], also: Sequence[str] = ()) -> str:
    """The facets that choose each row: those of `also`, and no more of others than it takes."""
    spelt = [d for d in dimensions if d != "device"]  # a device's name is no facet; its run is
    places = sorted({tuple(_word(row.of(d), d) for d in spelt) for row in among})
    needed = _needed(places, frozenset(spelt.index(d) for d in also if d in spelt))
    lines = sorted({", ".join(filter(None, (place[i] for i in needed))) for place in places})
    shown = "; ".join(f"@ {line}" for line in lines[:_MOST] if line)
    rest = len(lines) - _MOST
    return shown + (f"; and {rest} more" if rest > 0 else "")


def _needed(places: Sequence[tuple[str, ...]], also: frozenset[int]) -> Sequence[int]:
    """The fewest dimensions in which no two places are equal, the first ones first."""
    every = range(len(places[0])) if places else range(0)
    for count in range(len(every)):
        for more in combinations(every, count):
            chosen = sorted(also.union(more))
            if len({tuple(place[i] for i in chosen) for place in places}) == len(places):
                return chosen
    return every


def _word(value: str, dimension: str) -> str:
    """A value as a facet may spell it."""
    short = dimension == "commit" and _HEX.fullmatch(value) is not None
    return value[:_PREFIX] if short else value
