"""Rules of the record: its units, its tuning, its roofs, its limits, its sources.

A record is published whether or not a story cites it, so it is judged by itself: problems
name the artifact and the JSON pointer of what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from writeup import history, privacy, roofline, roofs
from writeup.checks.words import says_nothing
from writeup.document import text_runs
from writeup.errors import Problem, Severity
from writeup.places import Run as TypedRun
from writeup.quantity import Quantity
from writeup.result import Artifact, Case, Run, Variant, quantity
from writeup.sources import Sources
from writeup.strict import Json, pointer
from writeup.told import Told

# Two clocks that look at one stretch of time may differ by this much: a unit that is off is
# off by a factor of a thousand.
_AGREEMENT = 0.02
# Whose version a timer goes by, where it is not that of the package it is called through.
_PROVIDERS = {"time": "python"}


def _runs(sources: Sources) -> Iterator[tuple[Artifact, Run]]:
    for artifact in sources.artifacts.values():
        for run in artifact.runs.values():
            yield artifact, run


def _at(artifact: Artifact, where: str, rule: str, message: str, hint: str) -> Problem:
    """A problem at the JSON pointer `where` of an artifact."""
    return Problem(artifact.path, 0, 0, rule, f"{where}: {message}", hint)


def unconfirmed_units(sources: Sources, told: Mapping[str, Told]) -> Iterator[Problem]:
    """Runs whose timer's unit was not confirmed in them.

    What was imported comes without such a check, and is refused where a story rests on it.
    """
    cited = {
        row.run.address
        for each in told.values()
        for resolved in each.resolved.values()
        for row in resolved.rows
    }
    for artifact, run in _runs(sources):
        found = _unconfirmed(run)
        if found is not None and ("imported" not in run.raw or run.address in cited):
            yield _at(artifact, run.pointer + "/timer", "unit-unconfirmed", *found)


def _unconfirmed(run: Run) -> tuple[str, str] | None:
    """Why the unit of a run's timer is not known to be right, and a hint; None where it is."""
    timer: Mapping[str, Json] = run.raw.get("timer", {})
    check = timer.get("check")
    if check is None:
        hint = "measure again with the harness, which times a known duration first"
        return "the unit of this timer was not checked in the run", hint
    expected, measured = quantity(check["expected"]), quantity(check["measured"])
    if expected.value <= 0 or abs(measured.value - expected.value) > _AGREEMENT * expected.value:
        message = (
            f"this timer read {_as_recorded(check['measured'])} where another clock read "
            f"{_as_recorded(check['expected'])}"
        )
        return message, "`harness doctor` shows which of the two is wrong; then measure again"
    software: Mapping[str, str] = run.environment.get("software", {})
    package = str(timer["name"]).partition(".")[0]
    provider = _PROVIDERS.get(package, package)
    version = timer.get("version")
    if provider in software and version != software[provider]:
        message = f"this timer is of version {version}, but {provider} {software[provider]} ran"
    elif provider not in software and version not in software.values():
        message = f"this timer is of version {version}, which the environment does not name"
    else:
        return None
    hint = "another installation was imported than the one described: mend it, and measure again"
    return message, hint


def _as_recorded(raw: Mapping[str, Json]) -> str:
    return f"{raw['value']} {raw['unit']}"


def missing_configs(sources: Sources, _: Mapping[str, Told]) -> Iterator[Problem]:
    """Tuned variants without the configuration chosen, or the space that was searched.

    What holds for a variant on several cases is told of the first.
    """
    for artifact, run in _runs(sources):
        seen: set[str] = set()
        variants = (v for case in run.cases.values() for v in case.variants.values())
        for variant in variants:
            found = _half_tuned(variant, _text_of(variant, run, sources))
            if found is not None and variant.timings and found[1] not in seen:
                seen.add(found[1])
                where = variant.pointer + found[0]
                yield _at(artifact, where, "config-missing", *found[1:])


# How a program says that it tunes itself, in words and in code.
_TUNED = re.compile(r"\b(?:auto|self)[-\s]?tun", re.IGNORECASE)
_TUNES = re.compile(r"^\s*@(?:[\w.]+\.)?autotune\b", re.MULTILINE)
_SAYING = ("backend", "expression", "what", "idea")


def _half_tuned(variant: Variant, source: str) -> tuple[str, str, str] | None:
    """What a tuned variant lacks: a pointer below it, a message and a hint; None for nothing."""
    tuning: Mapping[str, Json] | None = variant.raw.get("tuning")
    record = "record the space, every configuration tried with its status, and the one chosen"
    if tuning is None:
        said = any(_TUNED.search(str(variant.raw.get(key, ""))) for key in _SAYING)
        if _TUNES.search(source):
            message = f"the source of '{variant.id}' tunes itself, and the record has no search"
            return "", message, f"{record}; or pin one configuration in the code"
        if said and not variant.config:
            message = f"'{variant.id}' is told as tuned, and the record has no configuration of it"
            return "", message, record
        return None
    if not tuning.get("space"):
        return "/tuning/space", f"'{variant.id}' was tuned over a space that is not told", record
    tried = tuning.get("tried", ())
    if not tried:
        return (
            "/tuning/tried",
            f"'{variant.id}' was tuned, and nothing that was tried is told",
            record,
        )
    chosen = tuning.get("chosen")
    if not chosen:
        return "/tuning", f"'{variant.id}' was tuned, and the choice is not told", record
    if chosen not in [each["config"] for each in tried if each["status"] == "ok"]:
        message = f"what was chosen for '{variant.id}' is nothing that was tried and ran"
        return "/tuning/chosen", message, record
    return None


def _text_of(variant: Variant, run: Run, sources: Sources) -> str:
    """The file of a variant as it was measured; "" where the record has none."""
    trees = run.raw.get("trees", {}).get(variant.raw.get("tree"), run.raw.get("sources", {}))
    blob = trees.get("files", {}).get(variant.raw.get("file"), "")
    return sources.objects.get(blob, b"").decode("utf-8", "replace")


def above_ceilings(sources: Sources, _: Mapping[str, Told]) -> Iterator[Problem]:
    """Points above every roof over them by more than the bands: bytes or caches are wrong."""
    for artifact, run in _runs(sources):
        for case in run.cases.values():
            for variant in case.variants.values():
                shares = [f"{share:.3f} in {mode}" for mode, share in _above(run, case, variant)]
                if shares:
                    message = f"'{variant.id}' is above its ceiling: {', '.join(shares)}"
                    hint = f"recount the bytes of {case.id}, or look for a cache that was warm"
                    yield _at(artifact, variant.pointer, "above-ceiling", message, hint)


def _above(run: Run, case: Case, variant: Variant) -> Iterator[tuple[str, float]]:
    """Modes in which a variant's rate leaves the matched copy and the memory ceiling below."""
    if variant.role == "control" or "bytes" not in case.work:
        return
    for mode, timing in variant.timings.items():
        memory = roofs.over(run, case, mode).memory
        try:
            shares = [roofline.of_matched(case, variant, mode)]
        except ValueError:
            shares = []
        if memory is not None:
            achieved = roofline.bandwidth(case.work, timing)
            shares.append(roofline.fraction(achieved, roofline.rate(memory)))
        if shares and all(roofline.exceeds(share) for share in shares):
            yield mode, _least(shares)


def _least(shares: list[Quantity]) -> float:
    return min(share.value for share in shares)


def not_concluded(sources: Sources, _: Mapping[str, Told]) -> Iterator[Problem]:
    """An experiment that does not say what it cannot show, and what comes next."""
    for artifact, run in _runs(sources):
        subjects = dict.fromkeys([*run.experiments, *(c.subject for c in run.cases.values())])
        for subject in subjects:
            experiment = run.experiments.get(subject, {})
            lacks = [
                what
                for key, what in (
                    ("cannot_conclude", "what it cannot show"),
                    ("next", "what comes next"),
                )
                if says_nothing(experiment.get(key))
            ]
            if lacks:
                known = pointer("experiments", subject) if experiment else ""
                where = run.pointer + known
                message = f"the experiment does not say {' nor '.join(lacks)}"
                hint = "fill in cannot_conclude and next in experiment.py, and measure again"
                yield _at(artifact, where, "not-concluded", message, hint)


def late_hypotheses(sources: Sources, _: Mapping[str, Told]) -> Iterator[Problem]:
    """A hypothesis that changed after its experiment had a result is told after the fact."""
    first: dict[str, Run] = {}
    for artifact, run in sorted(
        _runs(sources), key=lambda each: (each[1].started, each[1].address)
    ):
        for subject in run.experiments:
            known = first.setdefault(subject, run)
            if known is not run:
                yield from _changed(artifact, run, known, subject)


def _changed(artifact: Artifact, run: Run, first: Run, subject: str) -> Iterator[Problem]:
    now, before = run.experiments[subject], first.experiments[subject]
    where = run.pointer + pointer("experiments", subject)
    hint = f"run {first.id} came first: keep what it says, or declare a new experiment"
    if now.get("hypothesis") != before.get("hypothesis"):
        message = "younger than the first result of this experiment"
        yield _at(artifact, where + "/hypothesis", "hypothesis-late", message, hint)
    said, saying = list(before.get("predicted", ())), list(now.get("predicted", ()))
    for index, prediction in enumerate(saying):
        if prediction not in said and _known(first, subject, prediction):
            message = "predicted after it had been measured"
            yield _at(artifact, f"{where}/predicted/{index}", "hypothesis-late", message, hint)
    for index, prediction in enumerate(said):
        replaced = any(_about(each) == _about(prediction) for each in saying)
        if not replaced and _known(first, subject, prediction):
            message = f"the prediction {index} of run {first.id} was dropped once it was measured"
            yield _at(artifact, where + "/predicted", "hypothesis-late", message, hint)


def _about(prediction: Mapping[str, Json]) -> tuple[Json, ...]:
    """What is predicted, whatever the ratio."""
    return tuple(prediction.get(key) for key in ("variant", "over", "case", "mode"))


def _known(first: Run, subject: str, prediction: Mapping[str, Json]) -> bool:
    """Whether the first run had already measured what is predicted."""
    cases = [c for c in first.cases.values() if c.subject == subject]
    named = [c for c in cases if prediction.get("case", c.id) == c.id]
    return any(
        case.variants.get(name) is not None and case.variants[name].timings
        for case in named
        for name in (prediction["variant"],)
    )


def private_data(sources: Sources, told: Mapping[str, Told]) -> Iterator[Problem]:
    """Paths, hosts, users, addresses and serials in an artifact, or in the words of a story."""
    for artifact in sources.artifacts.values():
        yield from privacy.private_data(artifact)
    for each in told.values():
        for run in text_runs(each.story):
            yield from _private(run)


_BLANKS = re.compile(r"\S+")


def _private(run: TypedRun) -> Iterator[Problem]:
    """What looks private in a typed text, at the word; at its beginning where it is several."""
    hint = "a page is public: leave it out, or name a path within the project"
    words = [(m.start(), m.end(), privacy.suspicions(m[0])) for m in _BLANKS.finditer(run.text)]
    found = {what for *_, suspected in words for what in suspected}
    for start, end, suspected in words:
        for what in suspected:
            yield run.problem(start, end, privacy.RULE, f"looks like {what}", hint)
    for what in privacy.suspicions(run.text):
        if what not in found:
            yield run.problem(0, len(run.text), privacy.RULE, f"looks like {what}", hint)


def source_mismatch(sources: Sources, _: Mapping[str, Told]) -> Iterator[Problem]:
    """Measured sources that no commit holds; warns where another does, or none could be asked."""
    for artifact, run in _runs(sources):
        blobs = run.raw.get("sources", {}).get("files", {})
        answer = history.holds(sources.config.root, artifact.commit, blobs)
        if answer.held in _MISMATCHES:
            where = run.pointer + "/sources/files"
            found = _at(artifact, where, "source-mismatch", answer.explanation, answer.hint)
            yield found.weighing(_MISMATCHES[answer.held])


_MISMATCHES = {
    history.Held.NO: Severity.ERROR,
    history.Held.ELSEWHERE: Severity.WARNING,
    history.Held.UNASKED: Severity.WARNING,
}
