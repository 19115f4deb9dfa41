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


def _level(run: Run, case: Case) -> str:
    moved = case.work.get("bytes", {}).get("value")
    caches: dict[str, Json] = run.environment["device"].get("caches", {})
    measured = {c.level for c in run.ceilings.values() if c.resource == "memory"}
    for level in _CACHES:
        if moved and level in caches and level in measured and moved <= caches[level]["value"]:
            return level
    return "dram"


def _find(
    run: Run, resource: str, regime: str, *, level: str | None = None, dtype: str | None = None
) -> Ceiling | None:
    try:
        return roofline.find(run, resource, level=level, dtype=dtype, regime=regime)
    except LookupError:
        return None
