"""Front matter: flat TOML between `+++` lines, each value with its place."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from writeup.errors import Problem
from writeup.language import nearest
from writeup.places import Places, Run, kept_offsets, normalised

KEYS = (
    "title",
    "description",
    "audience",
    "kind",
    "results",
    "run",
    "device",
    "case",
    "mode",
    "baseline",
    "headline",
    "status",
)
CHOICES = {"kind": ("story", "study"), "status": ("blank",)}
"""Keys whose value is one of a few words."""

_ORDER = {key: place for place, key in enumerate(KEYS)}
_RULE = "bad-story"
_FENCE = "+++"
_KEY = re.compile(r"[ \t]*(?:\"([^\"\n]*)\"|'([^'\n]*)'|([A-Za-z0-9_-]+))[ \t]*=[ \t]*")
_ESCAPE = re.compile(r"\\(?:u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[ \t]*\n[ \t\n]*|.)", re.DOTALL)
_PLAIN_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r"}
_TOML_PLACE = re.compile(r" \(at line (\d+), column (\d+)\)$")


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The values by key, each with the places of its characters.

    keys holds the offset of each key, body the one at which the Markdown begins.
    """

    values: Mapping[str, Run] = field(default_factory=dict)
    keys: Mapping[str, int] = field(default_factory=dict)
    body: int = 0
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class _Spelling:
    """A key and its string as they are spelt; start and end enclose the string's quotes.

    offsets are where each character of text stands. Anything but a string has no extent.
    """

    at: int
    text: str
    offsets: Sequence[int]
    start: int
    end: int


def read(places: Places) -> FrontMatter:
    """The front matter of a story; what is wrong with it is in its `problems`."""
    lines = places.text.split("\n")
    if not _is_fence(lines[0]):
        hint = "begin with a line '+++', the title and other keys in TOML, and a line '+++'"
        return FrontMatter(problems=(places.problem(0, _RULE, "no front matter", hint=hint),))
    closing = next((n for n, line in enumerate(lines[1:], 2) if _is_fence(line)), None)
    if closing is None:
        message = "the front matter is not closed by a line '+++'"
        missing = places.problem(0, _RULE, message, hint="put '+++' below the last key")
        return FrontMatter(body=len(places.text), problems=(missing,))
    start, end = places.offset(2), places.offset(closing)
    body = min(places.offset(closing) + len(lines[closing - 1]) + 1, len(places.text))
    try:
        table = tomllib.loads(places.text[start:end])
    except tomllib.TOMLDecodeError as error:
        return FrontMatter(body=body, problems=(_not_toml(places, str(error)),))
    except (RecursionError, ValueError):
        return FrontMatter(body=body, problems=(_not_toml(places, "nested or long beyond reason"),))
    spelt = _spelt(places.text, start, end)
    return _checked(table, spelt, body, places)


_TOML = 'a line of it is key = "value", each key once'


def _not_toml(places: Places, message: str) -> Problem:
    place = _TOML_PLACE.search(message)
    message = f"the front matter is not TOML: {_TOML_PLACE.sub('', message)}"
    if place is None:
        return places.problem(places.offset(2), _RULE, message, hint=_TOML)
    at = places.offset(int(place[1]) + 1, int(place[2]))
    return places.problem(at, _RULE, message, hint=_TOML)


def _checked(
    table: Mapping[str, object],
    spelt: Mapping[str, _Spelling],
    body: int,
    places: Places,
) -> FrontMatter:
    """Keys and values that may stand in a story, and the problems of the others."""
    values: dict[str, Run] = {}
    problems: list[Problem] = []
    for key, value in table.items():
        found = spelt.get(key)
        at, text, offsets = (
            (found.at, found.text, found.offsets) if found else (places.offset(2), "", ())
        )
        run = Run(text, offsets, places)
        fault = _fault(key, value)
        if fault is not None:
            message, hint = fault
            problems.append(places.problem(at, _RULE, message, hint=hint, end=at + len(key)))
        elif isinstance(value, str):
            here = offsets[0] if offsets else at
            values[key] = run if text == value else Run(value, (here,) * len(value), places)
    if "title" not in table:
        problems.append(places.problem(0, _RULE, "a story has a title", hint='title = "…"'))
    keys = {key: spelt[key].at for key in values if key in spelt}
    return FrontMatter(values, keys, body, tuple(problems))


def _fault(key: str, value: object) -> tuple[str, str] | None:
    """What is wrong with a key and its value, with a hint; None where nothing is."""
    if key not in KEYS:
        return f"no key of a story is called '{key}'", nearest(key, KEYS) or _list(KEYS)
    if not isinstance(value, str):
        return f"'{key}' is a string", f'{key} = "…"'
    if not value.strip():
        return f"'{key}' is empty", "leave the key out, or say it"
    allowed = CHOICES.get(key)
    if allowed is not None and value not in allowed:
        return f"'{key}' cannot be '{value}'", nearest(value, allowed) or _list(allowed)
    return None


def _list(words: Sequence[str]) -> str:
    return f"known: {', '.join(words)}"


def edited(text: str, changes: Mapping[str, str | None]) -> str:
    """The file's text with other values of some keys, and every other character as it was.

    text is a story whose front matter can be read, with its own line ends. A value of None
    takes its key out, line and all; a key that is not there yet gets a line of its own,
    behind those that it follows in `KEYS`.
    """
    for key, value in changes.items():
        text = _edited(text, key, value)
    return text


def _edited(text: str, key: str, value: str | None) -> str:
    places = Places("", normalised(text))
    kept = [*kept_offsets(text), len(text)]
    start = places.offset(2)
    closing = next(n for n in range(2, len(places.starts) + 1) if _is_fence(places.line(n)))
    spelt = _spelt(places.text, start, places.offset(closing))
    here = spelt.get(key)
    written = "" if value is None else json.dumps(value, ensure_ascii=False)
    if here is not None and value is not None:
        return text[: kept[here.start]] + written + text[kept[here.end] :]
    if here is not None:
        first, last = places.place(here.at)[0], places.place(here.end)[0]
        return text[: kept[places.offset(first)]] + text[kept[places.offset(last + 1)] :]
    before = [s.end for k, s in spelt.items() if _ORDER.get(k, len(KEYS)) < _ORDER[key]]
    line = places.place(max(before))[0] + 1 if before else 2
    at = kept[places.offset(line)]
    line_end = "\r\n" if text[:at].endswith("\r\n") else "\n"
    return text[:at] + (f"{key} = {written}{line_end}" if value is not None else "") + text[at:]


def _is_fence(line: str) -> bool:
    return line.rstrip() == _FENCE


def _spelt(text: str, start: int, end: int) -> dict[str, _Spelling]:
    """Every key with its string, and where they stand."""
    found: dict[str, _Spelling] = {}
    at = start
    while at < end:
        key = _KEY.match(text, at, end)
        after = at
        if key is not None:
            name = next(group for group in key.groups() if group is not None)
            value, offsets, after = _string(text, key.end(), end)
            at_key = key.start(key.lastindex or 0)
            found.setdefault(name, _Spelling(at_key, value, offsets, key.end(), after))
        line_end = text.find("\n", after, end)
        at = end if line_end < 0 else line_end + 1
    return found


def _string(text: str, at: int, end: int) -> tuple[str, Sequence[int], int]:
    """The TOML string at `at`: its characters, where each stands, the offset behind it.

    Anything else has no characters and ends where it begins.
    """
    for quote in ('"""', "'''", '"', "'"):
        if text.startswith(quote, at):
            break
    else:
        return "", (), at
    first = at + len(quote)
    if len(quote) == len('"""') and text.startswith("\n", first):
        first += 1
    close = _closing(text, first, end, quote)
    characters, offsets = _decoded(text, first, close, escapes=quote[0] == '"')
    return characters, offsets, close + len(quote)


def _closing(text: str, at: int, end: int, quote: str) -> int:
    """Where the string that began before `at` closes; quotes may end a long string too."""
    while at < end:
        if text[at] == "\\" and quote[0] == '"':
            at += 2
        elif text.startswith(quote, at):
            while len(quote) > 1 and text.startswith(quote, at + 1):
                at += 1
            return at
        else:
            at += 1
    return end


def _decoded(text: str, at: int, end: int, *, escapes: bool) -> tuple[str, Sequence[int]]:
    if not escapes or "\\" not in text[at:end]:
        return text[at:end], range(at, end)
    characters: list[str] = []
    offsets: list[int] = []
    while at < end:
        escape = _ESCAPE.match(text, at, end)
        if escape is None:
            characters.append(text[at])
            offsets.append(at)
            at += 1
            continue
        character = _unescaped(escape[0][1:])
        characters.append(character)
        offsets.extend([at] * len(character))
        at = escape.end()
    return "".join(characters), offsets


def _unescaped(escape: str) -> str:
    if escape[0] in "uU":
        return chr(int(escape[1:], 16))
    if "\n" in escape:
        return ""
    return _PLAIN_ESCAPES.get(escape, escape)
