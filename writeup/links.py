"""Links of the finished site, and those that lead nowhere."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from types import MappingProxyType
from urllib.parse import unquote, urlsplit

from writeup.errors import Problem
from writeup.markup import Tag, Text, line_and_column, tokens

RULE = "broken-link"
EXTERNAL = frozenset({"http", "https", "mailto"})

# Attributes that hold one address; what a browser follows, and what it fetches by itself.
_FOLLOWED = frozenset({"href", "xlink:href", "cite", "action", "formaction", "longdesc"})
_FETCHED = frozenset({"src", "poster", "data"})
# Attributes that hold ids of the same page.
_REFERENCES = frozenset(
    ("aria-labelledby", "aria-describedby", "aria-controls", "aria-details", "for", "headers")
)
Places = Mapping[tuple[str, str], tuple[str, int, int]]
_NO_PLACES: Places = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Link:
    """An address on a page, decoded, at a character offset of it.

    fetched: the browser asks for it by itself, as for an image or a style sheet.
    """

    destination: str
    offset: int
    fetched: bool


@dataclass(frozen=True, slots=True)
class Anchors:
    """What one output file links to, refers to, and can be linked at."""

    links: tuple[Link, ...]
    references: tuple[Link, ...]
    ids: Counter[str]


_CSS_LINK = re.compile(
    r"""url\(\s*(?:"([^"]*)"|'([^']*)'|([^)"'\s]*))\s*\)|@import\s+(?:"([^"]*)"|'([^']*)')""",
    re.IGNORECASE,
)
_CSS_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)


def anchors(path: str, source: str) -> Anchors:
    """Links and ids of an HTML, SVG or CSS file."""
    links: list[Link] = []
    references: list[Link] = []
    ids: Counter[str] = Counter()
    if path.endswith(".css"):
        links += _css_links(source, 0)
        return Anchors(tuple(links), (), ids)
    style = False
    for token in tokens(source, xml=path.endswith(".svg")):
        if isinstance(token, Text):
            if style:
                links += _css_links(source[token.start : token.end], token.start)
            continue
        if token.name == "style":
            style = not (token.closing or token.empty)
        links += _links(token)
        for attribute in token.attributes:
            if attribute.name == "id" or (attribute.name == "name" and token.name == "a"):
                ids[attribute.value] += 1
            elif attribute.name in _REFERENCES:
                references += [
                    Link(each, attribute.start, fetched=False) for each in attribute.value.split()
                ]
    return Anchors(tuple(links), tuple(references), ids)


def _links(tag: Tag) -> Iterator[Link]:
    for attribute in tag.attributes:
        value = attribute.value.strip()
        if attribute.name in _FOLLOWED:
            # A link element and `use` fetch what an anchor would only follow; canonical,
            # alternate and the like are links that nobody fetches.
            relations = (tag.get("rel") or "").lower().split()
            fetched = tag.name in {"use", "image", "feimage"} or (
                tag.name == "link"
                and bool({"stylesheet", "icon", "preload", "modulepreload"} & set(relations))
            )
            yield Link(value, attribute.start, fetched)
        elif attribute.name in _FETCHED and not (attribute.name == "data" and tag.name != "object"):
            yield Link(value, attribute.start, fetched=True)
        elif attribute.name in {"srcset", "imagesrcset"}:
            for candidate in value.split(","):
                if candidate.strip():
                    yield Link(candidate.split()[0], attribute.start, fetched=True)
        elif "url(" in attribute.raw:
            yield from _css_links(attribute.value, attribute.start)


def _css_links(source: str, offset: int) -> Iterator[Link]:
    bare = _CSS_COMMENT.sub(lambda match: " " * len(match[0]), source)
    for match in _CSS_LINK.finditer(bare):
        destination = match[match.lastindex or 0]
        yield Link(destination, offset + match.start(), fetched=True)


def broken_links(
    pages: Mapping[str, bytes],
    placed: Places = _NO_PLACES,
    base: str = "",
) -> list[Problem]:
    """Links that lead nowhere, out of the site or to another host unasked, sorted.

    base is where the site will be published: addresses below it are its own.

    placed gives path, line and column of the link in a story, by page and destination as
    it stands on the page; a problem points there, else at the finished page.
    """
    sources = {
        path: content.decode()
        for path, content in pages.items()
        if path.endswith((".html", ".svg", ".css"))
    }
    found = {path: anchors(path, source) for path, source in sources.items()}
    problems: set[Problem] = set()
    for path, source in sources.items():
        for link, message, hint in _faults(path, source, pages, found, base.rstrip("/")):
            problems.add(_problem(path, source, link, placed, (message, hint)))
    return sorted(problems)


def _faults(
    page: str, source: str, pages: Mapping[str, bytes], found: Mapping[str, Anchors], base: str
) -> Iterator[tuple[Link, str, str]]:
    """Every link, reference and id of a page that is wrong, what is, and a hint."""
    here = found[page]
    for link in here.links:
        message, hint = _judge(page, _own(link, page, base), pages, found)
        if message:
            yield link, message, hint
    for reference in here.references:
        if reference.destination not in here.ids:
            hint = "a template or theme names an id that the page does not have"
            yield reference, f"no element here has the id '{reference.destination}'", hint
    for repeated, count in sorted(here.ids.items()):
        if count > 1:
            at = Link(repeated, max(0, source.find(f'"{repeated}"')), fetched=False)
            hint = "an id is of one element: give one of the two another name"
            yield at, f"the id '{repeated}' stands on the page more than once", hint


def _own(link: Link, page: str, base: str) -> Link:
    """The link as one within the site, where it is an address below the site's own."""
    if not base or not f"{link.destination}/".startswith(f"{base}/"):
        return link
    path, sign, fragment = link.destination.removeprefix(base).lstrip("/").partition("#")
    target = "index.html" if not path else f"{path}index.html" if path.endswith("/") else path
    relative = posixpath.relpath(target, posixpath.dirname(page) or ".")
    return replace(link, destination=f"{relative}{sign}{fragment}")


def _judge(
    page: str, link: Link, pages: Mapping[str, bytes], found: Mapping[str, Anchors]
) -> tuple[str, str]:
    """What is wrong with a link, and a hint; two empty texts if nothing is."""
    shown = f"'{link.destination}'"
    try:
        parts = urlsplit(link.destination)
    except ValueError:
        return f"{shown} is not an address", "look at its brackets and its port"
    if parts.scheme:
        return _judge_external(link, parts.scheme)
    path = unquote(parts.path)
    if parts.netloc or path.startswith("/"):
        hint = "a relative link works from disk and under a project path alike"
        return f"{shown} is absolute", hint
    target = posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page
    if target == ".." or target.startswith("../") or "\\" in path:
        return f"{shown} leaves the site", "name a page of the site, or an https address"
    if target not in pages:
        return f"{shown} leads to no page", _nearest(page, target, pages)
    return _judge_fragment(shown, unquote(parts.fragment), target, found)


def _judge_external(link: Link, scheme: str) -> tuple[str, str]:
    shown = f"'{link.destination}'"
    if scheme.lower() not in EXTERNAL:
        return f"{shown} uses the scheme '{scheme}'", "links are relative, https, http or mailto"
    if link.fetched:
        return f"{shown} is fetched from another host", "no request of a page leaves the site"
    return "", ""


def _judge_fragment(
    shown: str, fragment: str, target: str, found: Mapping[str, Anchors]
) -> tuple[str, str]:
    if not fragment or (fragment == "top" and target.endswith(".html")):
        return "", ""
    ids = found[target].ids if target in found else Counter[str]()
    if fragment in ids:
        return "", ""
    near = get_close_matches(fragment, ids, n=1)
    hint = f"did you mean '#{near[0]}'?" if near else "name an id of that page, or the page alone"
    return f"{shown} leads to no place on '{target}'", hint


def _nearest(page: str, target: str, pages: Mapping[str, bytes]) -> str:
    folder = posixpath.dirname(page) or "."
    index = posixpath.normpath(posixpath.join(target, "index.html"))
    near = [index] if index in pages else get_close_matches(target, pages, n=1)
    if not near:
        return "links are relative to the finished page and name index.html"
    return f"did you mean '{posixpath.relpath(near[0], folder)}'?"


def _problem(page: str, source: str, link: Link, placed: Places, words: tuple[str, str]) -> Problem:
    message, hint = words
    known = placed.get((page, link.destination))
    if known:
        return Problem(*known, RULE, message, hint)
    line, column = line_and_column(source, link.offset)
    start = source.rfind("\n", 0, link.offset) + 1
    shown = source[max(start, link.offset - 80) : link.offset + 80].partition("\n")[0]
    return Problem(page, line, column, RULE, message, hint, source=shown.strip())
