"""What the driver tells of a GPU at one moment: clocks, power, temperature, what holds it back."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from harness.state import state

# Bits of nvmlClocksEventReasons (nvml.h), by names of our own that a record can hold.
_REASONS = {
    0x1: "idle",
    0x2: "application-clocks",
    0x4: "power-cap",
    0x8: "hardware-slowdown",
    0x10: "sync-boost",
    0x20: "software-thermal-slowdown",
    0x40: "hardware-thermal-slowdown",
    0x80: "hardware-power-brake",
    0x100: "display-clocks",
}
# A device that is too hot, or whose supply fails, is not the device that was to be measured.
_SPOILING = frozenset(_REASONS[bit] for bit in (0x8, 0x20, 0x40, 0x80))


@dataclass(frozen=True, slots=True)
class Gauge:
    """The driver's instruments for one GPU: its library (pynvml) and its handle there."""

    nvml: Any
    handle: Any

    @classmethod
    def open(cls, uuid: str) -> Gauge | None:
        """The instruments of the GPU with this id; None where library or driver is missing.

        They stay open for as long as the process lives.
        """
        if importlib.util.find_spec("pynvml") is None:
            return None
        nvml = importlib.import_module("pynvml")
        try:
            nvml.nvmlInit()
            handle = nvml.nvmlDeviceGetHandleByUUID(f"GPU-{uuid.removeprefix('GPU-')}")
        except nvml.NVMLError:
            return None
        return cls(nvml, handle)

    def read(self) -> dict[str, Any]:
        """The state as the record has it, without what this GPU does not tell."""
        nvml = self.nvml
        answers: dict[str, Any] = {
            "frequency": ("Hz", 1e6, self._ask("nvmlDeviceGetClockInfo", nvml.NVML_CLOCK_SM)),
            "memory_frequency": (
                "Hz",
                1e6,
                self._ask("nvmlDeviceGetClockInfo", nvml.NVML_CLOCK_MEM),
            ),
            "power": ("W", 1e-3, self._ask("nvmlDeviceGetPowerUsage")),
            "temperature": (
                "degC",
                1,
                self._ask("nvmlDeviceGetTemperature", nvml.NVML_TEMPERATURE_GPU),
            ),
        }
        seen: dict[str, Any] = {
            name: {"value": round(raw * factor, 3), "unit": unit}
            for name, (unit, factor, raw) in answers.items()
            if raw is not None
        }
        reasons = self._ask(_question(nvml))
        if reasons is not None:
            seen["throttle"] = [name for bit, name in _REASONS.items() if reasons & bit]
        return seen

    def clock(self) -> int | None:
        """The current clock of the multiprocessors in MHz."""
        clock: int | None = self._ask("nvmlDeviceGetClockInfo", self.nvml.NVML_CLOCK_SM)
        return clock

    def _ask(self, question: str, *given: Any) -> Any:
        try:
            return getattr(self.nvml, question)(self.handle, *given)
        except self.nvml.NVMLError:
            # Not every GPU, driver or container answers every question.
            return None


def _question(nvml: Any) -> str:
    """The question for what holds the clock back; its name changed with the library's 12.535."""
    new, old = (f"nvmlDeviceGetCurrentClocks{what}Reasons" for what in ("Event", "Throttle"))
    return new if hasattr(nvml, new) else old


def observed(gauge: Gauge | None) -> dict[str, Any]:
    """The state of machine and GPU: the GPU's clock stands in the place of the processors'."""
    return state() | (gauge.read() if gauge else {})


def spoiled(states: Iterable[Mapping[str, Any]]) -> str | None:
    """Why what was measured between these states does not count; None when it does."""
    seen = {reason for one in states for reason in one.get("throttle", ())}
    reasons = sorted(seen & _SPOILING)
    return f"the clock was held back: {', '.join(reasons)}" if reasons else None
