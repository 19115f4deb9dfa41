"""How a time, a band, a verdict and a ceiling are made here: the chapters of the method page.

They travel with the package as Markdown, like the rules, which they link to. A constant stands
in them as a literal that names it, `[LEVEL]{.literal reason="constant"}`, and is drawn with the
value that the code has which uses it.
"""

from __future__ import annotations

from functools import cache, partial
from importlib.resources import files

from writeup import addresses, derive, document, views
from writeup.document import Literal, Placed, Story
from writeup.views import Chapter, Link, Words

# In the order in which a sceptical reader asks; what the gate cannot see comes last.
ORDER = (
    "questions",
    "checking",
    "samples",
    "blocks",
    "level",
    "margin",
    "failures",
    "ceilings",
    "predictions",
)

BLIND_SPOTS: tuple[Words, ...] = (
    (
        "A figure inside a picture that was drawn elsewhere is pixels; its alternative text is "
        "read, the pixels are not."
    ),
    (
        "A number in words that multiplies nothing and stands before no unit, as in a count of "
        "rows, is prose."
    ),
    (
        "Words are read as English. What is no digit is not found in another language, in letters "
        "that only look like others, or in Roman numerals of plain letters; nor are the numbers "
        "of a list, which the browser counts."
    ),
    (
        "A cited figure may stand beside the wrong words. Times, fold and percent behind it are "
        "refused; that registers are called bytes is not seen."
    ),
    (
        "A comparison is found by its words, and their list is finite: one that is made by order "
        "alone, or told as a picture, reads like any other sentence."
    ),
    (
        "What a record says in free words was written before its run. Its numerals are refused; "
        "its comparisons are expectations and are not held against the samples."
    ),
    (
        "Where a mark stands in a figure: its figures are checked against the samples, its place "
        "on the axes is drawn from them and not checked again."
    ),
    "An artifact forged by hand is consistent with itself; measuring again is what finds it.",
)
"""What the gate cannot see."""


def chapters() -> tuple[Chapter, ...]:
    """Every chapter, in order."""
    told = [Chapter(name, *_read(name)) for name in ORDER]
    return (*told, Chapter("limits", "What the gate cannot see", _limits))


@cache
def _read(name: str) -> tuple[str, views.Body]:
    """The title of a chapter, and what draws it."""
    text = (files("writeup") / "method" / f"{name}.md").read_text("utf-8")
    title, body = text.split("\n\n", 1)
    page = document.parse_page(body, f"method/{name}.md", prefix=f"{name}-", below=2)
    return title.removeprefix("# "), partial(_drawn, page)


def _drawn(page: Story, pen: views.Pen) -> str:
    return document.to_html(
        page,
        evidence_html=lambda piece: pen.draw(_said(piece)),
        evidence_text=lambda piece: pen.plain(_said(piece)),
        block_html=lambda placed: pen.draw(_said(placed)),
    )


def _said(piece: Placed | Literal) -> Words:
    """The constant that a literal names. Raises KeyError where there is none."""
    return derive.constant(piece.text)


def _limits(pen: views.Pen) -> str:
    link = Link("listed with their reasons", addresses.LITERALS)
    listed: Words = ("Digits that are no results, and names that hold digits, are ", link, ".")
    points = "".join(f"<li>{pen.draw(words)}</li>\n" for words in BLIND_SPOTS)
    return f'<p>{pen.draw(listed)}</p>\n<ul class="plainlist">\n{points}</ul>\n'
