"""The gate of the finished pages: no numeral outside evidence.

Takes pages as they were rendered, with evidence in its marks; refuses every numeral that a
reader would see outside a mark, strips the marks, and says where each evidence stands.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from writeup.errors import Problem
from writeup.evidence import END, START, Evidence
from writeup.markup import LINE_NUMBER, MarkupError, Run, line_and_column, markup_runs, runs
from writeup.numerals import Names, numerals, ratio_behind, shapeless

RULE = "typed-number"
_NOTHING: Mapping[tuple[str, str], str] = MappingProxyType({})


class MarkError(RuntimeError):
    """Evidence that lost its mark, or a mark without evidence: a bug of the generator."""


@dataclass(frozen=True, slots=True, order=True)
class Occurrence:
    """Evidence on a page: `length` characters from character `offset` of the finished file.

    source is the `path:line:column` of the citation that put it there, where it is known.
    """

    page: str
    offset: int
    length: int
    key: str
    source: str | None = None

    @property
    def end(self) -> int:
        return self.offset + self.length


@dataclass(frozen=True, slots=True)
class Finished:
    """Pages without marks, and what the marks said.

    evidence holds what occurs and nothing else, the names that were let through among it.
    """

    pages: Mapping[str, bytes]
    occurrences: tuple[Occurrence, ...]
    evidence: Mapping[str, Evidence]
    problems: tuple[Problem, ...]


def finish(
    pages: Mapping[str, str | bytes],
    *,
    names: Mapping[str, Names],
    glossary: Names,
    registry: Mapping[str, Evidence],
    placed: Mapping[tuple[str, str], str] = _NOTHING,
) -> Finished:
    """Gates and unmarks every page.

    names are those of the records that a page cites, by page; glossary holds for all pages.
    placed gives the `path:line:column` of the citation behind a key on a page, by page and
    key. Bytes of other kinds than HTML, SVG and CSS pass as they are: images, fonts, copies
    of artifacts. Raises MarkError on a bug of the generator, MarkupError where a page cannot
    be read.
    """
    clean: dict[str, bytes] = {}
    occurrences: list[Occurrence] = []
    evidence: dict[str, Evidence] = {}
    problems: list[Problem] = []
    for path in sorted(pages):
        content = pages[path]
        if isinstance(content, bytes):
            if not path.endswith((".html", ".svg", ".css")):
                clean[path] = content
                continue
            content = content.decode()
        page = _Page(path, *unmark(path, content))
        clean[path] = page.text.encode()
        page.gate(names.get(path), glossary, registry)
        occurrences += [_place(each, placed) for each in page.occurrences]
        problems += page.problems
        evidence.update(page.named)
        evidence.update({each.key: registry[each.key] for each in page.spans})
    return Finished(clean, tuple(sorted(occurrences)), evidence, tuple(sorted(set(problems))))


def _place(occurrence: Occurrence, placed: Mapping[tuple[str, str], str]) -> Occurrence:
    source = placed.get((occurrence.page, occurrence.key))
    if source is None:
        return occurrence
    return Occurrence(occurrence.page, occurrence.offset, occurrence.length, occurrence.key, source)


_MARK = re.compile(f"{START}([0-9a-f]{{12}}){START}|{END}")


def unmark(path: str, marked: str) -> tuple[str, tuple[Occurrence, ...]]:
    """The text without marks, and what they enclosed, in order.

    Raises MarkError if a mark is nested, not closed or not opened.
    """
    parts: list[str] = []
    spans: list[Occurrence] = []
    length = position = 0
    opened: tuple[str, int] | None = None
    for match in _MARK.finditer(marked):
        parts.append(marked[position : match.start()])
        length += match.start() - position
        position = match.end()
        if match[1] and opened is None:
            opened = (match[1], length)
        elif not match[1] and opened is not None:
            spans.append(Occurrence(path, opened[1], length - opened[1], opened[0]))
            opened = None
        else:
            raise MarkError(f"{path}: a mark inside a mark, or an end without its start")
    parts.append(marked[position:])
    text = "".join(parts)
    if opened is not None:
        raise MarkError(f"{path}: the mark of {opened[0]} does not end")
    if START in text or END in text:
        raise MarkError(f"{path}: a mark without a key")
    return text, tuple(spans)


class _Page:
    """One finished page while it is gated."""

    def __init__(self, path: str, text: str, spans: tuple[Occurrence, ...]) -> None:
        self.path = path
        self.text = text
        self.spans = spans
        self.problems: list[Problem] = []
        self.named: dict[str, Evidence] = {}
        self._names: set[Occurrence] = set()
        self._starts = [span.offset for span in spans]
        self._seen: dict[int, list[str]] = {}

    @property
    def occurrences(self) -> list[Occurrence]:
        return [*self.spans, *self._names]

    def gate(self, names: Names | None, glossary: Names, registry: Mapping[str, Evidence]) -> None:
        for span in self.spans:
            if span.key not in registry:
                raise MarkError(f"{self.path}: a mark with the unknown key {span.key}")
        try:
            for run in runs(self.path, self.text):
                if run.where != "key" or run.text not in registry:
                    self._gate_run(run, names, glossary)
        except MarkupError as error:
            raise MarkupError(f"{self.path}: {error}") from error
        self._compare(registry)

    def _gate_run(self, run: Run, names: Names | None, glossary: Names) -> None:
        if START in run.text or END in run.text:
            raise MarkError(f"{self.path}: an escaped mark in {run.text!r}")
        covered = self._covered(run)
        if run.where == "generated":
            self.problems += [self._problem(run, *each) for each in _generated(run)]
            return
        found = [*_typed(run.text, covered), *_ratios(run.text, covered, covered)]
        if not found:
            return
        # The longest first; what the record itself names needs no reason from the glossary.
        named = [("name", cover) for cover in names.cover(run.text)] if names else []
        named += [("glossary", cover) for cover in glossary.cover(run.text)]
        named.sort(key=lambda each: each[1].start - each[1].end)
        masked = list(run.text)
        for form, cover in named:
            if masked[cover.start] == _BLANK or masked[cover.end - 1] == _BLANK:
                continue
            if any(start < cover.end and cover.start < end for start, end in found):
                self._let_through(run, form, cover.start, cover.end)
            masked[cover.start : cover.end] = _BLANK * (cover.end - cover.start)
        typed = [*_typed("".join(masked), covered), *_ratios(run.text, covered, covered)]
        ends = [(cover.start, cover.end) for _, cover in named]
        for start, end in {*typed, *_ratios(run.text, ends, covered)}:
            self.problems.append(self._problem(run, start, end))

    def _covered(self, run: Run) -> list[tuple[int, int]]:
        """The stretches of the run inside marks; notes what each mark shows a reader."""
        found: list[tuple[int, int]] = []
        for piece in run.pieces:
            size = piece.width or piece.length
            index = max(0, bisect_right(self._starts, piece.source) - 1)
            while index < len(self.spans) and self.spans[index].offset < piece.source + size:
                span = self.spans[index]
                start = max(span.offset, piece.source) - piece.source
                end = min(span.end, piece.source + size) - piece.source
                if start < end:
                    if piece.width:
                        start, end = 0, piece.length
                    found.append((piece.at + start, piece.at + end))
                    shown = run.text[piece.at + start : piece.at + end]
                    self._seen.setdefault(index, []).append(shown)
                index += 1
        return found

    def _let_through(self, run: Run, form: str, begin: int, after: int) -> None:
        word = " ".join(run.text[begin:after].split())
        evidence = Evidence(form=form, at=(), args=(word,), text=word)
        start, end = run.span(begin, after)
        self.named[evidence.key] = evidence
        self._names.add(Occurrence(self.path, start, end - start, evidence.key))

    def _problem(self, run: Run, start: int, end: int) -> Problem:
        begin, finish_at = run.span(start, end)
        line, column = line_and_column(self.text, begin)
        place = "" if run.where in {"text", "key"} else f" in {run.where}"
        shown = "".join(each for each in run.text[start:end] if not shapeless(each))
        snippet = " ".join(run.text[max(0, start - 40) : end + 40].split())
        return Problem(
            path=self.path,
            line=line,
            column=column,
            rule=RULE,
            message=f"{shown!r}{place} is typed: it comes from no artifact",
            hint="cite it, or give its reason with {.literal reason=…}; see `writeup explain"
            f" {RULE}`",
            source=snippet,
            end=column + finish_at - begin,
        )

    def _compare(self, registry: Mapping[str, Evidence]) -> None:
        """A mark shows its evidence and nothing else, wherever it can be seen at all."""
        for index, shown in self._seen.items():
            span = self.spans[index]
            expected = registry[span.key].text
            found = _squeeze("".join(shown))
            if found != _squeeze(expected) and found != _squeeze(_without_tags(expected)):
                raise MarkError(
                    f"{self.path}: the mark of {span.key} shows {found[:60]!r} instead of"
                    f" {expected[:60]!r}"
                )


def _squeeze(text: str) -> str:
    return "".join(text.split())


def _without_tags(text: str) -> str:
    try:
        return "".join(run.text for run in markup_runs(text) if run.where == "text")
    except MarkupError:
        return text


def _generated(run: Run) -> Iterator[tuple[int, int]]:
    """A style sheet that makes text out of counters or ungated attributes."""
    gated = rf"attr\(\s*(?:title|alt|aria-label|{LINE_NUMBER})\s*\)"
    if re.fullmatch(gated, run.text, re.IGNORECASE) is None:
        yield 0, len(run.text)


# In the place of what may stand: neither a letter nor a blank, so nothing joins across it.
_BLANK = "\ufffc"


def _typed(text: str, inside: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Numerals of the text of which some part was typed.

    Judged with evidence in its place, so that "three" before a cited unit counts, and with
    evidence blanked, so that a digit behind a cited one counts.
    """
    if not inside:
        yield from _numerals(text)
        return
    if sum(end - start for start, end in inside) == len(text):
        return
    # All cited digits look alike, so that rows of a table are judged together.
    alike = _within(text, inside, lambda cited: cited.translate(_DIGITS))
    found = [each for each in _numerals(alike) if not _hides(inside, each[0])]
    yield from found
    for start, end in _numerals(_within(text, inside, lambda cited: _BLANK * len(cited))):
        if not any(start < other_end and other < end for other, other_end in found):
            yield start, end


_DIGITS = str.maketrans("123456789", "0" * 9)


def _ratios(
    text: str, known: Iterable[tuple[int, int]], inside: list[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Names and evidence that end in a digit, and that typed words behind make a ratio.

    A variant `n512` "times", or a count of registers that is told as "times faster".
    """
    for start, end in known:
        after = ratio_behind(text, end)
        if after >= 0 and not _hides(inside, after - 1):
            yield start, after


def _within(text: str, inside: list[tuple[int, int]], change: Callable[[str], str]) -> str:
    """The text with its cited stretches changed, each to the same length."""
    parts, position = [], 0
    for start, end in inside:
        parts += [text[position:start], change(text[start:end])]
        position = end
    return "".join([*parts, text[position:]])


def _hides(inside: list[tuple[int, int]], index: int) -> bool:
    return any(start <= index < end for start, end in inside)


@lru_cache(maxsize=1 << 16)
def _numerals(text: str) -> tuple[tuple[int, int], ...]:
    return tuple((found.start, found.end) for found in numerals(text))


def citations(finished: Finished, *, targets: Mapping[str, str | None]) -> dict[str, object]:
    """The content of `citations.json`, ready to be dumped with sorted keys.

    targets gives the link of each evidence by its key, relative to the site's root.
    """
    evidence = {
        key: {
            name: value
            for name, value in {
                "form": each.form,
                "at": list(each.at),
                "args": list(each.args),
                "text": each.text,
                "value": each.value,
                "unit": each.unit,
                "label": unmark("label", each.label)[0] or None,
                "href": targets.get(key),
            }.items()
            if value is not None
        }
        for key, each in sorted(finished.evidence.items())
    }
    occurrences = [
        {"page": each.page, "offset": each.offset, "length": each.length, "key": each.key}
        | ({"source": each.source} if each.source else {})
        for each in finished.occurrences
    ]
    return {"schema": 1, "evidence": evidence, "occurrences": occurrences}
