"""Where a piece of text stands in its file, to the character."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from writeup.errors import Problem


def normalised(text: str) -> str:
    """The text of a file as it is read: without a byte-order mark, with lines that end alike."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def kept_offsets(text: str) -> list[int]:
    """Where in a text each character of its normalised form comes from."""
    return [
        at
        for at, character in enumerate(text)
        if not (character == "\r" and text.startswith("\n", at + 1))
        and not (at == 0 and character == "\ufeff")
    ]


@dataclass(frozen=True, slots=True)
class Places:
    """The text of a file, with lines and columns (from one, in characters) for its offsets."""

    path: str
    text: str
    starts: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "starts", (0, *_after_line_feeds(self.text)))

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of the character at `offset`; of the end where it is beyond."""
        offset = min(max(offset, 0), len(self.text))
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1

    def offset(self, line: int, column: int = 1) -> int:
        """The offset of a place, within its file."""
        line = min(max(line, 1), len(self.starts))
        return min(self.starts[line - 1] + column - 1, len(self.text))

    def line(self, number: int) -> str:
        """The line of that number, without its end."""
        start = self.starts[number - 1]
        end = self.starts[number] - 1 if number < len(self.starts) else len(self.text)
        return self.text[start:end]

    def problem(
        self, offset: int, rule: str, message: str, *, hint: str = "", end: int = 0
    ) -> Problem:
        """A problem at `offset`; `end` is the offset after the last offending character."""
        line, column = self.place(offset)
        last_line, last = self.place(end)
        return Problem(
            path=self.path,
            line=line,
            column=column,
            rule=rule,
            message=message,
            hint=hint,
            source=self.line(line),
            end=last if last_line == line and last > column else 0,
        )


@dataclass(frozen=True, slots=True)
class Run:
    """Text that a person typed and a reader sees, in one piece.

    offsets[i] is where text[i] stands in the file. Text that is spelt otherwise there (an
    entity, an escape) stands where its spelling begins.
    """

    text: str
    offsets: Sequence[int] = field(repr=False)
    places: Places = field(repr=False, compare=False)

    @property
    def line(self) -> int:
        return self.place(0)[0]

    @property
    def column(self) -> int:
        return self.place(0)[1]

    def place(self, index: int) -> tuple[int, int]:
        """Line and column of text[index]; after the last character, of the place behind it."""
        return self.places.place(self.offset(index))

    def offset(self, index: int) -> int:
        """The offset of text[index] in the file, or the one behind the last character."""
        if index < len(self.offsets):
            return self.offsets[index]
        return self.offsets[-1] + 1 if self.offsets else 0

    def problem(self, start: int, end: int, rule: str, message: str, hint: str = "") -> Problem:
        """A problem with text[start:end]."""
        after = self.offset(end - 1) + 1
        return self.places.problem(self.offset(start), rule, message, hint=hint, end=after)


def _after_line_feeds(text: str) -> Iterator[int]:
    at = text.find("\n")
    while at >= 0:
        yield at + 1
        at = text.find("\n", at + 1)
