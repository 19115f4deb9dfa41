"""Driving children: a fault is charged to whoever caused it, and the rest goes on without.

A gate goes on in a new process with what is left; a block is repeated without the variant
that failed in it, since its samples must come from one process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from harness.child import Charged, Event, Launcher
from harness.faults import Fault
from harness.state import timestamp

Told = Callable[[Event], None]


@dataclass(slots=True)
class Process:
    """One child as the record has it, under its id."""

    id: str
    facts: Event


@dataclass(slots=True)
class Judged:
    """What a gate found: an outcome for each task by its position, and facts on the way.

    An outcome has `status` and may have `reason` and `correctness`.
    """

    outcomes: dict[int, Event] = field(default_factory=dict)
    cases: dict[str, Event] = field(default_factory=dict)
    files: set[str] = field(default_factory=set)
    processes: list[Process] = field(default_factory=list)


def judge_together(
    launcher: Launcher, job: Event, tasks: Sequence[Event], name: str, told: Told, workers: int
) -> Judged:
    """The same by several processes at once, which share every variant's cases evenly.

    They share the device too: nothing is timed here.
    """
    grouped = sorted(range(len(tasks)), key=lambda n: (tasks[n]["variant"], n))
    shares = [sorted(grouped[share::workers]) for share in range(min(workers, len(tasks)))]
    if len(shares) == 1:
        return judge(launcher, job, tasks, name, told)
    whole = Judged()
    with ThreadPoolExecutor(len(shares)) as pool:
        parts = pool.map(
            lambda share: judge(
                launcher, job, [tasks[n] for n in shares[share]], f"{name}-{share + 1}", told
            ),
            range(len(shares)),
        )
        for numbers, part in zip(shares, parts, strict=True):
            whole.outcomes |= {numbers[n]: outcome for n, outcome in part.outcomes.items()}
            whole.cases |= part.cases
            whole.files |= part.files
            whole.processes.extend(part.processes)
    return whole


def judge(launcher: Launcher, job: Event, tasks: Sequence[Event], name: str, told: Told) -> Judged:
    """Let a throw-away process judge every task; after a fault, another one goes on.

    name is the first part of the processes' ids; told hears of every event as it comes.
    """
    judged = Judged()
    while left := [number for number in range(len(tasks)) if number not in judged.outcomes]:
        process = _begin(f"{name}.{len(judged.processes) + 1:02d}", "gate", job)
        judged.processes.append(process)
        asked = {**job, "tasks": [tasks[number] for number in left]}
        with launcher.start("harness.gate", asked) as child:
            process.facts["pid"] = child.pid
            try:
                for event in child.events():
                    told(event)
                    _note(judged, event, left)
            except Charged as charged:
                number = left[charged.number]
                judged.outcomes[number] = _outcome(charged.fault)
                process.facts["charged"] = _charge(job, tasks[number], charged.fault)
        process.facts["ended"] = timestamp()
    return judged


def _note(judged: Judged, event: Event, left: list[int]) -> None:
    kind = event.pop("event")
    if kind == "judged":
        judged.outcomes[left[event.pop("number")]] = event
    elif kind == "case":
        judged.cases[event.pop("case")] = event
    elif kind == "end":
        judged.files.update(event["files"])


def _charge(job: Event, task: Event, fault: Fault) -> Event:
    case = f"{job['subject']}.{task['case']}"
    return {"case": case, "variant": task["variant"], **_outcome(fault)}


def _outcome(fault: Fault) -> Event:
    return {"status": fault.status, "reason": fault.reason}


def _begin(name: str, role: str, job: Event) -> Process:
    facts: dict[str, Any] = {"role": role, "started": timestamp()}
    if "subject" in job:
        facts["subject"] = job["subject"]
    return Process(name, facts)


@dataclass(slots=True)
class Block:
    """A finished block: its process, its events by kind, and the files it loaded.

    ceilings are readings by ceiling and probe, floors by mode.
    """

    process: Process
    groups: list[Event] = field(default_factory=list)
    solos: list[Event] = field(default_factory=list)
    ceilings: Event = field(default_factory=dict)
    floors: Event = field(default_factory=dict)
    files: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Lost:
    """A block that a variant ended: who, where, and what that is called."""

    process: Process
    case: str
    variant: str
    fault: Fault


def block(launcher: Launcher, job: Event, number: int, told: Told) -> Block | Lost:
    """Run one block in a fresh process; Lost when a variant failed in it."""
    process = _begin(job["process"], "block", job)
    process.facts["block"] = number
    done = Block(process)
    at: Event = {}
    lost: Lost | None = None
    with launcher.start("harness.block", job) as child:
        process.facts["pid"] = child.pid
        try:
            for event in child.events():
                told(event)
                at = event if event["event"] == "about" else at
                lost = _take(done, event) or lost
        except Charged as charged:
            case, variant = _caller(job, charged.number)
            lost = Lost(process, case, variant, charged.fault)
    process.facts["ended"] = timestamp()
    if lost is None:
        return done
    process.facts["charged"] = {
        "case": f"{job['subject']}.{lost.case}",
        "variant": lost.variant,
        "mode": at["mode"],
        **_outcome(lost.fault),
    }
    return lost


def _take(done: Block, event: Event) -> Lost | None:
    kind = event["event"]
    if kind == "group":
        done.groups.append(event)
    elif kind == "solo":
        done.solos.append(event)
    elif kind == "ceilings":
        done.ceilings |= event["samples"]
    elif kind == "floors":
        done.floors = event["floors"]
    elif kind == "end":
        done.files = event["files"]
    elif kind == "fault":
        fault = Fault(event["status"], event["reason"])
        return Lost(done.process, event["case"], event["variant"], fault)
    return None


def _caller(job: Event, number: int) -> tuple[str, str]:
    """The case and variant that the ledger's number stands for."""
    for case in job["cases"]:
        for variant in case["variants"]:
            if variant["number"] == number:
                return case["case"], variant["id"]
    raise LookupError(f"the job names nobody {number}")


def alone(launcher: Launcher, job: Event) -> tuple[Process, Event]:
    """Run a calibration, or a look for ceilings, in a process of its own; what it found."""
    process = _begin(job["process"], job["role"], job)
    with launcher.start("harness.block", job) as child:
        process.facts["pid"] = child.pid
        [found] = child.events()
    process.facts["ended"] = timestamp()
    return process, found
