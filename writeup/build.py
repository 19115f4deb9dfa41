"""The sentence: load, resolve, check, compose, render, finish. Returns the site in memory.

Nothing is published until everything is known to be right, and building is a function of
files alone: same inputs, same bytes, no clock and no git.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path

from writeup import (
    addresses,
    chain,
    check,
    compose,
    config,
    finish,
    links,
    load,
    naming,
    render,
    resolve,
    staleness,
    whereabouts,
    write,
)
from writeup.config import Config
from writeup.errors import Problem, Problems, Severity
from writeup.evidence import Evidence
from writeup.numerals import Names
from writeup.sources import Sources
from writeup.told import Told

CITATIONS = "citations.json"


@dataclass(frozen=True, slots=True)
class Site:
    """A finished site: its files, and the problems that did not stop it.

    files holds everything that is published, manifest included.
    """

    files: Mapping[str, bytes]
    problems: tuple[Problem, ...]
    summary: str


def configuration(start: Path, *, relaxed: bool = False) -> Config:
    """The configuration of the project around `start`. Raises Problems."""
    found = config.find(start)
    return replace(found, strict=False) if relaxed else found


def build(project: Config, *, ask_history: bool = False) -> Site:
    """The site of a project. Raises Problems with everything that is wrong.

    With `strict = false` problems of citations and prose are carried instead, under a
    banner on every page; a record that cannot be read stops the build all the same.
    """
    sources = load.load(project)
    told = resolve.resolve(sources) if readable(sources) else {}
    found = [
        *sources.problems,
        *(problem for each in told.values() for problem in each.problems),
        *check.check(sources, told, ask_history=ask_history),
    ]
    found = list(whereabouts.located(found, sources))
    stop(check.weighed(found, project), project, unreadable=not readable(sources))
    composed = compose.compose(sources, told)
    theme = project.root / project.theme if project.theme else None
    rendered = render.render(composed.site, addresses.href, theme=theme)
    finished = finish.finish(
        {**rendered.pages, **rendered.assets, **composed.files},
        names=_names(sources, told),
        glossary=Names(naming.glossary(project.glossary, sources.stories.values())),
        registry=rendered.evidence,
        placed=composed.places,
    )
    found += _untold(finished.problems, check.weighed(found, project))
    found += links.broken_links(finished.pages, composed.links, project.base_url)
    found += check.idle_ignores(found, project, ask_history=ask_history)
    problems = check.weighed(found, project)
    stop(problems, project, unreadable=False)
    summary = _summary(sources, told, finished, check.silenced(found, project))
    return Site(_files(sources, finished), problems, summary)


def publish(site: Site, project: Config, out: Path | None = None) -> Path:
    """Make the site's folder hold exactly this site. Raises WriteupError."""
    target = out if out is not None else project.root / project.site
    folders = [project.root / folder for folder in (*project.kernels, project.results)]
    write.publish(site.files, target, root=project.root, sources=folders)
    return target


def explained(project: Config, what: str) -> str:
    """The chain of a number of the site, from page to samples. Raises WriteupError."""
    sources, files = load.load(project), build(project).files
    return chain.chains(files[CITATIONS], sources.artifacts, files, what)


def differences(first: Site, second: Site) -> tuple[str, ...]:
    """The files in which two sites differ."""
    names = sorted({*first.files, *second.files})
    return tuple(name for name in names if first.files.get(name) != second.files.get(name))


def readable(sources: Sources) -> bool:
    """Whether what was cited can be looked up: a record with faults would blame its citers."""
    return not any(p.rule in ("bad-artifact", "bad-config") for p in sources.problems)


def stop(problems: Iterable[Problem], project: Config, *, unreadable: bool) -> None:
    """Raise Problems where there is an error, unless the project carries its problems.

    What is unreadable stops a relaxed project too.
    """
    found = tuple(problems)
    if any(p.severity is Severity.ERROR for p in found) and (project.strict or unreadable):
        raise Problems(found)


_QUOTED = re.compile(r"""'([^']+)'|"([^"]+)\"""")


def _untold(found: Iterable[Problem], told: Iterable[Problem]) -> Iterator[Problem]:
    """What only the finished pages show: a numeral that was told at its source is told there."""
    known = {_numeral(problem) for problem in told if problem.rule == finish.RULE}
    for problem in found:
        if problem.rule != finish.RULE or _numeral(problem) not in known:
            yield problem


def _numeral(problem: Problem) -> str:
    """The numeral that a problem of its rule quotes first."""
    quoted = _QUOTED.search(problem.message)
    return (quoted[1] or quoted[2]) if quoted else problem.message


def _names(sources: Sources, told: Mapping[str, Told]) -> dict[str, Names]:
    """The names that each page may use: those of the records that it shows or cites."""
    everything = naming.of_record(sources.artifacts.values())
    names = {"index.html": everything}
    for commit, artifact in sources.artifacts.items():
        names[addresses.result(commit)] = naming.of_record([artifact])
    for subject, each in told.items():
        cited = {row.artifact.commit: row.artifact for row in each.focus or each.record}
        names[addresses.story(subject)] = naming.of_record(cited.values())
    return names


def _files(sources: Sources, finished: finish.Finished) -> dict[str, bytes]:
    targets = {key: _target(each) for key, each in finished.evidence.items()}
    cited = finish.citations(finished, targets=targets)
    text = json.dumps(cited, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    files = {**finished.pages, CITATIONS: text.encode()}
    version = metadata.version("writeup")
    files[write.MANIFEST] = write.manifest(files, sources.inputs, version)
    return dict(sorted(files.items()))


def _target(evidence: Evidence) -> str | None:
    found = addresses.target(evidence)
    if found is None:
        return None
    page, fragment = found
    return f"{page}#{fragment}" if fragment else page


def _summary(
    sources: Sources,
    told: Mapping[str, Told],
    finished: finish.Finished,
    silenced: Mapping[config.Ignore, int],
) -> str:
    """What was checked, and what was not."""
    recorded = sum(each.setting is not None for each in told.values())
    blank = sum(each.blank for each in told.values())
    stories = len(told) - recorded
    runs = sum(len(artifact.runs) for artifact in sources.artifacts.values())
    parts = [
        f"{_plural(stories, 'story', 'stories')}{f' ({blank} blank)' if blank else ''}",
        *([f"{_plural(recorded, 'subject')} told by the record alone"] if recorded else []),
        f"{_plural(len(sources.artifacts), 'artifact')} with {_plural(runs, 'run')}",
        f"{_plural(len(finished.pages), 'file')}",
        f"{_plural(len(finished.occurrences), 'number')} traced",
        *(
            f"{_plural(count, 'problem')} of {ignore.rule} ignored at {ignore.path} "
            f"({ignore.reason})"
            for ignore, count in silenced.items()
            if count
        ),
        *_stale(sources, runs),
    ]
    return ", ".join(parts)


def _stale(sources: Sources, runs: int) -> Iterator[str]:
    """How many of the runs are stale, which, and why."""
    found = staleness.stale_runs(sources.artifacts.values(), sources.today)
    if found:
        alike: dict[str, list[str]] = {}
        for address, why in found.items():
            alike.setdefault(why.reasons, []).append(address.partition("/")[2])
        told = ", ".join(f"{' and '.join(names)} ({why})" for why, names in alike.items())
        are = "is" if len(found) == 1 else "are"
        yield f"{len(found)} of {_plural(runs, 'run')} {are} stale: {told}"


def _plural(count: int, one: str, many: str = "") -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"
