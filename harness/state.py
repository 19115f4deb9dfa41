"""The state of the machine at one moment, as far as the system lets anyone read it."""

from __future__ import annotations

import os
import re
import resource
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

_FREQUENCY = "cpufreq/scaling_cur_freq"
_CPUS = Path("/sys/devices/system/cpu")
_STAT = Path("/proc/stat")
_CPUINFO = Path("/proc/cpuinfo")


def timestamp(moment: datetime | None = None) -> str:
    """A moment (now, when none is given) in UTC, to the millisecond, as the artifact has it."""
    moment = moment or datetime.now(UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def state() -> dict[str, Any]:
    """Time, load average over a minute, and the mean clock of the processors if readable."""
    seen: dict[str, Any] = {"time": timestamp(), "load": _plain(os.getloadavg()[0])}
    if frequency := _frequency():
        seen["frequency"] = {"value": frequency, "unit": "Hz"}
    return seen


def load() -> dict[str, Any]:
    """The load average over a minute, a plain number."""
    return _plain(os.getloadavg()[0])


def _plain(value: float) -> dict[str, Any]:
    return {"value": round(value, 3), "unit": "1"}


def _frequency() -> float | None:
    """Mean current clock in Hz, from the scaling driver or else /proc/cpuinfo (x86)."""
    paths = sorted(_CPUS.glob(f"cpu[0-9]*/{_FREQUENCY}"))
    # The driver counts in kHz, cpuinfo in MHz.
    driver = [int(text) * 1e3 for path in paths if (text := _read(path).strip()).isdigit()]
    if driver:
        return _mean(driver)
    listed = re.findall(r"^cpu MHz\s*:\s*([0-9.]+)", _read(_CPUINFO), re.MULTILINE)
    return _mean([float(value) * 1e6 for value in listed]) if listed else None


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return round(sum(found) / len(found))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        # Not every system has it, and not every container shows it.
        return ""


@dataclass(frozen=True, slots=True)
class Busy:
    """Processor seconds spent so far: by the whole machine, and by us and our children."""

    wall: float
    machine: float
    ours: float

    @classmethod
    def now(cls) -> Busy | None:
        """None where the system does not tell."""
        fields = _read(_STAT).partition("\n")[0].split()
        if not fields or fields[0] != "cpu":
            return None
        # proc(5): user, nice, system, idle, iowait, irq, softirq, steal; steal is a neighbour's.
        user, nice, system, _idle, _wait, irq, soft = map(int, fields[1:8])
        tick = os.sysconf("SC_CLK_TCK")
        whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        spent = [resource.getrusage(who) for who in whose]
        return cls(
            wall=time.monotonic(),
            machine=(user + nice + system + irq + soft) / tick,
            ours=sum(usage.ru_utime + usage.ru_stime for usage in spent),
        )


def others_between(start: Busy | None, end: Busy | None) -> dict[str, Any] | None:
    """How many processors others kept busy on average, between two moments."""
    if start is None or end is None or end.wall <= start.wall:
        return None
    theirs = (end.machine - start.machine) - (end.ours - start.ours)
    return _plain(max(0.0, theirs / (end.wall - start.wall)))
