"""Numerals: digits in any script or form, and words that say how many times.

Nothing is let through by its shape. What may be typed although it holds a numeral, an id or
"double buffering", is a name (`Names`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from writeup.number_words import COUNT, MULTIPLE, RATIO_AFTER, UNIT_AFTER


class Kind(StrEnum):
    """Why something is a numeral."""

    DIGIT = "digit"
    MULTIPLE = "multiple"
    COUNT = "count"


@dataclass(frozen=True, slots=True, order=True)
class Found:
    """A numeral: text[start:end]. COUNT is a number in words before a unit."""

    start: int
    end: int
    text: str
    kind: Kind


@dataclass(frozen=True, slots=True, order=True)
class Cover:
    """A name found in a text, at text[start:end], and how it was listed."""

    start: int
    end: int
    name: str


_CANDIDATE = re.compile(r"[0-9]|[^\x00-\x7f]")
# Digits with one of these between them are one numeral. The blanks are those that group digits.
_BETWEEN = frozenset(".,:'’_/⁄·٫٬\u00a0\u2009\u202f")
_NAMED_NUMBER = re.compile(r"\b(?:DIGIT|NUMBER|NUMERAL|FRACTION|KEYCAP)\b")
_PICTURED_NUMBER = re.compile(
    r"[0-9]|\b(?:ONE|TWO|THREE|FOUR|FIVE|SIX|SEVEN|EIGHT|NINE|TEN|ELEVEN|TWELVE|EIGHTEEN"
    r"|HUNDRED|FIRST|SECOND|THIRD)\b"
)
_SPACES = re.compile(r"\s+")


def numerals(text: str) -> Iterator[Found]:
    """Every numeral of `text`, from left to right, none inside another.

    Digits in any script or form (Unicode's numeric value, compatibility forms, keycaps and
    pictures of numbers), also inside words; words that multiply ("twice", "tenfold", "half
    the", "an order of magnitude"); numbers in words before a unit, %, times, fold or ×.
    """
    found = sorted([*_digits(text), *_words(text)], key=lambda f: (f.start, -f.end))
    end = 0
    for numeral in found:
        if numeral.end > end:
            yield numeral
            end = numeral.end


def figures(text: str, *, ratios_only: bool = False) -> list[Found]:
    """The numerals of `text` that read as a result: multiples, counts, digits before a unit.

    For texts that may hold digits of other kinds, such as code. With ratios_only, digits
    before times, fold, × or % alone, for names that carry a capacity ("80GB").
    """
    after = RATIO_AFTER if ratios_only else UNIT_AFTER
    found = []
    for numeral in numerals(text):
        behind = after.match(text, numeral.end)
        if numeral.kind is not Kind.DIGIT:
            if _is_type(text, numeral):
                continue
            if not ratios_only or numeral.kind is Kind.MULTIPLE:
                found.append(numeral)
        elif behind is not None:
            found.append(
                Found(numeral.start, behind.end(), text[numeral.start : behind.end()], Kind.COUNT)
            )
    return found


def _is_type(text: str, found: Found) -> bool:
    """Whether a word names a type or a thing: "half" of nothing, or "double" set in code."""
    if found.text == "half":
        return True
    before, behind = text[: found.start][-1:], text[found.end :][:1]
    code = before in {"", ".", "=", "("} and behind in {"", "(", ")", ",", "."}
    return found.text == "double" and code


def typed(text: str, names: Names) -> list[Found]:
    """The numerals of `text` outside of names; a name's digits before "times" are a numeral."""
    covers = names.cover(text)
    ratios = [
        Found(cover.start, after, text[cover.start : after], Kind.COUNT)
        for cover in covers
        if (after := ratio_behind(text, cover.end)) >= 0
    ]
    return sorted([*ratios, *_outside(text, covers)])


def ratio_behind(text: str, end: int) -> int:
    """Where words end that make a ratio of the digits before `end`; -1 where none do.

    A sign between two extents, as in rows × columns, makes none.
    """
    behind = RATIO_AFTER.match(text, end) if end and _is_numeric(text[end - 1]) else None
    if behind is None:
        return -1
    next_ = text[behind.end() :].lstrip()[:1]
    between = behind[0].strip() in _SIGNS and next_ and _is_numeric(next_)
    return -1 if between else behind.end()


_SIGNS = ("×", "x")


def _outside(text: str, covers: Iterable[Cover]) -> list[Found]:
    masked = list(text)
    for cover in covers:
        # An object replacement: neither a letter nor a blank, so nothing joins across it.
        masked[cover.start : cover.end] = "\ufffc" * (cover.end - cover.start)
    return [
        Found(found.start, found.end, text[found.start : found.end], found.kind)
        for found in numerals("".join(masked))
    ]


class Names:
    """Names that may be typed: ids, devices, versions with their distribution, a glossary.

    A name is found as a whole word, the longest first. Its blanks match any white space; a
    name without digits is found in capitals too, as at the beginning of a sentence.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._by_beginning: dict[str, list[str]] = {}
        for name in sorted({word.strip() for word in words}, key=lambda n: (-len(n), n)):
            beginning = _TOKEN.match(name)
            if beginning is not None:
                self._by_beginning.setdefault(beginning[0].casefold(), []).append(name)

    def cover(self, text: str) -> list[Cover]:
        """Where names stand in `text`, from left to right, none over another."""
        covers: list[Cover] = []
        end = 0
        for token in _TOKEN.finditer(text):
            if token.start() < end:
                continue
            for name in self._by_beginning.get(token[0].casefold(), ()):
                after = _end_of(name, text, token.start())
                if after >= 0:
                    covers.append(Cover(token.start(), after, name))
                    end = after
                    break
        return covers


_TOKEN = re.compile(r"\w+|[^\w\s]")


def _end_of(name: str, text: str, at: int) -> int:
    """Where `name` ends in `text` if it stands at `at` as a whole word, or -1."""
    fold = not any(_is_numeric(character) for character in name)
    for nth, part in enumerate(name.split()):
        if nth:
            blank = _SPACES.match(text, at)
            if blank is None:
                return -1
            at = blank.end()
        here = text[at : at + len(part)]
        if here != part and not (fold and here.casefold() == part.casefold()):
            return -1
        at += len(part)
    whole = not (_joins(text[at - 1]) and at < len(text) and _joins(text[at]))
    return at if whole else -1


def _joins(character: str) -> bool:
    """Whether a character goes on with the word before it."""
    return character.isalnum() or character == "_" or unicodedata.category(character) in _MARKS


_MARKS = frozenset({"Mn", "Mc", "Me", "Cf"})


def _digits(text: str) -> Iterator[Found]:
    start = end = -1
    for candidate in _CANDIDATE.finditer(text):
        at = candidate.start()
        if not _is_numeric(text[at]):
            continue
        if start >= 0 and _one_numeral(text[end:at]):
            end = at + 1
            continue
        if start >= 0:
            yield _digit(text, start, end)
        start, end = at, at + 1
    if start >= 0:
        yield _digit(text, start, end)


def _digit(text: str, start: int, end: int) -> Found:
    while end < len(text) and unicodedata.category(text[end]) in _MARKS:
        end += 1
    return Found(start, end, text[start:end], Kind.DIGIT)


def _one_numeral(between: str) -> bool:
    """Whether digits with `between` between them are one numeral."""
    if len(between) > 8:
        return False
    seen = [c for c in between if unicodedata.category(c) not in _MARKS and not shapeless(c)]
    return not seen or (len(seen) == 1 and seen[0] in _BETWEEN)


@lru_cache(maxsize=4096)
def _is_numeric(character: str) -> bool:
    if character.isascii():
        return character.isdigit()
    if any(c.isnumeric() for c in unicodedata.normalize("NFKC", character)):
        return True
    category = unicodedata.category(character)
    name = unicodedata.name(character, "")
    if category == "So":
        return bool(_NAMED_NUMBER.search(name) or _PICTURED_NUMBER.search(name))
    return category[0] in "NLM" and _NAMED_NUMBER.search(name) is not None


_ASCII_BLANKS = "\t\n\f\r"
# What a browser leaves out although it is no control or format character: the rest of
# Default_Ignorable_Code_Point (Unicode, DerivedCoreProperties), unassigned ones among it.
_IGNORABLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8"
    "\U000e0000-\U000e0fff]"
)
# Most texts: ASCII, and nothing shapeless in it.
_PLAIN = re.compile(r"[\t\n\f\r -~]*")


def shapeless(character: str) -> bool:
    """Whether a reader sees nothing at all of a character, not even a blank."""
    if character.isascii():
        return not character.isprintable() and character not in _ASCII_BLANKS
    category = unicodedata.category(character)
    return category in {"Cf", "Cc"} or _IGNORABLE.match(character) is not None


def _words(text: str) -> Iterator[Found]:
    folded, offsets = _folded(text)
    for pattern, kind in ((MULTIPLE, Kind.MULTIPLE), (COUNT, Kind.COUNT)):
        for match in pattern.finditer(folded):
            start, end = offsets[match.start()], offsets[match.end() - 1] + 1
            yield Found(start, end, text[start:end], kind)


def _folded(text: str) -> tuple[str, range | list[int]]:
    """`text` in small plain letters without invisible characters, and where each stood."""
    if _PLAIN.fullmatch(text):
        return text.lower(), range(len(text))
    parts: list[str] = []
    offsets: list[int] = []
    for at, character in enumerate(text):
        folded = _plain(character)
        parts.append(folded)
        offsets.extend([at] * len(folded))
    return "".join(parts), offsets


# Of other categories than dashes: the modifier letter, the bullet, the minus sign.
_LIKE_A_HYPHEN = "\u02d7\u2043\u2212"


@lru_cache(maxsize=4096)
def _plain(character: str) -> str:
    category = unicodedata.category(character)
    if category in {"Mn", "Me"} or shapeless(character):
        return ""
    if category == "Pd" or character in _LIKE_A_HYPHEN:
        return "-"
    return unicodedata.normalize("NFKC", character).casefold()
