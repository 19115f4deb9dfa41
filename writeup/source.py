"""Source text as lines of highlighted HTML, and the lines in which two texts differ.

Pygments lives here alone. It only sorts characters into kinds; the text itself is never
changed, so a line of the answer, with its tags taken off, is the line of the file.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum

from pygments.lexers import get_lexer_by_name
from pygments.lexers.special import TextLexer
from pygments.token import STANDARD_TYPES, _TokenType
from pygments.util import ClassNotFound

# By a file's suffix; whatever is not here is shown without highlighting.
LANGUAGES = {
    "py": "python",
    "cu": "cuda",
    "cuh": "cuda",
    "cpp": "cpp",
    "cc": "cpp",
    "c": "c",
    "h": "cpp",
    "json": "json",
    "toml": "toml",
    "yaml": "yaml",
    "yml": "yaml",
    "sh": "bash",
}


class Change(StrEnum):
    """What became of a line from one text to the next; GAP stands for equal lines left out."""

    KEPT = "kept"
    REMOVED = "removed"
    ADDED = "added"
    GAP = "gap"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a difference: its index in the old and the new text, from zero."""

    change: Change
    old: int | None = None
    new: int | None = None


def language_of(path: str) -> str:
    """The name of the language a path's suffix stands for; `text` where it is not known."""
    return LANGUAGES.get(path.rpartition(".")[2].lower(), "text")


def lines_of(text: str) -> list[str]:
    """The lines of a file without their ends. Only a newline ends one, as editors count."""
    lines = text.split("\n")
    return lines[:-1] if len(lines) > 1 and not lines[-1] else lines


def highlight(text: str, language: str) -> tuple[str, ...]:
    """Each line of `text` as HTML; spans carry Pygments' short class names."""
    lines: list[str] = [""]
    for kind, value in _tokens(text, language):
        for index, part in enumerate(value.split("\n")):
            if index:
                lines.append("")
            lines[-1] += _span(kind, part)
    return tuple(lines[: len(lines_of(text))])


def _tokens(text: str, language: str) -> Iterator[tuple[str, str]]:
    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        lexer = TextLexer(stripnl=False, ensurenl=False)
    # Lexers turn other line ends into newlines, which would change what was measured.
    if "\r" in text:
        yield "", text
        return
    for kind, value in lexer.get_tokens(text):
        yield _class(kind), value


def _class(kind: _TokenType) -> str:
    """The short class of the nearest kind that has one; none for plain names and spaces."""
    known: _TokenType | None = kind
    while known is not None and known not in STANDARD_TYPES:
        known = known.parent
    name = STANDARD_TYPES[known] if known is not None else ""
    return "" if name in ("n", "p", "w") else name


def _span(kind: str, text: str) -> str:
    escaped = html.escape(text, quote=False)
    return f'<span class="{kind}">{escaped}</span>' if kind and text else escaped


def difference(before: str, after: str, context: int = 3) -> tuple[Line, ...]:
    """The lines in which two texts differ, among `context` equal ones; empty if they are equal."""
    matcher = SequenceMatcher(None, lines_of(before), lines_of(after), autojunk=False)
    found: list[Line] = []
    for group in matcher.get_grouped_opcodes(context):
        if found:
            found.append(Line(Change.GAP))
        for tag, old, old_end, new, new_end in group:
            if tag == "equal":
                both = zip(range(old, old_end), range(new, new_end), strict=True)
                found.extend(Line(Change.KEPT, i, j) for i, j in both)
            else:
                found.extend(Line(Change.REMOVED, old=i) for i in range(old, old_end))
                found.extend(Line(Change.ADDED, new=j) for j in range(new, new_end))
    return tuple(found)
