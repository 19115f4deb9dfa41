"""Where in a record, and in the source that was measured, a problem of its words stands.

Rules speak of a record by JSON pointer. Whoever must mend it needs a line: of the file that
holds the words, and of the program that put them there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from writeup import definition, privacy, strict
from writeup.errors import Problem
from writeup.result import Artifact
from writeup.sources import Sources

_POINTER = re.compile(r"(/runs/.+?): ")
_QUOTED = re.compile(r"'([^']+)'")
# A longer line is no help in a terminal: numbers alone, or a whole record.
_LONGEST_LINE = 300


def located(problems: Iterable[Problem], sources: Sources) -> tuple[Problem, ...]:
    """The same problems, those that name a pointer of a record with line and column, sorted."""
    found = set(problems)
    for commit, artifact in sources.artifacts.items():
        places = {
            problem: place
            for problem in found
            if problem.path == artifact.path and not problem.line
            if (place := _place(artifact, problem)) is not None
        }
        if places:
            text = sources.contents[commit].decode("utf-8")
            offsets = strict.offsets(text, set(places.values()))
            found -= places.keys()
            found |= {
                _with_source(
                    _placed(problem, text, offsets[place], _words(artifact, place)),
                    sources,
                    artifact,
                    place,
                )
                for problem, place in places.items()
            }
    return tuple(sorted(found))


def _place(artifact: Artifact, problem: Problem) -> strict.Place | None:
    """The place in the document that a problem's pointer names."""
    pointer = _POINTER.match(problem.message)
    if pointer is None:
        return None
    place: list[str | int] = []
    held: strict.Json = artifact.raw
    for step in pointer[1].split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(held, list) and key.isdecimal() and int(key) < len(held):
            place.append(int(key))
        elif isinstance(held, Mapping) and key in held:
            place.append(key)
        else:
            return None
        held = held[place[-1]]
    return tuple(place)


def _words(artifact: Artifact, place: strict.Place) -> str:
    """The text at a place; "" for anything else."""
    held: strict.Json = artifact.raw
    for key in place:
        held = held[key]
    return held if isinstance(held, str) else ""


def _placed(problem: Problem, text: str, at: int, words: str) -> Problem:
    """The problem at the value's place in the file, or at the part of it that it quotes.

    What looks private is not shown again.
    """
    length = 0
    quoted = _QUOTED.search(problem.message)
    if quoted is not None and quoted[1] in words:
        inside = text.find(quoted[1], at)
        line_end = text.find("\n", at)
        if inside >= 0 and (line_end < 0 or inside < line_end):
            at, length = inside, len(quoted[1])
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    end = text.find("\n", at)
    source = text[at - column + 1 : end if end >= 0 else len(text)]
    return replace(
        problem,
        line=line,
        column=column,
        end=column + length if length else 0,
        source=source if len(source) <= _LONGEST_LINE and problem.rule != privacy.RULE else "",
    )


def _with_source(
    problem: Problem, sources: Sources, artifact: Artifact, place: strict.Place
) -> Problem:
    """The problem, with where its words stand in a source that the run loaded."""
    words = _words(artifact, place)
    files: Mapping[str, str] = {}
    if len(place) > 1 and isinstance(place[1], str):
        files = artifact.runs[place[1]].raw.get("sources", {}).get("files", {})
    quoted = _QUOTED.search(problem.message)
    for path, blob in sorted(files.items()) if words else ():
        where = _in_source(sources.objects.get(blob, b""), words, quoted[1] if quoted else "")
        if path.endswith(".py") and where:
            told = f"these words are from {path}:{where}, as it was measured"
            return replace(problem, hint=f"{problem.hint}; {told}" if problem.hint else told)
    return problem


def _in_source(content: bytes, words: str, part: str) -> str:
    """`line` or `line:column` of a text, or of a part of it, in a Python source; "" for none."""
    text = content.decode("utf-8", "replace")
    extent = definition.string(text, words)
    if extent is None:
        return ""
    lines = text.split("\n")
    for number in range(extent[0], extent[1] + 1):
        if part and part in lines[number - 1]:
            return f"{number}:{lines[number - 1].index(part) + 1}"
    return str(extent[0])
