"""Clocks, with scripted events in the place of a device's."""

import struct

import pytest

from harness.faults import VariantFailed
from harness.timer import EventTimer, HostTimer, PerCall, shortest
from tests.harness.scripted import ScriptedStream, ScriptedTimer


def events(*durations):
    """A timer over a stream whose calls take so many milliseconds, in turn."""
    stream = ScriptedStream(*durations)
    return stream, EventTimer(make=stream.event, spin=stream.spin, null=stream.call, version="1")


def test_what_is_timed_between_events_is_the_call_alone():
    stream, timer = events(3.0, 5.0)
    assert timer.sample(stream.call, ()) == ("output", 3.0)
    stream.spin(100.0)
    assert timer.sample(stream.call, ()) == ("output", 5.0)


def test_a_failure_that_the_device_tells_late_is_the_calls_own():
    stream, timer = events(1.0)
    stream.fault = RuntimeError("CUDA error: an illegal memory access was encountered")
    with pytest.raises(VariantFailed) as caught:
        timer.sample(stream.call, ())
    assert caught.value.fault.status == "runtime_error"


def test_a_series_keeps_the_readings_that_were_asked_for():
    stream, timer = events(1.0, 2.0, 3.0, 4.0, 5.0)
    cleared = []
    kept = timer.series(stream.call, (), lambda: cleared.append(True), 5, [2, 4])
    assert kept == [3.0, 5.0]
    assert len(cleared) == 5


def test_the_unit_is_confirmed_by_the_host_clock(monkeypatch):
    _, timer = events(0.001, 0.002, 0.004)
    clock = iter([0, 0, 0, 50_100_000])
    monkeypatch.setattr("harness.timer.time.perf_counter_ns", lambda: next(clock))
    check = timer.check()
    assert check.measured_ms == pytest.approx(50.0)
    assert check.expected_ms == pytest.approx(50.1)
    assert check.agrees
    assert check.step == pytest.approx(0.001)


def test_seconds_taken_for_milliseconds_do_not_agree(monkeypatch):
    _, timer = events(0.001, 0.002)
    clock = iter([0, 0, 0, 50_000])
    monkeypatch.setattr("harness.timer.time.perf_counter_ns", lambda: next(clock))
    assert not timer.check().agrees


def test_a_sample_of_many_calls_reads_as_one_of_them():
    assert PerCall(ScriptedTimer(600), 240).sample(lambda: "output", ()) == ("output", 2.5)


def test_the_host_clock_waits_for_the_device_before_and_after():
    seen = []
    timer = HostTimer(drain=lambda: seen.append("drain"))
    timer.sample(lambda: seen.append("call"), ())
    assert seen == ["drain", "call", "drain"]


def test_a_device_that_fails_while_the_host_waits_fails_the_call():
    def broken():
        raise RuntimeError("CUDA error")

    with pytest.raises(VariantFailed):
        HostTimer(drain=broken).sample(lambda: None, ())


@pytest.mark.parametrize("value", [0.05734400078654289, 1.0, 0.0, 123456.7890625, 3.1e-5])
def test_the_shortest_decimal_is_the_same_number_in_single_precision(value):
    told = shortest(value)
    assert struct.pack("f", told) == struct.pack("f", value)
    assert len(repr(told)) <= len(repr(value))


def test_a_reading_is_written_as_the_event_counted_it():
    assert shortest(struct.unpack("f", struct.pack("f", 0.057344))[0]) == 0.057344
