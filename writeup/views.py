"""What a page is drawn from: plain data, one frozen record for each kind of page and block.

`resolve` fills these from artifacts and stories, `render` and `figure` draw them, and
neither has to know the other. A view holds words and evidence only. Whatever was computed
from an artifact is `Evidence`; a plain `str` is prose that passes the gate for typed
numerals like every other prose. Floats stand here for geometry alone, in base units, and
are never printed: the text beside them is evidence.

`path` and `page` are places in the site, relative to its root, with forward slashes
(`stories/softmax/index.html`); `id` and `fragment` are anchors within a page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeAlias

from writeup.evidence import Evidence


@dataclass(frozen=True, slots=True)
class Link:
    """A link to a page of the site, or, where `page` holds a scheme, out of it."""

    text: Words
    page: str
    fragment: str = ""


@dataclass(frozen=True, slots=True)
class Code:
    """Words set as code: an identifier, an expression, a path."""

    text: str | Evidence


Piece: TypeAlias = str | Evidence | Link | Code
Words: TypeAlias = Piece | tuple[Piece, ...]


def pieces(words: Words) -> tuple[Piece, ...]:
    """The pieces of `words`, which may be a single one."""
    return words if isinstance(words, tuple) else (words,)


def leaves(words: Words) -> Iterator[str | Evidence]:
    """Prose and evidence of `words` in order, out of their links and code."""
    for piece in pieces(words):
        if isinstance(piece, (Link, Code)):
            yield from leaves(piece.text)
        else:
            yield piece


def clean(words: Words) -> str:
    """The text a reader sees. For measuring and for identifiers: it holds no marks."""
    return "".join(leaf.text if isinstance(leaf, Evidence) else leaf for leaf in leaves(words))


def evidence(words: Words) -> Iterator[Evidence]:
    """Everything in some words that was computed from an artifact."""
    return (leaf for leaf in leaves(words) if isinstance(leaf, Evidence))


def marked(words: Words) -> str:
    """The text with its marks, for an attribute, an SVG text or a JSON string."""
    return "".join(leaf.marked if isinstance(leaf, Evidence) else leaf for leaf in leaves(words))


class Tone(StrEnum):
    """What a verdict or a status amounts to. Templates give each a glyph beside its colour."""

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "same"
    UNCLEAR = "unclear"
    OK = "ok"
    FAILED = "failed"
    BLANK = "blank"


class Role(StrEnum):
    """The part a variant plays; the artifact's words."""

    BASELINE = "baseline"
    STEP = "step"
    ATTEMPT = "attempt"
    CONTROL = "control"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verdict or a status: `word` stands in its badge, `sentence` says it with figures."""

    tone: Tone
    word: Words
    sentence: Words = ""


@dataclass(frozen=True, slots=True)
class Measured:
    """An estimate with its band. low and high are the band's ends, in the estimate's unit."""

    estimate: Evidence
    band: Evidence | None = None
    low: float | None = None
    high: float | None = None

    @property
    def value(self) -> float:
        """The estimate in its base unit. Raises TypeError where it is not a number."""
        value = self.estimate.value
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise TypeError(f"{self.estimate.form} is drawn, but its value is {value!r}")
        return float(value)

    @property
    def span(self) -> tuple[float, float]:
        """The band's ends, or the estimate for both where there is no band."""
        low = self.value if self.low is None else self.low
        high = self.value if self.high is None else self.high
        return low, high


@dataclass(frozen=True, slots=True)
class Fact:
    """One row of a list of facts. `id` where the row is the target of links."""

    label: Words
    value: Words
    note: Words = ""
    id: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts under a heading."""

    title: Words
    rows: tuple[Fact, ...]
    id: str = ""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something a reader must know before reading: stale numbers, a drift, a blank record."""

    text: Words
    tone: Tone = Tone.UNCLEAR


# What stands in the place of a citation: inline words, or a generated block.


@dataclass(frozen=True, slots=True)
class Listing:
    """Source as it was measured.

    source is evidence of form `source` (at: the blob id; args: first and last line) whose
    text is the lines without the last line's end; first is the number of the first line.
    page is the site's page of the whole file, path its place in the project.
    """

    source: Evidence
    path: Words
    language: str
    first: int = 1
    page: str = ""


@dataclass(frozen=True, slots=True)
class ProblemBlock:
    """What is computed, for whom, and what was expected before the run of record."""

    id: str
    question: Words
    facts: tuple[Fact, ...]
    hypothesis: Words = ""
    predictions: tuple[Prediction, ...] = ()


@dataclass(frozen=True, slots=True)
class Prediction:
    """A ratio predicted before the run of record, beside the one measured.

    held says on which side of the measured band it lies.
    """

    id: str
    variant: Words
    baseline: Words
    case: Words
    mode: Words
    predicted: Evidence
    measured: Measured | None
    held: Verdict | None = None
    story: Link | None = None


class Roof(StrEnum):
    """The shape of a ceiling in a roofline: a slope of byte/s, or a level in flop/s."""

    MEMORY = "memory"
    COMPUTE = "compute"
    LAUNCH = "launch"


@dataclass(frozen=True, slots=True)
class Ceiling:
    """A ceiling of a roofline.

    rate is in byte/s for a memory roof, in flop/s for the others (a launch roof is the
    case's flop over the launch latency). A ceiling that was not measured in the run is a
    datasheet's: drawn dashed, and its label says so.
    """

    name: Words
    roof: Roof
    rate: Measured
    probe: Words
    measured: bool = True


@dataclass(frozen=True, slots=True)
class Point:
    """A variant in a roofline. One without a rate could not be timed and stands in the table.

    intensity is in flop/byte over compulsory bytes; counted over the bytes that a counter
    saw; matched is the rate in flop/s that a copy of the case's own bytes allows.
    """

    variant: str
    name: Words
    role: Role
    intensity: Evidence
    status: Verdict
    rate: Measured | None = None
    time: Measured | None = None
    attainable: Evidence | None = None
    fraction: Evidence | None = None
    matched: Evidence | None = None
    counted: Evidence | None = None


@dataclass(frozen=True, slots=True)
class RooflineBlock:
    """Ceilings, ridge, and where each step stands under them.

    `reach` says what the kernel should reach and why; title and summary are the figure's
    alternative text. Points are in story order: a step is joined to the step before it.
    """

    id: str
    title: Words
    summary: Words
    reach: Words
    ceilings: tuple[Ceiling, ...]
    points: tuple[Point, ...]
    ridge: Evidence | None = None


@dataclass(frozen=True, slots=True)
class Rung:
    """A step of the ladder, with its measurement and that of the step before it."""

    variant: str
    name: Words
    role: Role
    idea: Words
    status: Verdict
    lever: Words = ""
    parent: Words = ""
    before: Measured | None = None
    time: Measured | None = None
    gain: Measured | None = None
    speedup: Measured | None = None
    verdict: Verdict | None = None
    source: Link | None = None
    fragment: str = ""


@dataclass(frozen=True, slots=True)
class StepsBlock:
    """The ladder of steps: before and after of each, drawn as times over the baseline's line.

    gain is a step's ratio to its parent, speedup its ratio to the baseline.
    """

    id: str
    title: Words
    summary: Words
    baseline: Words
    conditions: Words
    rungs: tuple[Rung, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """One field in which an attempt differs from its parent."""

    field: Words
    before: Words
    after: Words


@dataclass(frozen=True, slots=True)
class Attempt:
    """A step that was tried and not kept, with what it differed in and what bound it."""

    variant: str
    name: Words
    parent: Words
    idea: Words
    status: Verdict
    changes: tuple[Change, ...] = ()
    time: Measured | None = None
    gain: Measured | None = None
    reason: Words = ""
    facts: tuple[Fact, ...] = ()
    log: Words = ""
    source: Link | None = None
    fragment: str = ""


@dataclass(frozen=True, slots=True)
class AttemptsBlock:
    """What did not work. gain of an attempt is its ratio to its parent."""

    id: str
    attempts: tuple[Attempt, ...]


@dataclass(frozen=True, slots=True)
class Tried:
    """One configuration that a tuner tried."""

    config: tuple[Words, ...]
    status: Verdict
    time: Measured | None = None
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Search:
    """The search of one variant: `fields` head the columns of each `config`."""

    variant: Words
    space: tuple[Fact, ...]
    fields: tuple[Words, ...]
    tried: tuple[Tried, ...]
    fragment: str = ""


@dataclass(frozen=True, slots=True)
class SearchedBlock:
    """Everything that was searched, winners and losers alike."""

    id: str
    searches: tuple[Search, ...]
    note: Words = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The headline's comparison under one case and mode."""

    case: Words
    mode: Words
    shape: Words
    dtype: Words
    verdict: Verdict
    time: Measured | None = None
    baseline: Measured | None = None
    speedup: Measured | None = None
    fragment: str = ""


@dataclass(frozen=True, slots=True)
class ResultBlock:
    """The headline, and where it does not hold.

    exceptions are *every* measured case or mode in which the headline flips or is unclear;
    holds are the others. baseline names the denominator: expression, backend, rounding.
    """

    id: str
    headline: Verdict
    variant: Words
    baseline: Words
    time: Measured
    baseline_time: Measured
    speedup: Measured
    shape: Words
    dtype: Words
    device: Words
    mode: Words
    facts: tuple[Fact, ...] = ()
    exceptions: tuple[Outcome, ...] = ()
    holds: tuple[Outcome, ...] = ()
    overall: Words = ""


@dataclass(frozen=True, slots=True)
class CasesBlock:
    """Every case of a run, where no headline can be formed of them."""

    id: str
    cases: tuple[CaseSection, ...]
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class ReproduceBlock:
    """How to measure it again, and what exactly was measured."""

    id: str
    commands: tuple[Words, ...]
    facts: tuple[Fact, ...]
    sources: tuple[Link, ...]
    note: Words = ""


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """A part of a source file, as it was measured."""

    id: str
    caption: Words
    listing: Listing


@dataclass(frozen=True, slots=True)
class DiffBlock:
    """What changed from one step to the next. Both listings are of whole files or symbols."""

    id: str
    caption: Words
    before: Listing
    after: Listing


Block: TypeAlias = (
    ProblemBlock
    | RooflineBlock
    | StepsBlock
    | AttemptsBlock
    | SearchedBlock
    | ResultBlock
    | CasesBlock
    | ReproduceBlock
    | CodeBlock
    | DiffBlock
)


class Pen(Protocol):
    """What draws on the page at hand."""

    def draw(self, what: Words | Block) -> str:
        """Words, or a generated block, as marked HTML."""

    def plain(self, words: Words) -> str:
        """Words as marked text, for attributes and inside links."""


# The body of a page that a person wrote: given what draws on the page at hand, it answers the
# finished, marked HTML.
Body: TypeAlias = "Callable[[Pen], str]"


# Pages.


@dataclass(frozen=True, slots=True)
class Card:
    """A story on the home page. `stale` says so, and why, where its numbers are."""

    title: Words
    page: str
    description: Words
    verdict: Verdict
    device: Words = ""
    date: Words = ""
    conditions: Words = ""
    stale: Verdict | None = None


@dataclass(frozen=True, slots=True)
class Shelf:
    """An artifact on the home page. `stale` says that its runs are, or how many of them."""

    commit: Words
    page: str
    subjects: Words
    devices: Words
    date: Words
    runs: Words
    stale: Verdict | None = None


@dataclass(frozen=True, slots=True)
class Home:
    """Stories with their verdicts, predictions worst first, and the artifacts."""

    title: Words
    description: Words
    stories: tuple[Card, ...]
    artifacts: tuple[Shelf, ...]
    predictions: tuple[Prediction, ...] = ()
    unresolved: tuple[Words, ...] = ()
    path: str = "index.html"


@dataclass(frozen=True, slots=True)
class Heading:
    """An entry of a story's contents."""

    text: Words
    fragment: str


@dataclass(frozen=True, slots=True)
class Story:
    """A story: its front matter resolved, its prose as a body that draws itself."""

    path: str
    title: Words
    description: Words
    audience: Words
    body: Body
    verdict: Verdict
    facts: tuple[Fact, ...] = ()
    contents: tuple[Heading, ...] = ()
    notices: tuple[Notice, ...] = ()
    record: Link | None = None


@dataclass(frozen=True, slots=True)
class Probe:
    """One probe of a ceiling; the best one is the ceiling."""

    what: Words
    rate: Measured
    best: bool = False


@dataclass(frozen=True, slots=True)
class CeilingRow:
    """A ceiling of a run, with every probe that was tried."""

    id: str
    name: Words
    resource: Words
    level: Words
    dtype: Words
    regime: Words
    rate: Measured
    probes: tuple[Probe, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """Documentation that the run's meaning rests on, beside what was installed."""

    title: Words
    link: str
    claim: Words
    version: Words
    installed: Words
    id: str = ""


@dataclass(frozen=True, slots=True)
class Mistake:
    """A mistake planted in the real kernel, which the gate had to catch."""

    name: Words
    place: Words
    before: Words
    after: Words
    passes: Words
    fails: Words
    status: Verdict
    error: Words = ""
    id: str = ""


@dataclass(frozen=True, slots=True)
class ExperimentSection:
    """What was asked, expected and allowed to vary, committed before the run."""

    id: str
    title: Words
    facts: tuple[Fact, ...]
    predictions: tuple[Prediction, ...] = ()
    mistakes: tuple[Mistake, ...] = ()
    story: Link | None = None


@dataclass(frozen=True, slots=True)
class VariantRow:
    """A variant on a case: what it is, and whether it was right. No times."""

    id: str
    name: Words
    role: Role
    what: Words
    status: Verdict
    expression: Words = ""
    backend: Words = ""
    rounding: Words = ""
    error: Words = ""
    reason: Words = ""
    log: Words = ""
    config: tuple[Fact, ...] = ()
    resources: tuple[Fact, ...] = ()
    source: Link | None = None


@dataclass(frozen=True, slots=True)
class TimingRow:
    """A measurement: one variant on one case in one mode. `ratio` is to the baseline."""

    id: str
    name: Words
    role: Role
    time: Measured
    low: Evidence
    first_quartile: Evidence
    third_quartile: Evidence
    high: Evidence
    samples: Evidence
    blocks: Evidence
    outliers: Evidence
    ratio: Measured | None = None
    verdict: Verdict | None = None
    fraction: Words = ""
    alone: Words = ""
    alone_over: Words = ""


@dataclass(frozen=True, slots=True)
class Strip:
    """The raw samples of one measurement, in seconds, one tuple a block."""

    name: Words
    role: Role
    blocks: tuple[tuple[float, ...], ...]
    time: Measured


@dataclass(frozen=True, slots=True)
class ModeSection:
    """A case in one mode: the table of measurements and the strip plot of their samples."""

    id: str
    title: Words
    what: Words
    rows: tuple[TimingRow, ...]
    strips: tuple[Strip, ...] = ()
    rerun: Words = ""
    twins: Words = ""
    alone: bool = False


@dataclass(frozen=True, slots=True)
class CaseSection:
    """A case: its facts, its variants, and its modes."""

    id: str
    title: Words
    what: Words
    facts: tuple[Fact, ...]
    variants: tuple[VariantRow, ...]
    modes: tuple[ModeSection, ...]


@dataclass(frozen=True, slots=True)
class RunSection:
    """One session on one device."""

    id: str
    title: Words
    facts: tuple[Fact, ...]
    environment: tuple[Facts, ...]
    timer: tuple[Fact, ...]
    ceilings: tuple[CeilingRow, ...]
    controls: tuple[Facts, ...]
    experiments: tuple[ExperimentSection, ...]
    cases: tuple[CaseSection, ...]
    documents: tuple[Document, ...] = ()
    rerun: Words = ""


@dataclass(frozen=True, slots=True)
class Download:
    """A file beside the page. `file` is relative to the site's root."""

    name: str
    file: str
    what: Words
    digest: Evidence | None = None
    size: Evidence | None = None


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A file that a run loaded."""

    path: Words
    blob: Words
    page: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class Repeated:
    """A verdict that did not come out alike: what it was at first, and in the second run."""

    name: Words
    case: Words
    mode: Words
    first: Measured
    first_verdict: Verdict
    again: Measured
    again_verdict: Verdict


@dataclass(frozen=True, slots=True)
class Again:
    """A subject in two runs of one artifact: how its verdicts compare, and those that do not."""

    id: str
    title: Words
    words: Words
    rows: tuple[Repeated, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """One artifact: everything in it, and everything that cites it."""

    path: str
    title: Words
    description: Words
    facts: tuple[Fact, ...]
    runs: tuple[RunSection, ...]
    sources: tuple[SourceRow, ...]
    downloads: tuple[Download, ...]
    cited_by: tuple[Link, ...]
    notices: tuple[Notice, ...] = ()
    again: tuple[Again, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """A file as it was measured."""

    path: str
    title: Words
    description: Words
    listing: Listing
    facts: tuple[Fact, ...] = ()
    used_by: tuple[Link, ...] = ()
    raw: Download | None = None


@dataclass(frozen=True, slots=True)
class Literal:
    """A digit, or a name with digits, that is no result, and why it may stand."""

    text: Words
    reason: Words
    where: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class Literals:
    """Every digit that is not a result, and what the gate cannot see."""

    title: Words
    description: Words
    literals: tuple[Literal, ...]
    names: tuple[Literal, ...]
    blind_spots: tuple[Words, ...]
    path: str = "literals/index.html"


@dataclass(frozen=True, slots=True)
class Chapter:
    """A part of the method page: what a band is, or one rule with its explanation."""

    id: str
    title: Words
    body: Body
    summary: Words = ""


@dataclass(frozen=True, slots=True)
class Method:
    """How a time, a band, a verdict and a ceiling are made here, and every rule."""

    title: Words
    description: Words
    chapters: tuple[Chapter, ...]
    rules: tuple[Chapter, ...]
    path: str = "method/index.html"


@dataclass(frozen=True, slots=True)
class NotFound:
    """The page for an address that leads nowhere."""

    title: Words = "Page not found"
    description: Words = "Nothing is published at this address."
    path: str = "404.html"


Page: TypeAlias = Home | Story | Result | Source | Literals | Method | NotFound


@dataclass(frozen=True, slots=True)
class Site:
    """The whole site. url is where it will be published, empty when that is not known.

    relaxed says that problems were let through: every page then carries a banner.
    """

    title: str
    description: Words
    pages: tuple[Page, ...]
    url: str = ""
    language: str = "en"
    relaxed: bool = False
