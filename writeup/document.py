"""Stories: Markdown with citations in, HTML with evidence out.

`{{ … }}` is a token of the Markdown parser: inside code it stays literal, and nothing that
an artifact says is ever parsed. Every token keeps the offset at which it begins, so that
each citation and each typed character has a place in the file (`Run`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal as OneOf

from writeup import frontmatter, markdown
from writeup.errors import Problem
from writeup.frontmatter import FrontMatter
from writeup.language import Citation, CitationError, Standing, parse
from writeup.markdown import Token, escape
from writeup.places import Places, Run, normalised

PARTS = ("problem", "roofline", "steps", "result")
"""The four parts of a story: its headings of the second level, in this order."""

BLANK = "blank"
"""The status of a story that has not been measured."""

_BAD_STORY = "bad-story"
_BAD_CITATION = "unknown-citation"
_BAD_NUMBER = "typed-number"

# Each problem carries its line: more than anybody mends at once would only fill the memory.
_MOST_PROBLEMS = 200
_SCHEME = re.compile(r"([^/?#]*):")
_SCHEMES = frozenset({"http", "https", "mailto"})
_LANGUAGE = re.compile(r"[A-Za-z0-9+#.-]+")
# The block with anything behind its name, as if it had facets.
_TRIMMED = re.compile(r"\s*result\s*(?:[@,]|\s\S)")
_FORMS = (
    "citations are {{ a.time }}, {{ a.time @ case, mode }}, {{ a.speedup over b }}, {{ a vs b }}, "
    "{{ claim a faster than b }}, {{ env.device }}"
)
# What no reader sees, or what turns what he sees around: controls, marks of direction, blanks
# of no width, letters without a shape, and private use.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\ue000-\uf8ff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f\U000f0000-\U0010ffff]"
)


@dataclass(frozen=True, slots=True)
class Placed:
    """A citation where it stands: at its first brace. section is the slug of its part."""

    citation: Citation
    line: int
    column: int
    text: str
    section: str = ""

    def column_of(self, at: int) -> int:
        """The column of what stands at the offset `at` of the citation."""
        return self.column + len("{{") + at


@dataclass(frozen=True, slots=True)
class Literal:
    """A typed digit that is not a result, with its reason: `[5]{.literal reason="…"}`."""

    text: str
    reason: str
    line: int
    column: int
    section: str = ""


Piece = str | Placed | Literal
"""What prose is made of, where it may be told apart from its markup."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading; its slug is made of typed words only, so that it holds no value."""

    level: int
    pieces: tuple[Piece, ...]
    slug: str
    line: int
    column: int

    @property
    def text(self) -> str:
        """The typed words."""
        return "".join(piece for piece in self.pieces if isinstance(piece, str)).strip()


@dataclass(frozen=True, slots=True)
class Link:
    """Where a link or an image leads, decoded and percent-encoded as it will be written."""

    kind: OneOf["link", "image"]
    destination: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Front:
    """The front matter. title, description and audience may hold citations."""

    title: tuple[Piece, ...] = ()
    description: tuple[Piece, ...] = ()
    audience: tuple[Piece, ...] = ()
    kind: str = "story"
    results: str | None = None
    run: str | None = None
    device: str | None = None
    case: str | None = None
    mode: str | None = None
    baseline: str | None = None
    headline: str | None = None
    status: str | None = None
    places: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def place(self, key: str) -> tuple[int, int]:
        """Line and column of a key; of the file's beginning where it is absent."""
        return self.places.get(key, (1, 1))


@dataclass(frozen=True, slots=True)
class Story:
    """A story as it was typed, with all that is wrong in its form.

    citations, literals, links and runs are in the order of the file.
    """

    path: str
    text: str = field(repr=False)
    front: Front
    headings: tuple[Heading, ...]
    citations: tuple[Placed, ...]
    literals: tuple[Literal, ...]
    links: tuple[Link, ...]
    runs: tuple[Run, ...] = field(repr=False)
    problems: tuple[Problem, ...]
    tokens: tuple[Token, ...] = field(repr=False, compare=False)


def parse_story(text: str, path: str) -> Story:
    """The story that `text`, the content of the file `path`, is.

    Raises nothing: whatever is wrong with the text is in the story's `problems`.
    """
    text = normalised(text)
    places = Places(path, _readable(text))
    return _parsed(places, frontmatter.read(places), text)


def parse_page(text: str, path: str, *, prefix: str = "", below: int = 0) -> Story:
    """Markdown without front matter, such as the explanation of a rule.

    For a part of a larger page: prefix begins the anchors of its headings, which stand
    below a heading of the level `below`.
    """
    text = normalised(text)
    places = Places(path, _readable(text))
    return _parsed(places, frontmatter.FrontMatter(), text, prefix=prefix, below=below)


def _readable(text: str) -> str:
    """The text as Markdown reads it, character for character."""
    return text.replace("\0", "\ufffd")


def _parsed(
    places: Places,
    matter: frontmatter.FrontMatter,
    typed: str,
    *,
    prefix: str = "",
    below: int = 0,
) -> Story:
    """typed is the file's text as it is; places have it as it can be read."""
    reader = _Reader(places, prefix)
    front = _front(matter, reader)
    tokens = _tokens(places, matter.body, reader)
    _lower(tokens, below)
    reader.read(tokens, matter.body)
    problems = {*matter.problems, *reader.problems, *_unseen(places, typed, reader.runs)}
    return Story(
        path=places.path,
        text=places.text,
        front=front,
        headings=tuple(reader.headings),
        citations=tuple(sorted(reader.citations, key=_order)),
        literals=tuple(sorted(reader.literals, key=_order)),
        links=tuple(reader.links),
        runs=tuple(reader.runs),
        problems=tuple(sorted(problems)),
        tokens=tuple(tokens),
    )


def _lower(tokens: Sequence[Token], below: int) -> None:
    """Make the highest heading stand one level below `below`; nothing for a whole page."""
    headings = [token for token in tokens if token.type in ("heading_open", "heading_close")]
    if not below or not headings:
        return
    shift = below + 1 - min(int(token.tag[1:]) for token in headings)
    for token in headings:
        token.tag = f"h{min(6, int(token.tag[1:]) + shift)}"


def text_runs(story: Story) -> Iterator[Run]:
    """Every text of the story that a reader will see and a person typed.

    Neighbours across markup are one run (`tw*i*ce` is "twice"); a citation, a literal or an
    image ends one. Titles, alternative texts, code, the front matter's prose and the reasons
    of literals are runs of their own; so is the first number of an ordered list, unless it
    is 1.
    """
    yield from story.runs


def four_parts(story: Story) -> tuple[Heading, ...]:
    """The headings of the second level that name one of `PARTS`, in the story's order."""
    return tuple(
        heading
        for heading in story.headings
        if heading.level == 2 and heading.text.casefold() in PARTS
    )


def plain(pieces: Sequence[Piece], evidence_text: Callable[[Placed | Literal], str]) -> str:
    """Pieces as text, with the citations' texts as `evidence_text` gives them."""
    return "".join(p if isinstance(p, str) else evidence_text(p) for p in pieces)


def to_html(
    story: Story,
    *,
    evidence_html: Callable[[Placed | Literal], str],
    evidence_text: Callable[[Placed | Literal], str],
    block_html: Callable[[Placed], str],
) -> str:
    """The body of a story without problems as HTML.

    evidence_html gives finished markup for prose. evidence_text gives text, which is escaped
    here, for attributes and inside links, where no further link may stand. block_html gives
    the finished markup of a citation that stands alone on its line.
    """
    return _Writer(evidence_html, evidence_text, block_html).blocks(story.tokens)


def _tokens(places: Places, body: int, reader: _Reader) -> list[Token]:
    try:
        return markdown.tokens(places.text[body:])
    except RecursionError:
        message = "the Markdown is nested too deeply to be read"
        reader.problem(body, _BAD_STORY, message, hint="take some quotes or lists apart")
        return []


def _front(matter: FrontMatter, reader: _Reader) -> Front:
    prose = {
        key: reader.attribute(matter.values[key], markup=False)
        for key in ("title", "description", "audience")
        if key in matter.values
    }
    plain_values = {key: run.text for key, run in matter.values.items() if key not in prose}
    places = {key: reader.places.place(at) for key, at in matter.keys.items()}
    return Front(**prose, **plain_values, places=places)  # type: ignore[arg-type]


def _unseen(places: Places, typed: str, runs: Sequence[Run]) -> Iterator[Problem]:
    """The first character of each line that no reader sees, and each one spelt as an entity."""
    found: dict[int, tuple[int, str]] = {}
    for at in _UNSEEN.finditer(typed):
        found.setdefault(places.place(at.start())[0], (at.start(), at[0]))
    spelt = {
        (run.offset(at.start()), at[0])
        for run in runs
        for at in _UNSEEN.finditer(run.text)
        if at[0] != typed[run.offset(at.start())]
    }
    for offset, character in sorted({*found.values(), *spelt}):
        named = unicodedata.name(character, "a control or private-use character")
        message = f"U+{ord(character):04X}, {named}: no reader sees it"
        hint = "delete it: what cannot be seen can hide digits, or turn them around"
        yield places.problem(offset, _BAD_STORY, message, hint=hint, end=offset + 1)


def _order(placed: Placed | Literal) -> tuple[int, int]:
    return placed.line, placed.column


def _fault(kind: str, destination: str) -> tuple[str, str] | None:
    """Why no link or image of ours may lead there, with a hint; None where one may."""
    scheme = _SCHEME.match(destination)
    if kind == "image" and (scheme is not None or destination.startswith("//")):
        return "an image is a file beside the story", "a page loads nothing from elsewhere"
    if destination.startswith("//"):
        return "a link to another site names its scheme", f"https:{destination}"
    if scheme is not None and scheme[1].lower() not in _SCHEMES:
        message = f"a link cannot lead to '{scheme[1][:40]}:'"
        return message, "http:, https:, mailto: and relative links can be written"
    return None


class _Prose:
    """Pieces under way: typed text gathers until something else ends it."""

    def __init__(self, runs: list[Run], places: Places) -> None:
        self._runs = runs
        self._places = places
        self._pieces: list[Piece] = []
        self._text: list[str] = []
        self._offsets: list[int] = []

    def type(self, text: str, offsets: Sequence[int]) -> None:
        self._text.append(text)
        self._offsets.extend(offsets)

    def put(self, piece: Placed | Literal | None) -> None:
        """End the typed text; then comes `piece`, or something that is none."""
        text = "".join(self._text)
        if text:
            self._runs.append(Run(text, tuple(self._offsets), self._places))
            self._pieces.append(text)
            self._text.clear()
            self._offsets.clear()
        if piece is not None:
            self._pieces.append(piece)

    def end(self) -> tuple[Piece, ...]:
        self.put(None)
        return tuple(self._pieces)


class _Reader:
    """Collects what a story holds, in one walk over its tokens.

    What the writer needs of it is left in the tokens' `meta`: `placed`, the citation or
    literal that a token is, and `pieces`, those of a title.
    """

    def __init__(self, places: Places, prefix: str = "") -> None:
        self.places = places
        self._prefix = prefix
        self.problems: list[Problem] = []
        self.headings: list[Heading] = []
        self.citations: list[Placed] = []
        self.literals: list[Literal] = []
        self.links: list[Link] = []
        self.runs: list[Run] = []
        self._section = ""
        self._slugs: set[str] = set()
        self._titles: dict[str, tuple[Piece, ...]] = {}

    def problem(self, at: int, rule: str, message: str, *, hint: str = "", end: int = 0) -> None:
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append(self.places.problem(at, rule, message, hint=hint, end=end))

    def read(self, tokens: Sequence[Token], body: int) -> None:
        """Read block tokens; `body` is the offset in the file at which their text begins."""
        for token in tokens:
            if token.type == "definition":
                run = Run(token.content, _shifted(token.meta["offsets"], body), self.places)
                title = self.attribute(run, markup=True)
                self._titles.setdefault(token.meta["label"], title)
        for index, token in enumerate(tokens):
            self._block(token, tokens[index - 1], body)

    def attribute(self, run: Run, *, markup: bool) -> tuple[Piece, ...]:
        """The pieces of a text without inline markup; with `markup`, entities are decoded."""
        prose = _Prose(self.runs, self.places)
        text, at = run.text, 0
        while at < len(text):
            if text.startswith("{{", at):
                at = self._braces(run, at, prose)
                continue
            spelt = markdown.SPELT.match(text, at) if markup else None
            raw = spelt[0] if spelt is not None else text[at]
            character = markdown.unescape(raw)
            prose.type(character, [run.offset(at)] * len(character))
            at += len(raw)
        return prose.end()

    def _braces(self, run: Run, at: int, prose: _Prose) -> int:
        """Read the citation that opens at `at` of an attribute's text, and where it ends."""
        close = markdown.closing(run.text, at, len(run.text))
        if close < 0:
            self._unclosed(run.offset(at))
            prose.type("{{", [run.offset(at), run.offset(at + 1)])
            return at + 2
        placed = self._citation(run.text[at + 2 : close], run.offset(at))
        if placed is None:
            prose.type(run.text[at : close + 2], [run.offset(i) for i in range(at, close + 2)])
        else:
            prose.put(placed)
        return close + 2

    def _block(self, token: Token, before: Token, body: int) -> None:
        first = self.places.place(body)[0] + (token.map[0] if token.map else 0)
        if token.nesting == 1 and token.level >= markdown.DEEPEST - 1:
            at = self.places.offset(first)
            message = "quotes and lists are nested too deeply to be read"
            self.problem(at, _BAD_STORY, message, hint="take some of them apart")
        if token.type == "inline":
            offsets = token.meta.get("offsets")
            placed = self._lines(token.content, first) if offsets is None else offsets
            self._inline(token, before, placed if offsets is None else _shifted(offsets, body))
        elif token.type in {"fence", "code_block"}:
            self._code(token.content, first + (token.type == "fence"))
        elif token.type == "standing":
            token.meta["placed"] = self._citation(token.content, token.meta["offset"] + body)
        elif token.type == "ordered_list_open" and "start" in token.attrs:
            at = token.meta["offset"] + body
            digits = re.compile("[0-9]+").match(self.places.text, at)
            self._code(digits[0] if digits else "", first, at)

    def _code(self, text: str, line: int, at: int | None = None) -> None:
        """Text that is a run of its own, whole lines from `line` on or from the offset `at`."""
        prose = _Prose(self.runs, self.places)
        prose.type(text, self._lines(text, line) if at is None else range(at, at + len(text)))
        prose.end()

    def _lines(self, content: str, first: int) -> list[int]:
        """Where lines stand of which marks in front and blanks around were taken."""
        offsets: list[int] = []
        lines = content.split("\n")
        # A paragraph's first lines are gone where they hold only blanks that Markdown knows not.
        while first < len(self.places.starts) and not self._ends(first, lines[0]):
            first += 1
        for nth, line in enumerate(lines, first):
            number = min(nth, len(self.places.starts))
            source = self.places.line(number)
            shift = len(source.rstrip()) - len(line.rstrip())
            start = self.places.offset(number)
            # A tab of which a part was taken stands as more blanks than it has characters.
            columns = (min(max(at + shift, 0), len(source)) for at in range(len(line) + 1))
            offsets.extend(start + column for column in columns)
        return offsets[: len(content)]

    def _ends(self, number: int, content: str) -> bool:
        return self.places.line(number).rstrip().endswith(content.strip())

    def _inline(self, token: Token, opening: Token, offsets: Sequence[int]) -> None:
        children = token.children or []
        heading = opening.type == "heading_open" and opening.level == 0
        slug = self._slug(_words(children)) if heading else ""
        if opening.tag == "h2" and heading:
            self._section = slug
        pieces = self._prose(children, offsets)
        if heading:
            opening.attrs["id"] = slug
            line, column = self.places.place(offsets[0]) if offsets else (0, 0)
            self.headings.append(Heading(int(opening.tag[1:]), pieces, slug, line, column))

    def _slug(self, words: str) -> str:
        """A name for a heading's anchor, which no other has."""
        folded = unicodedata.normalize("NFKC", words).casefold()
        base = re.sub(r"[\W_]+", "-", folded).strip("-") or "part"
        base = self._prefix + base
        slug, count = base, 1
        while slug in self._slugs:
            count += 1
            slug = f"{base}-{count}"
        self._slugs.add(slug)
        return slug

    def _prose(self, children: Sequence[Token], offsets: Sequence[int]) -> tuple[Piece, ...]:
        prose = _Prose(self.runs, self.places)
        for token in children:
            self._piece(token, offsets, prose)
        return prose.end()

    def _piece(self, token: Token, offsets: Sequence[int], prose: _Prose) -> None:
        at: int = token.meta["at"]
        here = offsets[at]
        if token.type == "citation":
            self._prose_citation(token, here, prose)
        elif token.type == "literal":
            prose.put(self._literal(token, offsets))
        elif token.type == "image":
            prose.put(None)
            self._link(token, "image", str(token.attrs["src"]), offsets)
            self._prose(token.children or [], offsets[at + len("![") :])
        elif token.type == "link_open":
            self._link(token, "link", str(token.attrs["href"]), offsets)
        elif token.type in {"softbreak", "hardbreak"}:
            prose.type("\n", [here])
        elif token.type in {"text", "text_special", "code_inline"}:
            prose.type(token.content, _spelt(token, offsets))

    def _prose_citation(self, token: Token, at: int, prose: _Prose) -> None:
        if not token.meta["closed"]:
            self._unclosed(at)
            prose.type("{{", [at, at + 1])
            return
        placed = self._citation(token.content, at)
        if placed is not None and isinstance(placed.citation, Standing):
            message = "a generated block stands alone on its line"
            hint = "put it on a line of its own, between empty lines"
            self.problem(at, _BAD_CITATION, message, hint=hint, end=at + len(placed.text))
        token.meta["placed"] = placed
        prose.put(placed)

    def _unclosed(self, at: int) -> None:
        message = "'{{' is not closed by '}}' on its line"
        self.problem(at, _BAD_CITATION, message, hint=r"a brace is written \{", end=at + 2)

    def _citation(self, content: str, at: int) -> Placed | None:
        """The citation whose first brace is at `at`; None where it is no citation."""
        if _TRIMMED.match(content):
            message = "the result block cannot be trimmed: it tells every measured case and mode"
            hint = "write {{ result }}, and say in prose for whom the exceptions matter"
            self.problem(at, "hidden-loss", message, hint=hint, end=at + len(content) + 4)
            return None
        try:
            citation = parse(content)
        except CitationError as error:
            start, end = at + 2 + error.at, at + 2 + error.end
            hint = error.hint or _FORMS
            self.problem(start, _BAD_CITATION, error.message, hint=hint, end=end)
            return None
        line, column = self.places.place(at)
        placed = Placed(citation, line, column, "{{" + content + "}}", self._section)
        self.citations.append(placed)
        return placed

    def _literal(self, token: Token, offsets: Sequence[int]) -> Literal | None:
        at = offsets[token.meta["at"]]
        reason = token.meta.get("reason", "")
        if token.meta["class"] != "literal":
            message = f"'.{token.meta['class']}' marks nothing here"
            self.problem(at, _BAD_STORY, message, hint="a digit with a reason is a '.literal'")
            return None
        if not reason.strip() or not token.content.strip():
            hint = '[5]{.literal reason="why it is no result"}'
            self.problem(at, _BAD_NUMBER, "a literal has a text and a reason", hint=hint)
            return None
        prose = _Prose(self.runs, self.places)
        start = token.meta["reason_at"]
        prose.type(reason, offsets[start : start + len(reason)])
        prose.end()
        line, column = self.places.place(at)
        literal = Literal(token.content, reason, line, column, self._section)
        self.literals.append(literal)
        token.meta["placed"] = literal
        return literal

    def _link(
        self, token: Token, kind: OneOf["link", "image"], to: str, offsets: Sequence[int]
    ) -> None:
        at = offsets[token.meta["at"]]
        fault = _fault(kind, to)
        if fault is not None:
            self.problem(at, _BAD_STORY, fault[0], hint=fault[1])
        line, column = self.places.place(at)
        self.links.append(Link(kind, to, line, column))
        title = token.meta.get("title", range(0))
        if title:
            places = [offsets[i] for i in title]
            text = "".join(self.places.text[i] for i in places)
            token.meta["pieces"] = self.attribute(Run(text, places, self.places), markup=True)
        elif "label" in token.meta:
            token.meta["pieces"] = self._titles.get(token.meta["label"], ())


def _spelt(token: Token, offsets: Sequence[int]) -> Sequence[int]:
    """Where each character of a typed token stands; all at one place if spelt otherwise."""
    at: int = token.meta["at"]
    count = len(token.content)
    otherwise = token.type == "text_special" and token.content != token.markup
    if otherwise or not token.meta.get("verbatim", True):
        return [offsets[at]] * count
    return offsets[at : at + count]


def _shifted(offsets: Sequence[int], by: int) -> list[int]:
    return [at + by for at in offsets]


def _words(children: Sequence[Token]) -> str:
    """The typed words among inline tokens."""
    typed = {"text", "text_special", "code_inline", "softbreak", "hardbreak"}
    return "".join(token.content or " " for token in children if token.type in typed)


class _Writer:
    """Tokens to HTML."""

    def __init__(
        self,
        evidence_html: Callable[[Placed | Literal], str],
        evidence_text: Callable[[Placed | Literal], str],
        block_html: Callable[[Placed], str],
    ) -> None:
        self._evidence_html = evidence_html
        self._evidence_text = evidence_text
        self._block_html = block_html

    def blocks(self, tokens: Sequence[Token]) -> str:
        parts: list[str] = []
        heading = ""
        for token in tokens:
            if token.type == "heading_open":
                heading = str(token.attrs.get("id", ""))
            parts.append(self._block(token, heading))
        return "".join(parts)

    def _block(self, token: Token, heading: str) -> str:
        if token.type == "inline":
            return self._inline(token.children or [])
        if token.type == "standing":
            placed = token.meta["placed"]
            return self._block_html(placed) if placed is not None else ""
        if token.type in {"fence", "code_block"}:
            return _code(token)
        if token.hidden or token.type == "definition":
            return ""
        if token.type == "heading_close" and heading:
            label = f'<a class="anchor" href="#{escape(heading)}" aria-label="Link to here">#</a>'
            return f" {label}</{token.tag}>\n"
        return _tag(token)

    def _inline(self, children: Sequence[Token]) -> str:
        parts: list[str] = []
        inside = False
        for token in children:
            if token.type in {"link_open", "link_close"}:
                inside = token.nesting == 1
            parts.append(self._span(token, inside=inside))
        return "".join(parts)

    def _span(self, token: Token, *, inside: bool) -> str:
        if token.type in {"citation", "literal"}:
            return self._evidence(token, inside=inside)
        if token.type == "image":
            return self._image(token)
        if token.type == "link_open":
            href = str(token.attrs["href"])
            safe = {"href": href} if _fault("link", href) is None else {}
            return f"<a{_attributes(safe | self._title(token))}>"
        if token.type == "hardbreak":
            return "<br>\n"
        if token.type == "softbreak":
            return "\n"
        if token.type == "code_inline":
            return f"<code>{escape(token.content)}</code>"
        if token.nesting:
            return f"<{'/' if token.nesting < 0 else ''}{token.tag}>"
        return escape(token.content)

    def _evidence(self, token: Token, *, inside: bool) -> str:
        """A citation or literal; `inside` a link it cannot be one."""
        placed = token.meta.get("placed")
        if placed is None:
            return escape(_unplaced(token))
        return escape(self._evidence_text(placed)) if inside else self._evidence_html(placed)

    def _image(self, token: Token) -> str:
        src = str(token.attrs["src"])
        safe = {"src": src} if _fault("image", src) is None else {}
        alt = {"alt": self._alternative(token.children or [])}
        return f"<img{_attributes(safe | alt | self._title(token))}>"

    def _alternative(self, children: Sequence[Token]) -> str:
        parts: list[str] = []
        for token in children:
            placed = token.meta.get("placed")
            if placed is not None:
                parts.append(self._evidence_text(placed))
            elif token.type == "image":
                parts.append(self._alternative(token.children or []))
            elif token.type in {"softbreak", "hardbreak"}:
                parts.append(" ")
            else:
                parts.append(_unplaced(token))
        return "".join(parts)

    def _title(self, token: Token) -> dict[str, str]:
        title = plain(token.meta.get("pieces", ()), self._evidence_text)
        return {"title": title} if title else {}


def _unplaced(token: Token) -> str:
    """What is typed where a citation or literal is wrong, or where there is none."""
    if token.type == "citation":
        return "{{" + token.content + "}}" if token.meta["closed"] else "{{"
    return token.content


def _tag(token: Token) -> str:
    if token.nesting < 0:
        return f"</{token.tag}>" + ("</div>\n" if token.type == "table_close" else "\n")
    wrap = '<div class="scroll">' if token.type == "table_open" else ""
    attributes = {name: str(value) for name, value in token.attrs.items()}
    return f"{wrap}<{token.tag}{_attributes(attributes)}>"


def _code(token: Token) -> str:
    language = _LANGUAGE.match(token.info.strip())
    named = f' class="language-{language[0]}"' if language is not None else ""
    # A listing may be wider than the screen; whoever has no mouse scrolls it by focus.
    return f'<pre tabindex="0"><code{named}>{escape(token.content)}</code></pre>\n'


def _attributes(attributes: Mapping[str, str]) -> str:
    return "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())
