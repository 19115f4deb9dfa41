"""What a project says of itself: `[tool.writeup]` in pyproject.toml, or writeup.toml."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from writeup.errors import Problem, Problems, Severity
from writeup.explain import ORDER

FILES = ("writeup.toml", "pyproject.toml")

CLOSED = frozenset(
    {
        "bad-artifact",
        "bad-config",
        "bad-story",
        "unknown-citation",
        "ambiguous-citation",
        "typed-number",
        "incomparable",
        "unresolved-claim",
    }
)
"""Rules that are neither ignored nor lowered. Past the first five there is nothing to render;
past the others the pages would say what nobody measured, under a method that denies it."""


@dataclass(frozen=True, slots=True)
class Ignore:
    """A rule that is silenced at a path (a glob, from the root), and why.

    line is where it stands in the configuration, 0 where that is unknown.
    """

    rule: str
    path: str
    reason: str
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Config:
    """The project's settings; every path is relative to `root`.

    source is the file they came from ("" when none was found and these are the defaults).
    """

    root: Path
    source: str = ""
    title: str = "Writeups"
    description: str = ""
    kernels: tuple[str, ...] = ("kernels",)
    results: str = "results"
    site: str = "site"
    theme: str = ""
    base_url: str = ""
    repository: str = ""
    glossary: Mapping[str, str] = field(default_factory=dict)
    severity: Mapping[str, Severity] = field(default_factory=dict)
    ignore: tuple[Ignore, ...] = ()
    strict: bool = True


_STRINGS = ("title", "description", "base_url", "repository")
# The folders that a project is written and read in; a link out of the tree is no part of it.
_FOLDERS = ("results", "site", "theme")
_KEYS = (*_STRINGS, *_FOLDERS, "kernels", "glossary", "severity", "ignore", "strict")


def find(start: Path) -> Config:
    """The configuration of the project that `start` lies in, looked for upwards.

    Raises Problems when the file cannot be read or holds what we do not know.
    """
    start = start.resolve()
    for folder in (start, *start.parents):
        for name in FILES:
            path = folder / name
            if path.is_file():
                table = _table(path)
                if table is not None:
                    return _config(folder, name, table, path.read_text(encoding="utf-8"))
    for folder in (start, *start.parents):
        if (folder / ".git").exists() or (folder / "pyproject.toml").is_file():
            return Config(root=folder)
    return Config(root=start)


def _table(path: Path) -> Mapping[str, Any] | None:
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        hint = "the place is in the message; strings stand in quotes, tables in brackets"
        found = Problem(path.name, 0, 0, "bad-config", f"not TOML: {error}", hint)
        raise Problems([found]) from error
    if path.name == "writeup.toml":
        return document
    tool = document.get("tool", {})
    return tool.get("writeup") if isinstance(tool, Mapping) else None


def _no_table(name: str) -> Problem:
    hint = 'begin it with a line [tool.writeup], then title = "…"'
    return Problem(name, 0, 0, "bad-config", "[tool.writeup] is not a table", hint)


def _config(root: Path, name: str, table: Mapping[str, Any], text: str) -> Config:
    if not isinstance(table, Mapping):
        raise Problems([_no_table(name)])
    reader = _Reader(name, table, text)
    values = reader.read()
    if reader.problems:
        raise Problems(reader.problems)
    return Config(root=root, source=name, **values)


class _Wrong(Exception):  # never leaves this module
    """A value is not what it must be; the message completes `key must be`."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(slots=True)
class _Reader:
    """Reads a table key by key, and collects what is wrong with it."""

    name: str
    table: Mapping[str, Any]
    text: str
    problems: list[Problem] = field(default_factory=list)

    def read(self) -> dict[str, Any]:
        """The values of all keys that hold what they should."""
        for key in self.table:
            if key not in _KEYS:
                near = difflib.get_close_matches(key, _KEYS, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(_KEYS)}"
                self.wrong(key, f"unknown key {key!r}", hint)
        readers: dict[str, Callable[[Any], Any]] = {
            **dict.fromkeys(_STRINGS, self._string),
            **dict.fromkeys(_FOLDERS, self._folder),
            "strict": self._flag,
            "kernels": self._folders,
            "glossary": self._glossary,
            "severity": self._severities,
            "ignore": self._ignores,
        }
        values = {}
        for key, read in readers.items():
            if key in self.table:
                try:
                    values[key] = read(self.table[key])
                except _Wrong as error:
                    hint = error.hint or "README.md shows a configuration; or leave the key out"
                    self.wrong(key, f"{key} must be {error}", hint)
        return values

    def wrong(self, key: str, message: str, hint: str = "") -> None:
        line = self._line(key)
        self.problems.append(
            Problem(self.name, line, 1 if line else 0, "bad-config", message, hint)
        )

    def _string(self, value: Any) -> str:
        if not isinstance(value, str):
            raise _Wrong("a string")
        return value

    def _flag(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise _Wrong("true or false")
        return value

    def _folder(self, value: Any) -> str:
        folder = self._string(value)
        if Path(folder).is_absolute() or ".." in Path(folder).parts:
            raise _Wrong(f"a folder inside the project, not {folder!r}")
        return folder

    def _folders(self, value: Any) -> tuple[str, ...]:
        if not isinstance(value, list) or not value:
            raise _Wrong("a list of folders inside the project")
        return tuple(self._folder(folder) for folder in value)

    def _glossary(self, value: Any) -> dict[str, str]:
        if not isinstance(value, Mapping):
            raise _Wrong("a table of word = reason")
        for word, reason in value.items():
            if not isinstance(reason, str) or not reason.strip():
                raise _Wrong(f"a table of word = reason, and gives none for {word!r}")
        return dict(value)

    def _severities(self, value: Any) -> dict[str, Severity]:
        wanted, known = "a table of rule = 'error' or 'warning'", tuple(Severity)
        if not isinstance(value, Mapping) or any(w not in known for w in value.values()):
            raise _Wrong(wanted)
        for rule, weight in value.items():
            self._rule(rule, wanted, lowered=weight != Severity.ERROR)
        return {rule: Severity(weight) for rule, weight in value.items()}

    def _ignores(self, value: Any) -> tuple[Ignore, ...]:
        wanted = "a list of tables with rule, path and reason, and nothing else"
        if not isinstance(value, list):
            raise _Wrong(wanted)
        for row in value:
            whole = isinstance(row, Mapping) and set(row) == {"rule", "path", "reason"}
            if not whole or not all(isinstance(v, str) and v.strip() for v in row.values()):
                raise _Wrong(wanted, 'each says which rule, at which path, and why: reason = "…"')
            self._rule(row["rule"], wanted, lowered=True)
        lines = self._tables("ignore", len(value))
        return tuple(
            Ignore(row["rule"], row["path"], row["reason"], line)
            for row, line in zip(value, lines, strict=True)
        )

    def _rule(self, rule: str, wanted: str, *, lowered: bool) -> None:
        """Raises _Wrong for what is no rule, and for one that always holds and would be lowered."""
        if rule not in ORDER:
            near = difflib.get_close_matches(rule, ORDER, n=1)
            hint = f"did you mean {near[0]!r}?" if near else "`writeup explain` lists the rules"
            raise _Wrong(f"{wanted}; there is no rule {rule!r}", hint)
        if lowered and rule in CLOSED:
            hint = f"a page that breaks it would not be true: `writeup explain {rule}`"
            raise _Wrong(f"{wanted}; the rule {rule!r} always holds", hint)

    def _tables(self, key: str, count: int) -> list[int]:
        """The lines of `count` tables of an array; the key's own where it is written inline."""
        header = re.compile(rf"\s*\[\[\s*(?:[\w\".]+\.)?{key}\s*\]\]")
        lines = [n for n, row in enumerate(self.text.splitlines(), 1) if header.match(row)]
        return lines if len(lines) == count else [self._line(key)] * count

    def _line(self, key: str) -> int:
        """The line on which a key or its table begins; 0 where it is not found."""
        begins = re.compile(rf"\s*(?:\[+\s*(?:[\w\".]+\.)?)?\"?{re.escape(key)}(?![\w-])")
        rows = enumerate(self.text.splitlines(), 1)
        return next((n for n, row in rows if begins.match(row)), 0)
