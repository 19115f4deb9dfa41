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
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from writeup.errors import Problem, WriteupError
from writeup.rederive import Entry, Records, UnderivableError, derive, enclosing, sources

_LITERALS = "literals/index.html"
_METHOD = "method/index.html"


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
    problems = list(_manifest_problems(manifest, files))
    try:
        entries = {key: _entry(key, raw) for key, raw in citations["evidence"].items()}
        occurrences = sorted(_occurrence(raw) for raw in citations["occurrences"])
    except (KeyError, TypeError, AttributeError) as error:
        raise WriteupError(f"citations.json is not as this program writes it: {error}") from error
    records = Records(_artifacts(files, problems), files, sources(files, entries))
    problems += _table_problems(records)
    problems += _value_problems(entries, records)
    problems += _page_problems(files, entries, occurrences)
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


# What a page shows.


@dataclass(frozen=True, slots=True)
class _Element:
    """A link to evidence, or the element that holds one: its content is start to end."""

    attributes: Mapping[str, str]
    start: int
    end: int


@dataclass(slots=True)
class _Seen:
    """A page as a reader has it: (offset, end, decoded text) of what is visible."""

    texts: list[tuple[int, int, str]] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    links: list[_Element] = field(default_factory=list)
    holders: list[_Element] = field(default_factory=list)


_SEEN_ATTRIBUTES = frozenset(
    (
        "alt",
        "title",
        "aria-label",
        "aria-description",
        "aria-valuetext",
        "placeholder",
        "aria-roledescription",
        "label",
        "summary",
        "abbr",
        "start",
        "content",
        "value",
    )
)
_SEEN_META = frozenset(
    ("description", "og:title", "og:description", "twitter:title", "twitter:description")
)
_RAW_ATTRIBUTE = re.compile(r"""([^\s"'>/=]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
_JSON_PART = re.compile(r'"((?:[^"\\]|\\.)*)"(\s*:)?|-?\d[\d.eE+-]*')
_JSON_UNSEEN = frozenset(
    ("href", "src", "id", "key", "class", "path", "page", "sha256", "type", "schema", "e", "for")
)


class _Reader(HTMLParser):
    """Reads one page; of the standard library's parser, so that nothing is shared."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=False)
        self._source = source
        self._lines = [0, *(match.end() for match in re.finditer("\n", source))]
        self._open: list[tuple[str, dict[str, str], int]] = []
        self.seen = _Seen()
        self.feed(source)
        self.close()

    def _here(self) -> int:
        line, column = self.getpos()
        return self._lines[line - 1] + column

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in reversed(attrs)}
        raw = self.get_starttag_text() or ""
        self.seen.ids.update(value for name, value in attributes.items() if name == "id")
        for match in _RAW_ATTRIBUTE.finditer(raw):
            group = match.lastindex or 1
            if self._shows(tag, match[1].lower(), attributes):
                start = self._here() + match.start(group)
                text = html.unescape(match[group])
                self.seen.texts.append((start, start + len(match[group]), text))
        self._open.append((tag, attributes, self._here() + len(raw)))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self._open.pop()

    @staticmethod
    def _shows(tag: str, name: str, attributes: Mapping[str, str]) -> bool:
        if name == "content":
            kind = attributes.get("name") or attributes.get("property")
            return tag == "meta" and kind in _SEEN_META
        return name in _SEEN_ATTRIBUTES and not (name == "value" and tag == "data")

    def handle_endtag(self, tag: str) -> None:
        for index in range(len(self._open) - 1, -1, -1):
            if self._open[index][0] == tag:
                _, attributes, start = self._open[index]
                element = _Element(attributes, start, self._here())
                if tag == "a" and "n" in attributes.get("class", "").split():
                    self.seen.links.append(element)
                if "data-e" in attributes:
                    self.seen.holders.append(element)
                del self._open[index:]
                return

    def handle_data(self, data: str) -> None:
        tags = [tag for tag, _, _ in self._open]
        if "script" in tags:
            kind = self._open[-1][1].get("type", "")
            if "json" in kind:
                self.seen.texts += _json_texts(data, self._here())
        elif "style" not in tags and "metadata" not in tags:
            self._add(len(data), data)

    def handle_entityref(self, name: str) -> None:
        self._reference(len(name) + 1)

    def handle_charref(self, name: str) -> None:
        self._reference(len(name) + 2)

    def _reference(self, length: int) -> None:
        start = self._here()
        length += self._source[start + length : start + length + 1] == ";"
        self._add(length, html.unescape(self._source[start : start + length]))

    def unknown_decl(self, data: str) -> None:
        if data.upper().startswith("CDATA["):
            self._add(len(data) + 3, data[6:])

    def _add(self, length: int, text: str) -> None:
        self.seen.texts.append((self._here(), self._here() + length, text))


def _json_texts(source: str, offset: int) -> Iterator[tuple[int, int, str]]:
    key = ""
    for match in _JSON_PART.finditer(source):
        if match[2]:
            key = match[1]
        elif key not in _JSON_UNSEEN:
            text = match[0] if match[1] is None else str(json.loads(f'"{match[1]}"'))
            yield offset + match.start(), offset + match.end(), text


def _page_problems(
    files: Mapping[str, bytes], entries: Mapping[str, Entry], occurrences: Iterable[_Occurrence]
) -> Iterator[Problem]:
    by_page: dict[str, list[_Occurrence]] = {}
    for each in occurrences:
        by_page.setdefault(each.page, []).append(each)
    for page in sorted(by_page.keys() - files.keys()):
        yield _problem(page, "text", "citations.json names it, but it is not there")
    texts = {
        path: content.decode(errors="replace")
        for path, content in files.items()
        if path.endswith((".html", ".svg")) or path in by_page
    }
    seen = {
        path: _Reader(text).seen for path, text in texts.items() if path.endswith((".html", ".svg"))
    }
    listed = {
        _squeezed(entries[each.key].text).casefold()
        for each in by_page.get(_LITERALS, ())
        if each.key in entries
    }
    for path, text in texts.items():
        here = by_page.get(path, [])
        for occurrence in here:
            message = _shown_wrong(text, occurrence, entries, listed)
            if message:
                yield _at(path, text, occurrence.offset, "text", message)
        if path in seen:
            yield from _number_problems(path, text, seen[path], here, entries)
            yield from _link_problems(path, text, seen, here, entries)


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
    path: str,
    text: str,
    seen: _Seen,
    occurrences: Iterable[_Occurrence],
    entries: Mapping[str, Entry],
) -> Iterator[Problem]:
    """Numerals in view that no occurrence covers."""
    covered = _Cover(occurrences)
    for start, end, shown in seen.texts:
        if shown in entries:
            continue
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


def _link_problems(
    path: str,
    text: str,
    seen: Mapping[str, _Seen],
    occurrences: list[_Occurrence],
    entries: Mapping[str, Entry],
) -> Iterator[Problem]:
    """Elements that promise evidence: they hold it, and lead to where it comes from."""
    offsets = [each.offset for each in occurrences]
    here = seen[path]

    def within(element: _Element) -> list[Entry]:
        first = bisect_right(offsets, element.start - 1)
        last = bisect_right(offsets, element.end)
        return [
            entries[each.key]
            for each in occurrences[first:last]
            if each.offset + each.length <= element.end and each.key in entries
        ]

    for holder in here.holders:
        key = holder.attributes["data-e"]
        held = [entry for entry in within(holder) if entry.key == key]
        if not held:
            yield _at(path, text, holder.start, "text", f"the evidence {key} is not recorded here")
        elif "value" in holder.attributes and not _same_value(holder, held[0]):
            message = f"the value {holder.attributes['value']!r} is not that of {held[0].text!r}"
            yield _at(path, text, holder.start, "text", message)
    for link in here.links:
        href = link.attributes.get("href", "")
        held = within(link)
        if not held:
            yield _at(path, text, link.start, "text", "the evidence of this link is not recorded")
        elif not any(_leads(path, href, entry, seen) for entry in held):
            message = f"{held[0].text!r} links to {href!r}, where it does not come from"
            yield _at(path, text, link.start, "link", message)


def _same_value(holder: _Element, entry: Entry) -> bool:
    stated = holder.attributes["value"]
    if isinstance(entry.value, bool):
        return stated == ("true" if entry.value else "false")
    try:
        return _equal(float(stated), entry.value)
    except ValueError:
        return False


def _leads(page: str, href: str, entry: Entry, seen: Mapping[str, _Seen]) -> bool:
    """Whether a link on a page leads to where the entry comes from."""
    path, _, fragment = href.partition("#")
    fragment = unquote(fragment)
    target = posixpath.normpath(posixpath.join(posixpath.dirname(page), unquote(path)))
    target = target if path else page
    if fragment and (target not in seen or fragment not in seen[target].ids):
        return False
    return any((target, fragment) == place for place in _homes(entry, target, fragment, seen))


def _homes(
    entry: Entry, target: str, fragment: str, seen: Mapping[str, _Seen]
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
    elif entry.form in {"digest", "size", "counter", "tick"}:
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
