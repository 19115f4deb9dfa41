"""The page of one artifact: everything in it, whether or not a story cites it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence

from writeup import addresses, answers, derive, exhibits, predictions, repeats, roofs, views
from writeup.evidence import Evidence
from writeup.result import Artifact, Case, Ceiling, Run, Variant
from writeup.selection import Row
from writeup.staleness import Stale
from writeup.strict import Json, pointer

# How a section of the environment is headed, in the order of the page.
_ENVIRONMENT = {
    "device": "device",
    "host": "host",
    "software": "software",
    "flags": "precision and backend flags",
    "variables": "variables",
}
_EXPERIMENT = {
    "audience": "for whom",
    "question": "question",
    "hypothesis": "hypothesis",
    "variable": "the one variable",
    "contract": "contract",
    "oracle": "oracle",
    "independent_check": "independent check",
    "limiter": "what binds",
    "cannot_conclude": "what cannot be concluded",
    "next": "next experiment",
}


def page(
    artifact: Artifact,
    content: bytes,
    samples: bytes,
    cited_by: Iterable[views.Link],
    stories: Mapping[str, views.Link],
    stale: Mapping[str, Stale],
) -> views.Result:
    """The result page. content is the artifact's file, samples its table of samples.

    stale says why of each run that is, by its address.
    """
    folder = f"results/{artifact.commit}"
    files = {path: blob for run in artifact.runs.values() for path, blob in run.files.items()}
    return views.Result(
        path=addresses.result(artifact.commit),
        title=("Results of ", derive.short(artifact.commit)),
        description=("Every measurement of ", derive.short(artifact.commit), ", with its samples"),
        facts=(
            views.Fact("commit", derive.name(artifact.commit, artifact.commit)),
            views.Fact("runs", derive.count([r.address for r in artifact.runs.values()], "runs")),
        ),
        runs=tuple(_run(artifact, run, stories) for run in artifact.runs.values()),
        sources=tuple(
            views.SourceRow(
                exhibits.named(artifact, path), derive.blob(blob), addresses.source(blob)
            )
            for path, blob in sorted(files.items())
        ),
        downloads=(
            _download("artifact.json", f"{folder}/artifact.json", "the artifact as it is", content),
            _download("samples.csv", f"{folder}/samples.csv", "all samples as a table", samples),
        ),
        cited_by=tuple(cited_by),
        notices=tuple(n for run in artifact.runs.values() for n in _notices(artifact, run, stale)),
        again=tuple(_again(artifact)),
    )


def _notices(artifact: Artifact, run: Run, stale: Mapping[str, Stale]) -> Iterator[views.Notice]:
    if run.address in stale:
        yield exhibits.stale(artifact, run, stale[run.address])
    yield from exhibits.drifts(artifact, run)


_COMPARED = (
    ": of the verdicts over the baseline, on every case and in every mode that both measured, "
)


def _again(artifact: Artifact) -> Iterator[views.Again]:
    """Each subject that was measured again, beside the run before."""
    subjects = {subject: None for run in artifact.runs.values() for subject in run.experiments}
    for subject in subjects:
        for first, again in repeats.neighbours(artifact, subject):
            compared = repeats.repeats(artifact, first, again, subject)
            if compared:
                yield _repeated(artifact, first, again, subject, compared)


def _repeated(
    artifact: Artifact, first: Run, again: Run, subject: str, compared: Sequence[repeats.Repeat]
) -> views.Again:
    def number(outcome: repeats.Outcome) -> Evidence:
        found = len(repeats.among(compared, outcome))
        return derive.agreement(first, again, subject, outcome, found)

    counts = {outcome: number(outcome) for outcome in repeats.Outcome}
    return views.Again(
        id=f"{again.id}/again/{subject}",
        title=(exhibits.named(artifact, subject), ", measured again"),
        words=(
            *("Run ", exhibits.named(artifact, again.id)),
            *(" beside run ", exhibits.named(artifact, first.id)),
            _COMPARED,
            *(counts[repeats.Outcome.ALIKE], " are alike, "),
            *(counts[repeats.Outcome.MOVED], " moved into or out of 'cannot tell', and "),
            *(counts[repeats.Outcome.CONTRARY], " contradict each other."),
        ),
        rows=tuple(
            _differing(artifact, one)
            for one in compared
            if one.outcome is not repeats.Outcome.ALIKE
        ),
    )


def _differing(artifact: Artifact, one: repeats.Repeat) -> views.Repeated:
    return views.Repeated(
        name=exhibits.named(artifact, one.first.variant.id),
        case=exhibits.named(artifact, one.first.case.id),
        mode=exhibits.named(artifact, one.first.mode),
        first=exhibits.ratio(one.first, one.first_baseline),
        first_verdict=exhibits.verdict(one.first, one.first_baseline),
        again=exhibits.ratio(one.again, one.again_baseline),
        again_verdict=exhibits.verdict(one.again, one.again_baseline),
    )


def samples_table(artifact: Artifact) -> bytes:
    """Every sample of an artifact as CSV: run, case, variant, mode, process, index, value, unit.

    Values stand as the timer gave them; the index counts within a process.
    """
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(["run", "case", "variant", "mode", "process", "index", "value", "unit"])
    for run in artifact.runs.values():
        for case in run.cases.values():
            for variant in case.variants.values():
                for mode, timing in variant.timings.items():
                    for process, values in timing.raw["samples"].items():
                        key = (run.id, case.key, variant.id, mode, process)
                        table.writerows(
                            (*key, index, value, timing.unit) for index, value in enumerate(values)
                        )
    return out.getvalue().encode()


def _download(name: str, file: str, what: str, content: bytes) -> views.Download:
    return views.Download(
        name, file, what, derive.digest(file, content), derive.size(file, content)
    )


def _run(artifact: Artifact, run: Run, stories: Mapping[str, views.Link]) -> views.RunSection:
    return views.RunSection(
        id=run.id,
        title=("Run ", exhibits.named(artifact, run.id)),
        facts=(
            views.Fact("device", _fact(artifact, run, "environment", "device", "name")),
            views.Fact("started", derive.date(artifact, run.pointer + "/started", "start")),
            views.Fact("ended", derive.date(artifact, run.pointer + "/ended", "end")),
            *_optional(artifact, run, {"seed": "seed", "protocol": "protocol of the harness"}),
            *(
                (views.Fact("command", views.Code(_command(artifact, run))),)
                if "command" in run.raw
                else ()
            ),
        ),
        environment=tuple(_environment(artifact, run)),
        timer=tuple(_timer(artifact, run)),
        ceilings=tuple(_ceiling(artifact, c) for c in run.ceilings.values()),
        controls=tuple(_controls(artifact, run)),
        experiments=tuple(
            _experiment(artifact, run, subject, stories) for subject in run.experiments
        ),
        cases=tuple(case(artifact, run, each) for each in run.cases.values()),
        documents=tuple(_documents(artifact, run)),
        rerun=_command(artifact, run) if "command" in run.raw else "",
    )


def _command(artifact: Artifact, run: Run) -> Evidence:
    return derive.command(artifact, run.pointer + "/command", "command of the run")


def _fact(artifact: Artifact, run: Run, *keys: str) -> Evidence:
    return derive.fact(artifact, run.pointer + pointer(*keys), keys[-1].replace("_", " "))


def _optional(artifact: Artifact, run: Run, labels: Mapping[str, str]) -> Iterator[views.Fact]:
    for key, label in labels.items():
        if key in run.raw:
            yield views.Fact(label, _fact(artifact, run, key))


def _environment(artifact: Artifact, run: Run) -> Iterator[views.Facts]:
    for part, title in _ENVIRONMENT.items():
        held = run.environment.get(part)
        if held:
            where = run.pointer + pointer("environment", part)
            rows = tuple(_leaves(artifact, where, held))
            yield views.Facts(title, rows, f"{run.id}/environment/{part}")


def _leaves(
    artifact: Artifact, where: str, held: Mapping[str, Json], above: tuple[str, ...] = ()
) -> Iterator[views.Fact]:
    """A row for each fact of a mapping, however deep it lies."""
    for key, value in held.items():
        here, keys = where + pointer(key), (*above, key)
        spoken = " ".join(each.replace("_", " ") for each in keys)
        if isinstance(value, Mapping) and "unit" not in value:
            yield from _leaves(artifact, here, value, keys)
        elif isinstance(value, list):
            yield views.Fact(_label(artifact, keys), derive.listed(artifact, here, spoken))
        else:
            yield views.Fact(_label(artifact, keys), derive.fact(artifact, here, spoken))


def _label(artifact: Artifact, keys: Iterable[str]) -> views.Words:
    """Keys of the record as a label; one with digits is a name of the record."""
    words: list[views.Piece] = []
    for key in keys:
        words += [", "] if words else []
        numbered = any(character.isdigit() for character in key)
        words.append(derive.name(artifact.commit, key) if numbered else key.replace("_", " "))
    return tuple(words)


def _timer(artifact: Artifact, run: Run) -> Iterator[views.Fact]:
    held = run.raw.get("timer")
    if held is None:
        return
    where = run.pointer + "/timer"
    for key in ("name", "version", "unit"):
        yield views.Fact(f"timer {key}", _fact(artifact, run, "timer", key))
    for key, value in held.get("check", {}).items():
        here = where + pointer("check", key)
        label = {"expected": "by the other clock", "measured": "by this timer"}.get(key, key)
        if not isinstance(value, (list, Mapping)) or "unit" in value:
            yield views.Fact(f"check, {label}", derive.fact(artifact, here, label))


def _ceiling(artifact: Artifact, ceiling: Ceiling) -> views.CeilingRow:
    best = ceiling.best()[0]
    raw = ceiling.raw

    def said(key: str) -> views.Words:
        if key not in raw:
            return ""
        return derive.fact(artifact, ceiling.pointer + pointer(key), f"{key} of {ceiling.id}")

    return views.CeilingRow(
        id=ceiling.address.partition("/")[2],
        name=exhibits.named(artifact, ceiling.id),
        resource=said("resource"),
        level=said("level"),
        dtype=said("dtype"),
        regime=said("regime"),
        rate=exhibits.ceiling(ceiling),
        probes=tuple(
            views.Probe(
                (exhibits.named(artifact, name), ", ", probe.what),
                _probe_rate(ceiling, name),
                best=name == best,
            )
            for name, probe in ceiling.probes.items()
        ),
    )


def _probe_rate(ceiling: Ceiling, name: str) -> views.Measured:
    found = ceiling.probes[name].estimate
    return views.Measured(derive.probe(ceiling, name), None, found.low, found.high)


def _controls(artifact: Artifact, run: Run) -> Iterator[views.Facts]:
    held = run.raw.get("controls", {})
    where = run.pointer + "/controls"
    floors = tuple(
        views.Fact(
            (exhibits.named(artifact, mode), ", ", str(floor.get("what", "an empty call"))),
            derive.sampled(artifact, where + pointer("floor", mode), f"floor of {mode}"),
        )
        for mode, floor in held.get("floor", {}).items()
    )
    if floors:
        yield views.Facts("floor: what an empty call takes", floors, f"{run.id}/controls/floor")
    calibration = tuple(
        views.Fact(
            exhibits.named(artifact, name),
            derive.sampled(artifact, where + pointer("calibration", name), name),
        )
        for name in held.get("calibration", {})
    )
    if calibration:
        title = "calibration at both ends of the session"
        yield views.Facts(title, calibration, f"{run.id}/controls/calibration")
    load = tuple(_leaves(artifact, where + "/load", held.get("load", {})))
    if load:
        yield views.Facts("load of the machine", load, f"{run.id}/controls/load")


def _experiment(
    artifact: Artifact, run: Run, subject: str, stories: Mapping[str, views.Link]
) -> views.ExperimentSection:
    held = run.experiments[subject]
    facts = [
        views.Fact(label, str(held[key])) for key, label in _EXPERIMENT.items() if held.get(key)
    ]
    where = run.pointer + pointer("experiments", subject)
    if held.get("varies"):
        facts.append(views.Fact("may vary", derive.listed(artifact, where + "/varies")))
    if "margin" in held:
        value = derive.share(artifact, where + "/margin", "margin of practice")
        facts.append(views.Fact("margin of practice", value))
    return views.ExperimentSection(
        id=f"{run.id}/experiments/{subject}",
        title=exhibits.named(artifact, subject),
        facts=tuple(facts),
        predictions=predictions.of(artifact, run, subject),
        mistakes=tuple(
            _mistake(artifact, where + pointer("mistakes", name), name, mistake)
            for name, mistake in held.get("mistakes", {}).items()
        ),
        story=stories.get(subject),
    )


def _mistake(artifact: Artifact, where: str, name: str, held: Mapping[str, Json]) -> views.Mistake:
    def fact(key: str) -> Evidence:
        return derive.fact(artifact, where + pointer(key), f"{key} of {name}")

    place: list[views.Piece] = [views.Code(fact("file"))]
    if "line" in held:
        place += [", line ", fact("line")]
    caught = held.get("caught", False)
    word = "caught" if caught else "not caught"
    return views.Mistake(
        name=exhibits.named(artifact, name),
        place=tuple(place),
        before=fact("before"),
        after=fact("after"),
        passes=fact("passes") if "passes" in held else "",
        fails=fact("fails"),
        status=views.Verdict(views.Tone.OK if caught else views.Tone.FAILED, word),
        error=fact("error") if "error" in held else "",
    )


def _documents(artifact: Artifact, run: Run) -> Iterator[views.Document]:
    for key, held in run.raw.get("documents", {}).items():
        where = run.pointer + pointer("documents", key)
        yield views.Document(
            id=f"{run.id}/documents/{key}",
            title=str(held["title"]),
            link=str(held["link"]),
            claim=derive.fact(artifact, where + "/claim", "what is relied on")
            if "claim" in held
            else "",
            version=derive.fact(artifact, where + "/version", "version checked"),
            installed=derive.fact(artifact, where + "/installed", "version installed")
            if "installed" in held
            else "",
        )


def case(artifact: Artifact, run: Run, case: Case) -> views.CaseSection:
    """Everything of one case: its facts, its variants, and each mode with its samples."""
    return views.CaseSection(
        id=f"{run.id}/{case.key}",
        title=exhibits.named(artifact, case.key),
        what=str(case.raw.get("what", "")),
        facts=tuple(_case_facts(artifact, case)),
        variants=tuple(_variant(artifact, run, case, v) for v in _ordered(run, case)),
        modes=tuple(_mode(artifact, run, case, mode) for mode in case.modes),
    )


def _ordered(run: Run, case: Case) -> list[Variant]:
    """The variants of a case in story order, what controls them last."""
    order = list(run.experiments.get(case.subject, {}).get("order", ()))
    places = {name: index for index, name in enumerate(order)}
    return sorted(case.variants.values(), key=lambda v: (places.get(v.id, len(order)), v.id))


def _case_facts(artifact: Artifact, case: Case) -> Iterator[views.Fact]:
    def fact(*keys: str) -> Evidence:
        return derive.fact(artifact, case.pointer + pointer(*keys), f"{keys[-1]} of {case.id}")

    raw = case.raw
    yield views.Fact("shape", derive.shape(artifact, case.pointer + "/shape", "shape"))
    yield views.Fact("data type", fact("dtype"))
    if "layout" in raw:
        yield views.Fact("layout", str(raw["layout"]))
    for name in raw.get("strides", {}):
        value = derive.listed(artifact, case.pointer + pointer("strides", name), "strides")
        yield views.Fact(f"strides of {name}", value)
    if "inputs" in raw:
        seed = (", seed ", fact("inputs", "seed")) if "seed" in raw["inputs"] else ()
        yield views.Fact("inputs", (fact("inputs", "distribution"), *seed))
    if "tolerance" in raw:
        both = ("absolute ", fact("tolerance", "atol"), ", relative ", fact("tolerance", "rtol"))
        yield views.Fact("tolerance", both)
    for kind in ("flops", "bytes"):
        if kind in case.work:
            method = str(case.work[kind].get("method", ""))
            yield views.Fact(f"work, {kind}", fact("work", kind), note=method)
    if "convention" in case.work:
        yield views.Fact("convention", str(case.work["convention"]))


def _variant(artifact: Artifact, run: Run, case: Case, variant: Variant) -> views.VariantRow:
    raw = variant.raw

    def fact(*keys: str) -> Evidence:
        return derive.of_variant(artifact, variant, *keys)

    error: list[views.Piece] = []
    checked = raw.get("correctness", {})
    if "max_abs_error" in checked:
        error += ["largest ", fact("correctness", "max_abs_error")]
    if "checked" in checked:
        error += [", checked in " if error else "checked in ", fact("correctness", "checked")]
    return views.VariantRow(
        id=f"{run.id}/{case.key}/{variant.id}",
        name=exhibits.named(artifact, variant.id),
        role=views.Role(variant.role),
        what=str(raw.get("what", "")),
        status=exhibits.status(artifact, variant),
        expression=views.Code(fact("expression")) if "expression" in raw else "",
        backend=str(raw.get("backend", "")),
        rounding=str(raw.get("rounding", "")),
        error=tuple(error),
        reason=answers.why(artifact, variant),
        log=fact("reason", "log") if (variant.reason or {}).get("log") else "",
        config=tuple(views.Fact(key, fact("config", key)) for key in variant.config),
        resources=(
            *(
                views.Fact(key.replace("_", " "), fact("resources", key))
                for key in raw.get("resources", {})
            ),
            *(
                views.Fact(exhibits.named(artifact, key), fact("counters", key))
                for key in raw.get("counters", {})
            ),
            *(
                views.Fact(exhibits.named(artifact, key), derive.metric(case, variant, key))
                for key in raw.get("metrics", {})
            ),
        ),
        source=exhibits.source(run, variant),
    )


def _mode(artifact: Artifact, run: Run, case: Case, mode: str) -> views.ModeSection:
    rows = [
        Row(artifact, run, case, variant, variant.timings[mode])
        for variant in _ordered(run, case)
        if mode in variant.timings
    ]
    unit = exhibits.column_unit(rows)
    baseline = next((r for r in rows if r.variant.role == "baseline"), None)
    pair = derive.twin_rows(rows[0]) if rows else None
    settings = case.raw.get("rounds", {}).get(mode, {})
    what = ", ".join(str(settings[k]) for k in ("cache", "regime") if k in settings)
    twins: views.Words = ""
    timed = tuple(_timing(row, baseline, unit) for row in rows)
    if pair is not None:
        twins = ("the A/A twins, one to the other: ", *_twin_words(pair))
    return views.ModeSection(
        id=f"{run.id}/{case.key}/{mode}",
        title=(exhibits.named(artifact, case.id), ", ", exhibits.named(artifact, mode)),
        what=what,
        rows=timed,
        alone=any(row.alone for row in timed),
        strips=tuple(_strip(row, unit) for row in rows),
        rerun=_rerun(artifact, run, case, mode),
        twins=twins,
    )


def _rerun(artifact: Artifact, run: Run, case: Case, mode: str) -> views.Words:
    """The command that measures this part of the run again."""
    kind = str(run.environment["device"]["kind"])
    words: list[views.Piece] = ["harness run ", derive.name(artifact.commit, case.subject)]
    words += [" --case ", derive.name(artifact.commit, case.id)]
    words += [" --mode ", derive.name(artifact.commit, mode), f" --device {kind}"]
    return tuple(words)


def _twin_words(pair: tuple[Row, Row]) -> tuple[views.Piece, ...]:
    found = derive.ratio(pair[1], pair[0])
    if found.low is None:
        return (derive.speedup(pair[1], pair[0]),)
    return (
        derive.speedup(pair[1], pair[0]), " (", derive.speedup_band(pair[1], pair[0]), ")",
    )  # fmt: skip


def _timing(row: Row, baseline: Row | None, unit: str | None) -> views.TimingRow:
    compared = baseline if baseline is not None and baseline is not row else None
    return views.TimingRow(
        id=row.address.partition("/")[2],
        name=exhibits.named(row.artifact, row.variant.id),
        role=views.Role(row.variant.role),
        time=exhibits.time(row, unit),
        low=derive.minimum(row, unit),
        first_quartile=derive.quartile(row, 1, unit),
        third_quartile=derive.quartile(row, 3, unit),
        high=derive.maximum(row, unit),
        samples=derive.samples(row),
        blocks=derive.blocks(row),
        outliers=derive.outliers(row),
        ratio=exhibits.ratio(row, compared) if compared else None,
        verdict=exhibits.verdict(row, compared) if compared else None,
        fraction=_fraction(row),
        alone=derive.alone(row, unit) if row.taken.alone else "",
        alone_over=derive.alone_over(row) if row.taken.alone else "",
    )


def _fraction(row: Row) -> views.Words:
    """The share of the matched copy; of the memory ceiling where there was no such copy."""
    if "bytes" not in row.case.work:
        return ""
    copy = row.case.matched_copy
    beside = row.beside(copy) if copy and copy is not row.variant else None
    if beside is not None:
        return derive.of_copy(row, beside)
    memory = roofs.over(row.run, row.case, row.mode).memory
    return derive.of_ceiling(row, memory) if memory is not None else ""


def _strip(row: Row, unit: str | None) -> views.Strip:
    return views.Strip(
        name=exhibits.named(row.artifact, row.variant.id),
        role=views.Role(row.variant.role),
        blocks=tuple(tuple(values) for values in row.samples.values()),
        time=exhibits.time(row, unit),
    )
