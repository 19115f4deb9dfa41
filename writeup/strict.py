"""JSON without its loopholes, with the line and column of what is wrong.

Python's parser takes NaN and Infinity, keeps the last of two equal keys, and tells no places.
Here all of that is refused, and so are numbers no measurement gives, depth that was made to
harm, and characters that mark evidence or hide text. A document that passes can be walked,
computed with and printed without surprises.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, NoReturn

from writeup.errors import Problem, Problems

Json = Any
"""A parsed JSON value; the schema says which."""

Place = tuple[str | int, ...]
"""Keys and indices that lead from the root to a value."""

# A record is eleven levels deep.
MOST_LEVELS = 32
# One broken field tends to break thousands of samples; nobody reads the thousandth.
MOST_PROBLEMS = 50
# Beyond these, quotients would leave the range of floats.
SMALLEST, LARGEST = 1e-130, 1e130
_LONGEST_NUMBER = 400
_LONGEST_POINTER = 600

# Besides what marks evidence: controls, lone surrogates, and what reorders or hides text.
_FORBIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ufffe\uffff\ud800-\udfff\ue000\ue001]"
)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong at a place of a document."""

    place: Place
    message: str
    hint: str = ""


def pointer(*keys: str | int) -> str:
    """The JSON pointer to a value, from the root (RFC 6901)."""
    return "".join("/" + str(key).replace("~", "~0").replace("/", "~1") for key in keys)


def at(document: Json, where: str) -> Json:
    """The value at a JSON pointer (RFC 6901). Raises KeyError where there is none."""
    value = document
    start, *parts = where.split("/")
    if start:
        raise KeyError(where)
    for part in parts:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, Mapping) and key in value:
            value = value[key]
        elif isinstance(value, list) and _is_index(key, len(value)):
            value = value[int(key)]
        else:
            raise KeyError(where)
    return value


def _is_index(key: str, length: int) -> bool:
    return re.fullmatch(r"0|[1-9][0-9]{0,8}", key) is not None and int(key) < length


def decode(content: bytes, path: str, rule: str) -> tuple[str, Json]:
    """The text and what it says. Raises Problems on anything but strict JSON in UTF-8."""
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        start = content.rfind(b"\n", 0, error.start) + 1
        line, column = content.count(b"\n", 0, error.start) + 1, error.start - start + 1
        raise Problems([Problem(path, line, column, rule, "this is not UTF-8")]) from None
    try:
        return text, json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        message = f"this is not JSON: {error.msg[0].lower()}{error.msg[1:]}"
        raise Problems([Problem(path, error.lineno, error.colno, rule, message)]) from None
    except RecursionError:
        raise Problems([Problem(path, 0, 0, rule, "nested too deeply")]) from None
    except ValueError:  # ours, or the parser's at an integer of thousands of digits
        faults = ((at, Finding(place, fault)) for place, at, fault in _scan(text) if fault)
        _raise_located(list(islice(faults, MOST_PROBLEMS + 1)), path, text, rule)
        # The scan ends at a depth that no record has, so the fault lies beyond it.
        raise Problems([Problem(path, 0, 0, rule, "nested too deeply")]) from None


class _RefusedError(ValueError):
    """Raised out of the JSON parser, which cannot say where it was."""


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _RefusedError
    return found


def _no_constant(_: str) -> NoReturn:
    raise _RefusedError


def hygiene(document: Json) -> Iterator[Finding]:
    """Depth, numbers and characters that no record may hold, wherever they stand."""
    if not isinstance(document, dict):
        yield Finding((), "this is not an object")
        return
    waiting: list[tuple[Place, dict[str, Json] | list[Json]]] = [((), document)]
    while waiting:
        place, value = waiting.pop()
        if len(place) > MOST_LEVELS:
            yield Finding(place, f"nested more than {MOST_LEVELS} levels deep")
            continue
        items: Iterable[tuple[str | int, Json]]
        if isinstance(value, dict):
            for key in value:
                if not key.isprintable():
                    yield from _text(place, key, key)
            items = value.items()
        else:
            items = () if _is_plain(value) else enumerate(value)
        yield from _items(place, items, waiting)


def _items(
    place: Place,
    items: Iterable[tuple[str | int, Json]],
    waiting: list[tuple[Place, dict[str, Json] | list[Json]]],
) -> Iterator[Finding]:
    """Look at what is plain, and put off what holds more. Every value of a record passes here."""
    for key, item in items:
        kind = type(item)
        if kind is dict or kind is list:
            waiting.append(((*place, key), item))
        elif kind is str:
            if not item.isprintable():
                yield from _text(place, key, item)
        elif item and not SMALLEST <= abs(item) <= LARGEST:
            yield Finding((*place, key), "a number beyond all measure")


def _text(place: Place, key: str | int, text: str) -> Iterator[Finding]:
    found = _FORBIDDEN.search(text)
    if found:
        message = f"a text holds U+{ord(found[0]):04X}, which no record may hold"
        yield Finding((*place, key), message)


def _is_plain(values: list[Json]) -> bool:
    """Whether all of these are numbers of a measurement.

    Quick, as most of a record is samples: four passes without a step in Python. True and
    False are no such numbers; what is not plain is looked at one by one.
    """
    if not set(map(type, values)) <= {int, float}:
        return False
    return not values or (
        max(values) <= LARGEST and min(values) >= -LARGEST and min(map(abs, values)) >= SMALLEST
    )


def raise_all(findings: Iterable[Finding], path: str, text: str, rule: str) -> None:
    """Raise what was found as Problems at their lines and columns; return where nothing was."""
    found = list(islice(findings, MOST_PROBLEMS + 1))
    if not found:
        return  # the usual case: the text need not be scanned
    known = offsets(text, {finding.place for finding in found})
    _raise_located([(known.get(each.place, 0), each) for each in found], path, text, rule)


def offsets(text: str, wanted: Container[Place]) -> dict[Place, int]:
    """Where the values at some places begin in a text that is JSON. Slow: for problems."""
    return {place: offset for place, offset, _ in _scan(text) if place in wanted}


def _raise_located(located: list[tuple[int, Finding]], path: str, text: str, rule: str) -> None:
    problems = []
    for offset, found in located[:MOST_PROBLEMS]:
        line, column = _line_and_column(text, offset)
        message = f"{_printable(pointer(*found.place)) or '/'}: {found.message}"
        problems.append(Problem(path, line, column, rule, message, found.hint))
    if len(located) > MOST_PROBLEMS:
        message = f"more than {MOST_PROBLEMS} problems; only the first are listed"
        problems.append(Problem(path, 0, 0, rule, message))
    if problems:
        raise Problems(problems)


def _printable(where: str) -> str:
    """A pointer that can be printed, whatever its keys hold."""
    if len(where) > _LONGEST_POINTER:
        where = f"{where[:_LONGEST_POINTER]} …"
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in where)


def _line_and_column(text: str, offset: int) -> tuple[int, int]:
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


_TOKEN = re.compile(r'("[^"\\]*(?:\\.[^"\\]*)*")|([{}\[\],])|([^\s{}\[\],:"]+)', re.DOTALL)


@dataclass(slots=True)
class _Level:
    """An object or a list that is being read: the key or index of its current value."""

    at: str | int = 0
    seen: set[str] | None = None
    wants_key: bool = False


def _scan(text: str) -> Iterator[tuple[Place, int, str | None]]:
    """Every value of a JSON text: its place, its offset, and what is wrong with it as typed.

    Slow, and used only when something is wrong. Ends where the text is no JSON any more, or
    is deeper than any record.
    """
    levels: list[_Level] = []
    for token in _TOKEN.finditer(text):
        string, mark, scalar = token.groups()
        level = levels[-1] if levels else None
        if level and string is not None and level.wants_key:
            fault = _enter(level, string)
            if fault:
                yield _place(levels), token.start(), fault
        elif mark == ",":
            _advance(level)
        elif mark in ("}", "]"):
            if not levels:
                return
            levels.pop()
        else:
            yield _place(levels), token.start(), _literal_fault(scalar)
            if mark:
                levels.append(_Level("", set(), wants_key=True) if mark == "{" else _Level())
        if len(levels) > MOST_LEVELS + 2:
            return


def _place(levels: list[_Level]) -> Place:
    return tuple(level.at for level in levels)


def _enter(level: _Level, string: str) -> str | None:
    """Take up the next key of an object, and say whether it has been there before."""
    try:
        key = str(json.loads(string))
    except json.JSONDecodeError:
        key = string
    level.at, level.wants_key = key, False
    seen = level.seen if level.seen is not None else set()
    fault = "this key stands here for the second time" if key in seen else None
    seen.add(key)
    return fault


def _advance(level: _Level | None) -> None:
    if level is None:
        return
    level.wants_key = level.seen is not None
    if isinstance(level.at, int):
        level.at += 1


def _literal_fault(literal: str | None) -> str | None:
    if literal in ("NaN", "Infinity", "-Infinity"):
        return f"{literal} is no number; what is unknown is left out"
    if literal is not None and len(literal) > _LONGEST_NUMBER:
        return f"a number of {len(literal)} digits"
    return None
