"""Small parts that blocks and record pages share: an estimate with its band, a badge, a link."""

from __future__ import annotations

from collections.abc import Sequence

from writeup import addresses, derive, quantity, roofline, views
from writeup.result import Artifact, Ceiling, Run, Variant
from writeup.selection import Row
from writeup.sentences import told_verdict
from writeup.stats import Verdict

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
    blob = run.raw.get("sources", {}).get("files", {}).get(file)
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


def commands(row: Row) -> tuple[views.Words, ...]:
    """What measures a run again, from a clone."""
    commit = row.artifact.commit
    checkout = ("git checkout ", derive.name(commit, commit))
    again = derive.command(row.artifact, row.run.pointer + "/command", "command")
    return (checkout, again)
