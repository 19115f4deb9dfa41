"""What a session will do, for how long, and how large: decided before anything runs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.child import Limits
from harness.discover import Subject
from harness.errors import SelectionError
from harness.experiment import Case, Experiment, Mistake, Variant
from harness.modes import BURST, INTERLEAVED, SUSTAINED, offered, parse
from harness.regimes import MOST_KEPT, VISITS
from harness.sample import LEAST_ROUNDS, MOST_ROUNDS
from harness.validate import COPY, TWINS
from writeup import stats

_WARM_UP_ROUNDS = 4
# A reading in nanoseconds, its comma, and the round's position, as text in the artifact.
_BYTES_A_SAMPLE = 14
# Calls by which a visit finds its pace.
_PACE_CALLS = 20
# Each checking process holds a case and its oracle on the device.
_MOST_CHECKERS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Reckoning:
    """What things are reckoned to take on a device, in seconds; guesses, and called so.

    start is what a process needs before its first sample: Python, torch, ceilings, floor. A
    turn is a call at a speed that most memory exceeds, and what comes before it: turn. A
    check draws inputs and computes the oracle for every seed. first is what a variant needs
    in a process for its first call on a case; seat what it needs to sit down for a mode.
    probes are a GPU's ceilings in all their regimes, which not every block takes.
    """

    start: float
    bytes_a_second: float
    turn: float
    check: float
    calibration: float
    first: float = 0.0
    seat: float = 0.0
    probes: float = 0.0


RECKONINGS = {
    "cpu": Reckoning(start=6.0, bytes_a_second=4e9, turn=0.01, check=0.5, calibration=4.0),
    "cuda": Reckoning(
        start=9.0,
        bytes_a_second=2e12,
        turn=3e-4,
        check=1.0,
        calibration=7.0,
        first=0.08,
        seat=0.005,
        probes=9.0,
    ),
}


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

    rounds fixes their number, otherwise the first block decides. window is how long the
    stretches are that a warm-up compares. budget is seconds for the whole session, None for as
    long as it takes; no block is begun that would not fit. checkers is how many processes
    check at once. shapes names, for some ceilings, the probes that are worth timing; thrifty
    says that only every second block of a run of record times any.
    """

    blocks: int
    seed: int
    rounds: int | None = None
    target: float = 3.0
    warm_up: float = 2.0
    window: float = 0.1
    checkers: int = 1
    thrifty: bool = False
    shapes: Mapping[str, Sequence[str]] | None = None
    budget: float | None = None
    limits: Limits = field(default_factory=Limits)

    @classmethod
    def on(cls, device: str, **given: Any) -> Settings:
        """The settings that suit a device, and those given.

        A GPU takes a turn in a fraction of a millisecond, and compiling for it is what its
        checks wait for, on processors that have nothing else to do.
        """
        if device != "cuda":
            return cls(**given)
        checkers = max(1, min(_MOST_CHECKERS, (os.cpu_count() or 1) // 2))
        own = {"target": 0.3, "warm_up": 0.6, "window": 0.03, "checkers": checkers}
        own["thrifty"] = True
        return cls(**{**own, **given})

    def sustains(self, number: int) -> bool:
        """Whether the block with this number takes sustained samples.

        Every second one does where that leaves enough blocks for a band, else every one.
        """
        return self.blocks < 2 * stats.MIN_BLOCKS or number % 2 == 0

    def sustained_before(self, number: int) -> int:
        """How many blocks before the one with this number take sustained samples."""
        return sum(self.sustains(earlier) for earlier in range(1, number))

    def probes(self, number: int) -> bool:
        """Whether the block with this number samples ceilings: a GPU's have many regimes."""
        return not self.thrifty or self.sustains(number)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectPlan:
    """What will be done with one subject on one device.

    gated are the cases that variants are checked on, timed those that are measured too.
    """

    subject: Subject
    experiment: Experiment
    gated: tuple[Case, ...]
    timed: tuple[Case, ...]
    variants: tuple[Variant, ...]
    modes: tuple[str, ...]
    mistakes: tuple[Mistake, ...]
    device: str = "cpu"

    def rows(self, case: Case) -> tuple[Variant, ...]:
        """The variants that have a row on this case, in story order."""
        return tuple(v for v in self.variants if runs_on(v, case))

    def gate_pairs(self, *, interpreted: bool) -> list[tuple[Variant, Case]]:
        """Who is checked on what: natively, or in the interpreter. Case by case."""
        return [
            (variant, case)
            for case in self.gated
            for variant in self.rows(case)
            if self.interprets(variant) == interpreted
            and (interpreted or not self.lacks(variant))
            and (not interpreted or case.id in interpreted_cases(variant, self.experiment))
        ]

    def contenders(self, case: Case) -> tuple[Variant, ...]:
        """The variants that are timed on this case if they pass the gate."""
        return tuple(v for v in self.rows(case) if not self.lacks(v))

    def interprets(self, variant: Variant) -> bool:
        """Whether a variant is checked in Triton's interpreter, for want of its device."""
        return variant.interpreted and self.device != "cuda"

    def lacks(self, variant: Variant) -> str | None:
        """The device that a variant needs to be timed and that this is not; None if it is."""
        needed = "cuda" if variant.interpreted else variant.requires
        return None if needed in ("any", self.device) else needed

    def modes_of(self, case: Case) -> tuple[str, ...]:
        """The modes that a case is timed in."""
        return tuple(m for m in self.modes if case.modes is None or m in case.modes)

    def takers(self, case: Case, mode: str) -> tuple[Variant, ...]:
        """The contenders that take part in a mode; the baseline always does."""
        headline = self.experiment.headline
        wide = parse(mode).regime == INTERLEAVED
        return tuple(
            variant
            for variant in self.contenders(case)
            if variant.role == "baseline"
            or (
                (variant.modes is None or mode in variant.modes)
                and (wide or variant.id in headline)
            )
        )

    @property
    def regimes(self) -> tuple[str, ...]:
        """The regimes that some timed case is measured in; interleaved always."""
        seen = {parse(mode).regime for case in self.timed for mode in self.modes_of(case)}
        return (INTERLEAVED, *(one for one in (BURST, SUSTAINED) if one in seen))


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


def plan(
    known: Iterable[tuple[Subject, Experiment]], selection: Selection, device: str = "cpu"
) -> list[SubjectPlan]:
    """The plans of the selected subjects on a device.

    The baseline is always among the variants, and so is whatever an attempt departs from;
    mistakes are planted in the selected variants,
    on whatever cases they name. Raises SelectionError for a name that nothing has, and for a
    mode that the device does not offer.
    """
    chosen = _subjects(list(known), selection.subjects)
    _expect(selection.cases, {name for _, e in chosen for name in _case_names(_, e)}, "case")
    _expect(selection.variants, {v.id for _, e in chosen for v in e.variants}, "variant")
    _expect(selection.modes, {mode for _, e in chosen for mode in e.modes}, "mode")
    _expect_offered(selection.modes, device)
    plans = [_plan(subject, experiment, selection, device) for subject, experiment in chosen]
    plans = [one for one in plans if one.timed]
    if not plans:
        raise SelectionError(f"nothing that was selected is timed on {device}")
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


def _expect_offered(keys: Iterable[str], device: str) -> None:
    there = offered(device)
    wrong = sorted(set(keys) - set(there))
    if wrong:
        raise SelectionError(
            f"mode {', '.join(wrong)} cannot be measured on {device} (there are: "
            f"{', '.join(there)})"
        )


def _case_names(subject: Subject, experiment: Experiment) -> list[str]:
    plain = [case.id for case in experiment.cases]
    return plain + [f"{subject.name}.{name}" for name in plain]


def _plan(
    subject: Subject, experiment: Experiment, selection: Selection, device: str
) -> SubjectPlan:
    names = _with_parents(experiment, selection.variants)
    variants = tuple(v for v in experiment.variants if v.id in names)
    mistakes = tuple(m for m in experiment.mistakes if m.variant in names)
    asked = [case for case in experiment.cases if _asked(subject, case, selection.cases)]
    needed = {case for m in mistakes for case in (m.passes, m.fails)}
    asked_modes = selection.modes or experiment.modes
    # In the order of the device: a block takes what needs the calmest device first.
    modes = tuple(m for m in offered(device) if m in experiment.modes and m in asked_modes)
    base = experiment.baseline
    here = base.requires in ("any", device) and (device == "cuda" or not base.interpreted)
    return SubjectPlan(
        subject=subject,
        experiment=experiment,
        gated=tuple(
            case
            for case in experiment.cases
            if case in asked or not case.timed or case.id in needed
        ),
        timed=tuple(case for case in asked if case.timed and here and _timed(case, modes)),
        variants=variants,
        modes=modes,
        mistakes=mistakes,
        device=device,
    )


def _with_parents(experiment: Experiment, asked: tuple[str, ...]) -> set[str]:
    """The variants asked for (all, when none is), the baseline, and what attempts depart from."""
    if not asked:
        return {variant.id for variant in experiment.variants}
    names = {experiment.baseline.id}
    left = [name for name in asked if name in {v.id for v in experiment.variants}]
    while left:
        variant = experiment.variant(left.pop())
        names.add(variant.id)
        if variant.role == "attempt" and variant.parent and variant.parent not in names:
            left.append(variant.parent)
    return names


def _timed(case: Case, modes: tuple[str, ...]) -> bool:
    """Whether any of the modes is one of the case's."""
    return bool(modes) if case.modes is None else bool(set(modes) & set(case.modes))


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
    gate = block = calibrations = 0.0
    samples = 0
    for one in plans:
        reckoned = RECKONINGS[one.device]
        checks = len(one.gate_pairs(interpreted=False)) + len(one.gate_pairs(interpreted=True))
        checks += 2 * len(one.mistakes)
        gate += reckoned.start + reckoned.check * checks / settings.checkers
        calibrations = 2 * reckoned.calibration
        block += reckoned.start
        block += reckoned.probes * _share(SUSTAINED, settings)
        for case in one.timed:
            block += reckoned.first * len(one.contenders(case))
            for mode in one.modes_of(case):
                turns = len(one.takers(case, mode)) + len((*TWINS, COPY))
                share = _share(parse(mode).regime, settings)
                block += share * _group_seconds(case, mode, turns, settings, reckoned)
                samples += round(turns * share * settings.blocks) * _most_samples(mode, settings)
    total = gate + settings.blocks * block + calibrations
    return Estimate(gate, block, total, samples, samples * _BYTES_A_SAMPLE)


def _share(regime: str, settings: Settings) -> float:
    """The share of blocks in which a regime is sampled."""
    numbers = range(1, settings.blocks + 1)
    taken = sum(regime != SUSTAINED or settings.sustains(number) for number in numbers)
    return taken / settings.blocks


def _most_samples(mode: str, settings: Settings) -> int:
    """Of a participant in a block."""
    if settings.rounds:
        return settings.rounds
    return MOST_ROUNDS if parse(mode).regime == INTERLEAVED else MOST_KEPT


def _group_seconds(
    case: Case, mode: str, turns: int, settings: Settings, reckoned: Reckoning
) -> float:
    """About how long one case takes in one mode of a block, warm-up included."""
    regime = parse(mode).regime
    call = reckoned.turn + case.work.bytes / reckoned.bytes_a_second
    if regime != INTERLEAVED:
        visit = VISITS[regime]
        return turns * (visit.pause + visit.seconds + _PACE_CALLS * call)
    pace = turns * call
    seat = turns * reckoned.seat
    if settings.rounds:
        return seat + (settings.rounds + _WARM_UP_ROUNDS) * pace
    warm_up = max(_WARM_UP_ROUNDS * pace, 2 * settings.window if reckoned.seat else 0.0)
    return seat + min(max(settings.target, LEAST_ROUNDS * pace), MOST_ROUNDS * pace) + warm_up


def lines(plans: Iterable[SubjectPlan], settings: Settings) -> list[str]:
    """The plan in words, for a person who decides whether to begin."""
    plans = list(plans)
    shown = []
    for one in plans:
        shown.append(f"{one.subject.name}: {one.experiment.title}")
        for case in one.timed:
            shown.extend(_case_lines(one, case))
        away = sorted({v.id for v in one.variants if one.lacks(v)})
        if away:
            where = "a CPU" if one.device == "cpu" else "a GPU"
            shown.append(f"  checked only, not timed on {where}: {', '.join(away)}")
        only = [case.id for case in one.gated if case not in one.timed]
        if only:
            shown.append(f"  checked only: {', '.join(only)}")
        if one.mistakes:
            planted = ", ".join(mistake.id for mistake in one.mistakes)
            shown.append(f"  planted mistakes that must be caught: {planted}")
    shown.extend(_sums(plans, settings))
    return shown


def _case_lines(one: SubjectPlan, case: Case) -> Iterator[str]:
    """Who takes part in which modes of a case, modes with the same takers together."""
    takers: dict[tuple[str, ...], list[str]] = {}
    for mode in one.modes_of(case):
        names = tuple(variant.id for variant in one.takers(case, mode))
        takers.setdefault((*names, *TWINS, COPY), []).append(mode)
    for names, modes in takers.items():
        yield f"  {one.subject.name}.{case.id} ({', '.join(modes)}): {', '.join(names)}"


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
