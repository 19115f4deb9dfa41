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


class ScriptedStream:
    """A device's stream of work: each call takes the next scripted number of milliseconds.

    A fault, once set, is raised to whoever waits.
    """

    def __init__(self, *durations):
        self._durations = itertools.cycle(durations)
        self.now = 0.0
        self.fault = None

    def call(self, *_):
        self.now += next(self._durations)
        return "output"

    def spin(self, milliseconds):
        self.now += milliseconds

    def event(self):
        return ScriptedEvent(self)


class ScriptedEvent:
    """A mark in a scripted stream."""

    def __init__(self, stream):
        self._stream = stream
        self.at = None

    def record(self):
        self.at = self._stream.now

    def synchronize(self):
        if self._stream.fault:
            raise self._stream.fault

    def elapsed_time(self, end):
        return end.at - self.at
