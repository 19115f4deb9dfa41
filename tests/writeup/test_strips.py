import re

import pytest

from tests.writeup.view_samples import measured
from writeup.axis import linear_ticks, log_ticks
from writeup.strips import WIDTH, plot
from writeup.views import Code, Role, Strip


def strip(name, *blocks, estimate=1e-3):
    return Strip(Code(name), Role.STEP, blocks, measured("1 ms", estimate))


def test_every_sample_is_drawn_once_in_the_lane_of_its_block():
    found = plot((strip("a", (1e-3, 2e-3), (3e-3,)),))
    marks = re.findall(r"M([\d.]+) ([\d.]+)v", found.rows[0].path)
    assert len(marks) == 3
    lanes = [y for _, y in marks]
    assert lanes[0] == lanes[1] != lanes[2]


def test_all_strips_share_one_axis_inside_the_plot():
    found = plot((strip("a", (1e-3,)), strip("b", (8e-3,), estimate=8e-3)))
    first, last = (float(row.estimate) for row in found.rows)
    assert float(found.left) == first < last <= WIDTH


def test_ticks_are_evidence_of_their_value_in_seconds():
    found = plot((strip("a", (1e-3, 9e-3)),))
    assert found.ticks
    assert all(t.label.form == "tick" and t.label.args[1] == "s" for t in found.ticks)


def test_equal_samples_are_drawn_in_the_middle():
    found = plot((strip("a", (1e-3, 1e-3)),))
    assert float(found.left) < float(found.rows[0].estimate) < WIDTH


def test_nothing_sampled_is_nothing_drawn():
    assert plot(()) is None
    assert plot((strip("a"),)) is None


@pytest.mark.parametrize("high", [1.01, 3, 30, 1e3, 1e6, 1e9])
def test_a_log_axis_has_few_ticks_and_all_inside(high):
    ticks = log_ticks(1.0, high)
    assert len(ticks) <= 9
    assert all(1.0 <= tick <= high for tick in ticks)


@pytest.mark.parametrize("high", [3.2e-5, 0.31, 1, 7, 99.9, 12345])
def test_a_linear_axis_starts_at_its_low_end_and_has_at_most_seven_steps(high):
    ticks = linear_ticks(0, high)
    assert ticks[0] == 0
    assert 3 <= len(ticks) <= 8
    assert ticks[-1] <= high
    assert all(len(repr(tick)) < 9 for tick in ticks)
