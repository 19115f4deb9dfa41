"""Which results a story moves to, and what of it then says something else.

A story names its results by commit, and by run where one commit has several. Moving it
changes these keys of its front matter and nothing else of its text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from writeup import sentences, views
from writeup.document import BLANK, Front, Placed, Story
from writeup.errors import Problem, WriteupError
from writeup.language import Block, BlockName, nearest
from writeup.selection import Row
from writeup.told import Told

_NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Target:
    """The run that a story moves to. alone: no other run of its commit holds the subject."""

    commit: str
    run: str
    alone: bool


@dataclass(frozen=True, slots=True)
class Moved:
    """A citation that says something else than before; line and column as the file has them."""

    line: int
    column: int
    citation: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Pin:
    """What pinning does to one story: values of keys, old and new, and what follows.

    content is the file as it will be; problems are what the rules say of it that they did not
    say before.
    """

    path: str
    changes: tuple[tuple[str, str, str], ...]
    moved: tuple[Moved, ...] = ()
    citations: int = 0
    problems: tuple[Problem, ...] = ()
    content: bytes = b""


def target(
    subject: str, record: Sequence[Row], front: Front, results: str | None, run: str | None
) -> Target:
    """The newest run of a subject, within what was asked for and the story's own device.

    results may be the beginning of a commit. Raises WriteupError, with what there is, where
    that is no run or several of one commit.
    """
    among = _on_device(subject, record, front)
    if results is not None:
        among = _chosen(among, "commit", _commit(subject, among, results))
    if run is not None:
        among = _chosen(among, "run", _known_run(subject, among, run))
    newest = max(among, key=lambda row: (row.run.started, row.run.address))
    commit = newest.artifact.commit
    beside = {
        r.run.id: r for r in _on_device(subject, record, front) if r.artifact.commit == commit
    }
    here = front.results is not None and commit.startswith(front.results) and front.run
    if run is None and len(beside) > 1 and here != newest.run.id:
        shown = "\n".join(f"  --run {each}" for each in _told(beside.values()))
        message = f"{len(beside)} runs of {commit[:12]} hold '{subject}'; choose one:\n{shown}"
        raise WriteupError(message)
    return Target(commit, newest.run.id, alone=len(beside) == 1)


def _on_device(subject: str, record: Sequence[Row], front: Front) -> tuple[Row, ...]:
    if not record:
        raise WriteupError(f"no result holds '{subject}': measure it first")
    among = _chosen(record, "device", front.device) if front.device else tuple(record)
    if not among:
        known = ", ".join(sorted({row.run.device for row in record}))
        message = f"no result of '{subject}' is from its story's device '{front.device}'"
        raise WriteupError(f"{message}; there are: {known}")
    return among


def _chosen(among: Sequence[Row], dimension: str, value: str) -> tuple[Row, ...]:
    return tuple(row for row in among if row.of(dimension) == value)


def _commit(subject: str, among: Sequence[Row], results: str) -> str:
    known = sorted({row.artifact.commit for row in among})
    found = [commit for commit in known if commit.startswith(results)]
    if len(found) == 1:
        return found[0]
    which = "no result" if not found else "more than one result"
    shown = ", ".join(commit[:12] for commit in found or known)
    raise WriteupError(f"{which} of '{subject}' is of the commit '{results}'; there are: {shown}")


def _known_run(subject: str, among: Sequence[Row], run: str) -> str:
    known = {row.run.id: row for row in among}
    if run in known:
        return run
    hint = nearest(run, known) or "there are:\n" + "\n".join(
        f"  {each}" for each in _told(known.values())
    )
    raise WriteupError(f"no run of '{subject}' is called '{run}'; {hint}")


def _told(rows: Iterable[Row]) -> list[str]:
    """Runs with what tells them apart, the newest first."""
    newest_first = sorted(rows, key=lambda row: row.run.started, reverse=True)
    return [f"{row.run.id}  {row.run.device}, {row.run.started}" for row in newest_first]


def changes(front: Front, to: Target) -> dict[str, str | None]:
    """The keys that move a story to a run; none where it stands there already."""
    found: dict[str, str | None] = {}
    if front.results is None or not to.commit.startswith(front.results):
        found["results"] = to.commit
    if front.run != to.run and (front.run is not None or not to.alone):
        found["run"] = to.run
    if front.status == BLANK:
        found["status"] = None
    return found


def old_and_new(
    front: Front, changed: Mapping[str, str | None]
) -> tuple[tuple[str, str, str], ...]:
    """Each changed key with its value before and after, in words."""
    return tuple(
        (key, getattr(front, key) or _NOTHING, value or _NOTHING) for key, value in changed.items()
    )


def moved(old: Told, new: Told, story: Story) -> tuple[Moved, ...]:
    """The citations of a story that say something else; of generated parts, the result's.

    A new front matter leaves their order as it was. What a blank story cites said nothing.
    """
    found = []
    for before, after in zip(story.citations, new.story.citations, strict=True):
        said, says = _said(old, before), _said(new, after)
        if said != says:
            found.append(Moved(before.line, before.column, before.text, said, says))
    return tuple(found)


def _said(each: Told, placed: Placed) -> str:
    """What a citation says, as text; "" for a part that says more than a sentence."""
    if isinstance(placed.citation, Block):
        if placed.citation.name is not BlockName.RESULT:
            return ""
        if each.scene is None or each.setting is not None:
            return _NOTHING
        return views.clean(sentences.told_verdict(each.scene.headline, each.scene.baseline))
    found = each.resolved.get(placed)
    if found is None:
        return _NOTHING
    match found.words:
        case views.CodeBlock(listing=listing):
            return _source(listing)
        case views.DiffBlock(before=before, after=after):
            return f"{_source(before)} to {_source(after)}"
        case words:
            return views.clean(words)


def _source(listing: views.Listing) -> str:
    evidence = listing.source
    return f"{views.clean(listing.path)} {evidence.at[0][:7]}:{'-'.join(evidence.args)}"
