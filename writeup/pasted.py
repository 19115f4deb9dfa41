"""What a link that somebody copied from a page leads to in the record.

A link may be a whole address, a path within the site, or the record's own address
`<commit>/<run>/<case>/<variant>/<mode>`; they differ in what stands in front. The record's
ids decide, so a link to the same site under another name leads to the same place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import unquote

from writeup.errors import WriteupError
from writeup.language import nearest
from writeup.result import Artifact, Case, Ceiling, Run
from writeup.selection import Row

_COMMIT = r"[0-9a-f]{40}|imported-[0-9a-f]{64}"
_RESULT = re.compile(rf"(?:^|/)results/({_COMMIT})/?(?:index\.html)?(?:#(.*))?$")
_ELSEWHERE = re.compile(r"(?:^|/)(stories|sources|method|literals)/|\.html(?:#|$)|^[a-z]+://")
_SHORTEST = 7
_Part = TypeVar("_Part")
# Of many candidates, this many are told.
_MOST = 12


@dataclass(frozen=True, slots=True)
class Predicted:
    """A prediction of a subject, by its place in the record."""

    artifact: Artifact
    run: Run
    subject: str
    index: int


@dataclass(frozen=True, slots=True)
class Roof:
    """A ceiling of a run."""

    artifact: Artifact
    run: Run
    ceiling: Ceiling


Found = Row | Roof | Predicted
"""A row has no timing where it was not timed, whatever the mode."""


def address(link: str) -> str:
    """The address in the record that a link leads to, or what may be one.

    Raises WriteupError for a link that leads to another part of a site.
    """
    text = unquote(link.strip())
    found = _RESULT.search(text)
    if found is not None:
        return "/".join(part for part in found.groups() if part)
    other = _ELSEWHERE.search(text)
    if other is not None:
        message = f"'{link}' leads to no result"
        hint = (
            "copy the link of a number: results/<commit>/index.html#<run>/<case>/<variant>/<mode>"
        )
        raise WriteupError(f"{message}; {hint}")
    return text.removeprefix("#").strip("/")


def find(artifacts: Mapping[str, Artifact], link: str) -> Found:
    """What a link names. Raises WriteupError with the nearest names where it is nothing."""
    parts = address(link).split("/")
    artifact, rest = _artifact(artifacts, parts)
    if not rest:
        raise _short("a run", artifact.commit[:12], "run", artifact.runs)
    run = _named(artifact.runs, rest[0], f"{artifact.commit[:12]} has no run")
    match rest[1:]:
        case []:
            raise _short("a case", run.id, "case", run.cases)
        case ["ceilings", *ids]:
            return Roof(artifact, run, _ceiling(run, ids))
        case ["experiments", subject, "predicted", index]:
            return _predicted(artifact, run, subject, index)
        case [("environment" | "timer" | "controls" | "documents" | "experiments") as part, *_]:
            message = f"the link leads to the {part} of run {run.id}, which is no single result"
            raise WriteupError(f"{message}; quote a time, a ceiling or a prediction")
        case [case_id, *ids]:
            return _row(artifact, run, _case(run, case_id), ids)
    raise AssertionError(rest)


def _artifact(artifacts: Mapping[str, Artifact], parts: list[str]) -> tuple[Artifact, list[str]]:
    """The artifact that an address begins with, by commit or by run; and the rest."""
    first = parts[0]
    whole = [a for c, a in artifacts.items() if len(first) >= _SHORTEST and c.startswith(first)]
    if len(whole) == 1:
        return whole[0], parts[1:]
    if whole:
        shown = ", ".join(a.commit for a in whole)
        raise WriteupError(f"'{first}' begins more than one commit: {shown}")
    holding = [a for a in artifacts.values() if first in a.runs]
    if len(holding) == 1:
        return holding[0], parts
    if holding:
        shown = _list(f"{a.commit}/{first}" for a in holding)
        raise WriteupError(f"more than one commit has the run '{first}':{shown}")
    known = [*artifacts, *(run for a in artifacts.values() for run in a.runs)]
    hint = nearest(first, known) or f"there are:{_list(artifacts)}"
    raise WriteupError(f"no result is called '{first}'; {hint}")


def _named(among: Mapping[str, _Part], name: str, message: str) -> _Part:
    if name in among:
        return among[name]
    hint = nearest(name, among) or f"it has:{_list(among)}"
    raise WriteupError(f"{message} '{name}'; {hint}")


def _short(what: str, where: str, kind: str, among: Iterable[str]) -> WriteupError:
    return WriteupError(
        f"the link ends before it names {what} of {where}; add a {kind}:{_list(among)}"
    )


def _list(names: Iterable[str]) -> str:
    every = list(names)
    rest = [f"and {len(every) - _MOST} more"] if len(every) > _MOST else []
    return "".join(f"\n  {name}" for name in [*every[:_MOST], *rest])


def _case(run: Run, name: str) -> Case:
    """A case by its key, or by its own id where one subject alone has it."""
    own = [case for case in run.cases.values() if case.id == name]
    if name not in run.cases and len(own) == 1:
        return own[0]
    return _named(run.cases, name, f"run {run.id} measured no case")


def _row(artifact: Artifact, run: Run, case: Case, ids: list[str]) -> Row:
    if not ids:
        raise _short("a variant", f"{run.id}/{case.key}", "variant", case.variants)
    variant = _named(case.variants, ids[0], f"{case.key} has no variant")
    if not variant.timings:
        return Row(artifact, run, case, variant)
    if len(ids) == 1:
        raise _short("a mode", variant.address.partition("/")[2], "mode", variant.timings)
    timing = _named(variant.timings, ids[1], f"'{variant.id}' was not timed on {case.key} in")
    return Row(artifact, run, case, variant, timing)


def _ceiling(run: Run, ids: list[str]) -> Ceiling:
    if not ids:
        raise _short("a ceiling", run.id, "ceiling", run.ceilings)
    return _named(run.ceilings, ids[0], f"run {run.id} measured no ceiling")


def _predicted(artifact: Artifact, run: Run, subject: str, index: str) -> Predicted:
    experiment = _named(run.experiments, subject, f"run {run.id} has no experiment")
    places = [str(place) for place in range(len(experiment.get("predicted", ())))]
    if index not in places:
        raise WriteupError(f"'{subject}' has {len(places)} predictions, and none at '{index}'")
    return Predicted(artifact, run, subject, int(index))
