"""A sentence about one result, to be pasted where no build watches over it.

It therefore brings along what a page would have beside it: the band, the conditions, the
baseline by name, how far the verdict reaches, and the link.
"""

from __future__ import annotations

import html
import re
from enum import StrEnum

from writeup import (
    addresses,
    answers,
    comparable,
    derive,
    exhibits,
    predictions,
    sentences,
    views,
)
from writeup.errors import WriteupError
from writeup.evidence import Evidence
from writeup.pasted import Found, Predicted, Roof
from writeup.result import Artifact, Run
from writeup.selection import Row
from writeup.sentences import Comparison
from writeup.views import Code, Words

# What carries the link; the bands beside it would only repeat it.
_LINKED = frozenset({"time", "speedup", "ceiling", "prediction", "fact"})
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~])")


class Format(StrEnum):
    """What the sentence is pasted into."""

    TEXT = "text"
    MARKDOWN = "markdown"
    HTML = "html"


def words(found: Found, other: Row | None = None) -> Words:
    """What is said of a result; of a time also beside `other`, else beside the baseline.

    Raises WriteupError where `other` was asked for and may not be set beside it.
    """
    match found:
        case Roof():
            return _roof(found)
        case Predicted():
            return _prediction(found)
        case Row(timing=None):
            return _untimed(found)
        case _:
            return _timed(found, other)


def written(found: Found, said: Words, form: Format, base_url: str) -> str:
    """The sentence as text, Markdown or HTML, with links to `base_url`, else within the site."""
    put = {Format.TEXT: _text, Format.MARKDOWN: _markdown, Format.HTML: _html}[form]
    place = _place(found)
    url = _url(place, base_url)
    body = "".join(put(each, url if _leads_to(each, place) else "") for each in views.pieces(said))
    return f"{body} {url}" if form is Format.TEXT else body


def _timed(row: Row, other: Row | None) -> Words:
    chosen = other or _baseline(row)
    said: tuple[views.Piece, ...] = (
        Code(row.variant.id), " takes ", derive.time(row), *_band(row), " on ",
        *_conditions(row), ".",
    )  # fmt: skip
    if chosen is None:
        return said
    return (*said, *_beside(row, chosen, asked=other is not None))


def _band(row: Row) -> tuple[views.Piece, ...]:
    if derive.seconds(row).low is None:
        return (", without a band for want of blocks,",)
    return (" (", derive.band(row), ")")


def _baseline(row: Row) -> Row | None:
    baseline = row.case.baseline
    return row.beside(baseline) if baseline is not None and baseline is not row.variant else None


def _beside(row: Row, other: Row, *, asked: bool) -> tuple[views.Piece, ...]:
    """The verdict beside another variant, named, and on how much of the record it holds."""
    apart = comparable.differences(Comparison(row, other))
    if apart and asked:
        names = f"'{row.variant.id}' and '{other.variant.id}'"
        raise WriteupError(f"{names} cannot be compared: {'; '.join(apart)}")
    if apart:
        return ()
    verdict = views.pieces(sentences.told_verdict(row, other))
    return (" ", *verdict, *_named(other), "; ", *exhibits.reach(row, other), ".")


def _named(other: Row) -> tuple[views.Piece, ...]:
    raw = other.variant.raw
    if "expression" not in raw:
        return ()
    prose = "".join(f", {raw[key]}" for key in ("backend", "rounding") if key in raw)
    expression = derive.of_variant(other.artifact, other.variant, "expression")
    return (", where ", Code(other.variant.id), " is ", Code(expression), prose)


def _conditions(row: Row) -> tuple[views.Piece, ...]:
    shape = derive.shape(row.artifact, row.case.pointer + "/shape", f"shape of {row.case.id}")
    return (
        Code(row.case.key), " (", shape, ", ", row.case.dtype, ", mode ", Code(row.mode), ", ",
        *_device(row.artifact, row.run), ")",
    )  # fmt: skip


def _device(artifact: Artifact, run: Run) -> tuple[views.Piece, ...]:
    return (
        derive.fact(artifact, run.pointer + "/environment/device/name", "device"), ", ",
        derive.date(artifact, run.pointer + "/started", "start"),
    )  # fmt: skip


def _untimed(row: Row) -> Words:
    status = derive.of_variant(row.artifact, row.variant, "status")
    why = views.pieces(answers.why(row.artifact, row.variant))
    return (
        Code(row.variant.id), " has no time on ", Code(row.case.key), " (",
        *_device(row.artifact, row.run), "): ", status,
        *((", ", *why) if row.variant.reason else ()), ".",
    )  # fmt: skip


def _roof(found: Roof) -> Words:
    ceiling = found.ceiling
    band: tuple[views.Piece, ...] = ()
    if ceiling.best()[1].low is not None:
        band = (" (", derive.ceiling_band(ceiling), ")")
    return (
        "The ceiling ", Code(ceiling.id), " was measured at ", derive.ceiling(ceiling), *band, " (",
        ceiling.probes[ceiling.best()[0]].what, "; ", *_device(found.artifact, found.run), ").",
    )  # fmt: skip


def _prediction(found: Predicted) -> Words:
    """A prediction with what became of it; the number alone where nothing was measured."""
    artifact, run, subject = found.artifact, found.run, found.subject
    foreseen = predictions.foreseen(artifact, run, subject, found.index)
    outcome: tuple[views.Piece, ...] = ("predicted ", foreseen.predicted, ", not measured")
    if foreseen.pair is not None:
        outcome = views.pieces(predictions.told(foreseen))
    mode: tuple[views.Piece, ...] = (", mode ", Code(foreseen.mode)) if foreseen.mode else ()
    return (
        Code(foreseen.variant), " over ", Code(foreseen.over), " on ", Code(foreseen.case.key),
        *mode, " (", *_device(artifact, run), "): ", *outcome, ".",
    )  # fmt: skip


# How words are put out.


def _place(found: Found) -> tuple[str, str]:
    """Page and anchor of a result."""
    match found:
        case Roof(ceiling=ceiling):
            address = ceiling.address
        case Predicted():
            address = f"{found.run.address}/experiments/{found.subject}/predicted/{found.index}"
        case _:
            address = found.address
    commit, _, anchor = address.partition("/")
    return addresses.result(commit), anchor


def _leads_to(piece: views.Piece, place: tuple[str, str]) -> bool:
    if not isinstance(piece, Evidence) or piece.form not in _LINKED:
        return False
    return addresses.target(piece) == place


def _url(place: tuple[str, str], base_url: str) -> str:
    page, anchor = place
    if base_url:
        page = f"{base_url.rstrip('/')}/{page.removesuffix('index.html')}"
    return f"{page}#{anchor}"


def _text(piece: views.Piece, _: str) -> str:
    return views.clean(piece)


def _markdown(piece: views.Piece, url: str) -> str:
    text = views.clean(piece)
    if isinstance(piece, Code):
        fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
        pad = " " if text.startswith("`") or text.endswith("`") else ""
        return f"{fence}{pad}{text}{pad}{fence}"
    escaped = _MARKDOWN.sub(r"\\\1", text)
    return f"[{escaped}]({url})" if url else escaped


def _html(piece: views.Piece, url: str) -> str:
    escaped = html.escape(views.clean(piece))
    if isinstance(piece, Code):
        return f"<code>{escaped}</code>"
    return f'<a href="{html.escape(url)}">{escaped}</a>' if url else escaped
