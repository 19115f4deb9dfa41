"""A story with its record: what its citations resolve to, and the scene of its blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from writeup.document import BLANK, Front, Placed, Story
from writeup.errors import Problem
from writeup.result import Artifact, Case, Run
from writeup.selection import Miss, Row, one
from writeup.sentences import Comparison
from writeup.strict import Json
from writeup.views import CodeBlock, DiffBlock, Words

UNKNOWN = "unknown-citation"
AMBIGUOUS = "ambiguous-citation"


@dataclass(frozen=True, slots=True)
class Resolved:
    """A citation with its evidence.

    words are what the reader sees; empty where a comparison cannot be said (the rules name
    the reason). rows are the measurements it rests on.
    """

    placed: Placed
    words: Words | CodeBlock | DiffBlock
    rows: tuple[Row, ...] = ()
    comparisons: tuple[Comparison, ...] = ()


@dataclass(frozen=True, slots=True)
class Setting:
    """Whose page it is: a case of a subject, in one run."""

    artifact: Artifact
    run: Run
    case: Case

    @property
    def experiment(self) -> Mapping[str, Json]:
        return self.run.experiments.get(self.case.subject, {})

    @property
    def cases(self) -> tuple[Case, ...]:
        """The subject's cases of this run that were timed, in the order of the record."""
        return tuple(case for case in self.every_case if case.modes)

    @property
    def every_case(self) -> tuple[Case, ...]:
        """The subject's cases of this run, those of the gate among them."""
        return tuple(c for c in self.run.cases.values() if c.subject == self.case.subject)


@dataclass(frozen=True, slots=True)
class Scene(Setting):
    """Where the headline plays: one run, one case, one mode, a baseline and a variant.

    order lists the variants in story order, controls left out. rows are those of the
    headline's case and mode by variant, with those that could not be timed.
    """

    mode: str
    baseline: Row
    headline: Row
    order: tuple[str, ...]
    rows: Mapping[str, Row]

    def timed(self, case: Case, mode: str, variant: str) -> Row | None:
        """A variant of this run on a case, in a mode; None where it was not timed there."""
        found = case.variants.get(variant)
        timing = found.timings.get(mode) if found is not None else None
        if found is None or timing is None:
            return None
        return Row(self.artifact, self.run, case, found, timing)


@dataclass(frozen=True, slots=True)
class Told:
    """A story with its record, or a record without a story.

    record is everything measured of the subject; focus what the story's defaults leave of
    it. resolved holds the evidence of every citation that has one. setting is there where
    nobody told the record: the story is then the generator's, and names no file of its own.
    """

    subject: str
    story: Story
    record: tuple[Row, ...]
    focus: tuple[Row, ...]
    scene: Scene | None
    resolved: Mapping[Placed, Resolved]
    problems: tuple[Problem, ...]
    setting: Setting | None = None

    @property
    def blank(self) -> bool:
        return self.story.front.status == BLANK

    def problem(
        self, line: int, column: int, rule: str, message: str, hint: str = "", end: int = 0
    ) -> Problem:
        """A problem at a place of the story, with the line it stands on.

        Without a story it is one of the record as a whole.
        """
        if self.setting is not None:
            return Problem(self.setting.artifact.path, 0, 0, rule, message, hint)
        lines = self.story.text.split("\n")
        source = lines[line - 1] if 0 < line <= len(lines) else ""
        return Problem(self.story.path, line, column, rule, message, hint, source, end)

    def at(self, placed: Placed, rule: str, message: str, hint: str) -> Problem:
        """A problem with a citation as a whole."""
        end = placed.column + len(placed.text)
        return self.problem(placed.line, placed.column, rule, message, hint, end)


def scene(focus: tuple[Row, ...], front: Front) -> Scene:
    """The scene of a story. Raises Miss where the front matter leaves it open."""
    first = _only_run(focus)
    timed = [row for row in focus if row.timing is not None]
    cases = [row for row in timed if front.case in (None, row.case.id)]
    if not cases:
        raise Miss(UNKNOWN, "nothing was timed that a block could tell of")
    run, case = first.run, cases[0].case
    if front.case is None:
        case = next(c for c in run.cases.values() if any(r.case.key == c.key for r in cases))
    mode = front.mode or case.modes[0]
    here = {
        row.variant.id: row
        for row in focus
        if row.case.key == case.key and (row.timing is None or row.timing.mode == mode)
    }
    baseline = here.get(front.baseline or (case.baseline.id if case.baseline else ""))
    if baseline is None or baseline.timing is None:
        message = f"no baseline was timed on {case.id}, {mode}"
        raise Miss(UNKNOWN, message, 'name it in the front matter: baseline = "…"')
    order = _order(run, case)
    steps = [here[name] for name in order if name in here and here[name].variant.role == "step"]
    measured = [row for row in steps if row.timing is not None]
    if front.headline is not None:
        measured = [row for row in here.values() if row.variant.id == front.headline and row.timing]
    if not measured:
        what = f"the headline '{front.headline}' was not" if front.headline else "no step was"
        raise Miss(UNKNOWN, f"{what} timed on {case.id}, {mode}")
    headline = measured[-1]
    if not Comparison(headline, baseline).formed:
        message = f"no block holds samples of '{headline.variant.id}' and '{baseline.variant.id}'"
        raise Miss(UNKNOWN, f"{message} on {case.id}, {mode}")
    return Scene(first.artifact, run, case, mode, baseline, headline, order, here)


def _only_run(focus: tuple[Row, ...]) -> Row:
    """A row of the only run there is. Raises Miss with the runs that the front matter may name."""
    key = ("run", "commit", "device")
    if len({row.run.address for row in focus}) < 2:
        return one(focus, "run", key)
    message = "several runs hold this subject, and blocks tell of one"
    keys = {f'run = "{row.run.id}", results = "{row.artifact.commit}"' for row in focus}
    hint = f"let `writeup pin` name it in the front matter, or say {' or '.join(sorted(keys))}"
    raise Miss(AMBIGUOUS, message, hint)


def _order(run: Run, case: Case) -> tuple[str, ...]:
    said = run.experiments.get(case.subject, {}).get("order", ())
    rest = [v.id for v in case.variants.values() if v.role != "control" and v.id not in said]
    return (*said, *rest)
