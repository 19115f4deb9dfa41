"""The third verb: one small function a rule, each yields what it refuses.

Rules that need no more than one file's form are judged where it is read (bad-story,
bad-artifact, unknown-citation); those that need the finished bytes are judged there
(typed-number again, broken-link).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase

from writeup import derive, history, naming, numerals, privacy, sentences
from writeup.config import Config
from writeup.document import text_runs
from writeup.errors import Problem, Severity
from writeup.language import Claim, Ratio, Relation, Versus
from writeup.numerals import Names
from writeup.result import Artifact, Run
from writeup.sentences import Comparison
from writeup.sources import Sources
from writeup.stats import Verdict
from writeup.strict import Json, pointer
from writeup.told import Resolved, Told

TYPED = "typed-number"
_HINT_TYPED = (
    'cite it from the record: {{ variant.time }}; if it is no result, […]{.literal reason="…"}'
)

# What a record says in free words: these pass the gate like every other prose.
_EXPERIMENT_PROSE = (
    "title",
    "audience",
    "question",
    "hypothesis",
    "variable",
    "cannot_conclude",
    "next",
    "contract",
    "oracle",
    "independent_check",
    "limiter",
)
_VARIANT_PROSE = ("what", "idea", "backend", "rounding")

Rule = Callable[[Sources, Mapping[str, Told]], Iterator[Problem]]


def check(
    sources: Sources, told: Mapping[str, Told], *, ask_history: bool = False
) -> tuple[Problem, ...]:
    """What the rules refuse, sorted; severities and reasoned ignores applied.

    A build is a function of files alone, so history is asked only on request.
    """
    rules = (*RULES, *(RULES_OF_HISTORY if ask_history else ()))
    found = {problem for rule in rules for problem in rule(sources, told)}
    return weighed(found, sources.config)


def weighed(problems: Iterable[Problem], config: Config) -> tuple[Problem, ...]:
    """Problems with the severity that the project gives their rule, without the ignored."""
    kept = []
    for problem in set(problems):
        if any(
            ignore.rule == problem.rule and fnmatchcase(problem.path, ignore.path)
            for ignore in config.ignore
        ):
            continue
        severity = config.severity.get(problem.rule, problem.severity)
        kept.append(problem.weighing(severity))
    return tuple(sorted(kept))


# Numbers that somebody typed.


def typed_numbers(sources: Sources, told: Mapping[str, Told]) -> Iterator[Problem]:
    """Numerals in stories, where they stand; the finished pages are looked at again."""
    terms = naming.glossary(sources.config.glossary)
    for each in told.values():
        artifacts = {row.artifact.commit: row.artifact for row in each.focus or each.record}
        words = [word for a in artifacts.values() for word in naming.words(a)]
        names = Names([*terms, *words])
        for run in text_runs(each.story):
            for found in numerals.typed(run.text, names):
                message = f"'{found.text}' is typed, not measured"
                yield run.problem(found.start, found.end, TYPED, message, _HINT_TYPED)


def typed_numbers_of_records(sources: Sources, _: Mapping[str, Told]) -> Iterator[Problem]:
    """Numerals in the free words of an artifact."""
    terms = naming.glossary(sources.config.glossary)
    for artifact in sources.artifacts.values():
        names = Names([*terms, *naming.words(artifact)])
        for where, text in prose(artifact):
            for found in numerals.typed(text, names):
                message = f"{where}: '{found.text}' is typed in free words"
                hint = "figures have fields of their own: a prediction, a configuration, a limit"
                yield Problem(artifact.path, 0, 0, TYPED, message, hint)


def prose(artifact: Artifact) -> Iterator[tuple[str, str]]:
    """The free words of an artifact, each with its JSON pointer."""
    for run in artifact.runs.values():
        for subject, experiment in run.experiments.items():
            where = run.pointer + pointer("experiments", subject)
            yield from _texts(where, experiment, _EXPERIMENT_PROSE)
        for case in run.cases.values():
            yield from _texts(case.pointer, case.raw, ("what", "layout"))
            for variant in case.variants.values():
                yield from _texts(variant.pointer, variant.raw, _VARIANT_PROSE)
                if variant.reason:
                    yield from _texts(variant.pointer + "/reason", variant.reason, ("text",))
        for ceiling in run.ceilings.values():
            for probe in ceiling.probes.values():
                where = ceiling.pointer + pointer("probes", probe.id, "what")
                yield where, probe.what


def _texts(
    where: str, held: Mapping[str, Json], keys: tuple[str, ...]
) -> Iterator[tuple[str, str]]:
    for key in keys:
        if isinstance(held.get(key), str):
            yield where + pointer(key), held[key]


# Comparisons.


def unnamed_baselines(_: Sources, told: Mapping[str, Told]) -> Iterator[Problem]:
    """Ratios whose denominator does not say what it is."""
    for each, resolved, pair in _comparisons(told):
        missing = [
            what
            for what in ("expression", "backend", "rounding")
            if not pair.other.variant.raw.get(what)
        ]
        if missing:
            name = pair.other.variant.id
            message = f"the baseline '{name}' does not name its {' and its '.join(missing)}"
            hint = f"say it where '{name}' is declared, and measure again"
            yield _at(each, resolved, "unnamed-baseline", message, hint)


def incomparable(_: Sources, told: Mapping[str, Told]) -> Iterator[Problem]:
    """Ratios whose sides differ in more than the experiment varies, or lack samples."""
    for each, resolved, pair in _comparisons(told):
        reasons = sentences.differences(pair)
        if reasons:
            names = f"'{pair.row.variant.id}' and '{pair.other.variant.id}'"
            message = f"{names} cannot be compared: {'; '.join(reasons)}"
            hint = "compare what ran in one run, on one case, in one mode, and passed its gate"
            yield _at(each, resolved, "incomparable", message, hint)


def unresolved_claims(_: Sources, told: Mapping[str, Told]) -> Iterator[Problem]:
    """Claims that the samples do not bear out."""
    for each in told.values():
        for resolved in each.resolved.values():
            claim = resolved.placed.citation
            if not isinstance(claim, Claim):
                continue
            for pair in resolved.comparisons:
                if pair.formed or claim.relation in (Relation.BELOW, Relation.ABOVE):
                    message = _refuted(claim, pair)
                    if message:
                        hint = "say what they do bear out, or let `{{ a vs b }}` say it"
                        yield _at(each, resolved, "unresolved-claim", message, hint)
                        break


_CLAIMED = {
    Relation.FASTER: Verdict.FASTER,
    Relation.SLOWER: Verdict.SLOWER,
    Relation.SAME: Verdict.SAME,
}


def _refuted(claim: Claim, pair: Comparison) -> str:
    """What the samples say against a claim on one pair; "" where they bear it out."""
    where = f"on {pair.row.case.id}"
    if claim.relation in _CLAIMED:
        judged = derive.judgement(pair.row, pair.other)
        if judged.verdict is _CLAIMED[claim.relation]:
            return ""
        ratio = derive.speedup(pair.row, pair.other).text
        band = derive.speedup_band(pair.row, pair.other).text
        why = f" ({'; '.join(judged.reasons)})" if judged.reasons else ""
        return (
            f"the samples do not bear this out {where}, {pair.row.mode}: "
            f"{judged.verdict}, {ratio}, band {band}{why}"
        )
    figures = sentences.ordered(claim, pair)
    if figures is None:
        return f"the record does not hold the {claim.measure} of both {where}"
    (a, b), below = figures, claim.relation is Relation.BELOW
    holds = a.high < b.low if below else a.low > b.high
    if holds:
        return ""
    figures_said = f"{a.evidence.text} beside {b.evidence.text}"
    return f"the record does not bear this out {where}: {figures_said}"


def _comparisons(told: Mapping[str, Told]) -> Iterator[tuple[Told, Resolved, Comparison]]:
    for each in told.values():
        for resolved in each.resolved.values():
            if isinstance(resolved.placed.citation, (Ratio, Versus, Claim)):
                for pair in resolved.comparisons:
                    yield each, resolved, pair


# What lies in the record.


def private_data(sources: Sources, _: Mapping[str, Told]) -> Iterator[Problem]:
    """Paths, hosts, users, addresses and serials in an artifact."""
    for artifact in sources.artifacts.values():
        yield from privacy.private_data(artifact)


def source_mismatch(sources: Sources, _: Mapping[str, Told]) -> Iterator[Problem]:
    """Measured sources that no commit holds; warns where another does, or none could be asked."""
    for artifact in sources.artifacts.values():
        for run in artifact.runs.values():
            answer = held(sources, artifact, run)
            if answer.held in _MISMATCHES:
                message = f"run {run.id}: {answer.explanation}"
                found = Problem(artifact.path, 0, 0, "source-mismatch", message, answer.hint)
                yield found.weighing(_MISMATCHES[answer.held])


_MISMATCHES = {
    history.Held.NO: Severity.ERROR,
    history.Held.ELSEWHERE: Severity.WARNING,
    history.Held.UNASKED: Severity.WARNING,
}


def held(sources: Sources, artifact: Artifact, run: Run) -> history.Answer:
    """What history says of the sources of a run."""
    blobs = run.raw.get("sources", {}).get("files", {})
    return history.holds(sources.config.root, artifact.commit, blobs)


def _at(each: Told, resolved: Resolved, rule: str, message: str, hint: str) -> Problem:
    placed = resolved.placed
    lines = each.story.text.split("\n")
    source = lines[placed.line - 1]
    end = source.find("}}", placed.column - 1) + 3
    return Problem(
        each.story.path, placed.line, placed.column, rule, message, hint, source, max(end, 0)
    )


RULES: tuple[Rule, ...] = (
    typed_numbers,
    typed_numbers_of_records,
    unnamed_baselines,
    incomparable,
    unresolved_claims,
    private_data,
)
RULES_OF_HISTORY: tuple[Rule, ...] = (source_mismatch,)
