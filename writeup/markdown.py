"""Markdown to tokens that know where they stand.

The one room of markdown-it. Its rules are CommonMark's and tables, without HTML; each is
made to say where its tokens begin, and three are added: citations `{{ … }}` in prose,
citations that stand alone on a line, and literals `[5]{.literal reason="…"}`.

What a token's `meta` holds: inline tokens `at`, an offset into the content of their parent;
links and images `title`, the range of their title there, or `label`, whose definition has
it; block tokens `offset` or `offsets` into the text, where the lines of `map` do not say it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, MutableMapping, Sequence
from functools import cache
from typing import Any, Literal

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml, normalizeReference, unescapeAll
from markdown_it.parser_inline import ParserInline
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block import heading as heading_rule
from markdown_it.rules_block import list_block as list_rule
from markdown_it.rules_block import reference as reference_rule
from markdown_it.rules_block import table as table_rule
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline import autolink as autolink_rule
from markdown_it.rules_inline import backtick as backtick_rule
from markdown_it.rules_inline import image as image_rule
from markdown_it.rules_inline import link as link_rule
from markdown_it.rules_inline.emphasis import tokenize as emphasis_rule
from markdown_it.token import Token

from writeup.language import CitationError, Standing, parse

__all__ = ["DEEPEST", "SPELT", "Token", "closing", "escape", "tokens", "unescape"]

DEEPEST = 24
"""Quotes and lists inside each other; deeper ones are not read."""

SPELT = re.compile(
    r"\\[!-/:-@\[-`{-~]|&#x[0-9A-F]{1,6};|&#[0-9]{1,7};|&[A-Z][A-Z0-9]{1,31};", re.IGNORECASE
)
"""A character that is spelt otherwise: an escape or an entity."""

# A citation is a few words; longer is a brace that somebody forgot to close.
_LONGEST_CITATION = 400
_LITERAL = re.compile(r"\[([^\[\]{}\n]{0,200})\]\{\.([A-Za-z][\w-]*)([^{}\n]{0,400})\}")
_REASON = re.compile(r"""\s+reason=(?:"([^"]*)"|'([^']*)')\s*""")
_LABEL = re.compile(r"\[((?:\\.|[^\\\]])*)\]:", re.DOTALL)

escape = escapeHtml
unescape = unescapeAll


def tokens(text: str) -> list[Token]:
    """The block tokens of `text`. Raises RecursionError where it is nested beyond reason."""
    return _markdown().parse(text)


def closing(src: str, at: int, end: int) -> int:
    """Where the citation opened at `at` closes, on its line and before the next; or -1."""
    end = min(end, at + _LONGEST_CITATION)
    close = src.find("}}", at + 2, end)
    if close < 0 or "\n" in src[at:close] or "{{" in src[at + 2 : close]:
        return -1
    return close


class _State(StateInline):
    """An inline state whose tokens say where in its `src` they begin (meta["at"])."""

    pending_at = 0

    def append_pending(self, text: str) -> None:
        if not self.pending:
            self.pending_at = self.pos
        super().append_pending(text)

    def pushPending(self) -> Token:  # noqa: N802  # markdown-it's name
        token = super().pushPending()
        token.meta["at"] = self.pending_at
        return token

    def push(self, ttype: str, tag: str, nesting: Literal[-1, 0, 1]) -> Token:
        token = super().push(ttype, tag, nesting)
        token.meta["at"] = self.pos
        return token


class _Inline(ParserInline):
    """The inline parser, over `_State`."""

    def parse(
        self, src: str, md: MarkdownIt, env: MutableMapping[str, Any], tokens: list[Token]
    ) -> list[Token]:
        state = _State(src, md, env, tokens)
        self.tokenize(state)
        for rule in self.ruler2.getRules(""):
            rule(state)
        return state.tokens


@cache
def _markdown() -> MarkdownIt:
    md = MarkdownIt("commonmark", {"html": False, "xhtmlOut": False, "maxNesting": DEEPEST})
    md.options["store_labels"] = True
    md.validateLink = _any_link  # type: ignore[assignment]  # its way of configuring
    md.inline = _Inline()
    ruler = md.inline.ruler
    ruler.disable(["linkify", "strikethrough", "html_inline"])
    # Joining texts would lose where the second begins; HTML is the same without.
    md.inline.ruler2.disable(["strikethrough", "fragments_join"])
    md.core.ruler.disable("text_join")
    ruler.before("escape", "citation", _citation_rule)
    ruler.before("link", "literal", _literal_rule)
    ruler.at("emphasis", _emphasis_rule)
    ruler.at("link", _link_rule)
    ruler.at("image", _image_rule)
    ruler.at("autolink", _autolink_rule)
    ruler.at("backticks", _code_rule)
    blocks = md.block.ruler
    enders = ["paragraph", "reference", "blockquote", "list"]
    blocks.before("fence", "standing", _standing_rule, {"alt": enders})
    blocks.at("table", _table_rule, {"alt": ["paragraph", "reference"]})
    blocks.at("list", _list_rule, {"alt": ["paragraph", "reference", "blockquote"]})
    blocks.at("heading", _heading_rule, {"alt": ["paragraph", "reference", "blockquote"]})
    blocks.at("reference", _reference_rule)
    md.block.ruler.enable("table")
    return md


def _any_link(_url: str) -> bool:
    """Every link is a link: what may not be one is a problem, not a text."""
    return True


def _citation_rule(state: StateInline, silent: bool) -> bool:  # noqa: FBT001  # markdown-it's
    if not state.src.startswith("{{", state.pos):
        return False
    close = closing(state.src, state.pos, state.posMax)
    if not silent:
        token = state.push("citation", "", 0)
        token.content = state.src[state.pos + 2 : close] if close >= 0 else ""
        token.meta["closed"] = close >= 0
    state.pos = close + 2 if close >= 0 else state.pos + 2
    return True


def _literal_rule(state: StateInline, silent: bool) -> bool:  # noqa: FBT001
    if state.src[state.pos] != "[":
        return False
    found = _LITERAL.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    if not silent:
        token = state.push("literal", "", 0)
        token.content = found[1]
        reason = _REASON.fullmatch(found[3])
        token.meta["class"] = found[2]
        token.meta["rest"] = found[3]
        if reason is not None:
            group = 1 if reason[1] is not None else 2
            token.meta["reason"] = reason[group]
            token.meta["reason_at"] = found.start(3) + reason.start(group)
    state.pos = found.end()
    return True


def _emphasis_rule(state: StateInline, silent: bool) -> bool:  # noqa: FBT001
    start = state.pos
    if not emphasis_rule(state, silent):
        return False
    count = state.pos - start
    for nth, token in enumerate(state.tokens[len(state.tokens) - count :]):
        token.meta["at"] = start + nth
    return True


def _code_rule(state: StateInline, silent: bool) -> bool:  # noqa: FBT001
    start, before = state.pos, len(state.tokens)
    if not backtick_rule(state, silent):
        return False
    if len(state.tokens) > before:
        token = state.tokens[-1]
        fence = len(token.markup)
        # One blank on each side of the code is not part of it.
        blank = len(token.content) < state.pos - start - 2 * fence
        token.meta["at"] = start + fence + blank
    return True


def _autolink_rule(state: StateInline, silent: bool) -> bool:  # noqa: FBT001
    start = state.pos
    if not autolink_rule(state, silent):
        return False
    if not silent:
        token = state.tokens[-2]
        token.meta["at"] = start + 1
        token.meta["verbatim"] = state.src[start + 1 : state.pos - 1] == token.content
    return True


def _link_rule(state: StateInline, silent: bool) -> bool:  # noqa: FBT001
    start, first = state.pos, len(state.tokens)
    if not link_rule(state, silent):
        return False
    if not silent:
        opening = next(token for token in state.tokens[first:] if token.type == "link_open")
        opening.meta["at"] = start
        opening.meta["title"] = _inline_title(state, start, opening)
    return True


def _image_rule(state: StateInline, silent: bool) -> bool:  # noqa: FBT001
    start = state.pos
    if not image_rule(state, silent):
        return False
    if not silent:
        token = state.tokens[-1]
        token.meta["at"] = start
        token.meta["title"] = _inline_title(state, start + 1, token)
    return True


def _inline_title(state: StateInline, bracket: int, token: Token) -> range:
    """Where in `src` the title of the link just parsed stands; empty where it has none here."""
    if "title" not in token.attrs or "label" in token.meta:
        return range(0)
    label_end = state.md.helpers.parseLinkLabel(state, bracket, token.type == "link_open")
    return _title_after(state.src, label_end + 2, state.pos - 1, state.md)


def _title_after(src: str, at: int, end: int, md: MarkdownIt) -> range:
    """The title that follows the destination which follows blanks at `at`."""
    at = _past_blanks(src, at, end)
    destination = md.helpers.parseLinkDestination(src, at, end)
    at = _past_blanks(src, destination.pos if destination.ok else at, end)
    title = md.helpers.parseLinkTitle(src, at, end)
    return range(at + 1, title.pos - 1) if title.ok else range(0)


def _past_blanks(src: str, at: int, end: int) -> int:
    while at < end and src[at] in " \t\n":
        at += 1
    return at


def _line_start(state: StateBlock, line: int) -> int:
    """Where the content of a line begins, behind the marks of what it is inside of."""
    return state.bMarks[line] + state.tShift[line]


def _standing_rule(state: StateBlock, line: int, _end: int, silent: bool) -> bool:  # noqa: FBT001
    at = _line_start(state, line)
    text = state.src[at : state.eMarks[line]].rstrip()
    if not text.startswith("{{") or state.is_code_block(line):
        return False
    if closing(text, 0, len(text)) != len(text) - 2 or not _stands(text[2:-2]):
        return False
    if not silent:
        token = state.push("standing", "", 0)
        token.content = text[2:-2]
        token.map = [line, line + 1]
        token.meta["offset"] = at
        state.line = line + 1
    return True


def _stands(text: str) -> bool:
    try:
        return isinstance(parse(text), Standing)
    except CitationError:
        return False


def _heading_rule(state: StateBlock, line: int, end: int, silent: bool) -> bool:  # noqa: FBT001
    first = len(state.tokens)
    if not heading_rule(state, line, end, silent):
        return False
    if not silent:
        inline = state.tokens[first + 1]
        at = _line_start(state, line) + len(state.tokens[first].markup)
        at = state.src.index(inline.content, at)
        inline.meta["offsets"] = range(at, at + len(inline.content))
    return True


def _list_rule(state: StateBlock, line: int, end: int, silent: bool) -> bool:  # noqa: FBT001
    first, at = len(state.tokens), _line_start(state, line)
    if not list_rule(state, line, end, silent):
        return False
    if not silent:
        state.tokens[first].meta["offset"] = at
    return True


def _table_rule(state: StateBlock, line: int, end: int, silent: bool) -> bool:  # noqa: FBT001
    first = len(state.tokens)
    if not table_rule(state, line, end, silent):
        return False
    if not silent:
        _place_cells(state, state.tokens[first:])
    return True


def _place_cells(state: StateBlock, tokens: Sequence[Token]) -> None:
    """Give the cells of a table their offsets, and their alignment as a class."""
    cells: Iterator[list[int]] = iter(())
    for token in tokens:
        if token.type == "tr_open" and token.map is not None:
            line = token.map[0]
            cells = _cells(state.src, _line_start(state, line), state.eMarks[line])
        elif token.type == "inline":
            offsets = next(cells, [])
            token.meta["offsets"] = _trimmed(offsets, state.src, token.content)
        elif "style" in token.attrs:
            token.attrs = {"class": f"align-{str(token.attrs['style']).rpartition(':')[2]}"}


def _cells(src: str, start: int, end: int) -> Iterator[list[int]]:
    """The offsets of each cell's characters; an escaped pipe has the pipe's own."""
    while start < end and src[start].isspace():
        start += 1
    while end > start and src[end - 1].isspace():
        end -= 1
    start += src.startswith("|", start, end)
    offsets: list[int] = []
    escaped = False
    for at in range(start, end):
        if src[at] == "|" and not escaped:
            yield offsets
            offsets = []
        else:
            if src[at] == "|":
                offsets.pop()
            offsets.append(at)
        escaped = src[at] == "\\"
    yield offsets


def _trimmed(offsets: list[int], src: str, content: str) -> list[int]:
    """The offsets of a cell's content, which is its text without the blanks around it."""
    text = "".join(src[at] for at in offsets)
    first = max(text.find(content), 0)
    return offsets[first : first + len(content)]


def _reference_rule(state: StateBlock, line: int, end: int, silent: bool) -> bool:  # noqa: FBT001
    if not reference_rule(state, line, end, silent):
        return False
    if not silent:
        offsets = [
            at
            for row in range(line, state.line)
            for at in range(_line_start(state, row), min(state.eMarks[row] + 1, len(state.src)))
        ]
        src = "".join(state.src[at] for at in offsets)
        label = _LABEL.match(src)
        title = _title_after(src, label.end() if label else 0, len(src), state.md)
        token = state.push("definition", "", 0)
        token.meta["label"] = normalizeReference(label[1]) if label else ""
        token.meta["offsets"] = [offsets[at] for at in title]
        token.content = src[title.start : title.stop]
    return True
