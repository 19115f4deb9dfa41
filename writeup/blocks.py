"""The generated blocks of a story, each made from the scene that the front matter sets.

A block says everything of its kind: a reader cannot tell a trimmed table from a whole one,
so there is no way to trim it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from writeup import answers, derive, dossier, exhibits, predictions, roofs, sentences, views
from writeup.errors import WriteupError
from writeup.evidence import Evidence
from writeup.language import BlockName
from writeup.result import Artifact, Case
from writeup.selection import Row
from writeup.stats import Verdict
from writeup.strict import pointer
from writeup.told import Scene, Setting


def problem(scene: Setting) -> views.ProblemBlock:
    """What is computed, for whom, and what was expected before the run of record."""
    experiment = scene.experiment
    artifact, case = scene.artifact, scene.case
    facts = [
        _prose("for whom", experiment.get("audience")),
        _prose("contract", experiment.get("contract")),
        _baseline(scene) if isinstance(scene, Scene) else None,
        views.Fact("case", (exhibits.named(artifact, case.id), ", ", _shape(scene, case))),
        views.Fact("data type", exhibits.named(artifact, case.dtype)),
        _prose("what is varied", experiment.get("variable")),
        _prose("checked against", experiment.get("oracle")),
        _prose("checked again by", experiment.get("independent_check")),
        _tolerance(artifact, case),
    ]
    return views.ProblemBlock(
        id="problem-block",
        question=str(experiment.get("question", "")),
        facts=tuple(fact for fact in facts if fact is not None),
        hypothesis=str(experiment.get("hypothesis", "")),
        predictions=predictions.of(artifact, scene.run, case.subject),
    )


def _baseline(scene: Scene) -> views.Fact:
    name = exhibits.named(scene.artifact, scene.baseline.variant.id)
    return views.Fact("baseline", (name, ", ", *_expression(scene)))


def _tolerance(artifact: Artifact, case: Case) -> views.Fact | None:
    if not {"atol", "rtol"} <= case.raw.get("tolerance", {}).keys():
        return None
    absolute, relative = (
        derive.fact(artifact, case.pointer + pointer("tolerance", key), f"{what} tolerance")
        for key, what in (("atol", "absolute"), ("rtol", "relative"))
    )
    return views.Fact("tolerance", ("absolute ", absolute, ", relative ", relative))


def _beside(scene: Scene, case: Case, mode: str, variant: str) -> Row | None:
    found = case.variants.get(variant)
    if found is None:
        return None
    return Row(scene.artifact, scene.run, case, found, found.timings.get(mode))


class Lacking(WriteupError):
    """A part cannot be made of this record; the message is a sentence."""


def roofline(scene: Scene) -> views.RooflineBlock:
    """The ceilings measured in the run, and every variant under them. Raises Lacking."""
    above = roofs.over(scene.run, scene.case, scene.mode)
    artifact = scene.artifact
    if above.memory is None or above.compute is None:
        raise Lacking("The run measured no ceilings for this case and mode.")
    if not {"bytes", "flops"} <= scene.case.work.keys():
        raise Lacking("The work of this case was not counted.")
    ceilings = [
        views.Ceiling(
            ("memory, ", views.Code(derive.name(artifact.commit, above.memory.id))),
            views.Roof.MEMORY,
            exhibits.ceiling(above.memory),
            above.memory.probes[above.memory.best()[0]].what,
        ),
        views.Ceiling(
            ("compute, ", views.Code(derive.name(artifact.commit, above.compute.id))),
            views.Roof.COMPUTE,
            exhibits.ceiling(above.compute),
            above.compute.probes[above.compute.best()[0]].what,
        ),
    ]
    ridge = derive.ridge(above.compute, above.memory)
    intensity = derive.intensity(scene.case)
    bound = "memory" if _number(intensity) < _number(ridge) else "compute"
    floor = derive.floor(scene.case, above.compute, above.memory)
    copy = _copy(scene)
    reach: list[views.Piece] = [
        "The ridge lies at ", ridge, ", and the compulsory work of ",
        exhibits.named(artifact, scene.case.id), " has ", intensity,
        f": of these two ceilings that of {bound} is the lower one here. It allows ",
        derive.attainable(scene.case, above.compute, above.memory),
        ", which is ", floor, " for this case.",
    ]  # fmt: skip
    if copy is not None:
        reach += [
            (
                " A copy of the same bytes, timed in the same rounds and obtaining its output as "
                "they do, takes "
            ),
            derive.time(copy),
            (
                ": a kernel that reads once and writes once can be held against it, unless it "
                "obtains its output otherwise."
            ),
        ]
    return views.RooflineBlock(
        id="roofline-block",
        title=("Roofline of ", exhibits.named(artifact, scene.case.id), ", ",
               exhibits.named(artifact, scene.mode)),
        summary=(
            "Rate over arithmetic intensity. Memory ceiling ",
            derive.ceiling(above.memory), ", compute ceiling ", derive.ceiling(above.compute),
            ", ridge ", ridge, "; all points stand at ", intensity, ".",
        ),
        reach=tuple(reach),
        ceilings=tuple(ceilings),
        points=tuple(_points(scene)),
        ridge=ridge,
    )  # fmt: skip


def _number(evidence: Evidence) -> float:
    return float(evidence.value) if isinstance(evidence.value, (int, float)) else 0.0


def _copy(scene: Scene) -> Row | None:
    """The copy of the case's own bytes in the scene's rounds, where those were counted."""
    if "bytes" not in scene.case.work:
        return None
    copy = scene.case.matched_copy
    return scene.headline.beside(copy) if copy else None


def _points(scene: Scene) -> list[views.Point]:
    above = roofs.over(scene.run, scene.case, scene.mode)
    copy = _copy(scene)
    found = []
    for name in scene.order:
        row = scene.rows.get(name)
        if row is None:
            continue
        timed = row.timing is not None
        rate = None
        if timed:
            evidence = derive.throughput(row, derive.COMPULSORY)
            low, high = derive.rate_band(row, derive.COMPULSORY)
            rate = views.Measured(evidence, None, low, high)
        found.append(
            views.Point(
                variant=name,
                name=exhibits.named(scene.artifact, name),
                role=views.Role(row.variant.role),
                intensity=derive.intensity(scene.case),
                status=exhibits.status(scene.artifact, row.variant),
                rate=rate,
                time=exhibits.time(row) if timed else None,
                attainable=derive.attainable(scene.case, above.compute, above.memory)
                if above.compute and above.memory
                else None,
                fraction=derive.of_copy(row, copy) if timed and copy else None,
                matched=derive.copy_rate(copy) if copy else None,
            )
        )
    return found


def steps(scene: Scene) -> views.StepsBlock:
    """The ladder: every step with its measurement, and that of the step before it."""
    artifact = scene.artifact
    return views.StepsBlock(
        id="steps-block",
        title=("Steps on ", exhibits.named(artifact, scene.case.id), ", ",
               exhibits.named(artifact, scene.mode)),
        summary=(
            "Time of each step; the line is the baseline ",
            exhibits.named(artifact, scene.baseline.variant.id), " at ",
            derive.time(scene.baseline), ".",
        ),
        baseline=exhibits.named(artifact, scene.baseline.variant.id),
        conditions=_conditions(scene),
        rungs=tuple(
            _rung(scene, row)
            for row in (scene.rows.get(name) for name in scene.order)
            if row is not None and row.variant.role in ("baseline", "step")
        ),
    )  # fmt: skip


def _rung(scene: Scene, row: Row) -> views.Rung:
    variant = row.variant
    parent = scene.rows.get(variant.parent or "")
    timed = row.timing is not None
    before = parent if parent is not None and parent.timing is not None else None
    other = row if row is scene.baseline else scene.baseline
    return views.Rung(
        variant=variant.id,
        name=exhibits.named(scene.artifact, variant.id),
        role=views.Role(variant.role),
        idea=str(variant.raw.get("idea") or variant.raw.get("what", "")),
        status=exhibits.status(scene.artifact, variant),
        lever=str(variant.raw.get("lever", "")).replace("none", ""),
        parent=exhibits.named(scene.artifact, variant.parent) if variant.parent else "",
        before=exhibits.time(before) if before else None,
        time=exhibits.time(row) if timed else None,
        gain=exhibits.ratio(row, before) if timed and before else None,
        speedup=exhibits.ratio(row, other) if timed and other is not row else None,
        verdict=exhibits.verdict(row, other) if timed and other is not row else None,
        source=exhibits.source(scene.run, variant),
    )


def attempts(scene: Scene) -> views.AttemptsBlock:
    """What was tried and not kept, failures and losses alike, on whatever case it was tried."""
    rows = (_tried_row(scene, name) for name in scene.order)
    found = [_attempt(scene, row) for row in rows if row and row.variant.role == "attempt"]
    return views.AttemptsBlock("attempts-block", tuple(found))


def _tried_row(scene: Scene, name: str) -> Row | None:
    """A variant on the scene's case, or on the first other case where it was tried."""
    if name in scene.rows:
        return scene.rows[name]
    rows = (
        _beside(scene, case, scene.mode, name)
        for case in scene.run.cases.values()
        if case.subject == scene.case.subject
    )
    return next((row for row in rows if row is not None), None)


def _attempt(scene: Scene, row: Row) -> views.Attempt:
    artifact, variant = scene.artifact, row.variant
    parent = _beside(scene, row.case, scene.mode, variant.parent or "")
    before = parent if parent is not None and parent.timing is not None else None
    timed = row.timing is not None
    place = (exhibits.named(artifact, row.case.id), ", ", exhibits.named(artifact, scene.mode))
    return views.Attempt(
        variant=variant.id,
        name=exhibits.named(artifact, variant.id),
        parent=exhibits.named(artifact, variant.parent) if variant.parent else "",
        idea=str(variant.raw.get("idea") or variant.raw.get("what", "")),
        status=exhibits.verdict(row, before)
        if timed and before
        else exhibits.status(artifact, variant),
        changes=_changes(scene, row),
        time=exhibits.time(row) if timed else None,
        gain=exhibits.ratio(row, before) if timed and before else None,
        reason=answers.why(artifact, variant),
        facts=(views.Fact("tried on", place), *_resources(scene, row)),
        log=str((variant.reason or {}).get("log", "")),
        source=exhibits.source(scene.run, variant),
    )


def _changes(scene: Scene, row: Row) -> tuple[views.Change, ...]:
    varied: Mapping[str, object] = row.variant.raw.get("varied", {})
    return tuple(
        views.Change(
            field,
            derive.of_variant(scene.artifact, row.variant, "varied", field, "0"),
            derive.of_variant(scene.artifact, row.variant, "varied", field, "1"),
        )
        for field in varied
    )


def _resources(scene: Scene, row: Row) -> tuple[views.Fact, ...]:
    held = row.variant.raw.get("resources", {})
    return tuple(
        views.Fact(
            key.replace("_", " "),
            derive.of_variant(scene.artifact, row.variant, "resources", key),
        )
        for key in held
    )


def searched(scene: Scene) -> views.SearchedBlock:
    """Every configuration that was tried, of every tuned variant."""
    found = []
    for name in scene.order:
        row = scene.rows.get(name)
        tuning = row.variant.raw.get("tuning") if row is not None else None
        if row is None or tuning is None:
            continue
        fields = tuple(tuning["space"])
        found.append(
            views.Search(
                variant=exhibits.named(scene.artifact, name),
                space=tuple(
                    views.Fact(
                        field,
                        derive.listed(
                            scene.artifact,
                            row.variant.pointer + pointer("tuning", "space", field),
                        ),
                    )
                    for field in fields
                ),
                fields=fields,
                tried=tuple(
                    _tried(scene, row, index, fields) for index in range(len(tuning["tried"]))
                ),
            )
        )
    note = "" if found else "No variant of this story has a configuration that was searched."
    return views.SearchedBlock("searched-block", tuple(found), note)


def _tried(scene: Scene, row: Row, index: int, fields: tuple[str, ...]) -> views.Tried:
    tried = row.variant.raw["tuning"]["tried"][index]
    at = ("tuning", "tried", str(index))
    word = derive.of_variant(scene.artifact, row.variant, *at, "status")
    tone = views.Tone.OK if tried["status"] == "ok" else views.Tone.FAILED
    return views.Tried(
        config=tuple(
            derive.of_variant(scene.artifact, row.variant, *at, "config", field)
            if field in tried["config"]
            else ""
            for field in fields
        ),
        status=views.Verdict(tone, word),
        chosen=tried["config"] == row.variant.raw["tuning"].get("chosen"),
    )


def result(scene: Scene) -> views.ResultBlock:
    """The headline, and every measured case and mode in which it does not hold."""
    row, other, artifact = scene.headline, scene.baseline, scene.artifact
    headline = derive.judgement(row, other).verdict
    outcomes = [
        (_outcome(scene, case, mode), _verdict_of(scene, case, mode))
        for case in scene.cases
        for mode in case.modes
    ]
    here = f"{scene.run.id}/{scene.case.key}/{scene.mode}"
    elsewhere = [(outcome, verdict) for outcome, verdict in outcomes if outcome.fragment != here]
    copy = _copy(scene)
    facts = [
        views.Fact("samples", (derive.samples(row), " in ", derive.blocks(row), " blocks")),
        views.Fact("denominator", (exhibits.named(artifact, other.variant.id), ", ",
                                   *_expression(scene))),
    ]  # fmt: skip
    facts += _varied(row, other)
    if copy is not None:
        facts.append(views.Fact("of a copy of the same bytes", derive.of_copy(row, copy)))
    facts += _conclusions(scene)
    return views.ResultBlock(
        id="result-block",
        headline=exhibits.verdict(row, other),
        variant=exhibits.named(artifact, row.variant.id),
        baseline=exhibits.named(artifact, other.variant.id),
        time=exhibits.time(row),
        baseline_time=exhibits.time(other),
        speedup=exhibits.ratio(row, other),
        shape=_shape(scene, scene.case),
        dtype=exhibits.named(artifact, scene.case.dtype),
        device=derive.fact(artifact, scene.run.pointer + "/environment/device/name", "device"),
        mode=exhibits.named(artifact, scene.mode),
        facts=tuple(facts),
        exceptions=tuple(o for o, verdict in elsewhere if verdict is not headline),
        holds=tuple(o for o, verdict in elsewhere if verdict is headline),
        overall=_overall(scene),
    )


def _varied(row: Row, other: Row) -> Iterator[views.Fact]:
    """What headline and baseline differ in because the experiment varies it."""
    for name, first, second in sentences.varied(row, other):
        values = (*views.pieces(first), " beside ", *views.pieces(second))
        yield views.Fact((*sentences.setting_name(row, name), ", varied by design"), values)


def _conclusions(scene: Setting) -> list[views.Fact]:
    """What the experiment says of its limits, as far as it says it."""
    said = (
        _prose("what binds", scene.experiment.get("limiter")),
        _prose("what cannot be concluded", scene.experiment.get("cannot_conclude")),
        _prose("next experiment", scene.experiment.get("next")),
    )
    return [fact for fact in said if fact is not None]


def everything(scene: Setting) -> views.CasesBlock:
    """Every case as the record's page has it, where no headline can be formed."""
    return views.CasesBlock(
        id="result-block",
        cases=tuple(dossier.case(scene.artifact, scene.run, each) for each in scene.every_case),
        facts=tuple(_conclusions(scene)),
    )


def _verdict_of(scene: Scene, case: Case, mode: str) -> Verdict | None:
    pair = _pair(scene, case, mode)
    return derive.judgement(*pair).verdict if pair else None


def _pair(scene: Scene, case: Case, mode: str) -> tuple[Row, Row] | None:
    """Headline and baseline of a case and mode, where both were timed."""
    row = _beside(scene, case, mode, scene.headline.variant.id)
    other = _beside(scene, case, mode, scene.baseline.variant.id)
    if row is None or other is None or row.timing is None or other.timing is None:
        return None
    return row, other


def _outcome(scene: Scene, case: Case, mode: str) -> views.Outcome:
    artifact = scene.artifact
    pair = _pair(scene, case, mode)
    if pair:
        verdict = exhibits.verdict(*pair)
    else:
        held = case.variants.get(scene.headline.variant.id)
        verdict = (
            exhibits.status(artifact, held)
            if held is not None
            else views.Verdict(views.Tone.BLANK, "not measured")
        )
    return views.Outcome(
        case=exhibits.named(artifact, case.id),
        mode=exhibits.named(artifact, mode),
        shape=_shape(scene, case),
        dtype=exhibits.named(artifact, case.dtype),
        verdict=verdict,
        time=exhibits.time(pair[0]) if pair else None,
        baseline=exhibits.time(pair[1]) if pair else None,
        speedup=exhibits.ratio(*pair) if pair else None,
        fragment=f"{scene.run.id}/{case.key}/{mode}",
    )


def _overall(scene: Scene) -> views.Words:
    """The geometric mean over the cases of the headline's mode, with worst and best."""
    pairs = [p for p in (_pair(scene, case, scene.mode) for case in scene.cases) if p]
    if len(pairs) < 2:
        return ""
    return (
        "Over all ",
        derive.count([row.case.address for row, _ in pairs], "cases"),
        " cases in ",
        exhibits.named(scene.artifact, scene.mode),
        " the geometric mean is ",
        derive.geomean(pairs, "mean"),
        ", from ",
        derive.geomean(pairs, "worst"),
        " to ",
        derive.geomean(pairs, "best"),
        ".",
    )


def reproduce(scene: Setting) -> views.ReproduceBlock:
    """How to measure it again, and what exactly was measured."""
    artifact, run = scene.artifact, scene.run
    files = run.raw.get("sources", {}).get("files", {})
    facts = [
        views.Fact("commit", derive.short(artifact.commit)),
        views.Fact("run", exhibits.named(artifact, run.id)),
        views.Fact("started", derive.date(artifact, run.pointer + "/started", "start")),
        views.Fact(
            "device", derive.fact(artifact, run.pointer + "/environment/device/name", "device")
        ),
    ]
    for name in ("python", "torch", "triton"):
        if name in run.environment.get("software", {}):
            where = run.pointer + pointer("environment", "software", name)
            facts.append(views.Fact(name, derive.fact(artifact, where, name)))
    return views.ReproduceBlock(
        id="reproduce-block",
        commands=exhibits.commands(artifact, run),
        facts=tuple(facts),
        sources=tuple(
            views.Link(views.Code(derive.name(artifact.commit, path)), f"sources/{blob}/index.html")
            for path, blob in sorted(files.items())
        ),
    )


def _conditions(scene: Scene) -> views.Words:
    return (
        exhibits.named(scene.artifact, scene.case.id), ", ", _shape(scene, scene.case), ", ",
        exhibits.named(scene.artifact, scene.case.dtype), ", mode ",
        exhibits.named(scene.artifact, scene.mode), ", on ",
        derive.fact(
            scene.artifact, scene.run.pointer + "/environment/device/name", "device"
        ),
    )  # fmt: skip


def _shape(scene: Setting, case: Case) -> Evidence:
    return derive.shape(scene.artifact, case.pointer + "/shape", f"shape of {case.id}")


def _expression(scene: Scene) -> tuple[views.Piece, ...]:
    """The baseline's expression, backend and rounding, as far as the record names them."""
    variant = scene.baseline.variant
    words: list[views.Piece] = []
    if "expression" in variant.raw:
        words.append(views.Code(derive.of_variant(scene.artifact, variant, "expression")))
    words += [f", {variant.raw[key]}" for key in ("backend", "rounding") if key in variant.raw]
    return tuple(words) or ("which the record does not name",)


def _prose(label: str, text: object) -> views.Fact | None:
    return views.Fact(label, str(text)) if text else None


MAKERS: Mapping[BlockName, Callable[[Scene], views.Block]] = {
    BlockName.PROBLEM: problem,
    BlockName.ROOFLINE: roofline,
    BlockName.STEPS: steps,
    BlockName.ATTEMPTS: attempts,
    BlockName.SEARCHED: searched,
    BlockName.RESULT: result,
    BlockName.REPRODUCE: reproduce,
}

BARE_MAKERS: Mapping[BlockName, Callable[[Setting], views.Block]] = {
    BlockName.PROBLEM: problem,
    BlockName.RESULT: everything,
    BlockName.REPRODUCE: reproduce,
}
"""What the page of a record shows where no headline can be formed."""
