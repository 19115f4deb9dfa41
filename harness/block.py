"""What runs in a block: one fresh process that covers all cases of a subject.

`python -m harness.block` reads its job on standard input (see `harness.child`). A block
samples the floor and the ceilings, then, case by case and mode by mode, lets the surviving
variants, the baseline, two twins of it and a copy of the case's own bytes take turns. The
calibration at both ends of a run, and a look for ceilings alone, are the same program with
another job.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from harness import ceilings, discover
from harness.child import Event, serve
from harness.device import Cpu, Device, Seating, Seats
from harness.experiment import Experiment
from harness.gate import draw
from harness.ledger import Ledger
from harness.loaded import project_files
from harness.modes import INTERLEAVED, SUSTAINED, parse
from harness.regimes import VISITS, Visits
from harness.sample import (
    Participant,
    ParticipantFailed,
    Rounds,
    Table,
    TimeTarget,
    WarmUp,
    draw_orders,
)
from harness.timer import SerialTimer, shortest
from harness.validate import COPY, TWINS

Send = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class Bench:
    """What every measurement of this process shares; seed is the order's, as a prefix."""

    device: Device
    ledger: Ledger
    seed: str

    def table(self, seating: Seating, watch: Callable[[], None] | None = None) -> Table:
        """Those who sit here, taking turns."""
        return Table(
            participants=seating.participants,
            inputs=seating.inputs,
            timer=seating.timer,
            ledger=self.ledger,
            flush=seating.flush,
            address=address,
            watch=watch,
        )

    def probes(self, participants: Sequence[Participant]) -> Table:
        """Probes of ceilings, taking turns."""
        device = self.device
        return self.table(
            Seating(
                participants=participants,
                inputs=(),
                timer=device.timer,
                flush=device.probe_flush,
            )
        )

    def visits(self, seating: Seating, watch: Callable[[], None]) -> Visits:
        """Those who sit here, visited one after another."""
        return Visits(
            participants=seating.participants,
            inputs=seating.inputs,
            timer=self.serial,
            ledger=self.ledger,
            clear=self.device.clear,
            forget=self.device.forget,
            watch=watch,
        )

    @property
    def serial(self) -> SerialTimer:
        serial = self.device.serial
        if serial is None:
            raise LookupError("this device has no clock for calls back to back")
        return serial


@dataclass(slots=True)
class Watch:
    """The states of a device while a group is measured."""

    device: Device
    states: list[Event] = field(default_factory=list)

    def __call__(self) -> None:
        self.states.append(self.device.state())


def address(output: Any) -> int:
    """Where an output lies; zero for what is no tensor."""
    return output.data_ptr() if isinstance(output, torch.Tensor) else 0


def participants_of(experiment: Experiment, entries: Sequence[Event]) -> list[Participant]:
    """The variants of the job in story order, then two twins of the baseline.

    entries give each variant's id and ledger number. A failing twin is charged to the
    baseline.
    """
    present = []
    for entry in entries:
        name = entry["id"]
        variant = experiment.variant(name)
        present.append(
            Participant(name, variant.function, name, entry["number"], variant.writes_out)
        )
    base = next(one for one in present if one.id == experiment.baseline.id)
    twins = [
        Participant(twin, base.function, base.id, base.number, base.writes_out) for twin in TWINS
    ]
    return [base, *(one for one in present if one is not base), *twins]


@dataclass(frozen=True, slots=True)
class Group:
    """One case in one mode, with who takes part; rounds is None where the warm-up decides."""

    case: str
    mode: str
    names: Sequence[str]
    rounds: int | None


def measure_group(bench: Bench, seats: Seats, group: Group, job: Event) -> Event:
    """Warm up, then take the rounds of one case in one mode.

    The warm-up of a run's first block decides how many there are. Raises ParticipantFailed.
    """
    mode = parse(group.mode)
    seating = seats.seat(mode, group.names)
    watch = Watch(bench.device)
    take = _turns if mode.regime == INTERLEAVED else _visits
    taken, before, settings = take(bench, seating, watch, group, job)
    after = bench.device.state()
    states = [before, *watch.states, after]
    facts = {
        "before": before,
        "after": after,
        "between": watch.states,
        "invalid": bench.device.spoiled(states),
        "settings": {**seating.settings, **settings},
    }
    return {
        "event": "group",
        "case": group.case,
        "mode": group.mode,
        "participants": [participant.id for participant in seating.participants],
        "unit": seating.timer.unit,
        "launches": seating.launches,
        "outputs": {one.id: "allocated" for one in seating.participants}
        | dict.fromkeys(seating.places, "pool"),
        **{name: fact for name, fact in facts.items() if fact},
        **_plain(taken, seating),
    }


def _turns(
    bench: Bench, seating: Seating, watch: Watch, group: Group, job: Event
) -> tuple[Rounds, Event, Event]:
    """Turn by turn, in the order that the seed draws for each round."""
    seed = f"{bench.seed}/{group.case}/{group.mode}"
    # On a processor nothing is seen between rounds that is not seen at their ends.
    table = bench.table(seating, watch if bench.device.serial else None)
    rule = WarmUp(window=job["window"], limit=job["warm_up"])
    pace = table.warm_up(rule, seed)
    count = group.rounds or TimeTarget(job["target"]).rounds(pace)
    before = bench.device.state()
    return table.rounds(draw_orders(seed, len(seating.participants), count)), before, {}


def _visits(
    bench: Bench, seating: Seating, watch: Watch, group: Group, job: Event
) -> tuple[Rounds, Event, Event]:
    """One after another, in an order that turns from block to block."""
    regime = parse(group.mode).regime
    visit = VISITS[regime]
    visits = bench.visits(seating, watch)
    slowest = visits.pace()
    count = group.rounds or visit.samples(slowest)
    before = bench.device.state()
    return visits.take(visit, count, job["turns"][regime]), before, visit.settings


def _plain(taken: Rounds, seating: Seating) -> Event:
    addresses = {name: len(places) for name, places in taken.addresses.items()}
    return {
        "order": taken.order,
        "samples": taken.readings,
        # Where there is a pool, its place says more than how many places there were.
        "addresses": {
            one.id: seating.places.get(one.id, addresses.get(one.id))
            for one in seating.participants
            if one.id in seating.places or (seating.inputs and one.id in addresses)
        },
    }


def measure_cases(bench: Bench, experiment: Experiment, job: Event, send: Send) -> bool:
    """Every case and mode of the job; False when a variant failed and the block is lost."""
    for entry in job["cases"]:
        about: Event = {}
        try:
            for about in _case_groups(bench, experiment, entry, job, send):
                send({"event": "about", **about})
        except ParticipantFailed as failed:
            if failed.charge == COPY:
                raise
            fault = {"status": failed.fault.status, "reason": failed.fault.reason}
            send({"event": "fault", **about, "variant": failed.charge, **fault})
            return False
    return True


def _case_groups(
    bench: Bench, experiment: Experiment, entry: Event, job: Event, send: Send
) -> Iterator[Event]:
    """Measure one case in each of its modes; each is told before it begins."""
    case = experiment.case(entry["case"])
    inputs = draw(case, case.seed, bench.device.place)
    participants = participants_of(experiment, entry["variants"])
    yield {"case": case.id, "mode": entry["groups"][0]["mode"]}
    seats = bench.device.seats(
        participants, inputs, case, f"{bench.seed}/{case.id}/pool", bench.ledger
    )
    for one in entry["groups"]:
        yield {"case": case.id, "mode": one["mode"]}
        group = Group(case.id, one["mode"], one["participants"], one["rounds"])
        send(measure_group(bench, seats, group, job))
        if one["mode"] in job["solo"]:
            send(measure_solo(bench, seats, group))


def measure_solo(bench: Bench, seats: Seats, group: Group) -> Event:
    """Everyone once more, alone, by the timer that the mode is named after."""
    seating = seats.seat(parse(group.mode), group.names)
    found = {
        one.id: solo
        for one in seating.participants
        if (solo := bench.device.solo(one, seating, bench.ledger)) is not None
    }
    return {
        "event": "solo",
        "case": group.case,
        "mode": group.mode,
        "solo": {
            name: {
                "name": solo.name,
                "version": solo.version,
                "unit": solo.unit,
                "samples": [shortest(reading) for reading in solo.readings],
            }
            for name, solo in found.items()
        },
    }


def measure_ceilings(bench: Bench, job: Event, regimes: Sequence[str]) -> Event:
    """A few readings of every probe in each regime."""
    samples = {}
    for regime in regimes:
        known = ceilings.limited(bench.device.ceilings(regime), job["shapes"])
        for one in known:
            seed = f"{bench.seed}/{one.id}"
            if regime == INTERLEAVED:
                count = ceilings.SAMPLES
                taken = ceilings.sample_probes(one.probes, bench.probes, seed, count)
            else:
                taken = _visit_probes(bench, one, job)
            samples[one.id] = taken.readings
    return {"event": "ceilings", "samples": samples, "unit": bench.device.timer.unit}


def _visit_probes(bench: Bench, ceiling: ceilings.Ceiling, job: Event) -> Rounds:
    """The probes of one ceiling, each for a visit."""
    regime = ceiling.facts["regime"]
    visit = VISITS[regime]
    seating = Seating(
        participants=ceilings.seated(ceiling.probes),
        inputs=(),
        timer=bench.serial,
        flush=bench.device.clear,
    )
    visits = bench.visits(seating, lambda: None)
    count = min(visit.samples(visits.pace()), ceilings.SERIAL_SAMPLES)
    return visits.take(visit, count, job["turns"][regime])


def measure_floors(bench: Bench, modes: Sequence[str]) -> Event:
    """Readings of the empty call in each mode that takes turns."""
    floors = {}
    for key in modes:
        mode = parse(key)
        if mode.regime != INTERLEAVED:
            continue
        seating = bench.device.null(mode)
        table = bench.table(seating)
        [empty] = seating.participants
        table.turn(empty)
        floors[key] = {
            "unit": seating.timer.unit,
            "launches": seating.launches,
            "samples": [table.turn(empty) for _ in range(ceilings.FLOOR_SAMPLES)],
        }
    return {"event": "floors", "floors": floors}


def calibrate(bench: Bench) -> Event:
    """The probes that are timed at both ends of a run, and the check of the timer's unit."""
    timer = bench.device.timer
    check = timer.check()
    samples = {}
    for name, probe, count in bench.device.calibration():
        taken = ceilings.sample_probes((probe,), bench.probes, f"{bench.seed}/{name}", count)
        samples[name] = taken.readings[probe.id]
    return {
        "event": "calibration",
        "samples": samples,
        "state": bench.device.state(),
        "timer": {"name": timer.name, "version": timer.version, "unit": timer.unit},
        "check": asdict(check),
        "agrees": check.agrees,
    }


def open_device(job: Mapping[str, Any]) -> Device:
    """The device that the job names."""
    if job["device"] == "cpu":
        return Cpu.open(job["llc"], job["level"])
    # Here, because importing it asks for a GPU's libraries.
    from harness.cuda import Cuda

    return Cuda.open(job["llc"])


def work(job: Event, send: Send, ledger: Ledger) -> None:
    """Do the job: a block, a calibration, or the ceilings alone."""
    bench = Bench(open_device(job), ledger, f"{job['seed']}/{job['process']}")
    bench.device.wake()
    # What is loaded by now stays; looking through it before every group would take long.
    gc.collect()
    gc.freeze()
    if job["role"] == "calibration":
        send(calibrate(bench))
        return
    if job["role"] == "ceilings":
        send(measure_ceilings(bench, job, job["regimes"]))
        return
    root = Path(job["root"])
    experiment = discover.load(discover.Subject(job["subject"], Path(job["folder"])), root)
    send(measure_floors(bench, job["modes"]))
    # What heats the device most comes last.
    send(measure_ceilings(bench, job, [r for r in job["regimes"] if r != SUSTAINED]))
    if not measure_cases(bench, experiment, job, send):
        return
    send(measure_ceilings(bench, job, [r for r in job["regimes"] if r == SUSTAINED]))
    send({"event": "end", "files": project_files(root)})


if __name__ == "__main__":
    serve(work)
