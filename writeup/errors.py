"""What can be wrong, and where.

A `Problem` only stores; `cli` prints. Every stage collects the problems an author can
mend in one go and hands them on together.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum


class Severity(StrEnum):
    """How much a problem weighs: an error stops the build, a warning is printed."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing wrong.

    path is relative to the project's root, with forward slashes; line and column count
    from one, zero where the place is a whole file. `source` is the offending line of the
    file, for display; `end` the column after the last offending character (0: unknown).
    """

    path: str
    line: int
    column: int
    rule: str
    message: str
    hint: str = ""
    source: str = ""
    end: int = 0
    severity: Severity = Severity.ERROR

    @property
    def place(self) -> str:
        """`path`, `path:line` or `path:line:column`, as far as it is known."""
        parts = [self.path]
        if self.line:
            parts.append(str(self.line))
            if self.column:
                parts.append(str(self.column))
        return ":".join(parts)

    def weighing(self, severity: Severity) -> Problem:
        """The same problem, weighed otherwise."""
        return replace(self, severity=severity)


class WriteupError(Exception):
    """A failure that a person can mend; the message is all they need."""


class Problems(WriteupError):
    """Everything that is wrong at the end of a stage, sorted and without repeats."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(set(problems)))
        super().__init__(f"{len(self.problems)} problems")
