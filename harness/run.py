"""The sentence: gate, sample, record."""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness import (
    assemble,
    environment,
    mistakes,
    privacy,
    protocol,
    provenance,
    record,
    supervise,
)
from harness.assemble import Findings, SubjectFindings
from harness.child import INTERPRETER, Event, Launcher, variables_on
from harness.company import alone
from harness.errors import Refused
from harness.experiment import Case
from harness.journal import Journal, leftovers
from harness.loaded import project_files
from harness.modes import BURST, SUSTAINED, parse
from harness.plan import Settings, SubjectPlan
from harness.progress import Progress
from harness.sample import TimeTarget
from harness.state import Busy, load, others_between, timestamp
from harness.validate import COPY, TWINS

_SEEDS = 3
_LARGEST_SEED = 2**31
# How long other work on the machine is watched before anything starts, in seconds.
_WATCH = 0.5
# Processors that others may keep busy before a person is told.
_COMPANY = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a session was asked to do, and where its record goes."""

    root: Path
    results: Path
    commit: str
    command: tuple[str, ...]
    plans: tuple[SubjectPlan, ...]
    settings: Settings
    device: str = "cpu"


@dataclass(frozen=True, slots=True)
class Recorded:
    """The artifact and the run that was added to it; findings are for a person to weigh."""

    path: Path
    run_id: str
    findings: tuple[str, ...]


def run(order: Order, progress: Progress) -> Recorded:
    """Measure and record.

    Raises Refused when a planted mistake goes unseen, the timer's unit is not confirmed, a
    baseline fails everywhere or a source changed meanwhile; CompanyError, ProvenanceError
    and RecordError as their modules say.
    """
    with ExitStack() as stack:
        stack.enter_context(alone())
        for left in leftovers(order.root):
            progress.note(
                f"an earlier session (begun {left.started}, {left.blocks} blocks finished) did not "
                f"end; its journal stays at {left.path.relative_to(order.root)}"
            )
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="writeup-run-")))
        session = Session.begin(order, progress, scratch)
        stack.enter_context(session.journal)
        try:
            return session.conduct()
        except Refused:
            session.journal.remove()
            raise


@dataclass(slots=True)
class Session:
    """One session under way."""

    order: Order
    progress: Progress
    scratch: Path
    started: datetime
    machine: dict[str, Any]
    run_id: str
    journal: Journal
    llc: int | None
    begun: float
    findings: Findings = field(default_factory=Findings)
    told: list[str] = field(default_factory=list)
    # Rounds of a case and mode, as the first block decided.
    rounds: dict[tuple[str, str, str], int] = field(default_factory=dict)

    @classmethod
    def begin(cls, order: Order, progress: Progress, scratch: Path) -> Session:
        started = datetime.now(UTC)
        machine = environment.describe(order.device)
        existing = record.existing_runs(order.results, order.commit)
        run_id = record.run_id(started, machine["device"]["name"], existing)
        journal = Journal(order.root, run_id)
        journal.write("begin", started=timestamp(started), commit=order.commit, run=run_id)
        return cls(
            order=order,
            progress=progress,
            scratch=scratch,
            started=started,
            machine=machine,
            run_id=run_id,
            journal=journal,
            llc=last_cache(order.device, machine),
            begun=time.monotonic(),
        )

    @property
    def level(self) -> str:
        """The name of the last-level cache."""
        return last_level(self.order.device, self.machine)

    def conduct(self) -> Recorded:
        """From the first calibration to the artifact."""
        settings = self.order.settings
        before, others = load(), _others()
        if others and others["value"] > _COMPANY:
            self.progress.note(
                f"other processes keep {others['value']:.1f} processors busy: expect wide bands"
            )
        busy = Busy.now()
        self.calibrate("start")
        self.gate_all()
        gated, _ = self.sources()
        self._differing(gated["files"])
        ended_by = self.sample_all()
        self.calibrate("end")
        sources, objects = self.sources()
        _refuse_changes(gated["files"], sources["files"])
        meanwhile = others_between(busy, Busy.now())
        watched = {"before": before, "after": load(), **({"others": others} if others else {})}
        known = assemble.Known(self.order.device, self.llc, self.level, settings.shapes)
        software = self.machine["software"]
        found = assemble.measured(self.findings, known, self.order.root, software=software)
        if meanwhile:
            for one in found["controls"]["calibration"].values():
                if one["when"] == "end":
                    one["state"]["others"] = meanwhile
        found["controls"]["load"] = watched
        run = {**self.facts(ended_by), **found, "sources": sources}
        path = record.add_run(self.order.results, self.order.commit, self.run_id, run, objects)
        self.journal.remove()
        return Recorded(path, self.run_id, tuple(self.told))

    def facts(self, ended_by: str) -> dict[str, Any]:
        """Who, when, how: what does not come from a child."""
        settings = self.order.settings
        stopping: dict[str, Any] = {
            "rule": f"{settings.blocks} blocks; in a block {_rule(settings)}",
            "blocks": settings.blocks,
            "ended_by": ended_by,
        }
        if settings.budget is not None:
            stopping["budget"] = {"value": settings.budget, "unit": "s"}
        return {
            "started": timestamp(self.started),
            "ended": timestamp(),
            "command": list(self.order.command),
            "seed": settings.seed,
            "protocol": protocol.current(self.order.device),
            "engine": {"name": "process", "workers": 1},
            "stopping": stopping,
            "environment": self.machine,
        }

    def launcher(self, variables: dict[str, str] | None = None) -> Launcher:
        limits = self.order.settings.limits
        own = variables_on(self.order.device)
        return Launcher(
            folder=self.order.root, limits=limits, variables={**own, **(variables or {})}
        )

    def scrub(self, text: str) -> str:
        return privacy.scrub(text, self.order.root)

    def job(self, process: str, plan: SubjectPlan | None = None) -> Event:
        """What every job says."""
        job: Event = {
            "process": process,
            "seed": self.order.settings.seed,
            "device": self.order.device,
            "llc": self.llc,
            "level": self.level,
        }
        if plan is not None:
            job["root"] = str(self.order.root)
            job["subject"] = plan.subject.name
            job["folder"] = str(plan.subject.folder)
        return job

    def calibrate(self, when: str) -> None:
        """Time the calibration; at the start, refuse a timer whose unit is not confirmed."""
        self.progress.note(f"calibrating ({when})")
        job = {**self.job(f"calibration.{when}"), "role": "calibration"}
        process, found = supervise.alone(self.launcher(), job)
        self.findings.processes.append(process)
        self.findings.calibrations[when] = (process, found)
        self.journal.write("calibration", when=when, process=process.facts, found=found)
        if not found["agrees"]:
            check = found["check"]
            told = f"{check['measured_ms']:.2f} ms where {check['expected_ms']:.2f} ms were known"
            raise Refused([f"the unit of {found['timer']['name']} is not confirmed: {told}"])

    def gate_all(self) -> None:
        """Check every subject; refuse to go on past a mistake unseen or no baseline at all."""
        refused: list[str] = []
        for plan in self.order.plans:
            found = SubjectFindings(plan)
            self.findings.subjects.append(found)
            refused.extend(self.gate(found))
        if refused:
            raise Refused(refused)

    def gate(self, found: SubjectFindings) -> list[str]:
        """Check the variants of a subject and its planted mistakes; what forbids measuring."""
        plan = found.plan
        shown = plan.subject.shown(self.order.root)
        folder = self.scratch / plan.subject.name
        planted = mistakes.plant(plan.experiment, plan.subject.folder, folder, shown)
        planted = [one for one in planted if one.mistake in plan.mistakes]
        outcomes: dict[tuple[str, str, str], Event] = {}
        for interpreted in (False, True):
            outcomes |= self._judge(found, planted, interpreted=interpreted)
        found.outcomes = {(v, c): one for (v, c, mistake), one in outcomes.items() if not mistake}
        for (variant, case), outcome in sorted(found.outcomes.items()):
            if outcome["status"] != "ok":
                told = f"{plan.subject.name}.{case} {variant}: {outcome['status']}"
                self.progress.note(f"{told}: {outcome['reason']['text']}")
        self.journal.write("gate", subject=plan.subject.name, outcomes=list(outcomes.values()))
        return [*self._mistakes(found, planted, outcomes), *self._baseline(found)]

    def _judge(
        self, found: SubjectFindings, planted: list[mistakes.Planted], *, interpreted: bool
    ) -> dict[tuple[str, str, str], Event]:
        """Outcomes by variant, case and mistake ("" for the variant as it is)."""
        plan = found.plan
        tasks = _tasks(plan, planted, interpreted=interpreted)
        if not tasks:
            return {}
        native = "device" if self.order.device == "cuda" else "torch"
        kind = "interpreter" if interpreted else native
        name = f"{plan.subject.name}.{'interpreter' if interpreted else 'gate'}"
        seeds = _seeds(self.order.settings.seed, plan.subject.name)
        job = {**self.job(name, plan), "checked": kind, "seeds": seeds}
        launcher = self.launcher(INTERPRETER if interpreted else None)
        self.progress.note(f"{plan.subject.name}: checking ({kind}, {len(tasks)} checks)")
        workers = 1 if interpreted else self.order.settings.checkers
        judged = supervise.judge_together(launcher, job, tasks, name, self.progress.judged, workers)
        self.findings.processes.extend(self._clean(process) for process in judged.processes)
        self.findings.files.update(judged.files)
        found.case_facts |= judged.cases
        return {
            (task["variant"], task["case"], task.get("mistake", "")): assemble.scrubbed(
                judged.outcomes[number], self.scrub
            )
            for number, task in enumerate(tasks)
        }

    def _clean(self, process: supervise.Process) -> supervise.Process:
        """The process with private data taken out of what it is charged with."""
        if "charged" in process.facts:
            process.facts["charged"] = assemble.scrubbed(process.facts["charged"], self.scrub)
        return process

    def _mistakes(
        self,
        found: SubjectFindings,
        planted: list[mistakes.Planted],
        outcomes: dict[tuple[str, str, str], Event],
    ) -> list[str]:
        """Which mistakes the gate does not see where it must, or sees where it must not."""
        refused = []
        for one in planted:
            told = one.mistake
            small = outcomes[told.variant, told.passes, told.id]
            large = outcomes[told.variant, told.fails, told.id]
            caught = small["status"] == "ok" and large["status"] != "ok"
            found.mistakes.append((one, caught, large))
            where = f"{found.name}: the planted mistake {told.id!r} in {told.variant!r}"
            if large["status"] == "ok":
                refused.append(f"{where} is not caught on case {told.fails!r}")
            if small["status"] != "ok":
                why = small["reason"]["text"]
                refused.append(f"{where} already fails on case {told.passes!r}: {why}")
        return refused

    def _baseline(self, found: SubjectFindings) -> list[str]:
        """The baseline must be right wherever it is timed: nothing is faster than a wrong one."""
        base = found.plan.experiment.baseline.id
        return [
            f"{found.name}.{case.id}: the baseline {base!r} fails: "
            f"{found.outcomes[base, case.id]['reason']['text']}"
            for case in found.plan.timed
            if found.outcomes[base, case.id]["status"] != "ok"
        ]

    def sample_all(self) -> str:
        """Every block of every subject, subjects taking turns; what ended it."""
        settings = self.order.settings
        longest = 0.0
        for number in range(1, settings.blocks + 1):
            begin = time.monotonic()
            left = None if settings.budget is None else settings.budget - (begin - self.begun)
            if left is not None and longest > left:
                if number == 1:
                    raise Refused(["the budget ended before the first block"])
                return "budget"
            for found in self.findings.subjects:
                self.sample_block(found, number)
            longest = max(longest, time.monotonic() - begin)
            self.progress.block_done(number, settings.blocks, time.monotonic() - begin)
        return "blocks"

    def sample_block(self, found: SubjectFindings, number: int) -> None:
        """One block of one subject, repeated without whoever fails in it."""
        name = f"{found.name}.{number:02d}"
        again = 0
        while True:
            process = f"{name}-lost{again}" if again else name
            job = self._block_job(found, name, number)
            if not job["cases"]:
                raise Refused([f"{found.name}: no case is left that can be timed"])
            self.progress.block(found.name, number, self.order.settings.blocks)
            done = supervise.block(self.launcher(), job, number, self._hear(found))
            if isinstance(done, supervise.Block):
                break
            again += 1
            done.process.id = f"{name}-lost{again}"
            self._drop(found, done)
        self.findings.processes.append(done.process)
        self.findings.files.update(done.files)
        found.blocks.append(done)
        for group in done.groups:
            key = (found.name, group["case"], group["mode"])
            self.rounds.setdefault(key, len(group["order"]))
        self.journal.write(
            "block",
            subject=found.name,
            process={process: done.process.facts},
            groups=done.groups,
            solos=done.solos,
            ceilings=done.ceilings,
            floors=done.floors,
        )

    def _block_job(self, found: SubjectFindings, process: str, block: int) -> Event:
        """The cases that still have a sound baseline, with whoever still takes part.

        The last block also lets everyone be timed alone.
        """
        settings = self.order.settings
        cases: list[Event] = []
        number = 0
        base = found.plan.experiment.baseline.id
        for case in found.plan.timed:
            names = [
                variant.id
                for variant in found.plan.contenders(case)
                if found.outcomes[variant.id, case.id]["status"] == "ok"
            ]
            if base not in names:
                continue
            entries = [{"id": name, "number": number + place} for place, name in enumerate(names)]
            number += len(names)
            groups = [
                self._group(found, case, mode, names)
                for mode in found.plan.modes_of(case)
                if parse(mode).regime != SUSTAINED or settings.sustains(block)
            ]
            cases.append({"case": case.id, "variants": entries, "groups": groups})
        regimes = found.plan.regimes if settings.probes(block) else ()
        return {
            **self.job(process, found.plan),
            "role": "block",
            "modes": list(found.plan.modes),
            "cases": [case for case in cases if case["groups"]],
            "regimes": list(regimes),
            "shapes": settings.shapes,
            "solo": ["do_bench"] if block == settings.blocks else [],
            "turns": {BURST: block - 1, SUSTAINED: settings.sustained_before(block)},
            "target": settings.target,
            "window": settings.window,
            "warm_up": settings.warm_up,
        }

    def _group(
        self, found: SubjectFindings, case: Case, mode: str, present: Sequence[str]
    ) -> Event:
        takers = [v.id for v in found.plan.takers(case, mode) if v.id in present]
        rounds = self._rounds(found, case, mode)
        return {"mode": mode, "rounds": rounds, "participants": [*takers, *TWINS, COPY]}

    def _rounds(self, found: SubjectFindings, case: Case, mode: str) -> int | None:
        decided = self.rounds.get((found.name, case.id, mode))
        return self.order.settings.rounds or decided

    def _hear(self, found: SubjectFindings) -> supervise.Told:
        def told(event: Event) -> None:
            self.progress.event(found.name, found.plan.experiment.baseline.id, event)

        return told

    def _drop(self, found: SubjectFindings, lost: supervise.Lost) -> None:
        """Give a variant the status it earned; it takes part in this case no more."""
        self.findings.processes.append(self._clean(lost.process))
        fault = {"status": lost.fault.status, "reason": lost.fault.reason}
        outcome = assemble.scrubbed(fault, self.scrub)
        found.outcomes[lost.variant, lost.case] |= outcome
        self.journal.write("charged", subject=found.name, process=lost.process.facts)
        where = f"{found.name}.{lost.case} {lost.variant}"
        self.progress.note(f"{where}: {lost.fault.status}: {outcome['reason']['text']}")
        self.told.append(f"{where} failed in a block: {lost.fault.status}")

    def sources(self) -> tuple[dict[str, Any], dict[str, bytes]]:
        """Every project file that was loaded, as it is now, and the versions of the rest."""
        root = self.order.root
        files = self.findings.files | set(project_files(root)) | self._declared()
        blobs, objects = provenance.sources(sorted(files), root)
        versions = provenance.distributions(sys.modules)
        return {"files": blobs, "distributions": versions}, objects

    def _declared(self) -> set[str]:
        """Files that experiments say their variants read."""
        return {
            (plan.subject.folder / name).relative_to(self.order.root).as_posix()
            for plan in self.order.plans
            for name in plan.experiment.data
        }

    def _differing(self, files: dict[str, str]) -> None:
        """Tell which loaded files the commit does not hold; `writeup check` would refuse them."""
        differing = provenance.dirty_files(self.order.commit, files, self.order.root)
        if differing:
            shown = ", ".join(differing)
            self.told.append(f"not as in the commit, so commit and measure again: {shown}")
            self.progress.note(self.told[-1])


def _refuse_changes(before: dict[str, str], after: dict[str, str]) -> None:
    """Blocks loaded what the gate saw, or the record would name the wrong source.

    Both map paths to blob ids; what only a block loads is not known before.
    """
    changed = [path for path, blob in before.items() if after.get(path) != blob]
    if changed:
        raise Refused(f"{path}: changed while it was measured" for path in changed)


def _tasks(plan: SubjectPlan, planted: list[mistakes.Planted], *, interpreted: bool) -> list[Event]:
    """What to check, case by case so that the truth is computed once, mistakes included."""
    tasks: list[Event] = [
        {"variant": variant.id, "case": case.id}
        for variant, case in plan.gate_pairs(interpreted=interpreted)
    ]
    for one in planted:
        if plan.interprets(plan.experiment.variant(one.mistake.variant)) == interpreted:
            copy = {"copy": str(one.folder), "mistake": one.mistake.id}
            cases = (one.mistake.passes, one.mistake.fails)
            tasks.extend({"variant": one.mistake.variant, "case": c, **copy} for c in cases)
    place = {case.id: number for number, case in enumerate(plan.experiment.cases)}
    return sorted(tasks, key=lambda task: place[task["case"]])


def _seeds(seed: int, subject: str) -> list[int]:
    """Fresh seeds for the inputs of the gate; the timed inputs have the case's own."""
    chance = random.Random(f"{seed}/gate/{subject}")  # noqa: S311 - repeatable on purpose
    return [chance.randrange(_LARGEST_SEED) for _ in range(_SEEDS)]


def _others() -> dict[str, Any] | None:
    """How many processors others keep busy while we do nothing."""
    before = Busy.now()
    time.sleep(_WATCH)
    return others_between(before, Busy.now())


def last_cache(device: str, machine: dict[str, Any]) -> int | None:
    """Size in bytes of the last-level cache of what is measured on; None if unknown."""
    if device == "cpu":
        return environment.llc_bytes()
    size: int | None = machine["device"].get("caches", {}).get("l2", {}).get("value")
    return size


def last_level(device: str, machine: dict[str, Any]) -> str:
    """The name of that cache."""
    if device == "cuda":
        return "l2"
    return max(set(machine["device"].get("caches", {})) & {"l2", "l3"}, default="l3")


def _rule(settings: Settings) -> str:
    if settings.rounds:
        return f"{settings.rounds} rounds a case and mode"
    return TimeTarget(settings.target).words
