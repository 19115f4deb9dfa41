"""Which of a run's measured ceilings bind a case in a mode."""

from __future__ import annotations

from dataclasses import dataclass

from writeup import roofline
from writeup.result import Case, Ceiling, Run
from writeup.strict import Json

_HOT = ("graph_hot", "host_hot")
_REGIMES = ("burst", "sustained")
# From the nearest to the farthest: data that fits binds to the nearest that holds it.
_CACHES = ("l2", "l3")


@dataclass(frozen=True, slots=True)
class Roofs:
    """The memory roof and the compute roof above a case; None where the run has none."""

    memory: Ceiling | None
    compute: Ceiling | None


def over(run: Run, case: Case, mode: str) -> Roofs:
    """The measured ceilings of the same regime, at the memory level where the data lies.

    A cold mode finds its data in memory; a hot one in the smallest cache that holds all
    bytes of the case and whose ceiling was measured.
    """
    kind, _, regime = mode.partition("-")
    wanted = regime if regime in _REGIMES else "interleaved"
    level = _level(run, case) if kind in _HOT else "dram"
    memory = _find(run, "memory", wanted, level=level)
    return Roofs(memory, _find(run, "compute", wanted, dtype=case.dtype))


def holding(run: Run, case: Case, mode: str) -> str | None:
    """The smallest cache of the device that holds the case in a hot mode; None where none does.

    Whether its ceiling was measured is another matter.
    """
    return next(iter(_held_by(run, case)), None) if mode.partition("-")[0] in _HOT else None


def _held_by(run: Run, case: Case) -> list[str]:
    """The caches that hold all bytes of a case, the nearest first."""
    moved = case.work.get("bytes", {}).get("value")
    caches: dict[str, Json] = run.environment["device"].get("caches", {})
    return [c for c in _CACHES if moved and c in caches and moved <= caches[c]["value"]]


def _level(run: Run, case: Case) -> str:
    measured = {c.level for c in run.ceilings.values() if c.resource == "memory"}
    return next((level for level in _held_by(run, case) if level in measured), "dram")


def _find(
    run: Run, resource: str, regime: str, *, level: str | None = None, dtype: str | None = None
) -> Ceiling | None:
    try:
        return roofline.find(run, resource, level=level, dtype=dtype, regime=regime)
    except LookupError:
        return None
