"""Sentences that compare: verdicts and claims in words, with their figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from writeup import derive, stats
from writeup.answers import TIMED, measured
from writeup.evidence import Evidence
from writeup.language import Claim, Measure, Relation
from writeup.selection import Miss, Row, one
from writeup.views import Code, Words


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two measurements that a citation sets beside each other, whether or not it may."""

    row: Row
    other: Row

    @property
    def formed(self) -> bool:
        """Whether the ratio can be computed at all: both were timed, and blocks pair."""
        if self.row.timing is None or self.other.timing is None:
            return False
        return bool(set(self.row.samples) & set(self.other.samples))


def told_verdict(row: Row, other: Row) -> Words:
    """`a is faster than b, 1.04 × (1.02–1.06)`: the verdict in words with its figures."""
    verdict = derive.judgement(row, other).verdict
    joint = {
        stats.Verdict.FASTER: (" is ", derive.verdict(row, other), " than "),
        stats.Verdict.SLOWER: (" is ", derive.verdict(row, other), " than "),
        stats.Verdict.SAME: (" is the ", derive.verdict(row, other), " as "),
        stats.Verdict.UNCLEAR: (": we ", derive.verdict(row, other), " it from "),
    }[verdict]
    return (Code(row.variant.id), *joint, Code(other.variant.id), *_figures(row, other))


def _figures(row: Row, other: Row) -> tuple[str | Evidence, ...]:
    ratio = derive.ratio(row, other)
    if ratio.low is None:
        return (", ", derive.speedup(row, other))
    return (", ", derive.speedup(row, other), " (", derive.speedup_band(row, other), ")")


def over_cases(pairs: Sequence[Comparison], what: str) -> Words:
    """The geometric mean over the cases of one mode, with its worst and best.

    Nothing is said where a case lacks a side: all cases are all of them.
    """
    if not pairs:
        raise Miss("unknown-citation", f"no case has both of {what}")
    seen: set[str] = set()
    for pair in pairs:
        if pair.row.case.address in seen:
            one([p.row for p in pairs], what, ("mode", "run", "commit"))
        seen.add(pair.row.case.address)
    if not all(pair.formed for pair in pairs):
        return ""
    both = [(pair.row, pair.other) for pair in pairs]
    return (
        derive.geomean(both, "mean"),
        " (from ",
        derive.geomean(both, "worst"),
        " to ",
        derive.geomean(both, "best"),
        " over ",
        derive.count([row.case.address for row, _ in both], "cases"),
        " cases)",
    )


def told_claim(citation: Claim, pairs: Sequence[Comparison]) -> Words:
    """The claimed sentence with its scope; whether it holds is for the rules to say."""
    formed = [(pair.row, pair.other) for pair in pairs if pair.formed]
    if not formed:
        return ""
    row, other = formed[0]
    relation = {
        Relation.FASTER: " is faster than ",
        Relation.SLOWER: " is slower than ",
    }.get(citation.relation, " is the same as ")
    sentence = (Code(row.variant.id), relation, Code(other.variant.id))
    if len(formed) == 1:
        return (*sentence, *_figures(row, other))
    addresses = [r.address for r, _ in formed]
    return (
        *sentence,
        " in all ",
        derive.count(addresses, "measurements"),
        " measured cases and modes, from ",
        derive.geomean(formed, "worst"),
        " to ",
        derive.geomean(formed, "best"),
    )


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a claim with the ends of its band; a fact is its own band."""

    evidence: Evidence
    low: float
    high: float


def ordered(citation: Claim, pair: Comparison) -> tuple[Figure, Figure] | None:
    """The two figures that a claim of `below` or `above` compares; None where one lacks."""
    first, second = _figure(pair.row, citation.measure), _figure(pair.other, citation.measure)
    return (first, second) if first and second else None


def _figure(row: Row, measure: Measure) -> Figure | None:
    try:
        found = measured(row, measure)
    except (LookupError, ValueError):
        return None
    if not isinstance(found, Evidence) or not isinstance(found.value, (int, float)):
        return None
    value = float(found.value)
    if measure.field not in TIMED:
        return Figure(found, value, value)
    time = derive.seconds(row)
    if time.low is None or time.high is None:
        return None
    # A rate's band is that of its time turned over; either end by its own distance.
    spread = max(time.high / time.value, time.value / time.low)
    return Figure(found, value / spread, value * spread)


def told_order(citation: Claim, pairs: Sequence[Comparison]) -> Words:
    """The sentence of a claim of `below` or `above`, with both figures."""
    figures = ordered(citation, pairs[0])
    if figures is None:
        return ""
    return (
        Code(citation.variant.text),
        f" has its {citation.measure} {citation.relation} that of ",
        Code(citation.other.text),
        ", ",
        figures[0].evidence,
        " beside ",
        figures[1].evidence,
    )
