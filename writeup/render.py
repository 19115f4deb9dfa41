"""Views to finished, marked HTML: the theme's templates, and the few ways a word is put out.

Jinja lives here alone. A template sees one view, and functions that put words out for its
page: it computes nothing, cannot reach further (the environment is a sandbox), and an
undefined name stops the build. Everything that was put out is remembered, so that the
caller can tell what a page cites.

A project may bring a theme: a folder of templates that is searched before ours, file by
file. A template of the same name replaces ours; one that `{% extends "ours/story.html" %}`
replaces only the blocks it defines. Every page has the blocks of `layout.html`: `title`,
`head` (more for the head), `banner`, `masthead`, `main`, `footer`; a story also `opening`,
`contents` and `closing`, a result `opening` and `closing`. A file in the theme's `assets/`
replaces ours of that name.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from jinja2 import ChoiceLoader, FileSystemLoader, PrefixLoader, StrictUndefined, Template
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup, escape

from writeup import figure, resources, source, strips, views
from writeup.evidence import Evidence, mark
from writeup.views import Words

# From the page that is drawn and a piece of evidence to the relative address of its place;
# empty where it has none.
Href = Callable[[str, Evidence], str]

_PAGES: Mapping[type, str] = {
    views.Home: "home.html",
    views.Story: "story.html",
    views.Result: "result.html",
    views.Source: "source.html",
    views.Literals: "literals.html",
    views.Method: "method.html",
    views.NotFound: "not_found.html",
}
_BLOCKS: Mapping[type, str] = {
    views.ProblemBlock: "blocks/problem.html",
    views.RooflineBlock: "blocks/roofline.html",
    views.StepsBlock: "blocks/steps.html",
    views.AttemptsBlock: "blocks/attempts.html",
    views.SearchedBlock: "blocks/searched.html",
    views.ResultBlock: "blocks/result.html",
    views.CasesBlock: "blocks/cases.html",
    views.ReproduceBlock: "blocks/reproduce.html",
    views.CodeBlock: "blocks/code.html",
    views.DiffBlock: "blocks/diff.html",
}
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_SAFE_SCHEMES = ("http://", "https://")


@dataclass(frozen=True, slots=True)
class Rendered:
    """The pages as marked HTML, the assets, and all evidence that was put out, by key."""

    pages: Mapping[str, str]
    assets: Mapping[str, bytes]
    evidence: Mapping[str, Evidence]


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a difference as it is put out: highlighted and marked."""

    change: source.Change
    old: str
    new: str
    code: Markup


def render(site: views.Site, href: Href, *, theme: Path | None = None) -> Rendered:
    """Every page of `site`. `theme` is a folder of templates that goes before ours.

    Raises jinja2.TemplateError for a template that does not fit, and ValueError where two
    pages claim one path.
    """
    environment = _environment(theme)
    assets = _assets(theme)
    evidence: dict[str, Evidence] = {}
    pages: dict[str, str] = {}
    for page in site.pages:
        if page.path in pages:
            raise ValueError(f"two pages claim {page.path}")
        pen = Pen(site, page, href, environment, {a.name: a.path for a in assets}, evidence)
        pages[page.path] = pen.page()
    return Rendered(pages, {asset.path: asset.content for asset in assets}, evidence)


@cache
def _environment(theme: Path | None) -> ImmutableSandboxedEnvironment:
    """Templates are compiled once a process, and again where a file of theirs has changed."""
    ours = FileSystemLoader(resources.templates())
    loaders = [FileSystemLoader(theme)] if theme else []
    # S701 asks for what is given; it does not know the sandboxed environment.
    return ImmutableSandboxedEnvironment(
        loader=ChoiceLoader([*loaders, ours, PrefixLoader({"ours": ours})]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


@dataclass(frozen=True, slots=True)
class Asset:
    """A file of the theme under its published path, which holds a digest of its content."""

    name: str
    path: str
    content: bytes


def _assets(theme: Path | None) -> tuple[Asset, ...]:
    folders = [resources.templates() / "assets", *([theme / "assets"] if theme else [])]
    files = {path.name: path for folder in folders for path in _files(folder)}
    return tuple(_asset(name, path.read_bytes()) for name, path in sorted(files.items()))


def _files(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from (path for path in sorted(folder.iterdir()) if path.is_file())


def _asset(name: str, content: bytes) -> Asset:
    digest = hashlib.sha256(content).hexdigest()[:8]
    stem, suffix = PurePosixPath(name).stem, PurePosixPath(name).suffix
    return Asset(name, f"assets/{stem}.{digest}{suffix}", content)


@dataclass(slots=True)
class Pen:
    """Puts words out on one page. Its public methods are what templates may call."""

    site: views.Site
    view: views.Page
    href: Href
    environment: ImmutableSandboxedEnvironment
    assets: Mapping[str, str]
    evidence: dict[str, Evidence]
    _context: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._context = {
            "site": self.site,
            "page": self.view,
            "say": self.say,
            "bare": self.bare,
            "plain": self.plain,
            "url": self.url,
            "asset": self.asset,
            "address": self.address,
            "canonical": self.canonical,
            "draw": self.draw,
            "body": self.body,
            "listing": self.listing,
            "difference": self.difference,
            "roofline": self.roofline,
            "ladder": self.ladder,
            "strip_plot": self.strip_plot,
        }

    def page(self) -> str:
        """The whole page."""
        return self._template(_PAGES[type(self.view)]).render(self._context)

    def draw(self, what: Words | views.Block) -> Markup:
        """Words, or a generated block, as HTML of this page."""
        template = _BLOCKS.get(type(what))
        if template is None:
            return self.say(what)  # type: ignore[arg-type]
        return _html(self._template(template).render({**self._context, "block": what}))

    def body(self, body: views.Body) -> Markup:
        """What a person wrote, with this page's blocks and numbers in it."""
        return _html(body(self))

    def _template(self, name: str) -> Template:
        return self.environment.get_template(name)

    # Words.

    def say(self, words: Words) -> Markup:
        """Words as HTML: every number a link to its place."""
        return Markup("").join(self._piece(piece, linked=True) for piece in views.pieces(words))

    def bare(self, words: Words) -> Markup:
        """Words as HTML without links, for what is a link already."""
        return Markup("").join(self._piece(piece, linked=False) for piece in views.pieces(words))

    def plain(self, words: Words) -> str:
        """Words as marked text, for attributes and titles."""
        for leaf in views.leaves(words):
            if isinstance(leaf, Evidence):
                self._remember(leaf)
        return views.marked(words)

    def _piece(self, piece: views.Piece, *, linked: bool) -> Markup:
        match piece:
            case Evidence():
                return number(self._remember(piece), self.address(piece) if linked else "")
            case views.Code():
                return Markup("<code>{}</code>").format(self._piece(piece.text, linked=linked))
            case views.Link():
                return self._anchor(piece) if linked else self.bare(piece.text)
            case _:
                return escape(piece)

    def _anchor(self, link: views.Link) -> Markup:
        href = self.url(link.page, link.fragment)
        text = self.bare(link.text)
        return Markup('<a href="{}">{}</a>').format(href, text) if href else text

    def _remember(self, evidence: Evidence) -> Evidence:
        self.evidence[evidence.key] = evidence
        return evidence

    # Addresses.

    def address(self, evidence: Evidence) -> str:
        """Where a piece of evidence leads from here."""
        return self.href(self.view.path, evidence) if evidence.at else ""

    def url(self, page: str, fragment: str = "") -> str:
        """From this page to a place of the site; out of it for http and https alone.

        Empty for any other scheme: an artifact may name a link, but not make it run. The
        page of unknown addresses is served at any depth, so its links are absolute.
        """
        if _SCHEME.match(page):
            return page if page.startswith(_SAFE_SCHEMES) else ""
        suffix = f"#{fragment}" if fragment else ""
        if isinstance(self.view, views.NotFound) and self.site.url:
            return f"{self.site.url.rstrip('/')}/{page}{suffix}"
        if page == self.view.path:
            return suffix or posixpath.basename(page)
        return posixpath.relpath(page, posixpath.dirname(self.view.path) or ".") + suffix

    def asset(self, name: str) -> str:
        """From this page to a file of the theme. Raises KeyError for one it does not have."""
        return self.url(self.assets[name])

    def canonical(self) -> str:
        """The page's public address; empty while nobody knows where it will be published."""
        if not self.site.url:
            return ""
        return f"{self.site.url.rstrip('/')}/{self.view.path.removesuffix('index.html')}"

    # Figures and listings.

    def roofline(self, block: views.RooflineBlock) -> Markup:
        """The roofline as inline SVG."""
        return self._picture(figure.roofline(block, prefix=block.id, address=self.address))

    def ladder(self, block: views.StepsBlock) -> Markup:
        """The ladder of steps as inline SVG; nothing where no step was timed."""
        if all(rung.time is None for rung in block.rungs):
            return Markup("")
        return self._picture(figure.ladder(block, prefix=block.id, address=self.address))

    def _picture(self, picture: figure.Picture) -> Markup:
        for evidence in picture.used:
            self._remember(evidence)
        return _html(picture.svg)

    def strip_plot(self, drawn: tuple[views.Strip, ...]) -> strips.Plot | None:
        """The geometry of a strip plot; None where there are no samples."""
        return strips.plot(drawn)

    def listing(self, listing: views.Listing, *, anchors: bool = False) -> Markup:
        """The lines of a listing, marked as a whole. With anchors they have ids (`L12`)."""
        code = source.highlight(listing.source.text, listing.language)
        rows = "\n".join(
            self._line(listing, listing.first + index, line, anchors=anchors)
            for index, line in enumerate(code)
        )
        return _html(mark(self._remember(listing.source).key, rows))

    def _line(self, listing: views.Listing, number: int, code: str, *, anchors: bool) -> str:
        # Numbers are drawn from the attribute by the style sheet, so that copying a listing
        # copies code alone. They are no tab stops: a file has hundreds.
        own = f' id="L{number}"' if anchors else ""
        page = self.view.path if anchors else listing.page
        href = escape(self.url(page, f"L{number}")) if page else ""
        link = f' href="{href}" tabindex="-1"' if href else ""
        gutter = f'<a class="ln" data-n="{number}"{link} aria-hidden="true"></a>'
        return f'<span class="line"{own}>{gutter}{code}</span>'

    def difference(self, block: views.DiffBlock) -> tuple[DiffLine, ...]:
        """The lines that changed among their neighbours, each marked as a line of its file."""
        old = source.highlight(block.before.source.text, block.before.language)
        new = source.highlight(block.after.source.text, block.after.language)
        return tuple(
            self._changed(block, line, old, new)
            for line in source.difference(block.before.source.text, block.after.source.text)
        )

    def _changed(
        self, block: views.DiffBlock, line: source.Line, old: tuple[str, ...], new: tuple[str, ...]
    ) -> DiffLine:
        if line.new is not None:
            code = self._source_line(block.after, line.new, new)
        elif line.old is not None:
            code = self._source_line(block.before, line.old, old)
        else:
            code = Markup("")
        return DiffLine(
            change=line.change,
            old="" if line.old is None else str(block.before.first + line.old),
            new="" if line.new is None else str(block.after.first + line.new),
            code=code,
        )

    def _source_line(self, listing: views.Listing, index: int, code: tuple[str, ...]) -> Markup:
        place = str(listing.first + index)
        text = source.lines_of(listing.source.text)[index]
        evidence = Evidence("source", listing.source.at, text, (place, place))
        return _html(mark(self._remember(evidence).key, code[index]))


def _html(finished: str) -> Markup:
    """HTML that a template, a highlighter or a drawing finished: its text is escaped."""
    return Markup(finished)  # noqa: S704 -- the one place where text becomes markup


def number(evidence: Evidence, href: str) -> Markup:
    """A piece of evidence as HTML, marked: a quiet link to its place, where it has one.

    A figure is a `data` element that carries its value in base units; words are a span.
    """
    if evidence.value is None or isinstance(evidence.value, str):
        inner = Markup('<span data-e="{}">{}</span>').format(evidence.key, evidence.marked)
    else:
        inner = Markup('<data value="{}" data-e="{}">{}</data>').format(
            _machine(evidence.value), evidence.key, evidence.marked
        )
    if not href:
        return inner
    # The name starts with what is seen, so that speaking the text finds the link.
    name = f"{evidence.marked}, {evidence.label}" if evidence.label else ""
    label = Markup(' aria-label="{}"').format(name) if name else Markup("")
    return Markup('<a class="n" href="{}"{}>{}</a>').format(href, label, inner)


def _machine(value: float) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value)
