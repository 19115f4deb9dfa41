import json
import statistics

import pytest

from tests.worlds import COMMIT, RUN, minimal_artifact
from writeup import derive, rederive, result, selection, stats

POINTER = f"/runs/{RUN}"


def rows_of(document):
    artifact = result.parse(json.dumps(document).encode(), f"{COMMIT}.json")
    return {
        (row.variant.id, row.case.id, row.timing.mode if row.timing else ""): row
        for row in selection.rows([artifact], "softmax")
    }


@pytest.fixture(scope="module")
def rows():
    return rows_of(minimal_artifact()[0])


def at(rows, variant, case="wide", mode="host"):
    return rows[variant, case, mode]


def test_a_time_is_the_median_of_block_medians_in_seconds(rows):
    row = at(rows, "chunked")
    medians = [statistics.median(values) for values in row.samples.values()]
    evidence = derive.time(row)
    assert evidence.value == pytest.approx(statistics.median(medians))
    assert (evidence.unit, evidence.at, evidence.args) == ("s", (row.address,), ())
    assert evidence.label == "time of chunked, wide, host"


def test_a_unit_of_a_column_is_part_of_the_derivation_and_not_of_the_figure(rows):
    row = at(rows, "chunked")
    scaled, chosen = derive.time(row), derive.time(row, "s")
    assert chosen.args == ("in:s",)
    assert chosen.value == scaled.value
    assert chosen.text != scaled.text
    assert chosen.key != scaled.key


def test_a_key_stands_for_the_derivation_whatever_its_outcome(rows):
    other = rows_of(minimal_artifact(effects={"chunked": 1.9})[0])
    before, after = (derive.time(at(each, "chunked")) for each in (rows, other))
    assert before.text != after.text
    assert before.key == after.key


def test_a_time_alone_is_the_median_of_its_own_samples_and_stands_beside_the_rounds():
    document, _ = minimal_artifact(kind="cuda", modes=("do_bench",))
    timing = document["runs"][RUN]["cases"]["softmax.wide"]["variants"]["chunked"]["timings"]
    alone = {"name": "do_bench", "version": "1", "unit": "ms", "samples": [3.0, 1.0, 2.0]}
    timing["do_bench"]["solo"] = alone
    row = at(rows_of(document), "chunked", mode="do_bench")
    time, over = derive.alone(row), derive.alone_over(row)
    assert time.value == pytest.approx(0.002)
    assert over.value == pytest.approx(0.002 / derive.seconds(row).value)
    records = rederive.Records({COMMIT: document}, {}, {})
    for evidence in (time, over):
        entry = rederive.Entry(
            evidence.key, evidence.form, evidence.at, evidence.args, evidence.text
        )
        assert rederive.derive(entry, records).text == evidence.text


def test_a_measurement_without_a_time_alone_has_none(rows):
    assert at(rows, "chunked").taken.alone == ()


def test_different_derivations_have_different_keys(rows):
    chunked, eager = at(rows, "chunked"), at(rows, "eager")
    found = [
        derive.time(chunked),
        derive.time(eager),
        derive.time(at(rows, "chunked", "small")),
        derive.time(at(rows, "chunked", mode="host_hot")),
        derive.band(chunked),
        derive.speedup(chunked, eager),
        derive.speedup(eager, chunked),
        derive.quartile(chunked, 1),
        derive.quartile(chunked, 3),
        derive.bandwidth(chunked, derive.COMPULSORY),
        derive.bandwidth(chunked, derive.IMPLEMENTED),
    ]
    assert len({each.key for each in found}) == len(found)


def test_a_speed_up_above_one_is_faster(rows):
    assert derive.speedup(at(rows, "chunked"), at(rows, "eager")).value == pytest.approx(
        1.6, rel=0.01
    )
    assert str(derive.verdict(at(rows, "chunked"), at(rows, "eager")).text) == "faster"
    assert str(derive.verdict(at(rows, "eager"), at(rows, "chunked")).text) == "slower"


def test_too_few_blocks_have_no_band_and_no_verdict():
    few = rows_of(minimal_artifact(blocks=5)[0])
    chunked, eager = at(few, "chunked"), at(few, "eager")
    assert derive.ratio(chunked, eager).low is None
    assert derive.judgement(chunked, eager).verdict is stats.Verdict.UNCLEAR


def test_blocks_of_one_side_only_do_not_pair():
    document, _ = minimal_artifact()
    case = document["runs"][RUN]["cases"]["softmax.wide"]
    blocks = case["rounds"]["host"]["blocks"]
    index = case["rounds"]["host"]["participants"].index("eager")
    for process in ("softmax.01", "softmax.02"):
        del case["variants"]["eager"]["timings"]["host"]["samples"][process]
        order = blocks[process]["order"]
        blocks[process]["order"] = [[n for n in each if n != index] for each in order]
    rows = rows_of(document)
    assert derive.ratio(at(rows, "chunked"), at(rows, "eager")).blocks == 10


def test_twins_are_those_of_the_same_rounds_and_none_where_there_are_none(rows):
    pair = derive.twin_rows(at(rows, "chunked", mode="host_hot"))
    assert [row.variant.id for row in pair] == ["twin-a", "twin-b"]
    assert {row.mode for row in pair} == {"host_hot"}
    document, _ = minimal_artifact()
    for case in document["runs"][RUN]["cases"].values():
        for twin in ("twin-a", "twin-b"):
            del case["variants"][twin]["timings"]["host"]
    without = rows_of(document)
    assert derive.twins(at(without, "chunked")) is None
    assert derive.twins(at(without, "chunked", mode="host_hot")) is not None


def test_twins_that_are_apart_raise_the_bar(rows):
    document, _ = minimal_artifact(effects={"chunked": 1.03, "twin-b": 1.05})
    apart = rows_of(document)
    near = rows_of(minimal_artifact(effects={"chunked": 1.03})[0])
    assert derive.verdict(at(near, "chunked"), at(near, "eager")).text == "faster"
    assert derive.verdict(at(apart, "chunked"), at(apart, "eager")).text == "cannot tell"


def test_the_mean_over_cases_stands_between_its_worst_and_best(rows):
    pairs = [(at(rows, "chunked", case), at(rows, "eager", case)) for case in ("small", "wide")]
    mean, worst, best = (derive.geomean(pairs, each).value for each in ("mean", "worst", "best"))
    ratios = [derive.ratio(*pair).value for pair in pairs]
    assert mean == pytest.approx((ratios[0] * ratios[1]) ** 0.5)
    assert (worst, best) == (min(ratios), max(ratios))
    assert derive.geomean(pairs, "mean").at == tuple(
        address for row, other in pairs for address in (row.address, other.address)
    )


def test_work_as_implemented_is_the_variants_own_where_it_was_counted():
    document, _ = minimal_artifact()
    case = document["runs"][RUN]["cases"]["softmax.wide"]
    compulsory = case["work"]["bytes"]["value"]
    case["variants"]["eager"]["work"] = {
        "bytes": {"value": 2 * compulsory, "unit": "byte", "method": "read again"}
    }
    rows = rows_of(document)
    for name, factor in (("eager", 2), ("chunked", 1)):
        row = at(rows, name)
        own = derive.bandwidth(row, derive.IMPLEMENTED).value
        assert own == pytest.approx(factor * derive.bandwidth(row, derive.COMPULSORY).value)


def test_a_rate_without_counted_work_is_refused():
    document, _ = minimal_artifact()
    del document["runs"][RUN]["cases"]["softmax.wide"]["work"]["flops"]
    rows = rows_of(document)
    with pytest.raises(ValueError, match="flops of this work were not counted"):
        derive.throughput(at(rows, "chunked"), derive.COMPULSORY)
    assert derive.bandwidth(at(rows, "chunked"), derive.COMPULSORY).value


@pytest.mark.parametrize(
    ("pointer", "text"),
    [
        ("/environment/device/name", "AMD EPYC"),
        ("/environment/device/cores", "2"),
        ("/environment/flags/triton_interpret", "no"),
        ("/timer/check/step", "30.0\u202fns"),
        ("/cases/softmax.wide/shape/columns", "131\u202f072"),
    ],
)
def test_a_fact_is_said_by_what_it_is(rows, pointer, text):
    evidence = derive.fact(at(rows, "eager").artifact, POINTER + pointer)
    assert evidence.text == text
    assert evidence.at == (f"{COMMIT}#{POINTER}{pointer}",)


def test_a_fact_that_is_not_there_is_refused(rows):
    with pytest.raises(KeyError):
        derive.fact(at(rows, "eager").artifact, f"{POINTER}/environment/gpu")


def test_commands_are_quoted_as_a_shell_takes_them():
    document, _ = minimal_artifact()
    document["runs"][RUN]["command"] = ["harness", "run", "a b", "$x"]
    row = at(rows_of(document), "eager")
    assert derive.command(row.artifact, f"{POINTER}/command").text == "harness run 'a b' '$x'"


def test_dates_are_told_to_the_minute_in_utc(rows):
    assert derive.date(at(rows, "eager").artifact, f"{POINTER}/started").text == (
        "2026-11-30 18:12 UTC"
    )


def test_counts_are_grouped_and_hold_what_they_count():
    evidence = derive.count([f"a/{n}" for n in range(12345)], "rows")
    assert (evidence.text, evidence.value) == ("12\u202f345", 12345)
    assert len(evidence.at) == 12345


@pytest.mark.parametrize(
    ("key", "text"),
    [("LEVEL", "95.0\u202f%"), ("MARGIN", "1.00\u202f%"), ("BLOCKS", "12"), ("MIN_BLOCKS", "6")],
)
def test_constants_are_those_of_the_code_that_uses_them(key, text):
    assert derive.constant(key).text == text
