"""Rules of comparisons: what is divided by what, and whether the samples bear it out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from writeup import derive, sentences
from writeup.errors import Problem
from writeup.language import Claim, Ratio, Relation, Versus
from writeup.sentences import Comparison
from writeup.sources import Sources
from writeup.stats import Verdict
from writeup.told import Resolved, Told


def unnamed_baselines(_: Sources, told: Mapping[str, Told]) -> Iterator[Problem]:
    """Ratios whose denominator does not say what it is."""
    for each, resolved, pair in _comparisons(told):
        missing = [
            what
            for what in ("expression", "backend", "rounding")
            if not pair.other.variant.raw.get(what)
        ]
        if missing:
            name = pair.other.variant.id
            message = f"the baseline '{name}' does not name its {' and its '.join(missing)}"
            hint = f"say it where '{name}' is declared, and measure again"
            yield each.at(resolved.placed, "unnamed-baseline", message, hint)


def incomparable(_: Sources, told: Mapping[str, Told]) -> Iterator[Problem]:
    """Ratios whose sides differ in more than the experiment varies, or lack samples."""
    for each, resolved, pair in _comparisons(told):
        reasons = sentences.differences(pair)
        if reasons:
            names = f"'{pair.row.variant.id}' and '{pair.other.variant.id}'"
            message = f"{names} cannot be compared: {'; '.join(reasons)}"
            hint = "compare what ran in one run, on one case, in one mode, and passed its gate"
            yield each.at(resolved.placed, "incomparable", message, hint)


def unresolved_claims(_: Sources, told: Mapping[str, Told]) -> Iterator[Problem]:
    """Claims that the samples do not bear out."""
    for each in told.values():
        for resolved in each.resolved.values():
            claim = resolved.placed.citation
            if not isinstance(claim, Claim):
                continue
            for pair in resolved.comparisons:
                if pair.formed or claim.relation in (Relation.BELOW, Relation.ABOVE):
                    message = _refuted(claim, pair)
                    if message:
                        hint = "say what they do bear out, or let `{{ a vs b }}` say it"
                        yield each.at(resolved.placed, "unresolved-claim", message, hint)
                        break


_CLAIMED = {
    Relation.FASTER: Verdict.FASTER,
    Relation.SLOWER: Verdict.SLOWER,
    Relation.SAME: Verdict.SAME,
}


def _refuted(claim: Claim, pair: Comparison) -> str:
    """What the samples say against a claim on one pair; "" where they bear it out."""
    where = f"on {pair.row.case.id}"
    if claim.relation in _CLAIMED:
        judged = derive.judgement(pair.row, pair.other)
        if judged.verdict is _CLAIMED[claim.relation]:
            return ""
        ratio = derive.speedup(pair.row, pair.other).text
        band = derive.speedup_band(pair.row, pair.other).text
        why = f" ({'; '.join(judged.reasons)})" if judged.reasons else ""
        return (
            f"the samples do not bear this out {where}, {pair.row.mode}: "
            f"{judged.verdict}, {ratio}, band {band}{why}"
        )
    figures = sentences.ordered(claim, pair)
    if figures is None:
        return f"the record does not hold the {claim.measure} of both {where}"
    (a, b), below = figures, claim.relation is Relation.BELOW
    holds = a.high < b.low if below else a.low > b.high
    if holds:
        return ""
    figures_said = f"{a.evidence.text} beside {b.evidence.text}"
    return f"the record does not bear this out {where}: {figures_said}"


def _comparisons(told: Mapping[str, Told]) -> Iterator[tuple[Told, Resolved, Comparison]]:
    for each in told.values():
        for resolved in each.resolved.values():
            if isinstance(resolved.placed.citation, (Ratio, Versus, Claim)):
                for pair in resolved.comparisons:
                    yield each, resolved, pair
