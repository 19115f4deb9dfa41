"""Ceilings alone: which shapes reach the most of a device, before anything is measured on it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import assemble, environment, supervise
from harness.child import Launcher, Limits, variables_on
from harness.errors import HarnessError
from harness.modes import BURST, INTERLEAVED, SUSTAINED
from harness.run import last_cache, last_level
from writeup import quantity, stats

# Of each ceiling so many probes are worth timing again.
_KEPT = 2


class ShapesError(HarnessError):
    """A file that names no probes; the message is for a person."""


@dataclass(frozen=True, slots=True)
class Reached:
    """The rate that one probe of a ceiling reached, in the unit's own base (byte/s or flop/s)."""

    ceiling: str
    probe: str
    rate: quantity.Quantity


def survey(device: str, root: Path, seed: int) -> list[Reached]:
    """Sample every probe of a device in one process, in every regime that it has."""
    machine = environment.describe(device)
    llc, level = last_cache(device, machine), last_level(device, machine)
    regimes = [INTERLEAVED, BURST, SUSTAINED] if device == "cuda" else [INTERLEAVED]
    job = {
        "process": "ceilings.01",
        "role": "ceilings",
        "seed": seed,
        "device": device,
        "llc": llc,
        "level": level,
        "regimes": regimes,
        "shapes": None,
        "turns": {BURST: 0, SUSTAINED: 0},
    }
    launcher = Launcher(folder=root, limits=Limits(), variables=variables_on(device))
    _, found = supervise.alone(launcher, job)
    known = assemble.Known(device, llc, level).ceilings()
    reached = [
        Reached(one.id, probe.id, _rate(probe.work, found["samples"][one.id][probe.id], found))
        for one in known
        for probe in one.probes
    ]
    return sorted(reached, key=lambda one: (one.ceiling, -one.rate.value))


def _rate(
    work: Mapping[str, Any], samples: Sequence[float], found: Mapping[str, Any]
) -> quantity.Quantity:
    """Work of one call by the median time of it."""
    [done] = work.values()
    seconds = quantity.to_base(stats.median(samples), found["unit"])[0]
    return quantity.Quantity(done["value"] / seconds, f"{done['unit']}/s")


def lines(reached: Sequence[Reached]) -> list[str]:
    """The survey for a person, the best probe of each ceiling first."""
    width = max(len(one.ceiling) for one in reached)
    names = max(len(one.probe) for one in reached)
    return [
        f"{one.ceiling:<{width}}  {one.probe:<{names}}  {quantity.show(one.rate)}"
        for one in reached
    ]


def write(reached: Sequence[Reached], path: Path) -> None:
    """Name the best probes of each ceiling in a file, for `read`."""
    shapes: dict[str, list[str]] = {}
    for one in reached:
        if len(shapes.setdefault(one.ceiling, [])) < _KEPT:
            shapes[one.ceiling].append(one.probe)
    path.write_text(json.dumps(shapes, indent=1) + "\n", encoding="utf-8")


def read(path: Path) -> dict[str, list[str]]:
    """The probes that a survey found worth timing, by ceiling. Raises ShapesError."""
    try:
        shapes: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ShapesError(f"{path}: cannot be read as a list of probes: {error}") from error
    sound = isinstance(shapes, dict) and all(
        isinstance(names, list) and all(isinstance(name, str) for name in names)
        for names in shapes.values()
    )
    if not sound:
        raise ShapesError(f"{path}: names no probes by ceiling; `harness ceilings --shapes` does")
    return {ceiling: list(names) for ceiling, names in shapes.items()}
