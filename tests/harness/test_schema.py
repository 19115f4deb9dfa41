import copy
import json
from importlib import resources

import pytest
from jsonschema import Draft202012Validator

from tests.worlds import COMMIT, RUN, minimal_artifact

SCHEMA = json.loads(resources.files("harness").joinpath("result.schema.json").read_text("utf-8"))
VALIDATOR = Draft202012Validator(SCHEMA)
CASE = ("cases", "softmax.small")
EAGER = (*CASE, "variants", "eager")
BROKEN_ID = "Bad Id"


@pytest.fixture(scope="module")
def pristine():
    return minimal_artifact(cases=("small",), blocks=2, samples=2)[0]


@pytest.fixture
def artifact(pristine):
    return copy.deepcopy(pristine)


def errors(artifact):
    return [f"{error.json_path}: {error.message}" for error in VALIDATOR.iter_errors(artifact)]


def put(artifact, path, value):
    """Set a value inside the run, making the objects on the way."""
    place = artifact["runs"][RUN]
    for step in path[:-1]:
        place = place.setdefault(step, {})
    place[path[-1]] = value
    return artifact


def remove(artifact, path):
    place = artifact["runs"][RUN]
    for step in path[:-1]:
        place = place[step]
    del place[path[-1]]
    return artifact


def nodes(schema, path="$"):
    yield path, schema
    for key, value in schema.items():
        if isinstance(value, dict):
            yield from nodes(value, f"{path}.{key}")
        elif isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, dict):
                    yield from nodes(item, f"{path}.{key}[{index}]")


def test_the_schema_is_one():
    Draft202012Validator.check_schema(SCHEMA)


def test_every_object_is_closed():
    """A field that is not in the schema is an error, unless the object is a map with named keys."""
    declared = [(path, node) for path, node in nodes(SCHEMA) if node.get("type") == "object"]
    assert len(declared) > 50
    for path, node in declared:
        if "propertyNames" in node:
            assert isinstance(node["additionalProperties"], dict), path
        elif path == "$" or "properties" in node:
            assert node["additionalProperties"] is False, path
        else:
            pytest.fail(f"{path} is neither a record nor a map")


def test_every_field_is_explained():
    """A reader may ask the schema what a field is; a reference answers with its definition."""
    for path, node in nodes(SCHEMA):
        if node.get("type") != "object" or "properties" not in node:
            continue
        for name, field in node["properties"].items():
            target = field
            if "$ref" in field:
                target = SCHEMA["$defs"][field["$ref"].removeprefix("#/$defs/")]
            told = {"const", "description"} & ({*field, *target})
            assert told or name in {"value", "unit"}, f"{path}.{name}"


def test_no_definition_is_unused():
    text = json.dumps(SCHEMA)
    assert [name for name in SCHEMA["$defs"] if f'"#/$defs/{name}"' not in text] == []


def test_no_pattern_lets_a_line_break_slip_in_at_the_end():
    r"""`$` also matches before a final line break in Python's dialect; `(?!\n)$` does not."""
    patterns = [
        node["pattern"] for _, node in nodes(SCHEMA) if isinstance(node.get("pattern"), str)
    ]
    ending = [pattern for pattern in patterns if pattern.endswith("$")]
    assert len(ending) > 15
    several_lines = SCHEMA["$defs"]["text"]["pattern"]
    story = r"(?:^|/)story\.md$"
    assert [
        pattern
        for pattern in ending
        if not pattern.endswith(r"(?!\n)$") and pattern not in {several_lines, story}
    ] == []


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
def test_what_a_session_records_is_valid(kind):
    assert errors(minimal_artifact(kind=kind, blocks=2, samples=2)[0]) == []


@pytest.mark.parametrize(
    "status",
    ["incorrect", "out_of_resources", "compile_error", "runtime_error", "timeout", "unsupported"],
)
def test_every_way_to_fail_has_a_row(status):
    artifact, _ = minimal_artifact(statuses={"chunked": status}, blocks=2, samples=2)
    assert errors(artifact) == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("legs",), {"a": {"started": "2026-11-30T18:12:03Z", "reason": "resumed"}}),
        (("rerun",), {"of": f"{COMMIT}/{RUN}/softmax.small/eager/host-burst"}),
        (("trees",), {"before": {"commit": "f" * 40, "files": {"a b/c$.py": "0" * 40}}}),
        (("engine",), {"name": "dask", "version": "2026.1", "workers": 8}),
        (
            (*CASE, "rounds", "graph-sustained"),
            {
                "mode": "graph",
                "regime": "sustained",
                "cache": "cold",
                "participants": ["eager"],
                "settings": {"seconds": 2},
                "blocks": {
                    "softmax.01": {
                        "order": [[0]],
                        "after": {
                            "throttle": ["sw-power-cap"],
                            "temperature": {"value": 61, "unit": "degC"},
                            "power": {"value": 688.4, "unit": "W"},
                        },
                        "invalid": "thermal slowdown",
                    }
                },
            },
        ),
        (
            (*EAGER, "counters"),
            {
                "dram-read": {
                    "value": 1e9,
                    "unit": "byte",
                    "tool": "ncu 2025.3",
                    "counter": "dram__bytes_read.sum",
                }
            },
        ),
        (
            (*EAGER, "metrics"),
            {"tokens": {"unit": "token/s", "better": "higher", "samples": {"softmax.01": [9.5]}}},
        ),
        (
            (*EAGER, "tuning"),
            {
                "space": {"BLOCK_M": [64, 128], "num_warps": [4, 8]},
                "key": ["columns"],
                "tried": [
                    {"config": {"BLOCK_M": 64}, "status": "ok", "unit": "ms", "samples": [0.1]},
                    {
                        "config": {"BLOCK_M": 128},
                        "status": "out_of_resources",
                        "reason": {
                            "text": "shared memory",
                            "required": {"value": 262144, "unit": "byte"},
                        },
                    },
                ],
                "chosen": {"BLOCK_M": 64},
            },
        ),
        (
            (*EAGER, "resources"),
            {
                "registers": 255,
                "spills": {"value": 776, "unit": "byte"},
                "binary": "0" * 64,
                "shared": {"value": 98304, "unit": "byte"},
                "target": "sm_90",
                "compiler": "triton 3.7.1",
            },
        ),
        ((*EAGER, "timings", "host", "solo"), {"name": "do_bench", "unit": "ms", "samples": [0.2]}),
        (
            ("ceilings", "launch"),
            {
                "resource": "launch",
                "regime": "burst",
                "probes": {
                    "null": {
                        "what": "an empty kernel",
                        "unit": "ms",
                        "samples": {"softmax.01": [0.003]},
                    }
                },
            },
        ),
        (
            ("processes", "softmax.03"),
            {
                "role": "block",
                "started": "2026-11-30T18:12:03Z",
                "charged": {
                    "case": "softmax.small",
                    "variant": "eager",
                    "mode": "host",
                    "status": "timeout",
                },
            },
        ),
        ((*CASE, "shape"), {"lengths": [3, 5, 8]}),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else "",
)
def test_what_later_work_records_has_its_place(artifact, path, value):
    assert errors(put(artifact, path, value)) == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("surprise",), 1),
        ((*EAGER, "speed"), 1),
        ((*EAGER, "status"), "fine"),
        ((*EAGER, "what"), ""),
        ((*EAGER, "what"), "a mark \ue000 of the generator"),
        ((*EAGER, "what"), "an escape \x1b[0m"),
        ((*EAGER, "expression"), "two\nlines"),
        ((*EAGER, "config"), {"chunk": None}),
        ((*EAGER, "correctness", "passed"), False),
        ((*EAGER, "timings", "host", "unit"), "minutes"),
        ((*EAGER, "timings", "host", "samples", "softmax.01"), []),
        ((*EAGER, "timings", "host", "samples", "softmax.01"), [-1]),
        ((*EAGER, "timings", "host", "samples", "softmax.01"), ["1"]),
        ((*EAGER, "timings", "host", "samples", "softmax.01"), [True]),
        ((*EAGER, "timings", "warm"), {"unit": "ns", "launches": 1, "samples": {}}),
        ((*EAGER, "timings", "host-interleaved"), {"unit": "ns", "launches": 1, "samples": {}}),
        ((*EAGER, "timings", "host\n"), {"unit": "ns", "launches": 1, "samples": {}}),
        ((*CASE, "variants", BROKEN_ID), {"role": "step", "what": "x", "status": "ok"}),
        ((*CASE, "variants", "lonely"), {"role": "attempt", "what": "x", "status": "ok"}),
        ((*CASE, "variants", "nameless"), {"role": "control", "what": "x", "status": "ok"}),
        (
            (*CASE, "variants", "single"),
            {"role": "control", "control": "twin", "what": "x", "status": "ok"},
        ),
        ((*CASE, "variants", "silent"), {"role": "step", "what": "x", "status": "timeout"}),
        (
            (*CASE, "variants", "fused", "timings"),
            {"host": {"unit": "ns", "launches": 1, "samples": {"softmax.01": [1]}}},
        ),
        ((*CASE, "dtype"), "fp32"),
        ((*CASE, "work", "bytes", "unit"), "GB"),
        (("started",), "2026-11-30 18:12:03"),
        (("started",), "2026-13-30T18:12:03Z"),
        (("started",), "2026-11-30T18:12:03+02:00"),
        (("command",), ["harness", "run", "--out=/home/someone"]),
        (("command",), ["/usr/bin/harness"]),
        (("command",), ["~/bin/harness"]),
        (("command",), []),
        (("sources", "files"), {"kernels/softmax/story.md": "0" * 40}),
        (("sources", "files"), {"/etc/passwd": "0" * 40}),
        (("sources", "files"), {"../outside.py": "0" * 40}),
        (("sources", "files"), {"a/../b.py": "0" * 40}),
        (("sources", "files"), {"a//b.py": "0" * 40}),
        (("sources", "files"), {"a/": "0" * 40}),
        (("sources", "files"), {"a.py\n": "0" * 40}),
        (("sources", "files"), {"a.py": "0" * 39}),
        (("environment", "device", "key"), "GPU-0f1e2d3c"),
        (("environment", "device", "serial"), "1"),
        (("environment", "variables"), {"HOME": "x"}),
        (("environment", "host", "name"), "x"),
        (("ceilings", "memory-dram-copy", "level"), "hbm"),
        (("ceilings", "bare"), {"resource": "memory", "regime": "burst", "probes": {}}),
        (("documents", "perf-counter", "link"), "javascript:alert(1)"),
        (("documents", "perf-counter", "link"), 'https://a/"><b>'),
        (("timer", "check", "expected", "unit"), "minute"),
        (("seed",), -1),
        (("seed",), 1.5),
        (("protocol",), 0),
        (("rerun",), {"of": "somewhere"}),
    ],
)
def test_what_no_session_records_is_refused(artifact, path, value):
    assert errors(artifact) == []
    assert errors(put(artifact, path, value)) != []


@pytest.mark.parametrize(
    "path",
    [
        *[
            (name,)
            for name in (
                "started",
                "ended",
                "command",
                "seed",
                "protocol",
                "timer",
                "environment",
                "sources",
                "cases",
            )
        ],
        ("timer", "unit"),
        ("environment", "device", "name"),
        (*CASE, "dtype"),
        (*EAGER, "status"),
        (*EAGER, "timings", "host", "launches"),
        ("ceilings", "compute-float32", "dtype"),
    ],
    ids=".".join,
)
def test_what_makes_a_number_checkable_is_required(artifact, path):
    assert errors(remove(artifact, path)) != []


@pytest.mark.parametrize(
    "name", ["20261130T1812Z", "2026-11-30-h200", f"{RUN}\n", "20261130T1812Z-H200"]
)
def test_a_run_id_tells_start_and_device(artifact, name):
    artifact["runs"][name] = artifact["runs"].pop(RUN)
    assert errors(artifact) != []


@pytest.mark.parametrize(
    "change", [{"schema": 2}, {"schema": "1"}, {"commit": "main"}, {"runs": {}}, {"by": "me"}]
)
def test_the_root_is_as_strict(artifact, change):
    assert errors({**artifact, **change}) != []


def test_results_of_another_tool_need_no_seed_but_their_origin(artifact):
    artifact["commit"] = f"imported-{'0' * 64}"
    for name in ("seed", "protocol", "command", "sources"):
        remove(artifact, (name,))
    assert any("'imported' is a required property" in error for error in errors(artifact))
    put(artifact, ("imported",), {"tool": "pyperf", "digest": "0" * 64})
    assert errors(artifact) == []


def test_worlds_repeat_and_share_nothing():
    first, second = (minimal_artifact(blocks=2, samples=2)[0] for _ in range(2))
    assert first == second
    first["runs"][RUN]["seed"] = 0
    assert first != second


def test_worlds_have_the_effect_that_was_asked_for():
    artifact, _ = minimal_artifact(
        noise=0, blocks=1, effects={"chunked": {"wide": 2.0, "wide/host_hot": 0.5}}
    )
    case = artifact["runs"][RUN]["cases"]["softmax.wide"]["variants"]

    def time(variant, mode):
        return case[variant]["timings"][mode]["samples"]["softmax.01"][0]

    assert time("eager", "host") / time("chunked", "host") == pytest.approx(2, rel=1e-5)
    assert time("eager", "host_hot") / time("chunked", "host_hot") == pytest.approx(0.5, rel=1e-5)
    assert time("twin-a", "host") == time("eager", "host")
