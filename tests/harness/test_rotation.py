"""How many buffers a graph rotates over, and how many calls it holds."""

import pytest

pytest.importorskip("triton")
from harness.cuda import rotation

L2 = 60 * 2**20


@pytest.mark.parametrize("moved", [2**18, 2**19, 10**6, 2**25, 2**27, 2**30])
def test_cold_sets_are_together_twice_the_cache_and_at_least_two(moved):
    sets, calls = rotation(moved, L2, hot=False)
    assert sets * moved >= 2 * L2
    assert sets >= 2
    assert calls % sets == 0


def test_a_hot_graph_has_one_set():
    assert rotation(2**20, L2, hot=True)[0] == 1


def test_small_calls_are_many_and_large_ones_few():
    assert rotation(2**19, L2, hot=False) == (240, 240)
    assert rotation(2**27, L2, hot=False) == (2, 4)
    assert rotation(2**30, L2, hot=False) == (2, 2)


def test_tiny_calls_do_not_make_endless_graphs():
    sets, calls = rotation(64, L2, hot=False)
    assert calls == sets == 1024
