"""Sentences that compare: verdicts and claims in words, with their figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from writeup import derive, stats, views
from writeup.answers import TIMED, measured
from writeup.evidence import Evidence
from writeup.language import Claim, Measure, Relation
from writeup.selection import Miss, Row, one
from writeup.strict import Json, pointer
from writeup.views import Code, Words


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two measurements that a citation sets beside each other, whether or not it may.

    of_times is false where facts are compared that need no time: registers of a variant that
    never ran are registers all the same.
    """

    row: Row
    other: Row
    of_times: bool = True

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
    return (Code(row.variant.id), *joint, Code(other.variant.id), ", ", *figures(row, other))


def figures(row: Row, other: Row) -> tuple[views.Piece, ...]:
    """A ratio with its band, where it has one, and what its sides differ in by design."""
    words: list[views.Piece] = []
    if derive.ratio(row, other).low is not None:
        words.append(derive.speedup_band(row, other))
    apart = by_design(row, other)
    words += [", " if words else "", *apart] if apart else []
    return (derive.speedup(row, other), *((" (", *words, ")") if words else ()))


def over_cases(pairs: Sequence[Comparison], what: str) -> Words:
    """The geometric mean over the cases of one mode, with its worst and best.

    Nothing is said where a case lacks a side: all cases are all of them.
    """
    both = _every_case(pairs, what)
    if not both:
        return ""
    return (
        derive.geomean(both, "mean"),
        " (from ",
        derive.geomean(both, "worst"),
        " to ",
        derive.geomean(both, "best"),
        " over ",
        derive.count([row.case.address for row, _ in both], "cases"),
        " cases",
        *_all_by_design(both),
        ")",
    )


def _every_case(pairs: Sequence[Comparison], what: str) -> list[tuple[Row, Row]]:
    """The pairs of every case in one mode; none where a case lacks a side. Raises Miss."""
    if not pairs:
        raise Miss("unknown-citation", f"no case has both of {what}")
    seen: set[str] = set()
    for pair in pairs:
        if pair.row.case.address in seen:
            one([p.row for p in pairs], what, ("mode", "run", "commit"))
        seen.add(pair.row.case.address)
    return [(p.row, p.other) for p in pairs] if all(pair.formed for pair in pairs) else []


def verdicts_over(pairs: Sequence[Comparison], what: str) -> Words:
    """`a beside b: faster on 3 of 4 cases, slower on 1; …`: every verdict, and the mean."""
    both = _every_case(pairs, what)
    if not both:
        return ""
    words: list[views.Piece] = [
        Code(both[0][0].variant.id),
        " beside ",
        Code(both[0][1].variant.id),
    ]
    found = [derive.judgement(*pair).verdict for pair in both]
    joint = ": "
    for verdict in (v for v in stats.Verdict if v in found):
        tally = derive.tally(both, verdict)
        unclear = verdict is stats.Verdict.UNCLEAR
        words += [joint, *(("we cannot tell on ",) if unclear else (_SAID[verdict], " on ")), tally]
        joint = ", "
    cases = derive.count([row.case.address for row, _ in both], "cases")
    return (*words, " of ", cases, " cases; geometric mean ", *_spread(both), *_all_by_design(both))


_SAID = {
    stats.Verdict.FASTER: "faster",
    stats.Verdict.SLOWER: "slower",
    stats.Verdict.SAME: "the same",
}


def _spread(pairs: Sequence[tuple[Row, Row]]) -> tuple[views.Piece, ...]:
    """The geometric mean of ratios, with the worst and the best of them."""
    mean, worst, best = (derive.geomean(pairs, which) for which in ("mean", "worst", "best"))
    return (mean, ", from ", worst, " to ", best)


def _all_by_design(pairs: Sequence[tuple[Row, Row]]) -> tuple[views.Piece, ...]:
    """What the sides of several ratios differ in by design, once for all that say the same."""
    words: dict[str, tuple[views.Piece, ...]] = {}
    for pair in pairs:
        apart = by_design(*pair)
        words.setdefault(views.clean(apart), apart)
    return tuple(piece for apart in words.values() if apart for piece in (", ", *apart))


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
        return (*sentence, ", ", *figures(row, other))
    addresses = [r.address for r, _ in formed]
    if len({r.mode for r, _ in formed}) == 1:
        cases = derive.count(addresses, "measurements")
        return (
            *sentence, " in all ", cases, " measured cases, in geometric mean ", *_spread(formed),
            *_all_by_design(formed),
        )  # fmt: skip
    return (
        *sentence,
        " in all ",
        derive.count(addresses, "measurements"),
        " measured cases and modes, from ",
        derive.geomean(formed, "worst"),
        " to ",
        derive.geomean(formed, "best"),
        *_all_by_design(formed),
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
    """The sentence of a claim of `below` or `above`: of one pair with both figures."""
    found = [figures_ for pair in pairs if (figures_ := ordered(citation, pair)) is not None]
    if not found:
        return ""
    said = (
        Code(citation.variant.text),
        f" has its {citation.measure} {citation.relation} that of ",
        Code(citation.other.text),
    )
    apart = _all_by_design([(pair.row, pair.other) for pair in pairs])
    if len(found) == 1:
        first, second = found[0]
        return (*said, ", ", first.evidence, " beside ", second.evidence, *apart)
    addresses = [pair.row.address for pair in pairs]
    timed = citation.measure.field in TIMED
    what = " measured cases and modes" if timed else " measured cases"
    return (*said, " in all ", derive.count(addresses, "measurements"), what, *apart)


# Told in words of their own wherever a baseline is named: too long to stand beside a ratio.
PROSE = ("backend", "rounding")


def declared(row: Row) -> Sequence[str]:
    """What may differ between variants by the experiment's own word."""
    said: Sequence[str] = row.run.experiments.get(row.case.subject, {}).get("varies", ())
    return said


def setting(row: Row, name: str) -> Json:
    """What a row has of a setting: its own field, its configuration's, its case's; "" for none."""
    raw = row.variant.raw
    absent = {"dtype": row.case.dtype, "devices": 1}.get(name, "")
    of_case = row.case.raw.get("settings", {}).get(name, absent)
    return raw.get(name, row.variant.config.get(name, of_case))


def varied(row: Row, other: Row) -> Iterator[tuple[str, Words, Words]]:
    """What two rows differ in because the experiment varies it: its name, and both values."""
    for name in declared(row):
        if name not in _DIMENSIONS:
            one_, two = setting(row, name), setting(other, name)
            if "" not in (one_, two) and one_ != two:
                yield name, _valued(row, name), _valued(other, name)


# What a row is by its place, which a citation names itself.
_DIMENSIONS = ("commit", "run", "device", "case", "mode")


def _valued(row: Row, name: str) -> Words:
    """The value of a setting as evidence; free words as they are."""
    artifact, variant = row.artifact, row.variant
    if name in PROSE:
        return str(variant.raw[name])
    for keys in ((name,), ("config", name)):
        if name in (variant.raw if keys == (name,) else variant.config):
            where = variant.pointer + pointer(*keys)
            listed = isinstance(artifact.at(where), list)
            label = f"{name} of {variant.id}"
            found = derive.listed if listed else derive.fact
            return Code(found(artifact, where, label))
    if name in row.case.raw.get("settings", {}):
        where = row.case.pointer + pointer("settings", name)
        return Code(derive.fact(artifact, where, f"{name} of {row.case.id}"))
    if name == "dtype":
        return Code(derive.fact(artifact, row.case.pointer + "/dtype", f"dtype of {row.case.id}"))
    return "a single one"


def by_design(row: Row, other: Row) -> tuple[views.Piece, ...]:
    """`precision tf32 beside ieee by design`: what a ratio's sides were allowed to differ in.

    Nothing where they differ in nothing, or in words that stand where the baseline is named.
    """
    words: list[views.Piece] = []
    for name, first, second in varied(row, other):
        if name not in PROSE:
            words += [", " if words else "", *setting_name(row, name)]
            words += [" ", *views.pieces(first), " beside ", *views.pieces(second)]
    return (*words, " by design") if words else ()


def setting_name(row: Row, name: str) -> tuple[views.Piece, ...]:
    """The name of a setting: a word, or where it holds digits, a name of the record."""
    if any(character.isdigit() for character in name):
        return (derive.name(row.artifact.commit, name),)
    return (name.replace("_", " "),)
