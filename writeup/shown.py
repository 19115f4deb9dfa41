"""What a finished page shows, read strictly and apart from the code that made it."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

# What a page may be made of. Whatever else a browser would show is not looked for: a page
# that holds anything but this is not one of ours.

_ANYWHERE = frozenset(
    "class id role tabindex aria-label aria-labelledby aria-describedby aria-hidden"
    " aria-current".split()
)
_DRAWN = (
    "clip-path fill fill-opacity opacity stroke stroke-dasharray stroke-dashoffset stroke-linecap"
    " stroke-linejoin stroke-miterlimit stroke-opacity stroke-width transform"
)
_TAGS: Mapping[str, frozenset[str]] = {
    tag: frozenset(attributes.split())
    for tags, attributes in (
        ("html", "lang"),
        ("head title body header footer main nav section article aside div figure", ""),
        ("figcaption h1 h2 h3 h4 h5 h6 p ul li dl dt dd blockquote hr br em strong code", ""),
        ("details summary ins del table caption thead tbody tr", ""),
        ("meta", "charset name property content http-equiv"),
        ("link", "rel href type"),
        ("script", "src defer"),
        ("a", "href rel title download data-n"),
        ("img", "src alt title"),
        ("data", "value data-e"),
        ("span", "data-e data-n"),
        ("ol", "start"),
        ("pre", "data-copy"),
        ("td th", "colspan scope"),
        ("svg", f"viewbox xmlns width height {_DRAWN}"),
        ("g defs desc clippath", _DRAWN),
        ("path", f"d {_DRAWN}"),
        ("rect", f"x y width height rx ry {_DRAWN}"),
        ("circle", f"cx cy r {_DRAWN}"),
        ("line polyline polygon", f"x1 y1 x2 y2 points {_DRAWN}"),
        ("use", f"href x y {_DRAWN}"),
        ("text", f"x y dx dy font-size font-weight font-style text-anchor {_DRAWN}"),
    )
    for tag in tags.split()
}
# Elements of HTML that have no end, and those that do not end the sentence around them.
_VOID = frozenset("meta link hr br img".split())
_INLINE = frozenset("a code data del em ins span strong".split())
_SEEN_ATTRIBUTES = frozenset(("alt", "title", "aria-label", "start"))
_SEEN_META = frozenset(("description", "og:title", "og:description", "og:site_name"))
_UNSEEN_META = frozenset(("viewport", "color-scheme", "og:type", "og:url"))

_BLANKS = r"[ \t\n\r\f]"
_NAME = r"[A-Za-z][\w:.-]*"
_TAG = re.compile(
    rf"<(/?)([A-Za-z][A-Za-z0-9]*)((?:{_BLANKS}+{_NAME}(?:=(?:\"[^\"<>]*\"|'[^'<>]*'))?)*)"
    rf"{_BLANKS}*(/?)>",
    re.ASCII,
)
_ATTRIBUTE = re.compile(rf"({_NAME})(?:=(?:\"([^\"]*)\"|'([^']*)'))?", re.ASCII)
_DOCTYPE = re.compile(r"<!doctype html>", re.IGNORECASE)
_REFERENCE = re.compile(r"&(?:#[0-9]+|#[xX][0-9a-fA-F]+|[A-Za-z][A-Za-z0-9]*);?")


# What a page shows.


@dataclass(slots=True, eq=False)
class Element:
    """An element: its tag stands at `at`, its content from start to end."""

    tag: str
    attributes: Mapping[str, str]
    at: int
    start: int
    parent: Element | None
    end: int = 0

    @property
    def classes(self) -> list[str]:
        return self.attributes.get("class", "").split()

    def within(self, named: str) -> Element | None:
        """The nearest element of a class: this one, or one around it."""
        found: Element | None = self
        while found and named not in found.classes:
            found = found.parent
        return found


# Text as a reader has it, and where it begins and ends in the file.
Piece = tuple[int, int, str]


@dataclass(slots=True)
class Seen:
    """A page as a reader has it; runs are texts that read in one go, in pieces."""

    runs: list[list[Piece]] = field(default_factory=lambda: [[]])
    ids: set[str] = field(default_factory=set)
    elements: list[Element] = field(default_factory=list)
    faults: list[tuple[int, str]] = field(default_factory=list)


class Reader:
    """Reads one page, by a grammar that leaves a browser no choice either."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._inner: Element | None = None
        self.seen = Seen()
        doctype = _DOCTYPE.match(source.removeprefix("\n"))
        at = doctype.end() + source.startswith("\n") if doctype else 0
        while at < len(source):
            at = self._tag(at) if source[at] == "<" else self._text(at)
        for element in self._around():
            self._fault(element.at, f"<{element.tag}> does not end")

    def _around(self) -> Iterator[Element]:
        element = self._inner
        while element:
            yield element
            element = element.parent

    def _fault(self, at: int, message: str) -> None:
        self.seen.faults.append((at, message))

    def _text(self, at: int) -> int:
        end = self._source.find("<", at)
        end = end if end >= 0 else len(self._source)
        self.seen.runs[-1] += pieces(self._source, at, end)
        if self._inner and self._inner.tag == "script" and self._source[at:end].strip():
            self._fault(at, "a script that stands in the page itself")
        return end

    def _tag(self, at: int) -> int:
        match = _TAG.match(self._source, at)
        if match is None:
            shown = self._source[at : at + 20].partition("\n")[0]
            self._fault(at, f"{shown!r} is markup that no page of ours has")
            return self._text(at + 1) if at + 1 < len(self._source) else at + 1
        tag = match[2].lower()
        if tag not in _INLINE:
            self.seen.runs.append([])
        if match[1]:
            self._close(tag, match)
        else:
            self._open(tag, match)
        return match.end()

    def _close(self, tag: str, match: re.Match[str]) -> None:
        inner = self._inner
        if inner is None or inner.tag != tag or match[3] or match[4]:
            self._fault(match.start(), f"{match[0]!r} does not end what is open")
        # What was left open inside ends with it, so that one fault is told once.
        closed = next((each for each in self._around() if each.tag == tag), None)
        while closed and self._inner is not closed.parent:
            inner = self._inner or closed
            inner.end = match.start()
            self._inner = inner.parent

    def _open(self, tag: str, match: re.Match[str]) -> None:
        if tag not in _TAGS:
            self._fault(match.start(), f"no page of ours has the element <{tag}>")
        element = Element(tag, {}, match.start(), match.end(), self._inner, match.end())
        element.attributes = self._attributes(tag, match)
        self.seen.elements.append(element)
        drawn = any(each.tag == "svg" for each in self._around()) or tag == "svg"
        if match[4] and not drawn and tag not in _VOID:
            self._fault(match.start(), f"{match[0]!r} does not end itself for a browser")
        if tag not in _VOID and not match[4]:
            self._inner = element

    def _attributes(self, tag: str, match: re.Match[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        read = [
            (each[1].lower(), each) for each in _ATTRIBUTE.finditer(self._source, *match.span(3))
        ]
        for name, each in read:
            known = name in _ANYWHERE or name in _TAGS.get(tag, ())
            if not known or name in found:
                message = f"no page of ours has {name!r} here" if not known else f"{name!r} twice"
                self._fault(each.start(1), f"<{tag}>: {message}")
            found.setdefault(name, html.unescape(each[2] or each[3] or ""))
        for name, each in read:
            group = 3 if each[2] is None else 2
            if each[group] and _shows(tag, name, found):
                self.seen.runs.insert(-1, list(pieces(self._source, *each.span(group))))
        if "id" in found:
            self.seen.ids.add(found["id"])
        for fault in _forbidden(tag, found):
            self._fault(match.start(), fault)
        return found


def pieces(source: str, start: int, end: int) -> Iterator[Piece]:
    """A stretch of a file as text: each reference to a character is a piece of its own."""
    at = start
    for match in _REFERENCE.finditer(source, start, end):
        if at < match.start():
            yield at, match.start(), source[at : match.start()]
        yield match.start(), match.end(), html.unescape(match[0])
        at = match.end()
    if at < end:
        yield at, end, source[at:end]


def _shows(tag: str, name: str, attributes: Mapping[str, str]) -> bool:
    """Whether a reader meets the value of an attribute. Of an unknown one it is assumed."""
    if tag == "meta" and name == "content":
        return (attributes.get("name") or attributes.get("property")) in _SEEN_META
    known = name in _ANYWHERE or name in _TAGS.get(tag, ())
    return name in _SEEN_ATTRIBUTES or not known


def _forbidden(tag: str, attributes: Mapping[str, str]) -> Iterator[str]:
    """What is wrong with the values of known attributes."""
    if tag == "meta" and "content" in attributes:
        policy = attributes.get("http-equiv") == "Content-Security-Policy"
        named = attributes.get("name") or attributes.get("property")
        if not policy and named not in _SEEN_META | _UNSEEN_META:
            yield "a <meta> that no page of ours has"
    if attributes.get("charset", "utf-8").lower() != "utf-8":
        yield "a page in another encoding than UTF-8"
    if tag == "script" and "src" not in attributes:
        yield "a script that stands in the page itself"
    if tag == "data" and not {"value", "data-e"} <= attributes.keys():
        yield "a machine's value without its evidence"
