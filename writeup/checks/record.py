"""Rules of the record that a story rests on: its units, its tuning, its roofs, its limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from writeup import history, privacy, roofline, roofs
from writeup.errors import Problem, Severity
from writeup.quantity import Quantity
from writeup.result import Artifact, Case, Run, Variant, quantity
from writeup.sources import Sources
from writeup.strict import Json, pointer
from writeup.told import Told

# Two clocks that look at one stretch of time may differ by this much: a unit that is off is
# off by a factor of a thousand.
_AGREEMENT = 0.02


def unconfirmed_units(_: Sources, told: Mapping[str, Told]) -> Iterator[Problem]:
    """Numbers of a run whose timer's unit was not confirmed in it."""
    for each in told.values():
        seen: set[str] = set()
        for resolved in each.resolved.values():
            for row in resolved.rows:
                why = "" if row.run.address in seen else _unconfirmed(row.run)
                seen.add(row.run.address)
                if why:
                    message = f"run {row.run.id}: {why}"
                    hint = "measure again with the harness, which times a known duration first"
                    yield each.at(resolved.placed, "unit-unconfirmed", message, hint)


def _unconfirmed(run: Run) -> str:
    """Why the unit of a run's timer is not known to be right; "" where it is."""
    timer: Mapping[str, Json] = run.raw.get("timer", {})
    check = timer.get("check", {})
    if "expected" not in check or "measured" not in check:
        return "the unit of its timer was not checked in the run"
    expected, measured = quantity(check["expected"]), quantity(check["measured"])
    if abs(measured.value - expected.value) > _AGREEMENT * abs(expected.value):
        return "its timer and the clock it was checked against do not agree"
    versions = set(run.environment.get("software", {}).values())
    if timer.get("version") not in versions:
        return f"its timer is of version {timer.get('version')}, which its environment lacks"
    return ""


def missing_configs(_: Sources, told: Mapping[str, Told]) -> Iterator[Problem]:
    """Numbers of a tuned variant without the configuration chosen and the space searched."""
    for each in told.values():
        seen: set[str] = set()
        for resolved in each.resolved.values():
            for row in resolved.rows:
                variant = row.variant
                if variant.address in seen or not _half_tuned(variant):
                    continue
                seen.add(variant.address)
                message = f"'{variant.id}' was tuned, and the record lacks its choice or its space"
                hint = "record the search space, every configuration tried, and the one chosen"
                yield each.at(resolved.placed, "config-missing", message, hint)


def _half_tuned(variant: Variant) -> bool:
    tuning = variant.raw.get("tuning")
    if tuning is None:
        return "autotune" in str(variant.raw.get("backend", "")) and not variant.config
    return not (tuning.get("space") and tuning.get("chosen") and tuning.get("tried"))


def above_ceilings(_: Sources, told: Mapping[str, Told]) -> Iterator[Problem]:
    """Points above every roof over them by more than the bands: bytes or caches are wrong."""
    for each in told.values():
        if each.scene is None:
            continue
        run = each.scene.run
        for case in each.scene.cases:
            for mode in case.modes:
                for name, share in _above(run, case, mode):
                    message = (
                        f"'{name}' lies above its ceiling on {case.id}, {mode}: {share:.3f} of it"
                    )
                    hint = "recount the bytes, or look for a cache that was warm"
                    yield each.problem(1, 1, "above-ceiling", message, hint)


def _above(run: Run, case: Case, mode: str) -> Iterator[tuple[str, float]]:
    """Variants whose rate leaves both the matched copy and the memory ceiling below."""
    memory = roofs.over(run, case, mode).memory
    for variant in case.variants.values():
        timing = variant.timings.get(mode)
        if timing is None or variant.role == "control" or "bytes" not in case.work:
            continue
        try:
            shares = [roofline.of_matched(case, variant, mode)]
        except ValueError:
            shares = []
        if memory is not None:
            achieved = roofline.bandwidth(case.work, timing)
            shares.append(roofline.fraction(achieved, roofline.rate(memory)))
        if shares and all(roofline.exceeds(share) for share in shares):
            yield variant.id, _least(shares)


def _least(shares: list[Quantity]) -> float:
    return min(share.value for share in shares)


def not_concluded(_: Sources, told: Mapping[str, Told]) -> Iterator[Problem]:
    """An experiment that does not say what it cannot show, and what comes next."""
    for each in told.values():
        if each.scene is None:
            continue
        lacks = [
            what
            for key, what in (("cannot_conclude", "what it cannot show"), ("next", "what is next"))
            if not str(each.scene.experiment.get(key, "")).strip()
        ]
        if lacks:
            where = each.scene.run.pointer + pointer("experiments", each.subject)
            message = f"{where}: the experiment does not say {' nor '.join(lacks)}"
            hint = "fill in cannot_conclude and next in experiment.py, and measure again"
            path = each.scene.artifact.path
            yield Problem(path, 0, 0, "not-concluded", message, hint)


def late_hypotheses(sources: Sources, _: Mapping[str, Told]) -> Iterator[Problem]:
    """A hypothesis that changed after its experiment had a result is told after the fact."""
    first: dict[str, tuple[Artifact, Run]] = {}
    runs = [(a, run) for a in sources.artifacts.values() for run in a.runs.values()]
    for artifact, run in sorted(runs, key=lambda each: (each[1].started, each[1].address)):
        for subject in run.experiments:
            known = first.setdefault(subject, (artifact, run))
            if known[1] is not run:
                yield from _changed(artifact, run, known[1], subject)


def _changed(artifact: Artifact, run: Run, first: Run, subject: str) -> Iterator[Problem]:
    now, before = run.experiments[subject], first.experiments[subject]
    where = run.pointer + pointer("experiments", subject)
    hint = f"run {first.id} came first: keep its hypothesis, or declare a new experiment"
    if now.get("hypothesis") != before.get("hypothesis"):
        message = f"{where}/hypothesis: younger than the first result of this experiment"
        yield Problem(artifact.path, 0, 0, "hypothesis-late", message, hint)
    said = list(before.get("predicted", ()))
    for index, prediction in enumerate(now.get("predicted", ())):
        if prediction not in said and _known(first, subject, prediction):
            message = f"{where}/predicted/{index}: predicted after it had been measured"
            yield Problem(artifact.path, 0, 0, "hypothesis-late", message, hint)


def _known(first: Run, subject: str, prediction: Mapping[str, Json]) -> bool:
    """Whether the first run had already measured what is predicted."""
    cases = [c for c in first.cases.values() if c.subject == subject]
    named = [c for c in cases if prediction.get("case", c.id) == c.id]
    return any(
        case.variants.get(name) is not None and case.variants[name].timings
        for case in named
        for name in (prediction["variant"],)
    )


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
