"""Small parts that blocks and record pages share: an estimate with its band, a badge, a link."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from writeup import addresses, derive, quantity, roofline, views
from writeup.result import Artifact, Ceiling, Run, Variant
from writeup.selection import Row
from writeup.sentences import told_verdict
from writeup.staleness import Stale
from writeup.stats import Verdict
from writeup.strict import pointer

_TONES = {
    Verdict.FASTER: views.Tone.FASTER,
    Verdict.SLOWER: views.Tone.SLOWER,
    Verdict.SAME: views.Tone.SAME,
    Verdict.UNCLEAR: views.Tone.UNCLEAR,
}


def time(row: Row, unit: str | None = None) -> views.Measured:
    """A row's time with its band."""
    found = derive.seconds(row)
    band = derive.band(row, unit) if found.low is not None else None
    return views.Measured(derive.time(row, unit), band, found.low, found.high)


def ratio(row: Row, other: Row) -> views.Measured:
    """How many times as fast a row is as another, with its band."""
    found = derive.ratio(row, other)
    band = derive.speedup_band(row, other) if found.low is not None else None
    return views.Measured(derive.speedup(row, other), band, found.low, found.high)


def verdict(row: Row, other: Row) -> views.Verdict:
    """The badge and the sentence of a comparison."""
    judged = derive.judgement(row, other)
    word = derive.verdict(row, other)
    return views.Verdict(_TONES[judged.verdict], word, told_verdict(row, other))


def reasons(row: Row, other: Row) -> str:
    """Why a verdict was withheld, or what raised the bar for it; "" where nothing did."""
    return "; ".join(derive.judgement(row, other).reasons)


def status(artifact: Artifact, variant: Variant) -> views.Verdict:
    """The badge of a status."""
    tone = views.Tone.OK if variant.status == "ok" else views.Tone.FAILED
    if variant.status == "unsupported":
        tone = views.Tone.BLANK
    return views.Verdict(tone, derive.of_variant(artifact, variant, "status"))


def ceiling(of: Ceiling) -> views.Measured:
    """A ceiling's rate with its band."""
    found = roofline.rate(of)
    band = derive.ceiling_band(of) if found.low is not None else None
    return views.Measured(derive.ceiling(of), band, found.low, found.high)


def source(run: Run, variant: Variant) -> views.Link | None:
    """The page of a variant's file as it was measured."""
    file = variant.raw.get("file")
    blob = run.files.get(str(file))
    if blob is None:
        return None
    name = derive.name(run.commit, str(file))
    return views.Link(views.Code(name), addresses.source(blob))


def named(artifact: Artifact, text: str) -> views.Code:
    """An id of the record, set as code."""
    return views.Code(derive.name(artifact.commit, text))


def column_unit(rows: Sequence[Row]) -> str | None:
    """One unit for a column of times; None for none."""
    if not rows:
        return None
    return quantity.common_scale([derive.seconds(row) for row in rows]).symbol


def commands(artifact: Artifact, run: Run) -> tuple[views.Words, ...]:
    """What measures a run again, from a clone; nothing where the record does not say."""
    if "command" not in run.raw:
        return ()
    checkout = ("git checkout ", derive.name(artifact.commit, artifact.commit))
    again = derive.command(artifact, run.pointer + "/command", "command")
    return (checkout, again)


# Beyond this a run was not made on one machine in one state.
_STEADY = 0.01


def drifts(artifact: Artifact, run: Run) -> tuple[views.Notice, ...]:
    """A notice for each calibration that came out otherwise at the end than at the start."""
    held = run.raw.get("controls", {}).get("calibration", {})
    where = run.pointer + pointer("controls", "calibration")
    found = []
    for name in held:
        kind, _, when = name.rpartition("-")
        end = f"{kind}-end"
        if when != "start" or end not in held:
            continue
        start_at, end_at = where + pointer(name), where + pointer(end)
        drift = derive.drift(artifact, start_at, end_at, f"drift of the {kind}")
        if isinstance(drift.value, float) and drift.value > _STEADY:
            words = (
                f"The machine drifted: the calibration {kind} took ",
                derive.sampled(artifact, start_at, f"{kind} at the start"),
                " at the start of the run and ",
                derive.sampled(artifact, end_at, f"{kind} at the end"),
                " at its end, a difference of ",
                drift,
                ". Ratios are of neighbouring samples and share it; times and ceilings do not.",
            )
            found.append(views.Notice(words))
    return tuple(found)


def stale(artifact: Artifact, run: Run, why: Stale) -> views.Notice:
    """What a reader must know of a stale run before its numbers: which files, and what else."""
    words: list[views.Piece] = ["The numbers of run ", _linked(artifact, run), " are stale."]
    for sentence in _outdated(run, why):
        words += [" ", *sentence]
    if why.raised:
        protocol = derive.fact(artifact, run.pointer + "/protocol", "protocol of the harness")
        words += [" The way of measuring has changed since protocol ", protocol, "."]
        words += [f" {reason}" for reason in why.raised]
    return views.Notice(tuple(words))


def outdated(run: Run, why: Stale) -> tuple[tuple[views.Piece, ...], ...]:
    """The same in short: sentences that are alike for runs that are stale alike."""
    raised = [("The way of measuring has changed since.",)] if why.raised else []
    return (*_outdated(run, why), *raised)


def _outdated(run: Run, why: Stale) -> Iterator[tuple[views.Piece, ...]]:
    """A sentence of the kernel files that changed, and one of those that are gone."""
    if why.changed:
        one = " has changed since it was measured."
        several = " have changed since they were measured."
        yield (*_listed(run, why.changed), several if why.changed[1:] else one)
    if why.gone:
        yield (*_listed(run, why.gone), " are gone." if why.gone[1:] else " is gone.")


def _listed(run: Run, paths: Sequence[str]) -> Iterator[views.Piece]:
    """Files of a run, each a link to what was measured."""
    for index, path in enumerate(paths):
        if index:
            yield " and " if index == len(paths) - 1 else ", "
        name = views.Code(derive.name(run.commit, path))
        yield views.Link(name, addresses.source(run.files[path]))


def _linked(artifact: Artifact, run: Run) -> views.Link:
    return views.Link(named(artifact, run.id), addresses.result(artifact.commit), run.id)


def reach(headline: Row, baseline: Row) -> tuple[views.Piece, ...]:
    """On how many of the measured cases and modes a headline holds, and on how many it flips."""
    verdict = derive.judgement(headline, baseline).verdict
    run, artifact = headline.run, headline.artifact
    holds: list[str] = []
    others: list[str] = []
    for case in run.cases.values():
        if case.subject != headline.case.subject:
            continue
        for mode in case.modes:
            pair = [
                Row(
                    artifact,
                    run,
                    case,
                    case.variants[side.variant.id],
                    case.variants[side.variant.id].timings.get(mode),
                )
                for side in (headline, baseline)
                if side.variant.id in case.variants
            ]
            both = len(pair) == len((headline, baseline)) and all(row.timing for row in pair)
            same = both and derive.judgement(pair[0], pair[1]).verdict is verdict
            (holds if same else others).append(pair[0].address if pair else case.address)
    words: list[views.Piece] = [
        "this holds on ",
        derive.count(holds, "cases and modes where the headline holds"),
        " of ",
        derive.count([*holds, *others], "cases and modes measured"),
        " measured cases and modes",
    ]
    return tuple(words)
