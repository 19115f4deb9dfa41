"""Names of what a sample is."""

import pytest

from harness import modes


@pytest.mark.parametrize("key", modes.KEYS)
def test_a_key_names_its_mode_and_back(key):
    assert modes.parse(key).key == key


def test_an_interleaved_mode_is_named_without_its_regime():
    assert modes.Mode("do_bench").key == "do_bench"
    assert modes.Mode("do_bench", modes.BURST).key == "do_bench-burst"


def test_only_hot_modes_find_their_data_in_a_cache():
    assert [key for key in modes.KEYS if modes.parse(key).cache == "hot"] == [
        "host_hot",
        "graph_hot",
    ]


def test_a_processor_is_timed_by_the_host_clock_alone():
    assert modes.offered("cpu") == ("host", "host_hot")


def test_a_gpu_is_timed_back_to_back_too():
    assert {"do_bench", "graph", "host", "do_bench-burst", "do_bench-sustained"} <= set(
        modes.offered("cuda")
    )
