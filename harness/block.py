"""What runs in a block: one fresh process that covers all cases of a subject.

`python -m harness.block` reads its job on standard input (see `harness.child`). A block
samples the floor and the ceilings, then, case by case and mode by mode, lets the surviving
variants, the baseline, two twins of it and a copy of the case's own bytes take turns. The
calibration at both ends of a run is the same program with another job.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from harness import ceilings, discover
from harness.child import Event, serve
from harness.experiment import Case, Experiment
from harness.gate import draw
from harness.ledger import NOBODY, Ledger
from harness.loaded import project_files
from harness.sample import (
    Participant,
    ParticipantFailed,
    Rounds,
    Table,
    TimeTarget,
    WarmUp,
    draw_orders,
    no_flush,
)
from harness.state import state
from harness.timer import HostTimer, Timer
from harness.validate import COPY, TWINS

Send = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class Bench:
    """What every measurement of this process shares; seed is the order's, as a prefix."""

    timer: Timer
    ledger: Ledger
    flush: Callable[[], None]
    seed: str

    def table(
        self,
        participants: Sequence[Participant],
        inputs: Sequence[Any],
        flush: Callable[[], None],
    ) -> Table:
        """A table with this clock and ledger."""
        return Table(
            participants=participants,
            inputs=inputs,
            timer=self.timer,
            ledger=self.ledger,
            flush=flush,
            address=address,
        )

    def flush_of(self, mode: str) -> Callable[[], None]:
        """The flush of a mode: none in the hot one."""
        return self.flush if mode == "host" else no_flush


def address(output: Any) -> int:
    """Where an output lies; zero for what is no tensor."""
    return output.data_ptr() if isinstance(output, torch.Tensor) else 0


def participants_of(
    experiment: Experiment, case: Case, entries: Sequence[Event], inputs: Sequence[torch.Tensor]
) -> list[Participant]:
    """The variants of the job in story order, then two twins of the baseline, then the copy.

    entries give each variant's id and ledger number. A failing twin is charged to the
    baseline; the copy is ours, and its failure is a bug.
    """
    present = [
        Participant(
            entry["id"], experiment.variant(entry["id"]).function, entry["id"], entry["number"]
        )
        for entry in entries
    ]
    base = next(one for one in present if one.id == experiment.baseline.id)
    twins = [Participant(twin, base.function, base.id, base.number) for twin in TWINS]
    copy = ceilings.matched_copy(inputs, case.work.bytes)
    return [*present, *twins, Participant(COPY, copy, COPY, NOBODY)]


@dataclass(frozen=True, slots=True)
class Group:
    """One case in one mode, with who takes turns."""

    case: str
    mode: str
    participants: Sequence[Participant]
    inputs: Sequence[torch.Tensor]


def measure_group(bench: Bench, group: Group, rounds: int | None, job: Event) -> Event:
    """Warm up, then take the rounds of one case in one mode.

    rounds is None in the first block of a run, whose warm-up decides how many there are.
    """
    table = bench.table(group.participants, group.inputs, bench.flush_of(group.mode))
    seed = f"{bench.seed}/{group.case}/{group.mode}"
    pace = table.warm_up(WarmUp(limit=job["warm_up"]), seed)
    count = rounds or TimeTarget(job["target"]).rounds(pace)
    before = state()
    taken = table.rounds(draw_orders(seed, len(group.participants), count))
    return {
        "event": "group",
        "case": group.case,
        "mode": group.mode,
        "participants": [participant.id for participant in group.participants],
        "before": before,
        "after": state(),
        **_plain(taken),
    }


def _plain(taken: Rounds) -> Event:
    return {
        "order": taken.order,
        "samples": taken.readings,
        "addresses": {name: len(places) for name, places in taken.addresses.items()},
    }


def measure_cases(bench: Bench, experiment: Experiment, job: Event, send: Send) -> bool:
    """Every case and mode of the job; False when a variant failed and the block is lost."""
    for entry in job["cases"]:
        case = experiment.case(entry["case"])
        inputs = draw(case, case.seed)
        participants = participants_of(experiment, case, entry["variants"], inputs)
        for mode, rounds in entry["rounds"].items():
            send({"event": "about", "case": case.id, "mode": mode})
            group = Group(case.id, mode, participants, inputs)
            try:
                send(measure_group(bench, group, rounds, job))
            except ParticipantFailed as failed:
                if failed.charge == COPY:
                    raise
                fault = {"status": failed.fault.status, "reason": failed.fault.reason}
                send(
                    {"event": "fault", "case": case.id, "mode": mode, "variant": failed.charge}
                    | fault
                )
                return False
    return True


def measure_ceilings(bench: Bench, job: Event) -> Event:
    """A few readings of every probe, and of the empty call in each mode."""
    known = ceilings.cpu_ceilings(job["llc"], job["level"])
    samples = {}
    for ceiling in known:
        taken = ceilings.sample_probes(
            ceiling.probes, bench.table, f"{bench.seed}/{ceiling.id}", ceilings.SAMPLES
        )
        samples[ceiling.id] = taken.readings
    floors = {
        mode: ceilings.floor(bench.timer, (torch.ones(1),), bench.flush_of(mode))
        for mode in job["modes"]
    }
    return {"event": "ceilings", "samples": samples, "floors": floors}


def calibrate(bench: Bench, job: Event) -> Event:
    """The probes that are timed at both ends of a run, and the check of the timer's unit."""
    check = bench.timer.check()
    samples = {}
    for name, probe, count in ceilings.calibration(job["llc"]):
        taken = ceilings.sample_probes((probe,), bench.table, f"{bench.seed}/{name}", count)
        samples[name] = taken.readings[probe.id]
    timer = bench.timer
    facts = {"name": timer.name, "version": timer.version, "unit": timer.unit}
    return {
        "event": "calibration",
        "samples": samples,
        "state": state(),
        "timer": facts,
        "check": asdict(check),
        "agrees": check.agrees,
    }


def work(job: Event, send: Send, ledger: Ledger) -> None:
    """Do the job: a block, or a calibration."""
    flush = ceilings.flusher(ceilings.flush_bytes(job["llc"]))
    bench = Bench(HostTimer(), ledger, flush, f"{job['seed']}/{job['process']}")
    if job["role"] == "calibration":
        send(calibrate(bench, job))
        return
    root = Path(job["root"])
    experiment = discover.load(discover.Subject(job["subject"], Path(job["folder"])), root)
    send(measure_ceilings(bench, job))
    if measure_cases(bench, experiment, job, send):
        send({"event": "end", "files": project_files(root)})


if __name__ == "__main__":
    serve(work)
