"""A GPU's instruments, with a scripted driver."""

import pytest

from harness.nvml import Gauge, observed, spoiled


class Driver:
    """What pynvml answers for one GPU; a question left out is not supported."""

    NVML_CLOCK_SM = 1
    NVML_CLOCK_MEM = 2
    NVML_TEMPERATURE_GPU = 0
    NVMLError = KeyError

    def __init__(self, reasons=0, asked="nvmlDeviceGetCurrentClocksEventReasons"):
        self.nvmlDeviceGetClockInfo = lambda _, which: {1: 1980, 2: 3201}[which]
        self.nvmlDeviceGetPowerUsage = lambda _: 512_345
        self.nvmlDeviceGetTemperature = lambda _, which: {}[which]
        setattr(self, asked, lambda _: reasons)


def test_the_state_is_told_in_base_units_and_without_what_is_unknown():
    seen = Gauge(Driver(0x4), "handle").read()
    assert seen == {
        "frequency": {"value": 1.98e9, "unit": "Hz"},
        "memory_frequency": {"value": 3.201e9, "unit": "Hz"},
        "power": {"value": 512.345, "unit": "W"},
        "throttle": ["power-cap"],
    }


def test_an_older_library_is_asked_by_the_older_name():
    driver = Driver(0x1, asked="nvmlDeviceGetCurrentClocksThrottleReasons")
    assert Gauge(driver, "handle").read()["throttle"] == ["idle"]


@pytest.mark.parametrize(
    ("reasons", "words"),
    [
        (0x0, None),
        (0x1, None),
        (0x4, None),
        (0x8, "hardware-slowdown"),
        (0x20, "software-thermal-slowdown"),
        (0x44, "hardware-thermal-slowdown"),
        (0x80, "hardware-power-brake"),
    ],
)
def test_a_power_cap_is_told_and_only_heat_or_a_failing_supply_spoils_a_block(reasons, words):
    states = [{"throttle": []}, observed(Gauge(Driver(reasons), "handle"))]
    told = spoiled(states)
    assert (told is None) == (words is None)
    assert words is None or words in told


def test_without_instruments_nothing_is_made_up():
    assert set(observed(None)) <= {"time", "load", "frequency"}
    assert spoiled([observed(None)]) is None
