"""What a session will do, for how long, and how large: decided before anything runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from harness.child import Limits
from harness.discover import Subject
from harness.errors import SelectionError
from harness.experiment import Case, Experiment, Mistake, Variant
from harness.sample import LEAST_ROUNDS, MOST_ROUNDS
from harness.validate import COPY, TWINS

# What a process needs before its first sample: Python, torch, ceilings and floor. Seconds.
_START = 6.0
_WARM_UP_ROUNDS = 4
# What one turn is reckoned to take: a call at a speed that most memory exceeds, and a flush.
_BYTES_A_SECOND = 4e9
_FLUSH = 0.01
# A check draws inputs and computes the oracle for every seed; a guess, and called one.
_CHECK = 0.5
_CALIBRATION = 4.0
# A reading in nanoseconds, its comma, and the round's position, as text in the artifact.
_BYTES_A_SAMPLE = 14


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What was asked for by name; nothing named means everything."""

    subjects: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a session measures. target and warm_up are seconds a case and mode in a block.

    rounds fixes their number, otherwise the first block decides. budget is seconds for the
    whole session, None for as long as it takes; no block is begun that would not fit.
    """

    blocks: int
    seed: int
    rounds: int | None = None
    target: float = 3.0
    warm_up: float = 2.0
    budget: float | None = None
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectPlan:
    """What will be done with one subject.

    gated are the cases that variants are checked on, timed those that are measured too.
    """

    subject: Subject
    experiment: Experiment
    gated: tuple[Case, ...]
    timed: tuple[Case, ...]
    variants: tuple[Variant, ...]
    modes: tuple[str, ...]
    mistakes: tuple[Mistake, ...]

    def rows(self, case: Case) -> tuple[Variant, ...]:
        """The variants that have a row on this case, in story order."""
        return tuple(v for v in self.variants if runs_on(v, case))

    def gate_pairs(self, *, interpreted: bool) -> list[tuple[Variant, Case]]:
        """Who is checked on what: natively, or in the interpreter. Case by case."""
        return [
            (variant, case)
            for case in self.gated
            for variant in self.rows(case)
            if variant.interpreted == interpreted
            and (interpreted or variant.requires != "cuda")
            and (not interpreted or case.id in interpreted_cases(variant, self.experiment))
        ]

    def contenders(self, case: Case) -> tuple[Variant, ...]:
        """The variants that are timed on this case if they pass the gate."""
        return tuple(v for v in self.rows(case) if not needs_device(v))


def needs_device(variant: Variant) -> bool:
    """Whether a variant cannot be timed on a CPU."""
    return variant.interpreted or variant.requires == "cuda"


def runs_on(variant: Variant, case: Case) -> bool:
    """Whether a variant has a row on a case; one left out of its gate has none."""
    if variant.cases is not None and case.id not in variant.cases:
        return False
    return variant.interpreted or variant.gate_cases is None or case.id in variant.gate_cases


def interpreted_cases(variant: Variant, experiment: Experiment) -> frozenset[str]:
    """The cases on which an interpreted variant is checked: those it names, or the smallest."""
    if variant.gate_cases is not None:
        return frozenset(variant.gate_cases)
    cases = experiment.cases_of(variant)
    small = [case.id for case in cases if "smallest" in case.tags or not case.timed]
    return frozenset(small or [min(cases, key=lambda case: case.work.bytes).id])


def plan(known: Iterable[tuple[Subject, Experiment]], selection: Selection) -> list[SubjectPlan]:
    """The plans of the selected subjects.

    The baseline is always among the variants; mistakes are planted in the selected variants,
    on whatever cases they name. Raises SelectionError for a name that nothing has.
    """
    chosen = _subjects(list(known), selection.subjects)
    _expect(selection.cases, {name for _, e in chosen for name in _case_names(_, e)}, "case")
    _expect(selection.variants, {v.id for _, e in chosen for v in e.variants}, "variant")
    _expect(selection.modes, {mode for _, e in chosen for mode in e.modes}, "mode")
    plans = [_plan(subject, experiment, selection) for subject, experiment in chosen]
    plans = [one for one in plans if one.timed]
    if not plans:
        raise SelectionError("nothing that was selected is timed")
    return plans


def _subjects(
    known: list[tuple[Subject, Experiment]], names: tuple[str, ...]
) -> list[tuple[Subject, Experiment]]:
    _expect(names, {subject.name for subject, _ in known}, "subject")
    return [pair for pair in known if not names or pair[0].name in names]


def _expect(names: Iterable[str], known: set[str], noun: str) -> None:
    missing = sorted(set(names) - known)
    if missing:
        there = ", ".join(sorted(known)) or "none"
        raise SelectionError(f"no {noun} is called {', '.join(missing)} (there are: {there})")


def _case_names(subject: Subject, experiment: Experiment) -> list[str]:
    plain = [case.id for case in experiment.cases]
    return plain + [f"{subject.name}.{name}" for name in plain]


def _plan(subject: Subject, experiment: Experiment, selection: Selection) -> SubjectPlan:
    variants = tuple(
        v
        for v in experiment.variants
        if not selection.variants or v.id in selection.variants or v.role == "baseline"
    )
    names = {v.id for v in variants}
    mistakes = tuple(m for m in experiment.mistakes if m.variant in names)
    asked = [case for case in experiment.cases if _asked(subject, case, selection.cases)]
    needed = {case for m in mistakes for case in (m.passes, m.fails)}
    modes = tuple(m for m in experiment.modes if not selection.modes or m in selection.modes)
    return SubjectPlan(
        subject=subject,
        experiment=experiment,
        gated=tuple(
            case
            for case in experiment.cases
            if case in asked or not case.timed or case.id in needed
        ),
        timed=tuple(case for case in asked if case.timed and modes),
        variants=variants,
        modes=modes,
        mistakes=mistakes,
    )


def _asked(subject: Subject, case: Case, names: tuple[str, ...]) -> bool:
    return not names or case.id in names or f"{subject.name}.{case.id}" in names


@dataclass(frozen=True, slots=True)
class Estimate:
    """About how long a session takes, in seconds, and how large its record is, in bytes."""

    gate: float
    block: float
    total: float
    samples: int
    bytes: int


def estimate(plans: Iterable[SubjectPlan], settings: Settings) -> Estimate:
    """A forecast from counts alone; samples and bytes are upper bounds.

    A round that takes longer than the target's share makes a block longer: the least number
    of rounds is taken all the same.
    """
    gate = block = 0.0
    samples = 0
    rounds = settings.rounds or MOST_ROUNDS
    for one in plans:
        checks = len(one.gate_pairs(interpreted=False)) + len(one.gate_pairs(interpreted=True))
        gate += _START + _CHECK * (checks + 2 * len(one.mistakes))
        block += _START
        for case in one.timed:
            turns = len(one.contenders(case)) + len((*TWINS, COPY))
            block += len(one.modes) * _group_seconds(case, turns, settings)
            samples += turns * len(one.modes) * rounds * settings.blocks
    total = gate + settings.blocks * block + 2 * _CALIBRATION
    return Estimate(gate, block, total, samples, samples * _BYTES_A_SAMPLE)


def _group_seconds(case: Case, turns: int, settings: Settings) -> float:
    """About how long one case takes in one mode of a block, warm-up included."""
    pace = turns * (_FLUSH + case.work.bytes / _BYTES_A_SECOND)
    if settings.rounds:
        return (settings.rounds + _WARM_UP_ROUNDS) * pace
    return max(settings.target, LEAST_ROUNDS * pace) + _WARM_UP_ROUNDS * pace


def lines(plans: Iterable[SubjectPlan], settings: Settings) -> list[str]:
    """The plan in words, for a person who decides whether to begin."""
    plans = list(plans)
    shown = []
    for one in plans:
        shown.append(f"{one.subject.name}: {one.experiment.title}")
        for case in one.timed:
            names = [variant.id for variant in one.contenders(case)]
            takers = ", ".join((*names, *TWINS, COPY))
            shown.append(f"  {one.subject.name}.{case.id} ({', '.join(one.modes)}): {takers}")
        away = sorted({v.id for v in one.variants if needs_device(v)})
        if away:
            shown.append(f"  checked only, not timed on a CPU: {', '.join(away)}")
        only = [case.id for case in one.gated if case not in one.timed]
        if only:
            shown.append(f"  checked only: {', '.join(only)}")
        if one.mistakes:
            planted = ", ".join(mistake.id for mistake in one.mistakes)
            shown.append(f"  planted mistakes that must be caught: {planted}")
    shown.extend(_sums(plans, settings))
    return shown


def _sums(plans: list[SubjectPlan], settings: Settings) -> list[str]:
    sums = estimate(plans, settings)
    rounds = str(settings.rounds) if settings.rounds else f"{LEAST_ROUNDS} to {MOST_ROUNDS}"
    told = [
        f"{settings.blocks} blocks of about {duration(sums.block)}",
        f"{rounds} rounds a case and mode in a block",
        f"about {duration(sums.total)} in all, of which the gate about {duration(sums.gate)}",
        f"at most {sums.samples} samples, {sums.bytes / 1e6:.1f} MB",
        f"seed {settings.seed}",
    ]
    if settings.budget is not None:
        told.append(f"no block is begun that would end after {duration(settings.budget)}")
    return told


def duration(seconds: float) -> str:
    """A rough duration: seconds below two minutes, minutes above."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
