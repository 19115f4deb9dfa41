"""Timing modes: what one sample is, in which regime it is taken, and on which device.

A mode key names a mode and, unless turns are interleaved, a regime: `do_bench-burst`. A mode
is part of a measurement's identity.
"""

from __future__ import annotations

from dataclasses import dataclass

INTERLEAVED = "interleaved"
BURST = "burst"
SUSTAINED = "sustained"

# What each device can be timed with, in the order in which a block takes them.
_MODES = {
    "cpu": ("host", "host_hot"),
    "cuda": ("do_bench", "graph", "graph_hot", "host", "host_hot"),
}
# Modes whose calls can also be taken back to back.
_SERIAL = ("do_bench",)
_REGIMES = (BURST, SUSTAINED)
DEVICES = tuple(_MODES)


@dataclass(frozen=True, slots=True)
class Mode:
    """One mode in one regime."""

    id: str
    regime: str = INTERLEAVED

    @property
    def key(self) -> str:
        """The name of both together."""
        return self.id if self.regime == INTERLEAVED else f"{self.id}-{self.regime}"

    @property
    def cache(self) -> str:
        """Whether caches hold nothing of the case before a call."""
        return "hot" if self.id.endswith("_hot") else "cold"


def parse(key: str) -> Mode:
    """The mode that a key names. KeyError when there is none."""
    return _KNOWN[key]


def offered(device: str) -> tuple[str, ...]:
    """The keys of every mode that a device can be timed in."""
    modes = _MODES[device]
    serial = [Mode(mode, regime) for mode in modes if mode in _SERIAL for regime in _REGIMES]
    return (*modes, *(mode.key for mode in serial))


_KNOWN = {
    mode.key: mode
    for modes in _MODES.values()
    for name in modes
    for mode in (Mode(name), *(Mode(name, regime) for regime in _REGIMES if name in _SERIAL))
}
KEYS = tuple(_KNOWN)
