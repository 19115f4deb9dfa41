"""Ceilings alone, and the shapes that are worth timing again."""

from itertools import pairwise

import pytest

from harness import survey
from harness.ceilings import cuda_ceilings, limited
from harness.modes import BURST, INTERLEAVED, SUSTAINED
from harness.survey import Reached
from tests.harness.project import write_project
from writeup.quantity import Quantity


def test_a_processors_ceilings_are_found_and_told_best_first(tmp_path, monkeypatch):
    monkeypatch.setattr("harness.environment.llc_bytes", lambda: 1 << 20)
    found = survey.survey("cpu", write_project(tmp_path / "project", git=False), seed=0)
    assert {one.ceiling.split("-")[0] for one in found} == {"memory", "compute"}
    for one, following in pairwise(found):
        assert one.ceiling != following.ceiling or one.rate.value >= following.rate.value
    told = survey.lines(found)
    assert any("FLOP/s" in line for line in told)
    assert any("B/s" in line for line in told)


def test_the_best_two_shapes_of_each_ceiling_are_kept_for_a_run(tmp_path):
    rates = {"copy-1": 3.0, "copy-2": 2.0, "copy-4": 1.0}
    found = [Reached("memory-dram-copy", p, Quantity(r, "byte/s")) for p, r in rates.items()]
    survey.write(found, tmp_path / "shapes")
    assert survey.read(tmp_path / "shapes") == {"memory-dram-copy": ["copy-1", "copy-2"]}


def test_a_run_times_only_the_shapes_it_was_given_and_no_ceiling_is_lost():
    known = cuda_ceilings(INTERLEAVED)
    kept = limited(known, {"compute-bfloat16": ["gemm-8192"], "compute-tf32": ["no-such"]})
    probes = {one.id: [probe.id for probe in one.probes] for one in kept}
    assert probes["compute-bfloat16"] == ["gemm-8192"]
    assert len(probes["compute-tf32"]) > 1
    assert [one.id for one in kept] == [one.id for one in known]
    assert limited(known, None) == known


@pytest.mark.parametrize("regime", [INTERLEAVED, BURST, SUSTAINED])
def test_a_gpu_has_the_same_ceilings_in_every_regime(regime):
    found = cuda_ceilings(regime)
    assert {one.facts["regime"] for one in found} == {regime}
    assert {one.facts.get("dtype") for one in found} == {
        None,
        "bfloat16",
        "float16",
        "tf32",
        "float32",
    }
    assert sum(one.facts["resource"] == "memory" for one in found) == 3


def test_bytes_of_a_copy_are_read_and_written_and_those_of_a_pass_count_once():
    work = {one.id: one.probes[0].work["bytes"]["value"] for one in cuda_ceilings(BURST)[:3]}
    assert work["memory-dram-copy-burst"] == 2 * work["memory-dram-read-burst"]
    assert work["memory-dram-read-burst"] == work["memory-dram-write-burst"]
