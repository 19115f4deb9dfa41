"""What makes an experiment fit to be measured: every fault of it, one line each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from harness import modes
from harness.experiment import Case, Experiment, Mistake, Prediction, Variant

ID = r"[a-z][a-z0-9_-]*"
# Words of the citation language: an id of that name could not be told from them.
RESERVED = frozenset(
    "over vs claim code diff env case ceiling predicted run all cases faster slower same as than "
    "below above problem roofline steps attempts searched result reproduce".split()
)
# What the harness adds to every case by itself.
TWINS = ("twin-a", "twin-b")
COPY = "copy"
CONTROLS = frozenset((*TWINS, COPY))
_FLOATS = ("float64", "float32", "float16", "bfloat16", "complex64", "complex128")
_INTEGERS = ("int64", "int32", "int16", "int8", "uint8", "bool")
DTYPES = frozenset((*_FLOATS, *_INTEGERS))
# `x4` beside a number reads as "times four".
_FACTOR = re.compile(r"x\d+")


def faults_of(experiment: Experiment) -> list[str]:
    """Everything that is wrong with an experiment; empty when it can be measured."""
    return [fault for check in _CHECKS for fault in check(experiment)]


def _ids(experiment: Experiment) -> Iterator[str]:
    for noun, names in (
        ("variant", [variant.id for variant in experiment.variants]),
        ("case", [case.id for case in experiment.cases]),
        ("mistake", [mistake.id for mistake in experiment.mistakes]),
    ):
        yield from _bad_names(noun, names)
    for variant in experiment.variants:
        if variant.id in CONTROLS:
            yield f"variant {variant.id!r}: the harness adds a control of that name itself"


def _bad_names(noun: str, names: list[str]) -> Iterator[str]:
    for name, count in Counter(names).items():
        if not re.fullmatch(ID, name):
            yield f"{noun} {name!r}: an id is lower-case and matches {ID}"
        elif name in RESERVED:
            yield f"{noun} {name!r}: the word is reserved by the citation language"
        elif _FACTOR.fullmatch(name):
            yield f"{noun} {name!r}: it reads as a factor; name the idea"
        if count > 1:
            yield f"{noun} {name!r}: {count} of them share this id"


def _roles(experiment: Experiment) -> Iterator[str]:
    baselines = [variant.id for variant in experiment.variants if variant.role == "baseline"]
    if len(baselines) != 1:
        found = ", ".join(baselines) or "none"
        yield f"exactly one variant has the role baseline; here: {found}"
    for variant in experiment.variants:
        if variant.role == "control":
            yield f"variant {variant.id!r}: the harness adds the controls itself"
        if variant.role == "attempt" and variant.parent is None:
            yield f"variant {variant.id!r}: an attempt names the parent it departs from"
        if variant.role == "baseline":
            yield from _baseline(variant)


def _baseline(variant: Variant) -> Iterator[str]:
    for field in ("expression", "backend", "rounding"):
        if not getattr(variant, field):
            yield f"variant {variant.id!r}: a baseline says its {field}"
    if variant.cases is not None:
        yield f"variant {variant.id!r}: a baseline runs on every case"
    if variant.modes is not None:
        yield f"variant {variant.id!r}: a baseline is timed in every mode"


def _references(experiment: Experiment) -> Iterator[str]:
    variants = [variant.id for variant in experiment.variants]
    cases = [case.id for case in experiment.cases]
    for variant in experiment.variants:
        if variant.parent is not None and variant.parent not in variants:
            yield f"variant {variant.id!r}: its parent {variant.parent!r} is no variant"
        if variant.parent == variant.id:
            yield f"variant {variant.id!r}: it is its own parent"
        yield from _astray(variant, experiment)
        named = (*(variant.cases or ()), *(variant.gate_cases or ()))
        yield from _unknown(f"variant {variant.id!r}", "case", named, cases)
        known = list(modes.KEYS)
        yield from _unknown(f"variant {variant.id!r}", "mode", variant.modes or (), known)
        yield from _ungated(variant, experiment)
    for mistake in experiment.mistakes:
        yield from _mistake(mistake, variants, cases)
    for prediction in experiment.predicted:
        yield from _prediction(prediction, variants, cases, experiment.modes)


def _astray(variant: Variant, experiment: Experiment) -> Iterator[str]:
    """An attempt is told beside what it departs from."""
    parents = [one for one in experiment.variants if one.id == variant.parent]
    if variant.role != "attempt" or not parents:
        return
    there = {case.id for case in experiment.cases_of(parents[0])}
    for case in experiment.cases_of(variant):
        if case.id not in there:
            yield (
                f"variant {variant.id!r}: its parent {variant.parent!r} does not run on case "
                f"{case.id!r}, so neither does the attempt"
            )


def _ungated(variant: Variant, experiment: Experiment) -> Iterator[str]:
    """No speed without a gate: only what is never timed may be left out of it."""
    if variant.gate_cases is None or variant.interpreted:
        return
    for case in experiment.cases_of(variant):
        if case.timed and case.id not in variant.gate_cases:
            yield f"variant {variant.id!r}: case {case.id!r} is timed, so its gate_cases hold it"


def _mistake(mistake: Mistake, variants: list[str], cases: list[str]) -> Iterator[str]:
    where = f"mistake {mistake.id!r}"
    yield from _unknown(where, "variant", (mistake.variant,), variants)
    yield from _unknown(where, "case", (mistake.passes, mistake.fails), cases)
    if mistake.passes == mistake.fails:
        yield f"{where}: it cannot pass and fail the same case"
    if mistake.before == mistake.after:
        yield f"{where}: it changes nothing"
    if "\n" in mistake.before + mistake.after:
        yield f"{where}: it changes more than one line"


def _prediction(
    prediction: Prediction, variants: list[str], cases: list[str], measured: tuple[str, ...]
) -> Iterator[str]:
    where = f"prediction of {prediction.variant!r} over {prediction.over!r}"
    yield from _unknown(where, "variant", (prediction.variant, prediction.over), variants)
    yield from _unknown(where, "case", (prediction.case,), cases)
    yield from _unknown(where, "mode", (prediction.mode,), list(measured))
    if prediction.ratio <= 0:
        yield f"{where}: a ratio is above zero"


def _unknown(where: str, noun: str, named: Iterable[str], known: list[str]) -> Iterator[str]:
    for name in named:
        if name not in known:
            yield f"{where}: no {noun} is called {name!r} (there are {', '.join(known)})"


def _cases(experiment: Experiment) -> Iterator[str]:
    if not any(case.timed for case in experiment.cases):
        yield "no case is timed"
    for case in experiment.cases:
        yield from _case(case)


def _case(case: Case) -> Iterator[str]:
    where = f"case {case.id!r}"
    if case.dtype not in DTYPES:
        yield f"{where}: {case.dtype!r} is no dtype of torch that is known here"
    if case.tolerance.atol < 0 or case.tolerance.rtol < 0:
        yield f"{where}: a tolerance is not negative"
    if case.timed and case.work.bytes <= 0:
        yield f"{where}: a timed case moves bytes"
    yield from _unknown(where, "mode", case.modes or (), list(modes.KEYS))
    for name in (*case.shape, *(case.axes or ())):
        if not re.fullmatch(ID, name):
            yield f"{where}: a dimension cannot be called {name!r} ({ID})"
    yield from (
        f"{where}: a tag cannot be called {tag!r} ({ID})"
        for tag in case.tags
        if not re.fullmatch(ID, tag)
    )


def _settings(experiment: Experiment) -> Iterator[str]:
    if not 0 < experiment.margin < 1:
        yield f"the margin {experiment.margin:g} does not lie between 0 and 1"
    if not experiment.modes:
        yield "no mode is named"
    yield from _unknown("the experiment", "mode", experiment.modes, list(modes.KEYS))
    variants = [variant.id for variant in experiment.variants]
    yield from _unknown("headline", "variant", experiment.headline, variants)


_CHECKS: tuple[Callable[[Experiment], Iterator[str]], ...] = (
    _ids,
    _roles,
    _references,
    _cases,
    _settings,
)
