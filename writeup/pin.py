"""A sentence of its own: load, move the stories, resolve and check them as they would be.

Whoever asks sees what a story would say before its file is touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from writeup import check, document, frontmatter, load, pinning, resolve, write
from writeup.build import readable, stop
from writeup.config import Config
from writeup.errors import Problem, Problems, WriteupError
from writeup.language import nearest
from writeup.pinning import Pin
from writeup.sources import Sources
from writeup.told import Told


def pins(
    project: Config,
    subjects: Sequence[str] = (),
    *,
    results: str | None = None,
    run: str | None = None,
) -> tuple[Pin, ...]:
    """What moving stories to newer results does, for these subjects, else for all told ones.

    Nothing is written. Raises Problems where a citation would no longer resolve, and
    WriteupError where it is not plain which results are meant.
    """
    sources = load.load(project)
    if not readable(sources):
        raise Problems(sources.problems)
    names = _pinnable(sources, subjects)
    here = [p for name in names for p in sources.stories[name].problems]
    stop(here, project, unreadable=True)
    old = resolve.resolve(sources)
    pinned = {name: _pinned(project, old[name], sources, results, run) for name in names}
    moving = {
        name: document.parse_story(pin.content.decode(), pin.path) for name, pin in pinned.items()
    }
    after = replace(sources, stories={**sources.stories, **moving})
    new = resolve.resolve(after)
    stop([p for name in names for p in _lost(sources, new[name])], project, unreadable=True)
    before = {(p.path, p.rule, p.message) for p in check.check(sources, old)}
    judged = [p for p in check.check(after, new) if (p.path, p.rule, p.message) not in before]
    return tuple(
        replace(
            pin,
            moved=pinning.moved(old[name], new[name], sources.stories[name]),
            problems=tuple(p for p in judged if p.path == pin.path),
        )
        for name, pin in pinned.items()
    )


def write_pins(project: Config, pinned: Iterable[Pin]) -> None:
    """Write the stories that move. Raises WriteupError."""
    for pin in pinned:
        if pin.changes:
            write.replace_text(project.root / pin.path, pin.content)


def _pinnable(sources: Sources, subjects: Sequence[str]) -> Sequence[str]:
    """The subjects asked for; without any, all that a story tells. Raises WriteupError."""
    told = [name for name, story in sources.stories.items() if story.front.status != document.BLANK]
    for name in subjects:
        if name not in sources.stories:
            hint = nearest(name, sources.stories) or f"there are: {', '.join(sources.stories)}"
            raise WriteupError(f"no story tells '{name}'; {hint}")
    if not subjects and not told:
        raise WriteupError("no story tells of results yet; name the blank one that shall")
    return tuple(dict.fromkeys(subjects)) or told


def _pinned(
    project: Config, each: Told, sources: Sources, results: str | None, run: str | None
) -> Pin:
    """A story's file as it will be. The bytes are read anew: a story forgets its line ends."""
    story = sources.stories[each.subject]
    to = pinning.target(each.subject, each.record, story.front, results, run)
    changes = pinning.changes(story.front, to)
    text = (project.root / story.path).read_bytes().decode("utf-8")
    return Pin(
        path=story.path,
        changes=pinning.old_and_new(story.front, changes),
        citations=len(story.citations),
        content=frontmatter.edited(text, changes).encode(),
    )


def _lost(sources: Sources, new: Told) -> Iterator[Problem]:
    """What would no longer resolve, at its line in the file as it is."""
    now = sources.stories[new.subject].text.split("\n")
    then = new.story.text.split("\n")
    first = next((n for n, (a, b) in enumerate(zip(now, then, strict=False), 1) if a != b), 0)
    for problem in new.problems:
        shift = len(then) - len(now) if problem.line > first else 0
        yield replace(problem, line=problem.line - shift)
