"""Checks a finished site against the artifacts it holds, by itself.

Reads pages as they lie on disk and derives every number again from raw samples, with an
implementation of its own: of the generator it shares `stats` and `quantity`, so that what
it confirms was not merely computed wrong in the same way twice.
"""

from __future__ import annotations

import csv
import hashlib
import html
import json
import math
import posixpath
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from writeup.errors import Problem, WriteupError
from writeup.rederive import (
    Entry,
    Records,
    UnderivableError,
    blob_id,
    derive,
    enclosing,
    measured_as,
    sources,
)
from writeup.shown import Element, Piece, Reader, Seen

_LITERALS = "literals/index.html"
_METHOD = "method/index.html"
# Shown at any address, so its links are whole ones where the site says where it is published.
_LOST = "404.html"


@dataclass(frozen=True, slots=True, order=True)
class _Occurrence:
    page: str
    offset: int
    length: int
    key: str


def verify(site: Path) -> list[Problem]:
    """Everything on the pages of `site` that its artifacts do not bear out, sorted.

    Paths of problems are relative to the site. Raises WriteupError if the folder is no site
    of ours: without a manifest, citations or a readable artifact there is nothing to check.
    """
    files = _files(site)
    manifest = _object(files, "manifest.json")
    citations = _object(files, "citations.json")
    problems = [*_manifest_problems(manifest, files), *_kind_problems(site, files)]
    try:
        entries = {key: _entry(key, raw) for key, raw in citations["evidence"].items()}
        occurrences = sorted(_occurrence(raw) for raw in citations["occurrences"])
    except (KeyError, TypeError, AttributeError) as error:
        raise WriteupError(f"citations.json is not as this program writes it: {error}") from error
    records = Records(_artifacts(files, problems), files, sources(files, entries))
    problems += _table_problems(records)
    problems += _value_problems(entries, records)
    problems += _page_problems(records, entries, occurrences)
    return sorted(set(problems))


def _problem(path: str, rule: str, message: str, line: int = 0, column: int = 0) -> Problem:
    return Problem(path, line, column, f"verify-{rule}", message)


# What is on disk.


def _files(site: Path) -> dict[str, bytes]:
    if not site.is_dir():
        raise WriteupError(f"there is no site at '{site}'")
    return {
        path.relative_to(site).as_posix(): path.read_bytes()
        for path in sorted(site.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


# What a site is made of, by path: pages, what they load, artifacts and their tables.
_KINDS = re.compile(
    r"(?:.+/)?[^/]+\.html|assets/[^/]+\.(?:css|js|svg)|(?:citations|manifest)\.json"
    r"|results/[^/]+/(?:artifact\.json|samples\.csv)"
    r"|stories/.+\.(?i:png|jpe?g|gif|webp|avif)"
)


def _kind_problems(site: Path, files: Mapping[str, bytes]) -> Iterator[Problem]:
    """Files of kinds that no build writes: what shows them to a reader is not read here."""
    for each in sorted(site.rglob("*")):
        if each.is_symlink():
            name = each.relative_to(site).as_posix()
            yield _problem(name, "file", "it is a link to another file, not a file")
    for path, content in files.items():
        blob = path.removeprefix("sources/").partition("/")[0]
        copied = path.startswith("sources/") and blob_id(content) == blob
        empty = path == ".nojekyll" and not content
        if not (_KINDS.fullmatch(path) or copied or empty):
            yield _problem(path, "file", "it is of a kind that no site of ours has")


def _object(files: Mapping[str, bytes], path: str) -> dict[str, Any]:
    if path not in files:
        raise WriteupError(f"the site has no {path}: it is not one that `writeup build` made")
    try:
        found = _json(files[path])
    except ValueError as error:
        raise WriteupError(f"{path} cannot be read: {error}") from error
    if not isinstance(found, dict) or found.get("schema") != 1:
        raise WriteupError(f"{path} is of another version than this program knows")
    return found


def _json(content: bytes) -> Any:
    """JSON without what parsers let pass: repeated keys, and numbers that are none."""
    try:
        return json.loads(content, object_pairs_hook=_unique, parse_constant=_no_number)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is repeated")
    return found


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number")


def _entry(key: str, raw: Mapping[str, Any]) -> Entry:
    return Entry(
        key=key,
        form=raw["form"],
        at=tuple(raw.get("at", ())),
        args=tuple(raw.get("args", ())),
        text=raw["text"],
        value=raw.get("value"),
        unit=raw.get("unit"),
        href=raw.get("href"),
    )


def _occurrence(raw: Mapping[str, Any]) -> _Occurrence:
    return _Occurrence(raw["page"], raw["offset"], raw["length"], raw["key"])


def _artifacts(files: Mapping[str, bytes], problems: list[Problem]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for path, content in files.items():
        match = re.fullmatch(r"results/([^/]+)/artifact\.json", path)
        if not match:
            continue
        try:
            raw = _json(content)
        except ValueError as error:
            problems.append(_problem(path, "artifact", f"it cannot be read: {error}"))
            continue
        if not isinstance(raw, dict) or raw.get("commit") != match[1]:
            problems.append(_problem(path, "artifact", "it is of another commit than its folder"))
        else:
            found[match[1]] = raw
    return found


def _manifest_problems(
    manifest: Mapping[str, Any], files: Mapping[str, bytes]
) -> Iterator[Problem]:
    outputs = manifest.get("outputs", {})
    for path in sorted(outputs.keys() - files.keys()):
        yield _problem(path, "manifest", "the manifest lists it, but it is not there")
    for path in sorted(files.keys() - outputs.keys() - {"manifest.json"}):
        yield _problem(path, "manifest", "it is there, but the manifest does not list it")
    digests = {path: hashlib.sha256(content).hexdigest() for path, content in files.items()}
    for path in sorted(outputs.keys() & files.keys()):
        if digests[path] != outputs[path]:
            yield _problem(path, "manifest", "it is not the file that the build wrote")
    for path, digest in sorted(manifest.get("inputs", {}).items()):
        commit = posixpath.basename(path).removesuffix(".json")
        copy = f"results/{commit}/artifact.json"
        if path.endswith(".json") and copy in files and digests[copy] != digest:
            yield _problem(
                copy, "artifact", f"it is no copy of the artifact that was built from {path}"
            )


def _table_problems(records: Records) -> Iterator[Problem]:
    """Tables of samples beside an artifact: every row a sample of it, and none missing."""
    for commit, raw in records.artifacts.items():
        path = f"results/{commit}/samples.csv"
        if path not in records.files:
            continue
        rows = csv.reader(records.files[path].decode(errors="replace").splitlines())
        next(rows, None)  # the names of the columns
        stated = {tuple(row) for row in rows}
        try:
            recorded = set(_samples(raw))
        except (LookupError, TypeError, AttributeError) as error:
            yield _problem(path, "artifact", f"the artifact beside it has no samples: {error}")
            continue
        for row in sorted(stated ^ recorded)[:1]:
            what = "is no sample of the artifact" if row in stated else "is missing"
            yield _problem(path, "value", f"{','.join(row)} {what}")


def _samples(raw: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for run_id, run in raw["runs"].items():
        for case_key, case in run.get("cases", {}).items():
            for variant_id, variant in case["variants"].items():
                for mode, timing in variant.get("timings", {}).items():
                    where = (run_id, case_key, variant_id, mode)
                    for process, samples in timing["samples"].items():
                        for index, value in enumerate(samples):
                            yield *where, process, str(index), str(value), timing["unit"]


# What each entry must say.


def _value_problems(entries: Mapping[str, Entry], records: Records) -> Iterator[Problem]:
    for key, entry in sorted(entries.items()):
        if _key(entry) != key:
            yield _problem("citations.json", "value", f"{key} is not the key of its derivation")
        try:
            derived = derive(entry, records)
        except UnderivableError as error:
            yield _problem("citations.json", "value", f"{entry.text!r} ({_of(entry)}): {error}")
            continue
        if derived.text != entry.text:
            message = f"{entry.text!r} ({_of(entry)}) comes out as {derived.text!r}"
            yield _problem("citations.json", "value", message)
        elif derived.value is not None and not _equal(derived.value, entry.value):
            message = f"{entry.text!r} ({_of(entry)}) has the value {entry.value!r}"
            yield _problem("citations.json", "value", f"{message}, not {derived.value!r}")


def _key(entry: Entry) -> str:
    canonical = json.dumps([entry.form, entry.at, entry.args], ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()[:12]


def _of(entry: Entry) -> str:
    return " ".join((entry.form, *entry.at[:1], *entry.args))


def _equal(derived: Any, stated: Any) -> bool:
    if isinstance(derived, bool) or not isinstance(derived, (int, float)):
        return bool(derived == stated)
    if isinstance(stated, bool) or not isinstance(stated, (int, float)):
        return False
    return math.isclose(derived, stated, rel_tol=1e-12)


# Properties that put text on a page; what they may say without saying a number.
_SAYING = re.compile(
    r"(?<![\w-])(content|quotes|list-style(?:-type)?|symbols|additive-symbols|prefix|suffix)"
    r"\s*:([^;{}]*)",
    re.IGNORECASE,
)
_SILENT = re.compile(r"""\s*(?:none|normal|attr\(data-n\)|"[^"\w]*"|'[^'\w]*'|/|\s)*""")


def _style_problems(path: str, text: str) -> Iterator[Problem]:
    """A style sheet that shows numbers or words of its own, or takes in what is not here."""
    if "\\" in text or re.search(r"@import|@counter-style", text, re.IGNORECASE):
        yield _problem(path, "style", "it holds escapes, imports or counters, as no sheet of ours")
    plain = re.sub(r"/\*.*?\*/", lambda found: " " * len(found[0]), text, flags=re.DOTALL)
    for match in _SAYING.finditer(plain):
        if not _SILENT.fullmatch(match[2]):
            yield _at(path, text, match.start(), "style", f"it makes text of its own: {match[0]}")


def _page_problems(
    records: Records, entries: Mapping[str, Entry], occurrences: Iterable[_Occurrence]
) -> Iterator[Problem]:
    files = records.files
    by_page: dict[str, list[_Occurrence]] = {}
    for each in occurrences:
        by_page.setdefault(each.page, []).append(each)
    for page in sorted(by_page.keys() - files.keys()):
        yield _problem(page, "text", "citations.json names it, but it is not there")
    texts = {
        path: content.decode(errors="replace")
        for path, content in files.items()
        if path.endswith((".html", ".svg", ".css")) or path in by_page
    }
    seen = {
        path: Reader(text).seen for path, text in texts.items() if path.endswith((".html", ".svg"))
    }
    listed = {
        _squeezed(entries[each.key].text).casefold()
        for each in by_page.get(_LITERALS, ())
        if each.key in entries
    }
    for path, text in texts.items():
        here = by_page.get(path, [])
        if "\ufffd" in text:
            yield _problem(path, "markup", "it is not UTF-8")
        for occurrence in here:
            message = _shown_wrong(text, occurrence, entries, listed)
            if message:
                yield _at(path, text, occurrence.offset, "text", message)
        if path.endswith(".css"):
            yield from _style_problems(path, text)
        if path in seen:
            for offset, message in seen[path].faults:
                yield _at(path, text, offset, "markup", message)
            yield from _number_problems(path, text, seen[path], here)
            yield from _holder_problems(path, text, seen, here, entries)
            yield from _role_problems(path, text, seen[path], here, entries)
            yield from _link_problems(path, text, seen, files)
            yield from _source_problems(path, text, seen[path], records)
            yield from _line_problems(path, text, seen[path], here, entries, records.sources)


def _at(path: str, text: str, offset: int, rule: str, message: str) -> Problem:
    line = text.count("\n", 0, offset) + 1
    return _problem(path, rule, message, line, offset - text.rfind("\n", 0, offset))


def _shown_wrong(
    text: str, occurrence: _Occurrence, entries: Mapping[str, Entry], listed: set[str]
) -> str:
    """What is wrong with evidence on a page; empty if nothing is."""
    entry = entries.get(occurrence.key)
    if entry is None:
        return f"there is no evidence with the key {occurrence.key}"
    start, end = occurrence.offset, occurrence.offset + occurrence.length
    if start < 0 or end > len(text):
        return f"the place of {entry.text!r} lies outside the page"
    shown = text[start:end]
    if _squeezed(entry.text) not in _readings(shown):
        return f"it shows {shown[:60]!r} where {entry.text[:60]!r} belongs"
    unlisted = _squeezed(entry.text).casefold() not in listed
    if entry.form in {"literal", "glossary"} and unlisted:
        return f"{entry.text!r} is let through, but {_LITERALS} does not list it"
    around = text[start - 1 : start] + text[end : end + 1]
    if entry.form in {"name", "glossary"} and any(each.isalnum() for each in around):
        return f"{entry.text!r} is let through as a name, but stands within a longer word"
    return ""


def _readings(shown: str) -> set[str]:
    """The text of a stretch of a file, as HTML and as a JSON string."""
    readings = {_squeezed(html.unescape(re.sub(r"<[^>]*>", "", shown))), _squeezed(shown)}
    try:
        readings.add(_squeezed(str(json.loads(f'"{shown}"'))))
    except ValueError:
        return readings
    return readings


def _squeezed(text: str) -> str:
    return "".join(text.split())


_SUSPECT = re.compile(r"[0-9]|[^\x00-\x7f]")


def _is_numeral(character: str) -> bool:
    return unicodedata.numeric(character, None) is not None or any(
        each.isdigit() for each in unicodedata.normalize("NFKC", character)
    )


def _number_problems(
    path: str, text: str, seen: Seen, occurrences: Iterable[_Occurrence]
) -> Iterator[Problem]:
    """Numerals in view that no occurrence covers, in digits and in words."""
    covered = _Cover(occurrences)
    for run in seen.runs:
        for piece in run:
            yield from _digit_problems(path, text, piece, covered)
        yield from _word_problems(path, text, run, covered)


def _digit_problems(path: str, text: str, piece: Piece, covered: _Cover) -> Iterator[Problem]:
    start, end, shown = piece
    literally = end - start == len(shown)
    reported = -1
    for match in _SUSPECT.finditer(shown):
        offset = start + match.start() if literally else start
        inside = covered.holds(offset) if literally else covered.touches(start, end)
        if _is_numeral(match[0]) and not inside and reported < start + match.start():
            word = re.compile(r"\S*").match(shown, match.start())
            reported = start + (word.end() if word else match.end())
            snippet = " ".join(shown[max(0, match.start() - 30) : match.end() + 30].split())
            message = f"the numeral in {snippet!r} comes from no artifact"
            yield _at(path, text, offset, "number", message)


# Numbers in words count where they multiply or have a unit: "nine times", not "nine lives".
_COUNTING = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety"
    " hundred hundreds thousand thousands million millions billion billions dozen dozens"
).split()
_COUNTED = (
    "times fold × % percent seconds second minutes minute hours hour milliseconds millisecond"
    " microseconds microsecond nanoseconds nanosecond ms µs μs us ns cycles bits bit bytes byte"
    " kilobytes megabytes gigabytes terabytes kb mb gb tb kb/s mb/s gb/s tb/s flop flops flop/s"
    " gflop/s tflop/s gigaflops teraflops hertz mhz ghz watts watt degrees"
).split()
_GAP = r"[\s-]{1,8}"


def _choice(words: Iterable[str]) -> str:
    return "(?:" + "|".join(map(re.escape, sorted(words, key=len, reverse=True))) + ")"


_AMOUNT = rf"{_choice(_COUNTING)}(?:{_GAP}(?:(?:and|point){_GAP})?{_choice(_COUNTING)}){{0,6}}"
_MULTIPLE = re.compile(
    rf"(?<!\w)(?:twice|thrice|(?:doubl|tripl|quadrupl)(?:es|ed|e|ing)|halv(?:es|ed|e|ing)"
    rf"|half{_GAP}(?:the|as|of|that|its|their|an?)|(?:by|than){_GAP}half(?!-)"
    rf"|orders?{_GAP}of{_GAP}magnitudes?|factors?{_GAP}of{_GAP}{_AMOUNT}"
    rf"|{_AMOUNT}(?:{_GAP})?{_choice(_COUNTED)}(?!-))(?!\w)"
)


def _word_problems(
    path: str, text: str, run: Sequence[Piece], covered: _Cover
) -> Iterator[Problem]:
    """Numbers in words that multiply or stand before a unit."""
    letters: list[str] = []
    places: list[int] = []
    for start, end, shown in run:
        literally = end - start == len(shown)
        for index, character in enumerate(shown):
            at = start + index if literally else start
            inside = covered.holds(at) if literally else covered.touches(start, end)
            # A cited word is none of the page's own, and nothing joins across it.
            plain = "\ufffc" if inside else _plain(character)
            letters.append(plain)
            places += [at] * len(plain)
    for match in _MULTIPLE.finditer("".join(letters)):
        words = " ".join(match[0].split())
        message = f"{words!r} is a number in words that comes from no artifact"
        yield _at(path, text, places[match.start()], "number", message)


@lru_cache(maxsize=4096)
def _plain(character: str) -> str:
    """A character as it is told apart by eye: small, of one form, or nothing at all."""
    if unicodedata.category(character) in {"Cf", "Mn", "Me"}:
        return ""
    if unicodedata.category(character) == "Pd":
        return "-"
    return unicodedata.normalize("NFKC", character).casefold()


class _Cover:
    """Stretches of a page that occurrences cover, united."""

    def __init__(self, occurrences: Iterable[_Occurrence]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for each in sorted(occurrences):
            end = each.offset + each.length
            if self._ends and each.offset <= self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], end)
            else:
                self._starts.append(each.offset)
                self._ends.append(end)

    def holds(self, offset: int) -> bool:
        """Whether the character at `offset` is covered."""
        index = bisect_right(self._starts, offset) - 1
        return index >= 0 and offset < self._ends[index]

    def touches(self, start: int, end: int) -> bool:
        """Whether text that is spelt otherwise in the file lies in, or holds, an occurrence."""
        index = bisect_right(self._starts, end - 1) - 1
        return index >= 0 and start < self._ends[index]


def _holder_problems(
    path: str,
    text: str,
    seen: Mapping[str, Seen],
    occurrences: list[_Occurrence],
    entries: Mapping[str, Entry],
) -> Iterator[Problem]:
    """Elements that promise evidence: they hold it, and lead to where it comes from."""
    for element in seen[path].elements:
        key = element.attributes.get("data-e")
        if key is not None:
            held = [each for each in _held(element, occurrences, entries) if each.key == key]
            if not held:
                message = f"the evidence {key} is not recorded here"
                yield _at(path, text, element.start, "text", message)
            elif "value" in element.attributes and not _same_value(element, held[0]):
                stated = element.attributes["value"]
                message = f"the value {stated!r} is not that of {held[0].text!r}"
                yield _at(path, text, element.start, "text", message)
        if element.tag == "a" and "n" in element.classes:
            href = element.attributes.get("href", "")
            held = _held(element, occurrences, entries)
            if not held:
                message = "the evidence of this link is not recorded"
                yield _at(path, text, element.start, "text", message)
            elif not any(_leads(path, href, entry, seen) for entry in held):
                message = f"{held[0].text!r} links to {href!r}, where it does not come from"
                yield _at(path, text, element.start, "link", message)


# The class by which a style sheet gives a badge its sign and its colour.
_TONES = {"faster": "faster", "slower": "slower", "same": "same", "cannot tell": "unclear"}


def _role_problems(
    path: str,
    text: str,
    seen: Seen,
    occurrences: list[_Occurrence],
    entries: Mapping[str, Entry],
) -> Iterator[Problem]:
    """Evidence that a page passes off as what it is not: badges, and ticks of no axis."""
    for element in seen.elements:
        if "badge" not in element.classes:
            continue
        for entry in _held(element, occurrences, entries):
            tones = [each for each in element.classes if each in _TONES.values()]
            if entry.form == "verdict" and tones != [_TONES.get(entry.text)]:
                message = f"the badge of {entry.text!r} is that of another verdict"
                yield _at(path, text, element.at, "text", message)
    drawings = [(each.start, each.end) for each in seen.elements if each.tag == "svg"]
    for occurrence in occurrences:
        found = entries.get(occurrence.key)
        if found is None or found.form != "tick":
            continue
        if not any(start <= occurrence.offset < end for start, end in drawings):
            message = f"{found.text!r} is the tick of an axis, but stands in no drawing"
            yield _at(path, text, occurrence.offset, "text", message)


def _held(
    element: Element, occurrences: list[_Occurrence], entries: Mapping[str, Entry]
) -> list[Entry]:
    """The evidence that lies in an element."""
    first = bisect_right(occurrences, element.start - 1, key=lambda each: each.offset)
    last = bisect_right(occurrences, element.end, key=lambda each: each.offset)
    return [
        entries[each.key]
        for each in occurrences[first:last]
        if each.offset + each.length <= element.end and each.key in entries
    ]


_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")


def _link_problems(
    path: str, text: str, seen: Mapping[str, Seen], files: Mapping[str, bytes]
) -> Iterator[Problem]:
    """Links within the site that lead nowhere, and what a page takes in from elsewhere."""
    home = _address(seen) if path == _LOST else ""
    for element in seen[path].elements:
        for name in ("href", "src"):
            if name not in element.attributes:
                continue
            to = element.attributes[name].strip()
            if home and to.startswith(home):
                to = to.removeprefix(home) or "index.html"
            message = _lost(path, element, to, seen, files)
            if message:
                yield _at(path, text, element.at, "link", message)


def _address(seen: Mapping[str, Seen]) -> str:
    """Where the site says that it is published; empty if it does not say."""
    front = seen.get("index.html", Seen()).elements
    stated = (each.attributes for each in front if each.attributes.get("rel") == "canonical")
    return next((each.get("href", "") for each in stated), "")


def _lost(
    path: str, element: Element, to: str, seen: Mapping[str, Seen], files: Mapping[str, bytes]
) -> str:
    """What is wrong with where an element leads; empty if nothing is."""
    if _SCHEME.match(to):
        only = element.tag == "a" or element.attributes.get("rel") == "canonical"
        sound = only and to.lower().startswith(("https:", "http:", "mailto:"))
        return "" if sound else f"{to[:60]!r} is taken in from outside of the site"
    target, fragment = _target(path, to)
    if target not in files:
        return f"{to!r} leads to no file of the site"
    if fragment and (target not in seen or fragment not in seen[target].ids):
        return f"{to!r} leads to no place on its page"
    if element.tag == "script" and not re.fullmatch(r"assets/[^/]+\.js", target):
        return f"{to!r} is no script of the site"
    return ""


def _source_problems(path: str, text: str, seen: Seen, records: Records) -> Iterator[Problem]:
    """Names of measured files that lead to what another file held."""
    for element in seen.elements:
        target, _ = _target(path, element.attributes.get("href", ""))
        page = re.fullmatch(r"sources/([^/]+)/index\.html", target)
        if element.tag != "a" or page is None or target == path:
            continue
        shown = re.sub(r"<[^>]*>", "", text[element.start : element.end])
        name = html.unescape(shown).strip()
        blobs = measured_as(name, records)
        if blobs and page[1] not in blobs:
            message = f"{name!r} leads to what another file held"
            yield _at(path, text, element.at, "link", message)


def _line_problems(
    path: str,
    text: str,
    seen: Seen,
    occurrences: Sequence[_Occurrence],
    entries: Mapping[str, Entry],
    measured: Mapping[str, str],
) -> Iterator[Problem]:
    """Numbers beside the lines of a listing that are not those of the lines."""
    listings = [
        (each.offset, each.offset + each.length, entries[each.key])
        for each in occurrences
        if each.key in entries and _listing(entries[each.key])
    ]
    for element in seen.elements:
        number = element.attributes.get("data-n", "")
        line = element.within("line")
        if not number:
            continue
        shown = _line_shown(text, element, line, listings) if line else None
        if shown is None or not _numbers(number, shown, line, measured):
            message = f"{number!r} is not the number of the line beside it"
            yield _at(path, text, element.at, "number", message)


def _listing(entry: Entry) -> bool:
    return entry.form == "source" and bool(entry.args) and entry.args[0].isdecimal()


# The number of a line in its file, and what the line says.
_Line = tuple[int, str]


def _line_shown(
    text: str, element: Element, line: Element, listings: Iterable[tuple[int, int, Entry]]
) -> _Line | None:
    """The line of a listing that an element stands in, by the evidence there."""
    for start, end, entry in listings:
        lines = entry.text.split("\n")
        first = int(entry.args[0])
        if start <= element.at < end:
            nth = text.count("\n", start, element.at)
            return (first + nth, lines[nth]) if nth < len(lines) else None
        if line.start <= start and end <= line.end:
            return first, entry.text
    return None


def _numbers(number: str, shown: _Line, line: Element | None, measured: Mapping[str, str]) -> bool:
    """Whether a number is that of a line: in its own file, or in the one it is compared to."""
    if number == str(shown[0]):
        return True
    compared = line is not None and "kept" in line.classes
    if not compared or not number.isdecimal():
        return False
    wanted = int(number) - 1
    sides = (source.split("\n") for source in measured.values())
    return any(0 <= wanted < len(lines) and lines[wanted] == shown[1] for lines in sides)


def _same_value(holder: Element, entry: Entry) -> bool:
    stated = holder.attributes["value"]
    if isinstance(entry.value, bool):
        return stated == ("true" if entry.value else "false")
    try:
        return _equal(float(stated), entry.value)
    except ValueError:
        return False


def _leads(page: str, href: str, entry: Entry, seen: Mapping[str, Seen]) -> bool:
    """Whether a link on a page leads to where the entry comes from."""
    target, fragment = _target(page, href)
    if fragment and (target not in seen or fragment not in seen[target].ids):
        return False
    return any((target, fragment) == place for place in _homes(entry, target, fragment, seen))


def _target(page: str, href: str) -> tuple[str, str]:
    """The file and the id that a link within the site leads to, as seen from its page."""
    path, _, fragment = href.partition("#")
    target = posixpath.normpath(posixpath.join(posixpath.dirname(page), unquote(path)))
    return (target if path else page), unquote(fragment)


def _homes(
    entry: Entry, target: str, fragment: str, seen: Mapping[str, Seen]
) -> Iterator[tuple[str, str]]:
    """Pages and ids that an entry may link to; those given where any of a page will do."""
    if entry.form == "source":
        page = f"sources/{entry.at[0]}/index.html"
        yield page, f"L{entry.args[0]}"
        yield page, ""
    elif entry.form in {"literal", "glossary"}:
        yield _LITERALS, fragment
    elif entry.form == "constant":
        yield _METHOD, fragment
    elif entry.form in {"digest", "size", "tick"}:
        yield target, fragment
    else:
        for address in entry.at:
            digest = re.split("[/#]", address)[0]
            yield f"sources/{digest}/index.html", ""
            page = f"results/{digest}/index.html"
            if page in seen:
                yield page, _nearest(address, seen[page].ids)
            if entry.form in {"name", "short"}:
                yield page, fragment


def _nearest(address: str, ids: set[str]) -> str:
    return next((each for each in enclosing(address) if each in ids), "")
