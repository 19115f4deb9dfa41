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

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty "
    "ninety hundred thousand million billion trillion dozen"
).split()
_LARGE = "tens dozens scores hundreds thousands millions billions trillions".split()
_PARTS = (
    "half halves third thirds quarter quarters fourths fifth fifths sixth sixths seventh sevenths "
    "eighth eighths ninth ninths tenth tenths hundredth hundredths thousandth thousandths"
).split()
# Longest first, so that a word is never cut short where the pattern could still go on.
_UNITS = sorted(
    (
        "times fold x × % percent pct ‰ permille percentage per+cent "
        "seconds second(?!-) secs sec s minutes minute mins hours hour days day "
        "milliseconds millisecond msecs msec ms microseconds microsecond usecs usec us µs μs "
        "nanoseconds nanosecond nsecs nsec ns picoseconds picosecond ps cycles "
        "bits bit bytes byte kilobytes megabytes gigabytes terabytes kb mb gb tb kib mib gib tib "
        "bits/s bytes/s byte/s b/s kb/s mb/s gb/s tb/s kib/s mib/s gib/s tib/s gbps tbps "
        "flop flops flop/s mflop/s gflop/s tflop/s pflop/s mflops gflops tflops pflops "
        "megaflops gigaflops teraflops petaflops gigaflop teraflop petaflop flop/byte "
        "hertz hz khz mhz ghz watts watt w kw joules joule j mj degrees degree °c celsius kelvin "
        "tokens/s tok/s images/s samples/s it/s tokens+per samples+per images+per"
    ).split(),
    key=len,
    reverse=True,
)
# Bounded, like the words of a number below: a row of blanks or of numbers is read once.
_GAP = r"[\s-]{1,8}"
_BEGIN, _END = r"(?<![^\W_])", r"(?![^\W_])"


def _any(words: Iterable[str]) -> str:
    return "(?:" + "|".join(words) + ")"


# Words longest first again: "seventy" before "seven".
_CARDINAL = _any(sorted([*_SMALL, *_LARGE], key=len, reverse=True))
_PART = _any(sorted(_PARTS, key=len, reverse=True))
_NUMBER = (
    rf"(?:{_CARDINAL}(?:(?:{_GAP}(?:(?:and|point){_GAP})?)?{_CARDINAL}){{0,8}}"
    rf"(?:{_GAP}and{_GAP}an?{_GAP}half)?|(?:a{_GAP})?couple)"
)
_OFTEN = "the as of that this these those its their our what again less more faster slower".split()

_FRACTION = "(?:third|quarter|fifth|tenth|hundredth|thousandth)"

_MULTIPLE = re.compile(
    _BEGIN
    + _any(
        (
            r"twice",
            r"thrice",
            r"(?:doubl|tripl|quadrupl|quintupl|sextupl|octupl)(?:es|ed|e|ing)",
            r"halv(?:es|ed|e|ing)",
            rf"(?:{_NUMBER}|many|several|multi|multiple)(?:{_GAP})?fold",
            rf"(?:(?:{_NUMBER}|an?|few|many|several){_GAP})?orders?{_GAP}of{_GAP}magnitudes?",
            rf"half{_GAP}{_any([*_OFTEN, 'an?'])}",
            rf"(?:by|in|to|than|an?){_GAP}half(?!-)",
            rf"{_NUMBER}{_GAP}{_PART}(?!-)",
            r"trebl(?:es|ed|e|ing)",
            rf"(?:factors?|speed-?ups?|ratios?){_GAP}(?:of|between){_GAP}{_NUMBER}",
            rf"(?:by|of|to){_GAP}an?{_GAP}{_FRACTION}(?!-)",
            rf"an?{_GAP}{_FRACTION}{_GAP}{_any([*_OFTEN, 'off'])}",
            rf"{_NUMBER}{_GAP}(?:in|out{_GAP}of){_GAP}(?:an?{_GAP})?{_NUMBER}",
        )
    )
    + _END
)
_UNIT = _any(re.escape(u) if u in "×%‰" else u.replace("+", _GAP) for u in _UNITS)
# A unit stands apart from its number in words: "ones" are no seconds.
_COUNT = re.compile(
    _BEGIN + rf"{_NUMBER}(?:(?:{_GAP}of)?{_GAP}{_UNIT}|x|fold|times|[×%‰])" + _END, re.IGNORECASE
)
# What makes a figure of the digits before it, and a ratio of the name that ends in them.
_UNIT_AFTER = re.compile(rf"(?:{_GAP})?{_UNIT}{_END}", re.IGNORECASE)
_RATIO_AFTER = re.compile(rf"(?:{_GAP})?(?:times|fold|x|×|%|percent){_END}", re.IGNORECASE)


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
    after = _RATIO_AFTER if ratios_only else _UNIT_AFTER
    found = []
    for numeral in numerals(text):
        behind = after.match(text, numeral.end)
        if numeral.kind is not Kind.DIGIT:
            if not ratios_only or numeral.kind is Kind.MULTIPLE:
                found.append(numeral)
        elif behind is not None:
            found.append(
                Found(numeral.start, behind.end(), text[numeral.start : behind.end()], Kind.COUNT)
            )
    return found


def typed(text: str, names: Names) -> list[Found]:
    """The numerals of `text` outside of names; a name's digits before "times" are a numeral."""
    covers = names.cover(text)
    ratios = []
    for cover in covers:
        behind = _RATIO_AFTER.match(text, cover.end)
        if behind is not None and _is_numeric(text[cover.end - 1]):
            ratios.append(
                Found(cover.start, behind.end(), text[cover.start : behind.end()], Kind.COUNT)
            )
    return sorted([*ratios, *_outside(text, covers)])


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
    seen = [c for c in between if unicodedata.category(c) not in _MARKS]
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


def _words(text: str) -> Iterator[Found]:
    folded, offsets = _folded(text)
    for pattern, kind in ((_MULTIPLE, Kind.MULTIPLE), (_COUNT, Kind.COUNT)):
        for match in pattern.finditer(folded):
            start, end = offsets[match.start()], offsets[match.end() - 1] + 1
            yield Found(start, end, text[start:end], kind)


def _folded(text: str) -> tuple[str, range | list[int]]:
    """`text` in small plain letters without invisible characters, and where each stood."""
    if text.isascii():
        return text.lower(), range(len(text))
    parts: list[str] = []
    offsets: list[int] = []
    for at, character in enumerate(text):
        folded = _plain(character)
        parts.append(folded)
        offsets.extend([at] * len(folded))
    return "".join(parts), offsets


@lru_cache(maxsize=4096)
def _plain(character: str) -> str:
    category = unicodedata.category(character)
    if category in {"Cf", "Mn", "Me"}:
        return ""
    if category == "Pd":
        return "-"
    return unicodedata.normalize("NFKC", character).casefold()
