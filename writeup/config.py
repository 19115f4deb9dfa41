"""What a project says of itself: `[tool.writeup]` in pyproject.toml, or writeup.toml."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from writeup.errors import Problem, Problems, Severity

FILES = ("writeup.toml", "pyproject.toml")


@dataclass(frozen=True, slots=True)
class Ignore:
    """A rule that is silenced at a path (a glob, from the root), and why."""

    rule: str
    path: str
    reason: str


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


_STRINGS = ("title", "description", "results", "site", "theme", "base_url", "repository")
_KEYS = (*_STRINGS, "kernels", "glossary", "severity", "ignore", "strict")
# The folders that a project is written and read in; a link out of the tree is no part of it.
_FOLDERS = ("results", "site", "theme")


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
        raise Problems([Problem(path.name, 0, 0, "bad-config", f"not TOML: {error}")]) from error
    if path.name == "writeup.toml":
        return document
    tool = document.get("tool", {})
    return tool.get("writeup") if isinstance(tool, Mapping) else None


def _config(root: Path, name: str, table: Mapping[str, Any], text: str) -> Config:
    problems: list[Problem] = []

    def wrong(key: str, message: str, hint: str = "") -> None:
        line = next((n for n, row in enumerate(text.splitlines(), 1) if row.startswith(key)), 0)
        problems.append(Problem(name, line, 1 if line else 0, "bad-config", message, hint))

    if not isinstance(table, Mapping):
        raise Problems([Problem(name, 0, 0, "bad-config", "[tool.writeup] is not a table")])
    for key in table:
        if key not in _KEYS:
            near = difflib.get_close_matches(key, _KEYS, n=1)
            wrong(key, f"unknown key {key!r}", f"did you mean {near[0]!r}?" if near else "")
    values: dict[str, Any] = {}
    for key in _STRINGS:
        if key in table:
            if isinstance(table[key], str):
                values[key] = table[key]
            else:
                wrong(key, f"{key} must be a string")
    for key in _FOLDERS:
        if not _inside(values.get(key, ".")):
            wrong(key, f"{key} must be a folder inside the project, not {values[key]!r}")
    if "strict" in table:
        if isinstance(table["strict"], bool):
            values["strict"] = table["strict"]
        else:
            wrong("strict", "strict must be true or false")
    if "kernels" in table:
        folders = table["kernels"]
        if isinstance(folders, str):
            folders = [folders]
        if isinstance(folders, list) and all(isinstance(f, str) and _inside(f) for f in folders):
            values["kernels"] = tuple(folders)
        else:
            wrong("kernels", "kernels must be a list of folders inside the project")
    values["glossary"] = _glossary(table.get("glossary", {}), wrong)
    values["severity"] = _severities(table.get("severity", {}), wrong)
    values["ignore"] = _ignores(table.get("ignore", []), wrong)
    if problems:
        raise Problems(problems)
    return Config(root=root, source=name, **values)


def _inside(folder: str) -> bool:
    return not Path(folder).is_absolute() and ".." not in Path(folder).parts


def _glossary(table: Any, wrong: Any) -> dict[str, str]:
    if not isinstance(table, Mapping):
        wrong("glossary", "glossary must be a table of word = reason")
        return {}
    for word, reason in table.items():
        if not isinstance(reason, str) or not reason.strip():
            wrong("glossary", f"the glossary gives no reason for {word!r}")
    return {str(word): str(reason) for word, reason in table.items()}


def _severities(table: Any, wrong: Any) -> dict[str, Severity]:
    if not isinstance(table, Mapping):
        wrong("severity", "severity must be a table of rule = 'error' or 'warning'")
        return {}
    found = {}
    for rule, value in table.items():
        if value in tuple(Severity):
            found[str(rule)] = Severity(value)
        else:
            wrong("severity", f"severity of {rule!r} must be 'error' or 'warning'")
    return found


def _ignores(rows: Any, wrong: Any) -> tuple[Ignore, ...]:
    if not isinstance(rows, list):
        wrong("ignore", "ignore must be a list of tables with rule, path and reason")
        return ()
    found = []
    for row in rows:
        if isinstance(row, Mapping) and set(row) == {"rule", "path", "reason"}:
            if all(isinstance(v, str) and v.strip() for v in row.values()):
                found.append(Ignore(row["rule"], row["path"], row["reason"]))
                continue
        wrong("ignore", "each ignore needs rule, path and reason, and nothing else")
    return tuple(found)
