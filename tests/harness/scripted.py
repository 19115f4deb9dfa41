"""A timer that needs no time: readings are scripted, and so is the clock."""

from __future__ import annotations

import itertools

from harness.faults import VariantFailed, classify
from harness.timer import UnitCheck


class ScriptedTimer:
    """Each sample reads the next scripted value (repeating), and moves the clock by it."""

    name = "scripted"
    version = "1"
    unit = "ns"

    def __init__(self, *readings):
        self._readings = itertools.cycle(readings or (1_000_000,))
        self._now = 0.0
        self.calls = 0

    def sample(self, function, inputs):
        try:
            output = function(*inputs)
        except (Exception, SystemExit) as error:
            raise VariantFailed(classify(error)) from error
        reading = next(self._readings)
        self._now += reading / 1e9
        self.calls += 1
        return output, reading

    def now(self):
        return self._now

    def check(self):
        return UnitCheck(reference="the script", expected_ms=50.0, measured_ms=50.0, step=1)
