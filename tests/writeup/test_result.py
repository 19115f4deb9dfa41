"""Results: what is let in, what is refused and where, and what the views say."""

import copy
import json
import random
import time

import pytest

from tests.worlds import COMMIT, RUN, minimal_artifact
from writeup import result
from writeup.errors import Problems

PATH = f"results/{COMMIT}.json"


@pytest.fixture(scope="module")
def whole():
    return minimal_artifact()


@pytest.fixture
def document(whole):
    return copy.deepcopy(whole[0])


def parsed(document, path=PATH):
    return result.parse(json.dumps(document, indent=1).encode(), path)


def refused(document, path=PATH):
    with pytest.raises(Problems) as caught:
        parsed(document, path)
    assert {p.rule for p in caught.value.problems} == {"bad-artifact"}
    return caught.value.problems


def outcome(content):
    """The artifact in some bytes, or the problems that it has instead."""
    try:
        return result.parse(content, PATH)
    except Problems as found:
        return found.problems


def run_of(document):
    return document["runs"][RUN]


def case_of(document, key="softmax.wide"):
    return run_of(document)["cases"][key]


# Views.


def test_a_whole_artifact_is_seen_through_its_views(whole):
    artifact = parsed(whole[0])
    run = artifact.runs[RUN]
    case = run.cases["softmax.wide"]
    variant = case.variants["chunked"]
    timing = variant.timings["host"]
    assert artifact.commit == COMMIT
    assert timing.address == f"{COMMIT}/{RUN}/softmax.wide/chunked/host"
    assert run.ceilings["memory-dram-copy"].address == f"{COMMIT}/{RUN}/ceilings/memory-dram-copy"
    for view in (run, case, variant, run.ceilings["memory-dram-copy"]):
        assert artifact.at(view.pointer) is view.raw
    assert run.device == "AMD EPYC"
    assert case.modes == ("host", "host_hot")
    assert case.baseline.id == "eager"
    assert [twin.id for twin in case.twins] == ["twin-a", "twin-b"]
    assert case.matched_copy.id == "copy"
    assert case.variants["fused"].reason["code"] == "needs-device"
    assert case.variants["fused"].timings == {}


def test_samples_are_in_seconds_whatever_the_timer_gave():
    for kind, mode, per_second in (("cpu", "host", 10**9), ("cuda", "do_bench", 10**3)):
        document, _ = minimal_artifact(kind=kind)
        timing = parsed(document).runs[RUN].cases["softmax.wide"].variants["eager"].timings[mode]
        raw = case_of(document)["variants"]["eager"]["timings"][mode]["samples"]["softmax.03"]
        assert timing.samples["softmax.03"] == tuple(value / per_second for value in raw)


def test_samples_of_an_invalid_block_do_not_count(document):
    block = case_of(document)["rounds"]["host"]["blocks"]["softmax.02"]
    block["invalid"] = "thermal slowdown"
    timing = parsed(document).runs[RUN].cases["softmax.wide"].variants["eager"].timings["host"]
    assert "softmax.02" not in timing.samples
    assert len(timing.samples) == 11
    assert timing.invalid == {"softmax.02": "thermal slowdown"}


def test_a_timing_with_only_invalid_blocks_is_no_measurement(document):
    for block in case_of(document)["rounds"]["host"]["blocks"].values():
        block["invalid"] = "thermal slowdown"
    assert "nothing was measured" in refused(document)[0].message


def test_the_margin_is_the_cases_own_else_its_experiments_else_the_programs(document):
    run_of(document)["experiments"]["softmax"]["margin"] = 0.03
    case_of(document)["margin"] = 0.05
    cases = parsed(document).runs[RUN].cases
    assert (cases["softmax.wide"].margin, cases["softmax.small"].margin) == (0.05, 0.03)
    del run_of(document)["experiments"]["softmax"]["margin"]
    assert parsed(document).runs[RUN].cases["softmax.small"].margin == 0.01


def test_a_ceiling_is_its_best_probe(document):
    ceiling = parsed(document).runs[RUN].ceilings["memory-dram-copy"]
    probe, rate = ceiling.best()
    assert probe == "copy-268435456"
    assert ceiling.unit == "byte/s"
    assert rate.value == max(p.estimate.value for p in ceiling.probes.values())
    assert rate.low < rate.value < rate.high
    assert rate.value == pytest.approx(1.04 * 12e9, rel=0.01)


def test_the_best_launch_is_the_shortest(document):
    probe = {"what": "an empty kernel", "unit": "ns", "samples": {"softmax.01": [3000, 3100]}}
    slow = probe | {"samples": {"softmax.01": [9000]}}
    run_of(document)["ceilings"]["launch"] = {
        "resource": "launch",
        "regime": "interleaved",
        "probes": {"a-slow": slow, "null": probe},
    }
    ceiling = parsed(document).runs[RUN].ceilings["launch"]
    assert ceiling.best()[0] == "null"
    assert (ceiling.unit, ceiling.best()[1].value) == ("s", 3050 / 10**9)


def test_equal_bytes_give_an_equal_digest_and_parsing_changes_nothing(whole):
    before = json.dumps(whole[0])
    assert parsed(whole[0]).digest == parsed(whole[0]).digest
    assert json.dumps(whole[0]) == before


def test_a_quantity_of_the_record_comes_in_base_units():
    assert result.quantity({"value": 50.06, "unit": "ms"}).unit == "s"


# Texts, versions, schema.


def test_the_file_must_be_called_by_its_commit(document):
    (problem,) = refused(document, "results/else.json")
    assert "not called else.json" in problem.message
    assert problem.line == 3


@pytest.mark.parametrize("version", [2, 0, -1, 10**20])
def test_another_version_of_the_schema_is_told_alone(document, version):
    document["schema"] = version
    document["novelty"] = {}
    (problem,) = refused(document)
    assert f"version {version} of the schema is unknown" in problem.message


@pytest.mark.parametrize("version", [True, "1", None, 1.5, [1]])
def test_what_is_no_version_is_a_matter_of_the_schema(document, version):
    document["schema"] = version
    assert all("unknown" not in problem.message for problem in refused(document))


def test_a_schema_error_has_its_place_in_words_and_numbers(document):
    case_of(document)["variants"]["eager"]["role"] = "hero"
    text = json.dumps(document, indent=1)
    problems = refused(document)
    found = [p for p in problems if "hero" in p.message]
    assert found[0].message.startswith(f"/runs/{RUN}/cases/softmax.wide/variants/eager/role: ")
    line = text.splitlines()[found[0].line - 1]
    assert line[found[0].column - 1 :].startswith('"hero"')


def test_a_message_does_not_quote_a_whole_record(document):
    document["runs"] = [run_of(document)]
    assert all(len(problem.message) < 400 for problem in refused(document))


def test_a_field_that_is_not_in_the_schema_is_refused(document):
    run_of(document)["median"] = 3
    assert "'median' was unexpected" in refused(document)[0].message


def test_thousands_of_bad_samples_are_not_all_listed(document):
    for variant in case_of(document)["variants"].values():
        for timing in variant.get("timings", {}).values():
            timing["samples"] = {k: ["x"] * len(v) for k, v in timing["samples"].items()}
    assert len(refused(document)) == 51


def test_what_only_the_quick_validator_refuses_is_refused_nevertheless():
    class Deaf:
        def iter_errors(self, _):
            return iter(())

    validator = result.Validator({"type": "object", "required": ["a"]})
    validator._explain = Deaf()
    (finding,) = validator.findings({})
    assert "a" in finding.message


# Agreement of the two validators, on mutations of a record.

_JUNK = [
    None, True, 0, -1, 1, 1.0, 1.5, -0.0, 1e30, 2**70, "", "x", "a\n", "1", "\u00e9\u0301", "\U0001f600",
    "2026-11-30T18:12:03Z", "20261130T1812Z-epyc", "../x", "/x", "\u2028", "a" * 300, [], {}, [[]],
    ["a", "a"], [1, True], {"value": 1, "unit": "s"}, {"value": "1", "unit": "s"}, {"": 1}, {"a b": 1},
    "softmax.01", "0" * 40, "host", "ok", "float32",
]  # fmt: skip


def containers(document):
    waiting, found = [document], []
    while waiting:
        value = waiting.pop()
        if isinstance(value, (dict, list)) and value:
            found.append(value)
            waiting.extend(value.values() if isinstance(value, dict) else value)
    return found


def mutate(document, source):
    """One edit somewhere: another value, a value moved from elsewhere, a key gone or added."""
    target = source.choice(containers(document))
    key = source.choice(list(target) if isinstance(target, dict) else range(len(target)))
    match source.randrange(5):
        case 0:
            del target[key]
        case 1 if isinstance(target, dict):
            target[source.choice(["novelty", "a b", "value", "\n", "samples", "é"])] = target[key]
        case 2 if isinstance(target, list):
            target.append(copy.deepcopy(source.choice(_JUNK)))
        case 3:
            target[key] = copy.deepcopy(source.choice(containers(document)))
        case _:
            target[key] = copy.deepcopy(source.choice(_JUNK))


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
def test_both_validators_agree_on_mutated_records(kind):
    small, _ = minimal_artifact(kind=kind, cases=("small",), blocks=1, samples=1)
    validator = result.validator()
    source = random.Random(f"agree {kind}")
    refusals = 0
    for _ in range(150):
        document = copy.deepcopy(small)
        for _ in range(source.choice((1, 1, 2))):
            mutate(document, source)
        quick = validator._decide.is_valid(document)
        assert quick == validator._explain.is_valid(document), json.dumps(document)
        refusals += not quick
    assert 30 < refusals < 150


def test_no_mutation_ends_in_a_traceback(whole):
    small, _ = minimal_artifact(cases=("small",), blocks=1, samples=1)
    source = random.Random(6)
    for _ in range(120):
        document = copy.deepcopy(small)
        for _ in range(source.choice((1, 2, 3))):
            mutate(document, source)
        found = outcome(json.dumps(document).encode())
        assert found
        if isinstance(found, result.Artifact):
            for ceiling in (c for run in found.runs.values() for c in run.ceilings.values()):
                assert ceiling.best()[1].value > 0


def test_no_cut_or_flipped_byte_ends_in_a_traceback():
    small, _ = minimal_artifact(cases=("small",), blocks=1, samples=1)
    content = json.dumps(small).encode()
    source = random.Random(7)
    for _ in range(300):
        broken = bytearray(content)
        place = source.randrange(len(broken))
        if source.random() < 0.3:
            del broken[place:]
        else:
            broken[place] = source.choice(b'"{}[],:0e-\\\x00\xff')
        assert outcome(bytes(broken))


def test_a_record_of_two_megabytes_is_validated_quickly():
    """jsonschema alone would take seconds; no timing, but an order of growth."""
    large, _ = minimal_artifact(samples=300)
    content = json.dumps(large).encode()
    assert len(content) > 1_000_000
    started = time.process_time()
    result.parse(content, PATH)
    assert time.process_time() - started < 1.5


# References.


def _set(*path):
    """An edit that puts the last item at the path before it."""

    def edit(document):
        target = run_of(document)
        for key in path[:-2]:
            target = target[key]
        target[path[-2]] = path[-1]

    return edit


def _drop(*path):
    def edit(document):
        target = run_of(document)
        for key in path[:-1]:
            target = target[key]
        del target[path[-1]]

    return edit


WIDE = ("cases", "softmax.wide")
EAGER = (*WIDE, "variants", "eager")
HOST = (*EAGER, "timings", "host")
ROUNDS = (*WIDE, "rounds", "host")


@pytest.mark.parametrize(
    ("edit", "where", "words"),
    [
        (_set(*WIDE, "variants", "compiled", "parent", "eagr"), "compiled/parent", "'eagr'"),
        (_set(*WIDE, "variants", "twin-a", "twin_of", "nobody"), "twin-a/twin_of", "'nobody'"),
        (_set(*EAGER, "parent", "chunked"), "parent", "its own origin"),
        (_set(*EAGER, "parent", "eager"), "parent", "its own origin"),
        (_set(*EAGER, "correctness", "error_beside", {"variant": "x"}), "error_beside", "'x'"),
        (_set(*EAGER, "file", "kernels/other.py"), "eager/file", "source"),
        (_set(*EAGER, "tree", "other"), "eager/tree", "tree"),
        (_set(*ROUNDS, "participants", 0, "nobody"), "participants/0", "'nobody'"),
        (_set(*ROUNDS, "regime", "burst"), "rounds/host", "burst"),
        (_set(*ROUNDS, "blocks", "softmax.01", "order", 1, [0, 0]), "order/1", "once at most"),
        (_set(*ROUNDS, "blocks", "softmax.01", "order", 1, [99]), "order/1", "once at most"),
        (_set(*ROUNDS, "blocks", "other.01", {"order": [[0]]}), "blocks/other.01", "process"),
        (_set(*HOST, "samples", "softmax.01", [1, 2]), "samples/softmax.01", "2 samples for 4"),
        (_set(*HOST, "samples", "other.01", [1]), "samples/other.01", "process"),
        (_set(*HOST, "samples", "softmax.01", [0, 1, 2, 3]), "samples/softmax.01", "no duration"),
        (_set(*HOST, "addresses", {"softmax.99": 1}), "addresses/softmax.99", "block"),
        (_drop(*HOST, "samples", "softmax.04"), "host/samples", "block softmax.04 has 0 samples"),
        (_set(*WIDE, "id", "other"), "cases/softmax.wide", "softmax.other"),
        (_set("experiments", "softmax", "order", 0, "nobody"), "order/0", "'nobody'"),
        (_set("experiments", "softmax", "predicted", 0, "over", "no"), "predicted/0/over", "'no'"),
        (_set("experiments", "softmax", "predicted", 0, "case", "no"), "predicted/0/case", "'no'"),
        (
            _set("experiments", "softmax", "mistakes", "forgotten-rescale", "variant", "no"),
            "mistakes/forgotten-rescale/variant",
            "'no'",
        ),
        (_set("processes", "softmax.01", "leg", "b"), "softmax.01/leg", "'b'"),
        (_set("controls", "floor", "host", "samples", {"x.01": [1]}), "samples/x.01", "process"),
        (
            _set("ceilings", "compute-float32", "probes", "gemm-1024", "samples", {"x.01": [1]}),
            "samples/x.01",
            "process",
        ),
        (
            _set(
                "ceilings",
                "compute-float32",
                "probes",
                "gemm-1024",
                "work",
                "flops",
                {"value": 0, "unit": "flop"},
            ),
            "probes/gemm-1024",
            "flops",
        ),
    ],
)
def test_what_leads_nowhere_is_refused_where_it_stands(document, edit, where, words):
    edit(document)
    problems = refused(document)
    assert any(where in p.message.split(": ")[0] and words in p.message for p in problems)
    assert all(problem.line for problem in problems)


def test_a_variant_may_miss_rounds_as_long_as_its_samples_do(document):
    for order in case_of(document)["rounds"]["host"]["blocks"]["softmax.01"]["order"][2:]:
        order.remove(0)
    case_of(document)["variants"]["eager"]["timings"]["host"]["samples"]["softmax.01"][2:] = []
    parsed(document)


def test_every_dangling_name_is_told_at_once(document):
    variants = case_of(document)["variants"]
    variants["compiled"]["parent"] = variants["chunked"]["parent"] = "nobody"
    assert len(refused(document)) == 2


# Texts of sources.


def test_the_texts_of_sources_are_there_and_are_their_ids(whole):
    document, objects = whole
    artifact = parsed(document)
    assert result.check_objects(artifact, objects.get) == ()
    blob, content = next(iter(objects.items()))
    missing = {name: text for name, text in objects.items() if name != blob}
    (problem,) = set(result.check_objects(artifact, missing.get))
    assert "is missing" in problem.message
    (problem,) = result.check_objects(artifact, (objects | {blob: content + b" "}).get)
    assert "holds another text" in problem.message


def test_a_source_may_not_hold_the_marks_of_evidence():
    document, objects = minimal_artifact(sources={"kernels/softmax/eager.py": "x = '\ue000'\n"})
    (problem,) = result.check_objects(parsed(document), objects.get)
    assert "U+E000" in problem.message


def test_a_blob_id_is_what_git_says():
    assert result.blob_id(b"") == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
