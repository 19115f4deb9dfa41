"""The number of the way of measuring."""

import json
from pathlib import Path

import pytest

from harness import protocol
from harness.modes import DEVICES

PROTOCOLS = json.loads(Path(protocol.__file__).with_name("protocols.json").read_text())


def test_every_device_has_a_way_of_measuring():
    assert set(PROTOCOLS) == set(DEVICES)


@pytest.mark.parametrize("device", DEVICES)
def test_numbers_rise_one_by_one_and_each_says_what_changed(device):
    numbers = [int(number) for number in PROTOCOLS[device]]
    assert numbers == list(range(1, len(numbers) + 1))
    assert all(reason.endswith(".") for reason in PROTOCOLS[device].values())
    assert protocol.current(device) == numbers[-1]
