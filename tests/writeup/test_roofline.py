"""Ceilings, intensity, ridge and attainable rate, on records whose truth is known."""

import copy
import json

import pytest

from tests.worlds import COMMIT, RUN, minimal_artifact
from writeup import result, roofline
from writeup.quantity import Quantity


@pytest.fixture(scope="module")
def exact():
    """A record without noise: every rate is what the samples were drawn from."""
    return minimal_artifact(noise=0.0)[0]


def run_of(document):
    return result.parse(json.dumps(document).encode(), f"{COMMIT}.json").runs[RUN]


@pytest.fixture
def run(exact):
    return run_of(exact)


def both(run):
    return roofline.find(run, "compute", dtype="float32"), roofline.find(
        run, "memory", level="dram"
    )


def near(value):
    return pytest.approx(value, rel=1e-4)


def test_a_ceiling_is_the_rate_of_its_best_probe(run):
    compute, memory = both(run)
    assert (roofline.rate(compute).value, roofline.rate(compute).unit) == (near(150e9), "flop/s")
    assert (roofline.rate(memory).value, roofline.rate(memory).unit) == (near(12.48e9), "byte/s")


def test_of_several_ceilings_the_highest_is_found(exact):
    document = copy.deepcopy(exact)
    ceilings = document["runs"][RUN]["ceilings"]
    ceilings["memory-dram-read"] = copy.deepcopy(ceilings["memory-dram-copy"])
    for probe in ceilings["memory-dram-read"]["probes"].values():
        probe["work"]["bytes"]["value"] *= 2
    found = roofline.find(run_of(document), "memory", level="dram")
    assert found.id == "memory-dram-read"


@pytest.mark.parametrize(
    ("resource", "facets"),
    [
        ("memory", {"level": "l3"}),
        ("compute", {"dtype": "bfloat16"}),
        ("compute", {"regime": "burst"}),
        ("launch", {}),
    ],
)
def test_a_ceiling_that_was_not_measured_is_not_made_up(run, resource, facets):
    with pytest.raises(LookupError, match=f"no ceiling for {resource}"):
        roofline.find(run, resource, **facets)


def test_intensity_is_operations_by_bytes(run):
    work = run.cases["softmax.wide"].work
    assert roofline.intensity(work) == Quantity(5 / 8, "flop/byte")


@pytest.mark.parametrize("missing", ["flops", "bytes"])
def test_what_was_not_counted_has_no_intensity(run, missing):
    work = {k: v for k, v in run.cases["softmax.wide"].work.items() if k != missing}
    with pytest.raises(ValueError, match=f"{missing} of this work were not counted"):
        roofline.intensity(work)


def test_work_that_moves_nothing_has_no_intensity():
    nothing = {"flops": {"value": 1, "unit": "flop"}, "bytes": {"value": 0, "unit": "byte"}}
    with pytest.raises(ValueError, match="no bytes"):
        roofline.intensity(nothing)


def test_both_ceilings_bind_alike_at_the_ridge(run):
    compute, memory = both(run)
    ridge = roofline.ridge(compute, memory)
    assert ridge.unit == "flop/byte"
    assert ridge.value == near(150 / 12.48)
    for share, bound in ((0.5, 75e9), (1.0, 150e9), (2.0, 150e9)):
        assert roofline.attainable(share * ridge.value, compute, memory).value == near(bound)


def test_the_shortest_time_is_that_of_the_attainable_rate(run):
    compute, memory = both(run)
    for key in ("softmax.wide", "softmax.small"):
        work = run.cases[key].work
        bound = roofline.attainable(roofline.intensity(work).value, compute, memory)
        shortest = roofline.shortest(work, compute, memory)
        assert shortest.value == pytest.approx(work["flops"]["value"] / bound.value)
        assert shortest.unit == "s"


def test_bands_combine_end_by_end():
    run = run_of(minimal_artifact(noise=0.01)[0])
    compute, memory = both(run)
    over, under = roofline.rate(compute), roofline.rate(memory)
    ridge = roofline.ridge(compute, memory)
    assert (ridge.low, ridge.high) == (over.low / under.high, over.high / under.low)
    for intensity in (0.1, ridge.value, 100.0):
        found = roofline.attainable(intensity, compute, memory)
        assert found.low <= found.value <= found.high
        assert found.low == min(over.low, intensity * under.low)
    found = roofline.shortest(run.cases["softmax.wide"].work, compute, memory)
    assert found.low < found.value < found.high


def test_without_bands_there_is_none_to_combine():
    run = run_of(minimal_artifact(blocks=5)[0])
    compute, memory = both(run)
    work, timing = run.cases["softmax.wide"].work, run.cases["softmax.wide"].variants["eager"]
    for found in (
        roofline.ridge(compute, memory),
        roofline.attainable(1.0, compute, memory),
        roofline.shortest(work, compute, memory),
        roofline.fraction(roofline.bandwidth(work, timing.timings["host"]), roofline.rate(memory)),
        roofline.of_matched(run.cases["softmax.wide"], timing, "host"),
    ):
        assert (found.low, found.high) == (None, None)


def test_ceilings_of_two_runs_do_not_meet(exact):
    document = copy.deepcopy(exact)
    other = "20261201T0900Z-epyc"
    document["runs"][other] = document["runs"][RUN]
    runs = result.parse(json.dumps(document).encode(), f"{COMMIT}.json").runs
    (compute, _), (_, memory) = both(runs[RUN]), both(runs[other])
    for call in (roofline.ridge, lambda c, m: roofline.attainable(1.0, c, m)):
        with pytest.raises(ValueError, match="different runs"):
            call(compute, memory)


def test_ceilings_of_two_regimes_do_not_meet(exact):
    document = copy.deepcopy(exact)
    document["runs"][RUN]["ceilings"]["compute-float32"]["regime"] = "burst"
    run = run_of(document)
    with pytest.raises(ValueError, match="burst, interleaved"):
        roofline.ridge(roofline.find(run, "compute", regime="burst"), both_memory(run))


def both_memory(run):
    return roofline.find(run, "memory", level="dram")


def test_a_roofline_needs_one_ceiling_of_each_kind(run):
    compute, memory = both(run)
    for pair in ((memory, compute), (compute, compute), (memory, memory)):
        with pytest.raises(ValueError, match="a compute ceiling and a memory ceiling"):
            roofline.ridge(*pair)


def test_achieved_rates_come_from_counted_work_and_measured_time(run):
    case = run.cases["softmax.wide"]
    timing = case.variants["eager"].timings["host"]
    assert roofline.bandwidth(case.work, timing).value == near(0.4 * 12e9)
    assert roofline.throughput(case.work, timing).value == near(0.4 * 12e9 * 5 / 8)
    assert roofline.throughput(case.work, timing).unit == "flop/s"


def test_a_fraction_is_of_something_in_its_unit(run):
    achieved = Quantity(6.0, "byte/s", 5.0, 7.0)
    found = roofline.fraction(achieved, Quantity(12.0, "byte/s", 10.0, 14.0))
    assert (found.value, found.low, found.high, found.unit) == (0.5, 5 / 14, 0.7, "1")
    with pytest.raises(ValueError, match="no fraction"):
        roofline.fraction(achieved, Quantity(1.0, "flop/s"))


def test_the_matched_ceiling_is_the_copy_in_the_same_mode(run):
    case = run.cases["softmax.wide"]
    assert roofline.matched(case, "host").value == near(12e9)
    assert roofline.matched(case, "host_hot").value == near(40e9)
    with pytest.raises(ValueError, match="no matched copy in graph"):
        roofline.matched(case, "graph")


def test_a_share_of_the_matched_copy_is_paired():
    """Luck that a block deals to both sides does not widen the band."""
    document, _ = minimal_artifact(noise=0.002, seed=11)
    variants = document["runs"][RUN]["cases"]["softmax.wide"]["variants"]
    for name in ("eager", "copy"):
        samples = variants[name]["timings"]["host"]["samples"]
        for number, process in enumerate(samples):
            samples[process] = [value * (1 + 0.05 * number) for value in samples[process]]
    case = run_of(document).cases["softmax.wide"]
    paired = roofline.of_matched(case, case.variants["eager"], "host")
    achieved = roofline.bandwidth(case.work, case.variants["eager"].timings["host"])
    unpaired = roofline.fraction(achieved, roofline.matched(case, "host"))
    assert paired.low < 0.4 * 1.01
    assert paired.high > 0.4 * 0.99
    assert paired.high - paired.low < (unpaired.high - unpaired.low) / 10


def test_a_copy_of_other_bytes_is_scaled_to_the_cases(exact):
    document = copy.deepcopy(exact)
    copied = document["runs"][RUN]["cases"]["softmax.wide"]["variants"]["copy"]["work"]
    copied["bytes"]["value"] //= 2
    case = run_of(document).cases["softmax.wide"]
    assert roofline.of_matched(case, case.variants["eager"], "host").value == near(0.8)
    assert roofline.matched(case, "host").value == near(6e9)
    copied["bytes"]["value"] = 0
    case = run_of(document).cases["softmax.wide"]
    with pytest.raises(ValueError, match="no bytes"):
        roofline.of_matched(case, case.variants["eager"], "host")


def test_a_copy_without_counted_work_copies_the_cases_bytes(exact):
    document = copy.deepcopy(exact)
    del document["runs"][RUN]["cases"]["softmax.wide"]["variants"]["copy"]["work"]
    case = run_of(document).cases["softmax.wide"]
    assert roofline.matched(case, "host").value == near(12e9)


def test_an_untimed_variant_has_no_share(run):
    case = run.cases["softmax.wide"]
    with pytest.raises(ValueError, match="fused was not timed in host"):
        roofline.of_matched(case, case.variants["fused"], "host")


def test_a_point_above_its_ceiling_shows_only_beyond_its_band():
    assert roofline.exceeds(Quantity(1.05, "1", 1.01, 1.09))
    assert not roofline.exceeds(Quantity(1.05, "1", 0.99, 1.11))
    assert not roofline.exceeds(Quantity(1.05, "1"))


def test_counters_tell_how_often_bytes_were_read_again(exact):
    document = copy.deepcopy(exact)
    case = document["runs"][RUN]["cases"]["softmax.wide"]
    half = case["work"]["bytes"]["value"]
    counter = {"unit": "byte", "tool": "ncu 2025.3", "counter": "dram__bytes_read.sum"}
    case["variants"]["eager"]["counters"] = {
        "dram-read": {"value": 3 * half, **counter},
        "dram-write": {"value": half, **counter},
    }
    seen = run_of(document).cases["softmax.wide"]
    assert roofline.reread(seen, seen.variants["eager"]).value == 4
    measured = roofline.measured_intensity(seen.work, seen.variants["eager"])
    assert measured.value == roofline.intensity(seen.work).value / 4
    with pytest.raises(ValueError, match="no counter dram-read or dram-write"):
        roofline.reread(seen, seen.variants["chunked"])
