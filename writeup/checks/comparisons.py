"""Rules of comparisons: what is divided by what, and whether the samples bear it out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from writeup import comparable, derive, sentences
from writeup.checks.words import says_nothing
from writeup.document import Placed
from writeup.errors import Problem
from writeup.language import Block, BlockName, Claim, Field, Ratio, Relation, Versus
from writeup.result import Case, Variant
from writeup.sentences import Comparison
from writeup.sources import Sources
from writeup.stats import Verdict
from writeup.told import Scene, Told

# Scaled dot-product attention is a name for several kernels; one of these ran.
_DISPATCHED = re.compile(r"scaled_dot_product_attention|\bsdpa\b", re.IGNORECASE)
_DISPATCHERS = re.compile(r"flash|cudnn|efficient|\bmath\b", re.IGNORECASE)


def unnamed_baselines(_: Sources, told: Mapping[str, Told]) -> Iterator[Problem]:
    """Ratios whose denominator does not say what it is; each denominator once a story."""
    for each in told.values():
        seen: set[str] = set()
        for placed, pair in _compared(each):
            baseline = pair.other.variant
            missing = _unsaid(baseline)
            if missing and baseline.id not in seen:
                seen.add(baseline.id)
                message = (
                    f"the baseline '{baseline.id}' does not name its {' and its '.join(missing)}"
                )
                hint = f"say {_asked(missing)} where '{baseline.id}' is declared, and measure again"
                yield each.at(placed, "unnamed-baseline", message, hint)


def _unsaid(variant: Variant) -> list[str]:
    """What a denominator must name, and does not."""
    missing = [
        what
        for what in ("expression", "backend", "rounding")
        if says_nothing(variant.raw.get(what))
    ]
    backend = str(variant.raw.get("backend", ""))
    expression = str(variant.raw.get("expression", ""))
    if (
        "backend" not in missing
        and _DISPATCHED.search(expression)
        and not _DISPATCHERS.search(backend)
    ):
        missing.append("backend that ran")
    return missing


_ASKED = {
    "expression": 'what is called (expression="torch.softmax(x, dim=-1)")',
    "backend": 'what runs it (backend="ATen, CUDA")',
    "rounding": 'how it rounds (rounding="float32 throughout")',
    "backend that ran": "which of flash, cuDNN, efficient or math ran, pinned with sdpa_kernel,",
}


def _asked(missing: list[str]) -> str:
    return " and ".join(_ASKED[what] for what in missing)


def incomparable(_: Sources, told: Mapping[str, Told]) -> Iterator[Problem]:
    """Ratios whose sides differ in more than the experiment varies, or lack samples.

    Generated blocks compare as well; what a story cites is told at the citation.
    """
    for each in told.values():
        seen: set[tuple[str, str]] = set()
        for placed, pair in _compared(each):
            reasons = comparable.differences(pair)
            names = (pair.row.variant.id, pair.other.variant.id)
            block = isinstance(placed.citation, Block)
            if not reasons or (block and names in seen):
                continue
            seen.add(names)
            message = f"'{names[0]}' and '{names[1]}' cannot be compared: {'; '.join(reasons)}"
            yield each.at(placed, "incomparable", message, _remedy(pair, reasons))


def _remedy(pair: Comparison, reasons: tuple[str, ...]) -> str:
    """What an author can do about the first of the differences."""
    untimed = next((s for s in (pair.row, pair.other) if s.timing is None), None)
    if untimed is not None:
        name = untimed.variant.id
        return f"there is no ratio: cite {{{{ {name}.status }}}} or {{{{ {name}.reason }}}}"
    first = reasons[0].removeprefix("they differ in ").partition(":")[0]
    if first in ("commit", "run", "device"):
        return "compare within a run; `harness run --against` puts two commits into one"
    if first in ("case", "mode"):
        return f"measure both in that {first}, or choose another for the citation: @ …"
    if first in ("outputs", "calls in a sample"):
        return "time both in the same way, and measure again"
    if not reasons[0].startswith("they differ"):
        return "time both in the same blocks, and measure again"
    return f'record it equal on both sides, or declare it: varies = ("{first}",) in experiment.py'


def unresolved_claims(_: Sources, told: Mapping[str, Told]) -> Iterator[Problem]:
    """Claims that the samples do not bear out, each with the first case that refutes it."""
    for each in told.values():
        for resolved in each.resolved.values():
            claim = resolved.placed.citation
            if not isinstance(claim, Claim):
                continue
            for pair in resolved.comparisons:
                if pair.formed or claim.relation in (Relation.BELOW, Relation.ABOVE):
                    found = _refuted(claim, pair)
                    if found is not None:
                        yield each.at(resolved.placed, "unresolved-claim", *found)
                        break


_CLAIMED = {
    Relation.FASTER: Verdict.FASTER,
    Relation.SLOWER: Verdict.SLOWER,
    Relation.SAME: Verdict.SAME,
}
_SAID = {
    Verdict.FASTER: "faster than",
    Verdict.SLOWER: "slower than",
    Verdict.SAME: "same as",
}


# What a time says in other words: more of it is a win, or less of it is.
_OF_TIMES = {
    Field.THROUGHPUT: Relation.ABOVE,
    Field.BANDWIDTH: Relation.ABOVE,
    Field.FRACTION: Relation.ABOVE,
    Field.MIN: Relation.BELOW,
    Field.MAX: Relation.BELOW,
}


def _claimed(claim: Claim) -> Verdict | None:
    """The verdict on times that a claim comes to; None where it is about something else."""
    winning = _OF_TIMES.get(claim.measure.field)
    if claim.relation in _CLAIMED:
        return _CLAIMED[claim.relation]
    if winning is None or claim.measure.implemented:
        return None
    return Verdict.FASTER if claim.relation is winning else Verdict.SLOWER


def _refuted(claim: Claim, pair: Comparison) -> tuple[str, str] | None:
    """What the samples say against a claim on one pair, and a hint; None where they bear it out."""
    where = f"on {pair.row.case.id}"
    claimed = _claimed(claim)
    if claimed is not None and pair.formed:
        judged = derive.judgement(pair.row, pair.other)
        if judged.verdict is claimed:
            return None
        ratio = derive.speedup(pair.row, pair.other).text
        band = derive.speedup_band(pair.row, pair.other).text
        why = f" ({'; '.join(judged.reasons)})" if judged.reasons else ""
        message = (
            f"the samples do not bear this out {where}, {pair.row.mode}: "
            f"{judged.verdict}, {ratio}, band {band}{why}"
        )
        return message, _borne_out(claim, pair, judged.verdict)
    figures = sentences.ordered(claim, pair)
    if figures is None:
        message = f"the record does not hold the {claim.measure} of both {where}"
        return message, "claim what was recorded of both, or cite the one that was"
    (a, b), below = figures, claim.relation is Relation.BELOW
    if a.high < b.low if below else a.low > b.high:
        return None
    message = (
        f"the record does not bear this out {where}: {a.evidence.text} beside {b.evidence.text}"
    )
    return message, f"cite both and let them speak: {{{{ {claim.variant}.{claim.measure} }}}}"


def _borne_out(claim: Claim, pair: Comparison, verdict: Verdict) -> str:
    """The nearest sentence that the samples do bear out."""
    place = f"@ {pair.row.case.id}, {pair.row.mode}"
    said = _SAID.get(verdict)
    versus = f"{{{{ {claim.variant} vs {claim.other} {place} }}}}"
    if said is None:
        return f"print what they say, whatever it is: {versus}"
    stated = f"{{{{ claim {claim.variant} {said} {claim.other} {place} }}}}"
    return f"they bear out {stated}; or claim it only of cases where it holds"


def _compared(each: Told) -> Iterator[tuple[Placed, Comparison]]:
    """What a story divides: in its citations first, then in the blocks that are made for it."""
    blocks = []
    for resolved in each.resolved.values():
        citation = resolved.placed.citation
        if isinstance(citation, (Ratio, Versus, Claim)):
            for pair in resolved.comparisons:
                yield resolved.placed, pair
        elif isinstance(citation, Block):
            blocks.append((resolved.placed, citation.name))
    if each.scene is None:
        return
    for placed, name in blocks:
        for pair in _of_block(each.scene, name):
            yield placed, pair


def _of_block(scene: Scene, name: BlockName) -> Iterator[Comparison]:
    """The pairs of which a generated block shows ratios: both timed in the same mode."""
    here = [(scene.case, scene.mode)]
    match name:
        case BlockName.RESULT:
            places = [(case, mode) for case in scene.cases for mode in case.modes]
        case BlockName.ATTEMPTS:
            places = here + [(case, scene.mode) for case in scene.cases if case is not scene.case]
        case BlockName.STEPS:
            places = here
        case _:
            return
    for case, mode in places:
        for names in _sides(scene, case, name):
            row, other = (scene.timed(case, mode, each) for each in names)
            if row is not None and other is not None:
                yield Comparison(row, other)


def _sides(scene: Scene, case: Case, name: BlockName) -> Iterator[tuple[str, str]]:
    """Numerators and denominators by name: the headline, or steps and attempts over parents."""
    baseline = scene.baseline.variant.id
    if name is BlockName.RESULT:
        yield scene.headline.variant.id, baseline
        return
    for variant in case.variants.values():
        if variant.role == ("step" if name is BlockName.STEPS else "attempt"):
            if variant.parent:
                yield variant.id, variant.parent
            if name is BlockName.STEPS:
                yield variant.id, baseline
