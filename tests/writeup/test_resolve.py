"""What every form of citation says of a record whose truth is known."""

import json
import math
import re
import statistics

import pytest

from tests.cases import worlds
from tests.worlds import COMMIT, RUN, minimal_artifact, write_results
from writeup import config, load, resolve, views
from writeup.evidence import Evidence

ARTIFACT = f"results/{COMMIT}.json"
BASE = worlds.contents()
DOCUMENT = json.loads(BASE[ARTIFACT])
CASES = DOCUMENT["runs"][RUN]["cases"]
STORY = """+++
title = "A study"
kind = "study"
{front}
+++

{text}
"""
DEFAULTS = {"case": "wide", "mode": "host"}


@pytest.fixture
def tell(tmp_path):
    """Resolve a text under some front matter."""

    def told(text, document=None, **front):
        front = {**DEFAULTS, **front}
        lines = "\n".join(f'{key} = "{value}"' for key, value in front.items() if value)
        story = STORY.format(front=lines, text=text)
        world = {**BASE, worlds.STORY: story.encode()}
        if document is not None:
            world[ARTIFACT] = json.dumps(document).encode()
        sources = load.load(config.find(worlds.lay(tmp_path, world)))
        assert sources.problems == ()
        return resolve.resolve(sources)["softmax"]

    return told


@pytest.fixture
def said(tell):
    """The words of the only citation of a text, blanks made plain."""

    def words(citation, document=None, **front):
        told = tell(f"{{{{ {citation} }}}}", document, **front)
        assert told.problems == ()
        (resolved,) = told.resolved.values()
        return plain(resolved.words)

    return words


@pytest.fixture
def refused(tell):
    """Rule, message and hint of the only problem of a citation."""

    def problem(citation, document=None, **front):
        (found,) = tell(f"{{{{ {citation} }}}}", document, **front).problems
        return found.rule, found.message, found.hint

    return problem


def plain(words):
    leaves = views.leaves(words)
    text = "".join(leaf.text if isinstance(leaf, Evidence) else leaf for leaf in leaves)
    return text.replace("\u202f", " ").replace("\u00a0", " ")


def edited():
    return json.loads(json.dumps(DOCUMENT))


def medians(variant, case="wide", mode="host"):
    samples = CASES[f"softmax.{case}"]["variants"][variant]["timings"][mode]["samples"]
    return {block: statistics.median(values) for block, values in samples.items()}


def milliseconds(variant, case="wide", mode="host"):
    return statistics.median(medians(variant, case, mode).values()) / 1e6


def number(text):
    return float(re.match(r"[0-9.]+", text)[0])


# Values of a variant.


def test_a_time_is_the_median_of_the_block_medians(said):
    assert number(said("chunked.time")) == pytest.approx(milliseconds("chunked"), abs=0.01)
    assert said("chunked.time").endswith(" ms")


def test_defaults_hold_until_a_facet_speaks_of_the_same_thing(said):
    default = said("chunked.time")
    assert said("chunked.time @ wide, host") == default
    assert said("chunked.time @ host") == default
    hot = said("chunked.time @ host_hot")
    assert number(hot) == pytest.approx(milliseconds("chunked", mode="host_hot"), abs=0.01)
    small = said("chunked.time @ small")
    assert number(small) == pytest.approx(milliseconds("chunked", "small") * 1e3, abs=0.1)
    assert small.endswith(" µs")
    assert said("chunked.time", case="small") == small
    assert said("chunked.time", case="small", mode="host_hot") == said(
        "chunked.time @ small, host_hot"
    )


@pytest.mark.parametrize("facet", ["float32", RUN, COMMIT[:7], COMMIT])
def test_facets_may_name_a_dtype_a_run_and_a_commit(said, facet):
    assert said(f"chunked.time @ {facet}") == said("chunked.time")


def test_every_word_of_a_facet_must_be_known_to_the_record(refused):
    assert refused("chunked.time @ hots") == (
        "unknown-citation",
        "the record has no case, mode, dtype or run 'hots'",
        "did you mean 'host'?",
    )


def test_an_ambiguous_citation_lists_the_facet_that_chooses_each(refused):
    rule, message, hint = refused("chunked.time", case=None, mode=None)
    assert rule == "ambiguous-citation"
    assert message == "4 measurements are 'chunked'"
    assert hint == ("choose one: @ small, host; @ small, host_hot; @ wide, host; @ wide, host_hot")


def test_what_is_the_same_in_every_mode_needs_no_mode(said):
    assert said("chunked.config", mode=None) == "chunk 4096"
    assert said("chunked.role", mode=None) == "step"


@pytest.mark.parametrize(
    ("citation", "expected"),
    [
        ("chunked.samples", "12"),
        ("chunked.blocks", "6"),
        ("chunked.outliers", "0"),
        ("chunked.status", "ok"),
        ("chunked.role", "step"),
        ("chunked.expression", "chunked(x)"),
        ("chunked.backend", "ATen"),
        ("chunked.rounding", "float32 throughout"),
        ("chunked.error", "6.00×10⁻⁸"),
        ("chunked.config", "chunk 4096"),
        ("fused.config", "BLOCK 8192, num_warps 8"),
        ("chunked.intensity", "0.625 FLOP/byte"),
    ],
)
def test_facts_of_a_variant_are_said_as_they_stand(said, citation, expected):
    assert said(citation) == expected


def test_extremes_and_bands_enclose_the_time(said):
    low, high = said("chunked.band").removesuffix(" ms").split("–")
    assert float(low) <= number(said("chunked.time")) <= float(high)
    assert number(said("chunked.min")) <= float(low)
    assert number(said("chunked.max")) >= float(high)


def test_rates_are_work_by_time(said):
    work = CASES["softmax.wide"]["work"]
    seconds = milliseconds("chunked") / 1e3
    bandwidth = work["bytes"]["value"] / seconds / 1e9
    assert number(said("chunked.bandwidth")) == pytest.approx(bandwidth, rel=2e-3)
    assert said("chunked.bandwidth").endswith(" GB/s")
    throughput = work["flops"]["value"] / seconds / 1e9
    assert number(said("chunked.throughput")) == pytest.approx(throughput, rel=2e-3)
    assert said("chunked.throughput").endswith(" GFLOP/s")


def test_a_fraction_says_of_what(said):
    copy = milliseconds("copy") / milliseconds("chunked") * 100
    assert number(said("chunked.fraction of copy")) == pytest.approx(copy, rel=2e-3)
    assert said("chunked.fraction of copy").endswith(" %")
    ceiling = number(said("chunked.fraction of ceiling"))
    attainable = number(said("chunked.fraction of attainable"))
    # The memory ceiling binds, so both are the same share; the copy lies below the ceiling.
    assert ceiling == pytest.approx(attainable, rel=2e-3)
    assert ceiling < copy
    assert said("chunked.fraction") == said("chunked.fraction of attainable")


def test_a_failed_row_gives_its_status_and_its_reason(said):
    assert said("fused.status") == "unsupported"
    assert said("fused.reason") == "needs a CUDA device; checked in the interpreter"


def test_a_reason_brings_the_numbers_that_explain_it(said):
    document = edited()
    fused = document["runs"][RUN]["cases"]["softmax.wide"]["variants"]["fused"]
    del fused["correctness"]
    fused["status"] = "out_of_resources"
    fused["reason"] = {
        "text": "asks for more shared memory than a block may have",
        "code": "shared-memory",
        "required": {"value": 262144, "unit": "byte"},
        "limit": {"value": 232448, "unit": "byte"},
    }
    assert said("fused.status", document) == "out_of_resources"
    assert said("fused.reason", document) == (
        "asks for more shared memory than a block may have: required 262 kB, available 232 kB"
    )


def test_a_failed_row_has_no_time(refused):
    rule, message, hint = refused("fused.time")
    assert (rule, message) == ("unknown-citation", "'fused' was not timed: unsupported")
    assert "fused.reason" in hint


@pytest.mark.parametrize(
    ("citation", "message"),
    [
        ("chunked.registers", "the record holds no registers of 'chunked'"),
        ("chunked.reason", "'chunked' is ok and gives no reason"),
        ("eager.config", "'eager' has no configuration"),
        ("chunked.metric.perplexity", "the record holds no metric.perplexity of 'chunked'"),
        ("chunked.counter.dram-read", "the record holds no counter.dram-read of 'chunked'"),
        ("chunked.time @ all cases", "a time over all cases has no meaning"),
    ],
)
def test_what_the_record_does_not_hold_is_refused_by_name(refused, citation, message):
    assert refused(citation)[:2] == ("unknown-citation", message)


def test_metrics_and_counters_are_cited_by_name(said):
    document = edited()
    chunked = document["runs"][RUN]["cases"]["softmax.wide"]["variants"]["chunked"]
    chunked["metrics"] = {
        "ulp": {"unit": "1", "samples": {f"softmax.{n:02d}": [2, 2] for n in range(1, 7)}}
    }
    chunked["counters"] = {
        "dram-read": {
            "value": 3_000_000,
            "unit": "byte",
            "tool": "ncu",
            "counter": "dram__bytes_read.sum",
        }
    }
    chunked["resources"] = {"registers": 40, "spills": {"value": 0, "unit": "byte"}}
    assert said("chunked.metric.ulp", document) == "2.0000"
    assert said("chunked.counter.dram-read", document) == "3.00 MB"
    assert said("chunked.registers", document) == "40"
    assert said("chunked.spill bytes", document) == "0 B"


RESOURCES = {
    "registers": 128,
    "spills": {"value": 64, "unit": "byte"},
    "stack": {"value": 96, "unit": "byte"},
    "shared": {"value": 49152, "unit": "byte"},
    "shared_limit": {"value": 232448, "unit": "byte"},
    "warps": 8,
    "target": "sm_90",
}


def deep(document=None):
    """A record in which `fused` never ran, with all that a compiler says of it."""
    document = document or edited()
    for case in document["runs"][RUN]["cases"].values():
        fused = case["variants"]["fused"]
        fused["status"] = "out_of_resources"
        fused["correctness"] = {"checked": "compiler", "passed": True}
        fused["resources"] = dict(RESOURCES)
        fused["work"] = {
            "bytes": {"value": 4_000_000, "unit": "byte"},
            "flops": {"value": 8_000_000, "unit": "flop"},
        }
        fused["precision"] = "tf32"
        fused["reason"] = {
            "text": "asks for more shared memory than a block may have",
            "code": "shared-memory",
            "required": {"value": 262144, "unit": "byte"},
            "limit": {"value": 232448, "unit": "byte"},
        }
    return document


@pytest.mark.parametrize(
    ("citation", "expected"),
    [
        ("fused.status", "out_of_resources"),
        ("fused.required", "262 kB"),
        ("fused.limit", "232 kB"),
        ("fused.registers", "128"),
        ("fused.spills", "64 B"),
        ("fused.stack", "96 B"),
        ("fused.shared memory", "49.2 kB"),
        ("fused.shared limit", "232 kB"),
        ("fused.warps", "8"),
        ("fused.target", "sm_90"),
        ("fused.checked", "compiler"),
        ("fused.parent", "chunked"),
        ("fused.lever", "memory access"),
        ("fused.idea", "one Triton kernel a row"),
        ("fused.what", "one Triton kernel a row"),
        ("fused.file", "kernels/softmax/fused.py"),
        ("fused.function", "softmax"),
        ("fused.precision", "tf32"),
        ("fused.dtype", "float32"),
        ("fused.config.BLOCK", "8192"),
        ("fused.config.num_warps", "8"),
        ("fused.bytes as implemented", "4.00 MB"),
        ("fused.flops as implemented", "8.00 MFLOP"),
        ("fused.intensity as implemented", "2.00 FLOP/byte"),
        ("fused.bytes", "67.1 MB"),
        ("fused.intensity", "0.625 FLOP/byte"),
    ],
)
@pytest.mark.parametrize("mode", ["host", None])
def test_a_row_that_never_ran_is_cited_like_any_other(said, citation, expected, mode):
    assert said(citation, deep(), mode=mode) == expected


def test_an_incorrect_row_gives_its_errors(said):
    document = edited()
    fused = document["runs"][RUN]["cases"]["softmax.wide"]["variants"]["fused"]
    fused["status"] = "incorrect"
    fused["correctness"] = {
        "checked": "torch",
        "passed": False,
        "max_abs_error": 0.25,
        "max_rel_error": 0.5,
        "mismatched": 12345,
    }
    assert said("fused.error", document) == "0.250"
    assert said("fused.relative error", document) == "0.500"
    assert said("fused.mismatched", document) == "12 345"


def test_rates_may_be_those_of_the_work_as_implemented(said):
    document = edited()
    chunked = document["runs"][RUN]["cases"]["softmax.wide"]["variants"]["chunked"]
    chunked["work"] = {"bytes": {"value": 2 * 67_108_864, "unit": "byte"}}
    ratio_ = number(said("chunked.bandwidth as implemented", document)) / number(
        said("chunked.bandwidth", document)
    )
    assert ratio_ == pytest.approx(2, rel=2e-3)


LEAVE_OUT = "leave out 'as implemented' for the compulsory work of the case"


@pytest.mark.parametrize(
    ("citation", "message", "hint"),
    [
        ("chunked.registers", "the record holds no registers of 'chunked'", "its time, band, min"),
        ("chunked.warps", "the record holds no warps of 'chunked'", "checked, status, config"),
        ("chunked.required", "the record holds no required of 'chunked'", "expression, backend"),
        ("chunked.relative error", None, None),
        (
            "chunked.bytes as implemented",
            f"'chunked' counts no work of its own; {LEAVE_OUT}",
            "its time",
        ),
        (
            "chunked.config.chnk",
            "the configuration of 'chunked' has no 'chnk'; did you mean 'chunk'?",
            "config",
        ),
        ("fused.time", "'fused' was not timed: unsupported", "{{ fused.reason }}: the record has"),
    ],
)
def test_an_error_tells_which_facts_the_row_has(refused, said, citation, message, hint):
    if message is None:
        assert said(citation) == "4.00×10⁻⁷"
        return
    rule, told, told_hint = refused(citation)
    assert (rule, told) == ("unknown-citation", message)
    assert hint in told_hint


def test_what_is_listed_as_known_can_be_cited(said, refused):
    document = deep()
    _, _, hint = refused("fused.time", document)
    known = hint.rpartition("the record has its ")[2].split(", ")
    assert {"status", "required", "spills", "warps", "shared limit", "config"} <= set(known)
    assert "time" not in known
    for field in known:
        assert said(f"fused.{field}", document)


# Comparisons.


def ratio(variant, baseline, case="wide", mode="host"):
    a, b = medians(variant, case, mode), medians(baseline, case, mode)
    return math.exp(statistics.median(math.log(b[block] / a[block]) for block in a))


def test_a_speed_up_pairs_blocks(said):
    assert number(said("chunked.speedup over eager")) == pytest.approx(
        ratio("chunked", "eager"), rel=1e-3
    )
    shown = re.fullmatch(
        r"([0-9.]+) × \(([0-9.]+)–([0-9.]+) ×\)", said("chunked.speedup over eager")
    )
    estimate, low, high = map(float, shown.groups())
    assert low <= estimate <= high
    slower = number(said("chunked-small.speedup over eager"))
    assert slower == pytest.approx(ratio("chunked-small", "eager"), rel=1e-3)
    assert slower < 1


def test_all_cases_give_the_mean_with_worst_and_best(said):
    found = [ratio("chunked", "eager", case) for case in ("small", "wide")]
    text = said("chunked.speedup over eager @ all cases")
    shape = r"([0-9.]+) × \(from ([0-9.]+) × to ([0-9.]+) × over 2 cases\)"
    mean, worst, best = map(float, re.fullmatch(shape, text).groups())
    assert mean == pytest.approx(math.sqrt(found[0] * found[1]), rel=4e-3)
    assert worst == pytest.approx(min(found), rel=4e-3)
    assert best == pytest.approx(max(found), rel=4e-3)


def test_all_cases_set_the_default_case_aside_and_keep_the_default_mode(said):
    hot = said("chunked.speedup over eager @ all cases", mode="host_hot")
    assert hot == said("chunked.speedup over eager @ all cases, host_hot")


def test_all_cases_in_several_modes_are_ambiguous(refused):
    rule, _, hint = refused("chunked.speedup over eager @ all cases", mode=None)
    assert rule == "ambiguous-citation"
    assert hint == "choose one: @ host; @ host_hot"


def test_a_versus_says_what_the_samples_bear_out(said):
    band = r"[0-9.]+ × \([0-9.]+–[0-9.]+ ×\)"
    assert re.fullmatch(rf"chunked is faster than eager, {band}", said("chunked vs eager"))
    assert re.fullmatch(rf"eager is slower than chunked, {band}", said("eager vs chunked"))
    assert re.fullmatch(rf"unrolled is the same as eager, {band}", said("unrolled vs eager"))
    unclear = said("borderline vs eager")
    assert re.fullmatch(rf"borderline: we cannot tell it from eager, {band}", unclear)


def test_a_claim_over_one_measurement_brings_its_figures(said):
    text = said("claim chunked faster than eager")
    assert text == said("chunked vs eager")


def test_a_claim_speaks_of_every_measurement_that_its_facets_leave(said):
    text = said("claim chunked faster than eager", case=None, mode=None)
    assert text.startswith("chunked is faster than eager in all 4 measured cases and modes, from ")
    wide = said("claim chunked faster than eager @ host, host_hot")
    assert "in all 2 measured cases and modes" in wide
    assert "in all 2 measured" in said("claim chunked faster than eager @ all cases")


def test_a_claim_of_order_brings_both_figures(said):
    text = said("claim chunked bandwidth above eager")
    assert text == (
        "chunked has its bandwidth above that of eager, "
        f"{said('chunked.bandwidth')} beside {said('eager.bandwidth')}"
    )


def test_a_claim_over_the_cases_of_one_mode_has_mean_worst_and_best(said):
    text = said("claim chunked faster than eager @ all cases")
    shape = r"chunked is faster than eager in all 2 measured cases, in geometric mean "
    assert re.fullmatch(shape + r"([0-9.]+) ×, from ([0-9.]+) × to ([0-9.]+) ×", text)
    assert number(text.partition("mean ")[2]) == pytest.approx(
        math.sqrt(ratio("chunked", "eager", "small") * ratio("chunked", "eager", "wide")), rel=4e-3
    )


def mixed():
    """A record in which `chunked` wins on one case only."""
    document = edited()
    small = document["runs"][RUN]["cases"]["softmax.small"]["variants"]
    for timing in small["chunked"]["timings"].values():
        timing["samples"] = {k: [2 * v for v in vs] for k, vs in timing["samples"].items()}
    return document


def test_a_versus_over_all_cases_tells_every_verdict(said):
    text = said("chunked vs eager @ all cases", mixed())
    shape = r"chunked beside eager: faster on 1, slower on 1 of 2 cases; geometric mean [0-9.]+ ×, "
    assert re.fullmatch(shape + r"from [0-9.]+ × to [0-9.]+ ×", text)
    assert said("unrolled vs eager @ all cases").startswith(
        "unrolled beside eager: the same on 2 of"
    )
    unclear = said("borderline vs eager @ all cases")
    assert unclear.startswith("borderline beside eager: we cannot tell on 2 of 2 cases; geometric")


def test_a_versus_over_all_cases_in_several_modes_is_ambiguous(refused):
    rule, _, hint = refused("chunked vs eager @ all cases", mode=None)
    assert (rule, hint) == ("ambiguous-citation", "choose one: @ host; @ host_hot")


ABOVE = ["throughput", "bandwidth", "fraction of copy", "fraction of ceiling", "fraction"]


@pytest.mark.parametrize("field", ABOVE)
def test_rates_can_be_claimed_over_one_or_all_measurements(said, field):
    one_ = said(f"claim chunked {field} above eager")
    assert " beside " in one_
    text = said(f"claim chunked {field} above eager @ all cases")
    assert text.endswith(" that of eager in all 2 measured cases and modes")
    every = said(f"claim chunked {field} above eager", case=None, mode=None)
    assert every.endswith(" in all 4 measured cases and modes")


@pytest.mark.parametrize("field", ["min", "max"])
def test_extremes_can_be_claimed(said, field):
    assert f"has its {field} below that of eager" in said(f"claim chunked {field} below eager")


FACTS = [
    ("registers", "registers", 40),
    ("spills", "spills", {"value": 0, "unit": "byte"}),
    ("stack", "stack", {"value": 0, "unit": "byte"}),
    ("shared memory", "shared", {"value": 1024, "unit": "byte"}),
    ("shared limit", "shared_limit", {"value": 2048, "unit": "byte"}),
    ("warps", "warps", 4),
]


@pytest.mark.parametrize(("field", "key", "value"), FACTS)
@pytest.mark.parametrize("facets", ["", " @ all cases", " @ small, wide"])
def test_facts_of_rows_that_never_ran_can_be_claimed_whatever_the_mode(
    said, field, key, value, facets
):
    document = deep()
    for case in document["runs"][RUN]["cases"].values():
        case["variants"]["chunked"]["resources"] = {key: value}
    text = said(f"claim chunked {field} below fused{facets}", document, mode=None)
    assert text.startswith(
        f"chunked has its {field} below that of fused".replace("shared memory", "shared")
    )
    assert ("in all 2 measured cases" in text) is bool(facets)
    opposite = said(f"claim fused {field} above chunked{facets}", document, mode=None)
    assert "above that of chunked" in opposite


@pytest.mark.parametrize("field", ["error", "relative error", "bytes as implemented", "metric.ulp"])
def test_other_facts_can_be_claimed_too(said, field):
    document = deep()
    for case in document["runs"][RUN]["cases"].values():
        for name, scale in (("chunked", 1), ("compiled", 3)):
            variant = case["variants"][name]
            variant["correctness"] |= {"max_abs_error": scale * 1e-7, "max_rel_error": scale * 1e-6}
            variant["work"] = {"bytes": {"value": scale * 100, "unit": "byte"}}
            samples = {f"softmax.{n:02d}": [scale, scale] for n in range(1, 7)}
            variant["metrics"] = {"ulp": {"unit": "1", "samples": samples}}
    text = said(f"claim chunked {field} below compiled", document)
    assert text.startswith(f"chunked has its {field} below that of compiled, ")


def test_times_are_claimed_by_verdict_and_not_by_order(refused):
    rule, message, hint = refused("claim chunked time below eager")
    assert (rule, message) == (
        "unknown-citation",
        "times are not claimed to be below or above others",
    )
    assert "faster than" in hint


def test_what_a_comparison_rests_on_is_kept_with_it(tell):
    told = tell("{{ claim chunked faster than eager }}", case=None)
    (resolved,) = told.resolved.values()
    assert {row.case.id for row in resolved.rows} == {"small", "wide"}
    assert {row.variant.id for row in resolved.rows} == {"chunked", "eager"}
    for pair in resolved.comparisons:
        assert (pair.row.case, pair.row.mode) == (pair.other.case, pair.other.mode)


def test_the_other_side_is_taken_from_the_same_rounds(tell):
    told = tell("{{ claim chunked faster than eager }}", case=None, mode=None)
    (resolved,) = told.resolved.values()
    assert len(resolved.comparisons) == 4
    assert all(
        pair.row.case.address == pair.other.case.address and pair.row.mode == pair.other.mode
        for pair in resolved.comparisons
    )


# Facts.


@pytest.mark.parametrize(
    ("citation", "expected"),
    [
        ("env.device", "AMD EPYC"),
        ("env.torch", "2.13.0"),
        ("env.cores", "2"),
        ("env.memory", "25.8 GB"),
        ("env.host.memory", "25.8 GB"),
        ("env.os", "Linux 6.1"),
        ("env.float32_matmul_precision", "highest"),
        ("env.triton_interpret", "no"),
        ("env.OMP_NUM_THREADS", "2"),
        ("case.id", "wide"),
        ("case.rows", "64"),
        ("case.columns", "131 072"),
        ("case.dtype", "float32"),
        ("case.layout", "row-major"),
        ("case.bytes", "67.1 MB"),
        ("case.flops", "41.9 MFLOP"),
        ("case.intensity", "0.625 FLOP/byte"),
        ("case.what", "wide rows"),
        ("case.what @ small", "small rows"),
        ("case.atol", "2.00×10⁻⁷"),
        ("run.id", RUN),
        ("run.commit", COMMIT[:10]),
        ("run.date", "2026-11-30 18:12 UTC"),
        ("run.command", "harness run softmax --device cpu"),
        ("run.device", "AMD EPYC"),
        ("run.blocks", "6"),
        ("run.seed", "20 261 130"),
        ("run.protocol", "1"),
        ("predicted", "1.40 ×"),
        ("predicted.chunked", "1.40 ×"),
        ("predicted.chunked @ wide, host", "1.40 ×"),
        ("predicted.chunked over eager", "1.40 ×"),
    ],
)
def test_facts_are_said_as_the_record_has_them(said, citation, expected):
    assert said(citation) == expected


def test_a_shape_keeps_the_order_of_the_record(said):
    shape = CASES["softmax.wide"]["shape"]
    assert said("case.shape") == " × ".join(str(extent) for extent in shape.values())


def test_ceilings_are_those_over_the_case_in_its_mode(said):
    cold, hot = said("ceiling.memory"), said("ceiling.memory @ small, host_hot")
    assert number(cold) == pytest.approx(12e9 * 1.04 / 1e9, rel=0.01)
    assert number(hot) > number(cold)
    assert number(said("ceiling.compute")) == pytest.approx(150, rel=0.01)
    ridge = number(said("ceiling.compute")) / number(cold)
    assert number(said("ceiling.ridge")) == pytest.approx(ridge, rel=5e-3)
    attainable = number(cold) * 0.625
    assert number(said("ceiling.attainable")) == pytest.approx(attainable, rel=5e-3)
    floor = CASES["softmax.wide"]["work"]["bytes"]["value"] / (number(cold) * 1e9) * 1e3
    assert number(said("ceiling.floor")) == pytest.approx(floor, rel=5e-3)
    assert said("ceiling.memory-dram-copy") == cold


def test_a_prediction_says_what_became_of_it(said):
    measured = said("chunked.speedup over eager")
    assert re.fullmatch(
        rf"predicted 1\.40 ×, measured {re.escape(measured)}: "
        r"the prediction lies below the band, 12\.\d+ % off",
        said("predicted.chunked vs measured"),
    )


def predicting(*said):
    document = edited()
    document["runs"][RUN]["experiments"]["softmax"]["predicted"] = list(said)
    return document


GUESS = {"variant": "chunked", "over": "eager", "ratio": 1.4}


def test_a_prediction_that_names_no_place_is_held_against_that_of_the_story(said):
    document = predicting(GUESS)
    for facets, front in (("", {}), (" @ wide, host", {"case": None, "mode": None})):
        text = said(f"predicted.chunked vs measured{facets}", document, **front)
        assert f"measured {said('chunked.speedup over eager')}:" in text
    hot = said("predicted.chunked vs measured @ small, host_hot", document)
    assert f"measured {said('chunked.speedup over eager @ small, host_hot')}:" in hot


def test_of_several_predictions_each_is_named_as_it_can_be_cited(refused, said):
    small = GUESS | {"case": "small", "mode": "host", "ratio": 1.2}
    wide = GUESS | {"case": "wide"}
    step = GUESS | {"over": "compiled", "ratio": 1.1, "case": "wide"}
    document = predicting(small, wide, step)
    chunked = "predicted.chunked over"
    assert refused("predicted.chunked", document, case=None, mode=None) == (
        "ambiguous-citation",
        "3 predictions match",
        f"choose one: {chunked} compiled @ wide; {chunked} eager @ small, host; {chunked} eager @ wide",
    )
    assert said("predicted.chunked over compiled @ wide", document) == "1.10 ×"
    assert said("predicted.chunked @ small, host", document) == "1.20 ×"
    assert said(f"predicted.chunked over eager @ small, {RUN}", document) == "1.20 ×"


def test_a_prediction_of_what_was_not_timed_has_nothing_beside_it(refused):
    document = predicting(GUESS | {"variant": "fused"})
    assert refused("predicted.fused vs measured", document) == (
        "unknown-citation",
        "'fused' was not timed on wide, host (unsupported)",
        "cite the prediction alone, without 'vs'",
    )


def test_an_unknown_prediction_is_refused_with_those_there_are(refused):
    assert refused("predicted.compiled") == (
        "unknown-citation",
        "nothing of the kind was predicted",
        "predicted were predicted.chunked over eager @ wide, host",
    )
    assert refused("predicted", predicting())[2] == "the experiment predicted nothing"


@pytest.mark.parametrize(
    ("citation", "hint"),
    [
        ("env.trton", "did you mean 'triton'"),
        ("case.colums", "did you mean 'columns'"),
        ("ceiling.memroy", "did you mean 'memory'"),
        ("run.comand", "did you mean 'command'?"),
        ("run.zebra", "it has id, commit, date, command"),
        ("predicted.eager", "nothing of the kind was predicted"),
    ],
)
def test_a_fact_that_is_not_there_is_refused_with_what_is(refused, citation, hint):
    rule, message, told = refused(citation)
    assert rule == "unknown-citation"
    assert hint in f"{message}: {told}"


# Source.


def listing(told):
    (resolved,) = told.resolved.values()
    return resolved.words


def test_code_is_the_source_as_it_was_measured(tell):
    block = listing(tell("{{ code chunked.py }}"))
    assert block.listing.source.text.startswith('"""Chunked softmax."""\nimport torch')
    assert block.listing.path == "kernels/softmax/chunked.py"
    assert (block.listing.first, block.listing.language) == (1, "python")
    by_path = listing(tell("{{ code kernels/softmax/chunked.py }}"))
    assert by_path.listing.source == block.listing.source


def test_code_of_a_symbol_is_its_lines(tell):
    block = listing(tell("{{ code chunked.py:softmax }}"))
    expected = "def softmax(x):\n    return torch.softmax(x, dim=-1)"
    assert block.listing.source.text == expected
    assert block.listing.first == 4
    assert block.listing.source.args == ("4", "5")


def test_a_difference_is_that_of_the_files_of_two_variants(tell):
    block = listing(tell("{{ diff eager compiled }}"))
    assert block.before.path == "kernels/softmax/eager.py"
    assert block.after.path == "kernels/softmax/compiled.py"
    assert block.before.source.at != block.after.source.at


def test_what_was_edited_since_does_not_change_what_is_shown(tell, tmp_path):
    before = listing(tell("{{ code chunked.py }}"))
    worlds.lay(tmp_path, {"kernels/softmax/chunked.py": b"edited = True\n"})
    assert listing(tell("{{ code chunked.py }}")) == before


# Several artifacts, runs, cases and modes.

SECOND, SECOND_RUN = "89" * 20, "20261201T0900Z-h200"


def add(document, commit, run, **options):
    """One more run of the same subject: into the document, or as the document of a commit."""
    options = {"variants": worlds.VARIANTS, "blocks": 6, "samples": 2} | options
    other, _ = minimal_artifact(commit=commit, run=run, **options)
    if commit == COMMIT:
        document["runs"] |= other["runs"]
    return other


@pytest.fixture
def tell_of_two(tmp_path):
    """Resolve a citation in a project of two artifacts and three runs; its problem or words."""

    def told(citation, **front):
        document = edited()
        add(document, COMMIT, "20261130T2000Z-epyc")
        front = {**DEFAULTS, **front}
        lines = "\n".join(f'{key} = "{value}"' for key, value in front.items() if value)
        story = STORY.format(front=lines, text=f"{{{{ {citation} }}}}")
        world = {**BASE, worlds.STORY: story.encode(), ARTIFACT: json.dumps(document).encode()}
        root = worlds.lay(tmp_path, world)
        other = add(document, SECOND, SECOND_RUN, cases=("wide", "tall"), kind="cuda")
        _, objects = minimal_artifact(kind="cuda")
        write_results(root / "results", other, objects)
        found = resolve.resolve(load.load(config.find(root)))["softmax"]
        # That blocks would not know their run is told at the first line, whatever is cited.
        problems = [(p.rule, p.message, p.hint) for p in found.problems if p.line > 1]
        words = [plain(each.words) for each in found.resolved.values()]
        return problems, words

    return told


def test_runs_of_several_artifacts_are_told_apart_by_the_fewest_facets(tell_of_two):
    ((rule, message, hint),), _ = tell_of_two("chunked.time", mode=None)
    assert (rule, message) == ("ambiguous-citation", "6 measurements are 'chunked'")
    assert hint.removeprefix("choose one: ").split("; ") == [
        f"@ do_bench, {SECOND_RUN}",
        f"@ graph, {SECOND_RUN}",
        f"@ host, {RUN}",
        "@ host, 20261130T2000Z-epyc",
        f"@ host_hot, {RUN}",
        "@ host_hot, 20261130T2000Z-epyc",
    ]


def test_blocks_of_several_runs_ask_for_one_in_the_front_matter(tell):
    document = edited()
    add(document, COMMIT, "20261130T2000Z-epyc")
    (problem,) = tell("{{ result }}", document).problems
    assert (problem.rule, problem.line) == ("ambiguous-citation", 8)
    assert problem.message == "several runs hold this subject, and blocks tell of one"
    assert f'run = "{RUN}", results = "{COMMIT}"' in problem.hint
    assert tell("{{ result }}", document, run=RUN).problems == ()


def test_a_run_is_chosen_by_facet_or_by_the_front_matter(tell_of_two):
    problems, _ = tell_of_two("chunked.time")
    assert problems[0][2] == f"choose one: @ {RUN}; @ 20261130T2000Z-epyc"
    by_facet, by_front = tell_of_two(f"chunked.time @ {RUN}"), tell_of_two("chunked.time", run=RUN)
    assert by_facet[1] == by_front[1] != []


def test_an_artifact_is_chosen_by_the_beginning_of_its_commit(tell_of_two):
    _, words = tell_of_two(f"chunked.time @ {SECOND[:7]}, graph")
    assert words
    assert tell_of_two("chunked.time @ graph", results=SECOND[:9])[1] == words


def test_what_is_measured_elsewhere_says_where(tell_of_two):
    ((rule, message, hint),), _ = tell_of_two("chunked.time @ tall", run=RUN, mode="host")
    assert rule == "unknown-citation"
    assert message == (
        f"nothing is measured of 'chunked' with @ tall and the front matter's run {RUN[:16]}, mode host"
    )
    for facets in hint.removeprefix("it is measured ").split("; "):
        _, words = tell_of_two(f"chunked.time {facets}", run=RUN, mode="host")
        assert words, facets


@pytest.mark.parametrize("front", [{"mode": None}, {"case": None, "mode": None}, {}])
def test_every_candidate_that_is_listed_chooses_one(tell_of_two, front):
    problems, _ = tell_of_two("chunked.time", **front)
    hint = problems[0][2].removeprefix("choose one: ").partition("; and ")[0]
    for facets in hint.split("; "):
        again, words = tell_of_two(f"chunked.time {facets}", **front)
        assert len(words) == 1, (facets, again)


# The scene of blocks.


def test_the_headline_is_the_last_step_that_was_timed(tell):
    scene = tell("").scene
    assert (scene.headline.variant.id, scene.baseline.variant.id) == ("chunked", "eager")
    assert (scene.case.id, scene.mode) == ("wide", "host")
    assert scene.order == worlds.VARIANTS


def test_a_story_may_choose_its_baseline_case_and_mode(tell):
    scene = tell("", case="small", mode="host_hot", baseline="compiled").scene
    assert (scene.case.id, scene.mode) == ("small", "host_hot")
    assert scene.baseline.variant.id == "compiled"


def test_a_step_that_could_not_run_is_no_headline(tell):
    document = edited()
    for case in document["runs"][RUN]["cases"].values():
        case["variants"]["fused"]["role"] = "step"
    scene = tell("", document).scene
    assert scene.headline.variant.id == "chunked"
    assert "fused" in scene.rows


def test_an_unknown_default_is_told_once_and_at_its_key(tell):
    told = tell("{{ chunked.time }}\n\n{{ result }}", case="wild")
    (problem,) = [p for p in told.problems if "wild" in p.message]
    assert (problem.line, problem.column) == (4, 1)
    assert told.scene is None
    assert told.problems == (problem,)


def test_a_blank_story_cites_nothing_and_is_not_refused(tell):
    told = tell("{{ chunked.time }}\n\n{{ result }}", case=None, mode=None, status="blank")
    assert told.problems == ()
    assert {placed.text for placed in told.resolved}.isdisjoint({"{{ chunked.time }}"})


def test_a_blank_story_with_results_is_told_by_its_record(tell):
    told = tell("{{ chunked.time }}", status="blank", case="planned")
    assert told.problems == ()
    assert (told.scene.headline.variant.id, told.scene.case.id) == ("chunked", "small")
