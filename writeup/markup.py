"""Finished HTML, SVG, CSS and JSON, read with exact places.

Says what a reader may see (text, alternative texts, titles, strings of style sheets and of
embedded data) and where each character of it stands in the source, and lists tags with
their attributes. Writes nothing and judges nothing.
"""

from __future__ import annotations

import html
import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from writeup.errors import WriteupError


class MarkupError(WriteupError):
    """Markup that no template of ours makes and that cannot be read with certainty."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a run: `length` characters from `at`, written at `source`.

    width is 0 where the source spells the characters out, else the number of source
    characters (an entity, an escape) that stand for all of them together.
    """

    at: int
    length: int
    source: int
    width: int = 0

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Source offsets of the run's characters from `start` to `end`, both inside."""
        if self.width:
            return self.source, self.source + self.width
        return self.source + start - self.at, self.source + end - self.at


@dataclass(frozen=True, slots=True)
class Run:
    """Visible text that reads as one piece, though inline tags may divide it.

    where is "text", the name of an attribute, "style" or "data".
    """

    text: str
    pieces: tuple[Piece, ...]
    where: str

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Source offsets of the non-empty stretch of text from `start` to `end`."""
        first = self.pieces[bisect_right(self.pieces, start, key=lambda piece: piece.at) - 1]
        last = self.pieces[bisect_right(self.pieces, end - 1, key=lambda piece: piece.at) - 1]
        begin, _ = first.span(start, start + 1)
        _, finish = last.span(end - 1, end)
        return begin, finish


@dataclass(frozen=True, slots=True)
class Attribute:
    """name in lower case; raw is the value as written, from source offset `start`."""

    name: str
    raw: str
    start: int

    @property
    def value(self) -> str:
        return html.unescape(self.raw)


@dataclass(frozen=True, slots=True)
class Tag:
    """A start or end tag; `name` in lower case; `start` and `end` are source offsets."""

    name: str
    attributes: tuple[Attribute, ...]
    start: int
    end: int
    closing: bool = False
    empty: bool = False

    def get(self, name: str) -> str | None:
        """The first attribute of that name, decoded."""
        return next((each.value for each in self.attributes if each.name == name), None)


@dataclass(frozen=True, slots=True)
class Text:
    """Character data from `start` to `end`; raw: entities in it are not decoded."""

    start: int
    end: int
    raw: bool = False


_TAG_NAME = re.compile(r"[A-Za-z][^\s/>]*")
_ATTRIBUTE = re.compile(
    r"""[\s/]*([^\s/>=][^\s/>=]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"'][^\s>]*)))?"""
)
_TAG_END = re.compile(r"[\s/]*>")
_COMMENT_END = re.compile(r"--!?>")
_ENTITY = re.compile(r"&(?:#[0-9]+;?|#[xX][0-9a-fA-F]+;?|[^\t\n\f <&#;]{1,32};?)")

# Elements whose content is no markup; those marked True decode entities (HTML 13.1.2).
_RAW = {
    "script": False, "style": False, "xmp": False, "iframe": False, "noembed": False,
    "noframes": False, "plaintext": False, "title": True, "textarea": True,
}  # fmt: skip

# Tags that do not interrupt a sentence: text on both sides of them reads as one.
_INLINE_WORDS = """
    a abbr b bdi bdo cite code data del dfn em font i ins kbd mark q rp rt ruby s samp small span
    strong sub sup time tspan u var wbr
"""
_INLINE = frozenset(_INLINE_WORDS.split())

# What an attribute of this name holds is for the machine: addresses, ids, types, layout; and
# of SVG, geometry and presentation.
_STRUCTURAL_WORDS = """
    href src srcset sizes media id class for rel type charset http-equiv datetime integrity name
    lang hreflang dir style role headers list form usemap target download nonce crossorigin
    loading decoding fetchpriority referrerpolicy autocomplete tabindex colspan rowspan span
    scope width height maxlength minlength size rows cols pattern hidden open poster
    aria-labelledby aria-describedby aria-controls aria-owns aria-details aria-flowto
    aria-activedescendant aria-level aria-rowcount aria-colcount aria-rowindex aria-colindex
    aria-rowspan aria-colspan aria-setsize aria-posinset aria-hidden aria-current
    d viewbox x y x1 x2 y1 y2 dx dy cx cy r rx ry fx fy points transform gradienttransform
    patterntransform gradientunits patternunits clippathunits markerunits maskunits offset
    fill fill-opacity fill-rule stroke stroke-width stroke-dasharray stroke-dashoffset
    stroke-opacity stroke-linecap stroke-linejoin stroke-miterlimit stop-color stop-opacity
    opacity clip-path clip-rule mask filter marker-start marker-mid marker-end markerwidth
    markerheight refx refy orient font-size font-family font-weight font-style text-anchor
    dominant-baseline alignment-baseline baseline-shift letter-spacing rotate textlength
    lengthadjust pathlength preserveaspectratio vector-effect version xmlns color display
    visibility
"""
_STRUCTURAL = frozenset(_STRUCTURAL_WORDS.split())
_STRUCTURAL_META_WORDS = """
    viewport theme-color color-scheme referrer robots generator og:url og:image og:image:width
    og:image:height og:type og:locale twitter:card twitter:image
"""
_STRUCTURAL_META = frozenset(_STRUCTURAL_META_WORDS.split())
# The number of a line of source, which style sheets show. It is not evidence but the place of
# the line that stands beside it; anything else than a whole number there is text.
LINE_NUMBER = "data-n"
# Keys of embedded data whose values are for the machine.
_STRUCTURAL_KEYS = frozenset(
    ("href", "src", "id", "key", "class", "path", "page", "sha256", "type", "schema", "e", "for")
)


def _attributes(source: str, position: int) -> tuple[tuple[Attribute, ...], int]:
    """The attributes from `position` on, and the offset after the tag."""
    found: list[Attribute] = []
    while not (end := _TAG_END.match(source, position)):
        match = _ATTRIBUTE.match(source, position)
        if match is None:
            raise MarkupError(f"a tag that does not end, at character {position}")
        group = match.lastindex or 1
        if group > 1:
            found.append(Attribute(match[1].lower(), match[group], match.start(group)))
        else:
            found.append(Attribute(match[1].lower(), "", match.end()))
        position = match.end()
    return tuple(found), end.end()


def _after(source: str, end: str | re.Pattern[str], position: int) -> int:
    """The offset after the next `end`, or that of the end of the source."""
    pattern = re.compile(re.escape(end)) if isinstance(end, str) else end
    match = pattern.search(source, position)
    return match.end() if match else len(source)


def _declaration(source: str, position: int, *, foreign: bool) -> tuple[Text | None, int]:
    """What starts with `<!` or `<?` at `position`: CDATA as text, else nothing."""
    if source.startswith("<!--", position):
        short = re.compile(r"<!---?>").match(source, position)
        return None, short.end() if short else _after(source, _COMMENT_END, position + 4)
    if foreign and source.startswith("<![CDATA[", position):
        end = _after(source, "]]>", position)
        return Text(position + 9, max(position + 9, end - 3), raw=True), end
    end = _after(source, ">", position)
    if "[" in source[position:end] and source[position : position + 9].upper() == "<!DOCTYPE":
        raise MarkupError("a document type that declares entities of its own")
    return None, end


def tokens(source: str, *, xml: bool = False) -> Iterator[Tag | Text]:
    """Tags and text of an HTML page, or with `xml` of a stand-alone SVG file, in order."""
    position, foreign = 0, int(xml)
    while position < len(source):
        opening = source.find("<", position)
        opening = len(source) if opening < 0 else opening
        if opening > position:
            yield Text(position, opening)
        if opening == len(source):
            return
        following = source[opening + 1 : opening + 2]
        closing = following == "/"
        name = _TAG_NAME.match(source, opening + 1 + closing)
        if name:
            attributes, position = _attributes(source, name.end())
            empty = source[position - 2] == "/"
            tag = Tag(name[0].lower(), attributes, opening, position, closing, empty)
            yield tag
            if tag.name in {"svg", "math"} and not empty:
                foreign = max(0, foreign + (-1 if closing else 1))
            elif tag.name in _RAW and not closing and not foreign:
                close = re.compile(rf"</{tag.name}(?=[\s/>])", re.IGNORECASE).search(
                    source, position
                )
                end = close.start() if close else len(source)
                yield Text(position, end, raw=not _RAW[tag.name])
                position = end
        elif closing or following in {"!", "?"}:
            text, position = _declaration(source, opening, foreign=bool(foreign))
            if text:
                yield text
        else:
            yield Text(opening, opening + 1)
            position = opening + 1


class _Builder:
    """Gathers pieces until the sentence ends."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._texts: list[str] = []
        self._pieces: list[Piece] = []
        self._length = 0

    def add(self, text: str, source: int, width: int = 0) -> None:
        if text:
            self._pieces.append(Piece(self._length, len(text), source, width))
            self._texts.append(text)
            self._length += len(text)

    def decode(self, raw: str, source: int) -> None:
        """Adds `raw` with its entities decoded."""
        position = 0
        for match in _ENTITY.finditer(raw):
            decoded = html.unescape(match[0])
            if decoded != match[0]:
                self.add(raw[position : match.start()], source + position)
                self.add(decoded, source + match.start(), len(match[0]))
                position = match.end()
        self.add(raw[position:], source + position)

    def take(self) -> Iterator[Run]:
        """The run so far, if a reader sees any of it; the builder is empty afterwards."""
        text = "".join(self._texts)
        if text and not text.isspace():
            yield Run(text, tuple(self._pieces), self._where)
        self._texts, self._pieces, self._length = [], [], 0


def _visible(tag: Tag, attribute: Attribute) -> bool:
    name = attribute.name
    if name == LINE_NUMBER:
        return not attribute.raw.isdecimal()
    if not attribute.raw or name.startswith(("data-", "xmlns", "xlink:", "xml:")):
        return False
    if tag.name == "meta" and name == "content":
        kind = tag.get("name") or tag.get("property")
        return tag.get("http-equiv") is None and kind not in _STRUCTURAL_META
    if tag.name == "meta" and name == "property":
        return False
    if tag.name == "data" and name == "value":
        return False
    return name not in _STRUCTURAL


def _attribute_runs(tag: Tag) -> Iterator[Run]:
    for attribute in tag.attributes:
        if _visible(tag, attribute):
            builder = _Builder(attribute.name)
            builder.decode(attribute.raw, attribute.start)
            yield from builder.take()


def markup_runs(source: str, *, xml: bool = False) -> Iterator[Run]:
    """Everything a reader of the page may see or be read aloud, sentence by sentence."""
    builder = _Builder("text")
    inside: Tag | None = None  # the script, style or metadata element that is open
    for token in tokens(source, xml=xml):
        if isinstance(token, Tag):
            if token.name == "br":
                # A line that ends is a blank: the sentence goes on behind it.
                builder.add("\n", token.start, token.end - token.start)
            elif token.name not in _INLINE:
                yield from builder.take()
            if token.name in {"script", "style", "metadata"}:
                inside = None if token.closing or token.empty else token
            yield from _attribute_runs(token)
            continue
        text = source[token.start : token.end]
        if inside is None:
            if token.raw:
                builder.add(text, token.start)
            else:
                builder.decode(text, token.start)
        elif inside.name == "style":
            yield from css_runs(text, token.start)
        elif inside.name == "script" and "json" in (inside.get("type") or ""):
            yield from json_runs(text, token.start)
    yield from builder.take()


_CSS_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_CSS_STRING = r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'"""
_CSS_GENERATED = re.compile(
    r"(?<![\w-])(?:content|quotes|list-style(?:-type)?|symbols|additive-symbols|prefix|suffix"
    rf"|negative|pad|string-set)\s*:((?:{_CSS_STRING}|[^;{{}}\"'])*)",
    re.IGNORECASE | re.DOTALL,
)
_CSS_PART = re.compile(
    rf"""({_CSS_STRING})|((?:counters?|attr)\([^)]*\))|url\([^)]*\)""", re.IGNORECASE | re.DOTALL
)
_CSS_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})[ \t\n\f\r]?|(.))", re.DOTALL)


def css_runs(source: str, offset: int = 0) -> Iterator[Run]:
    """Strings that a style sheet adds to a page.

    `counter()` and `attr()` come out as runs of their own, `where` "generated": what they
    show is written nowhere.
    """
    bare = _CSS_COMMENT.sub(lambda match: " " * len(match[0]), source)
    for declaration in _CSS_GENERATED.finditer(bare):
        for part in _CSS_PART.finditer(bare, declaration.start(1), declaration.end(1)):
            if part[1]:
                yield from _css_string(part[1], offset + part.start(1))
            elif part[2]:
                builder = _Builder("generated")
                builder.add(part[2], offset + part.start(2))
                yield from builder.take()


def _css_string(quoted: str, source: int) -> Iterator[Run]:
    builder, position, end = _Builder("style"), 1, len(quoted) - 1
    for match in _CSS_ESCAPE.finditer(quoted, 1, end):
        builder.add(quoted[position : match.start()], source + position)
        code = int(match[1], 16) if match[1] else 0
        text = (chr(code) if 0 < code < 0x110000 else "\ufffd") if match[1] else match[2]
        builder.add(text, source + match.start(), len(match[0]))
        position = match.end()
    builder.add(quoted[position:end], source + position)
    yield from builder.take()


_JSON_TOKEN = re.compile(r'\s*(?:([{}\[\],:])|("(?:[^"\\]|\\.)*")|([^\s{}\[\],:"]+))', re.DOTALL)
_JSON_ESCAPE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\."
)


def json_runs(source: str, offset: int = 0) -> Iterator[Run]:
    """Strings, keys and numbers of embedded data, but for values under structural keys.

    Keys come out with `where` "key": the caller knows those that are for the machine.
    """
    # Of each open object or list, whether it is an object, and the key at hand; None in the
    # place of a key. A list hands the key of the object around it to its members.
    open_: list[tuple[bool, str | None]] = [(False, "")]
    position = 0
    while match := _JSON_TOKEN.match(source, position):
        position = match.end()
        if match[1]:
            _json_step(open_, match[1])
            continue
        is_object, key = open_[-1]
        if match[2] and key is None:
            open_[-1] = (is_object, str(json.loads(match[2])))
            yield from _json_string(match[2], offset + match.start(2), "key")
        elif key in _STRUCTURAL_KEYS:
            continue
        elif match[2]:
            yield from _json_string(match[2], offset + match.start(2), "data")
        else:
            builder = _Builder("data")
            builder.add(match[3], offset + match.start(3))
            yield from builder.take()
    if source[position:].strip() or len(open_) != 1:
        raise MarkupError(f"data that is not JSON, at character {offset + position}")


def _json_step(open_: list[tuple[bool, str | None]], sign: str) -> None:
    """Follows a bracket or comma."""
    is_object, key = open_[-1]
    if sign == "{":
        open_.append((True, None))
    elif sign == "[":
        open_.append((False, key))
    elif sign in "}]" and len(open_) > 1:
        open_.pop()
    elif sign == "," and is_object:
        open_[-1] = (True, None)


def _json_string(quoted: str, source: int, where: str) -> Iterator[Run]:
    builder, position, end = _Builder(where), 1, len(quoted) - 1
    for match in _JSON_ESCAPE.finditer(quoted, 1, end):
        builder.add(quoted[position : match.start()], source + position)
        builder.add(str(json.loads(f'"{match[0]}"')), source + match.start(), len(match[0]))
        position = match.end()
    builder.add(quoted[position:end], source + position)
    yield from builder.take()


def runs(path: str, source: str) -> Iterator[Run]:
    """The visible runs of one output file, by its suffix; none for unknown kinds."""
    suffix = path.rpartition(".")[2].lower()
    if suffix in {"html", "htm"}:
        yield from markup_runs(source)
    elif suffix == "svg":
        yield from markup_runs(source, xml=True)
    elif suffix == "css":
        yield from css_runs(source)
    elif suffix == "json":
        yield from json_runs(source)
    elif suffix in {"txt", "md"}:
        builder = _Builder("text")
        builder.add(source, 0)
        yield from builder.take()


def line_and_column(source: str, offset: int) -> tuple[int, int]:
    """Both from one."""
    line = source.count("\n", 0, offset) + 1
    return line, offset - (source.rfind("\n", 0, offset) + 1) + 1
