"""Hostile artifacts: whatever is done to a good one, it is read, or told with a place.

A small artifact that is right is damaged at random places, in its values and in its bytes.
"""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.effort import examples
from tests.worlds import minimal_artifact, write_results
from writeup import build, result
from writeup.errors import Problem, Problems
from writeup.strict import MOST_PROBLEMS

RULE = "bad-artifact"


@cache
def good(kind: str = "cpu"):
    mode = "host" if kind == "cpu" else "do_bench"
    return minimal_artifact(
        kind=kind,
        cases=("wide",),
        modes=(mode,),
        variants=("eager", "compiled", "fused"),
        blocks=6,
        samples=1,
    )


PATH = f"results/{good()[0]['commit']}.json"


def places(value, place=()):
    """The place of every value of a document, the document itself first."""
    yield place
    members = value.items() if isinstance(value, dict) else ()
    members = enumerate(value) if isinstance(value, list) else members
    for key, each in members:
        yield from places(each, (*place, key))


def held(document, place):
    for key in place:
        document = document[key]
    return document


def read(content: bytes):
    """The artifact, or its problems: any other exception is a failure of this test."""
    try:
        return result.parse(content, PATH), ()
    except Problems as refused:
        return None, refused.problems


def judge(problems: tuple[Problem, ...], document=None) -> None:
    """Problems name file, rule and place, can be printed, and are not without end."""
    assert len(problems) <= MOST_PROBLEMS + 1
    for problem in problems:
        assert (problem.path, problem.rule) == (PATH, RULE)
        assert problem.message.isprintable()
        assert len(problem.message) < 1000
        assert problem.line >= 0
    if document is None:
        return
    for problem in problems:
        if problem.message.startswith(f"more than {MOST_PROBLEMS} problems"):
            continue
        where, colon, _ = problem.message.partition(": ")
        assert colon
        assert where.startswith("/")
        assert problem.line
        if "\\u" not in where and "…" not in where and where != "/":
            keys = [part.replace("~1", "/").replace("~0", "~") for part in where.split("/")[1:]]
            assert _reached(document, keys), where


def _reached(value, keys) -> bool:
    """Whether a pointer leads somewhere; ids may hold what a pointer's steps are made of."""
    for key in keys:
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            return False
    return True


def use(artifact) -> None:
    """Everything that pages ask of a record that was let in."""
    for run in artifact.runs.values():
        assert run.device
        for ceiling in run.ceilings.values():
            assert ceiling.best()[1].value > 0
        for case in run.cases.values():
            assert case.baseline is None or case.baseline.id in case.variants
            assert isinstance(case.twins, tuple)
            for variant in case.variants.values():
                for timing in variant.timings.values():
                    for values in timing.samples.values():
                        assert all(0 < value < 1e10 for value in values)


# Values.

deep = [None]
for _ in range(60):
    deep = [deep]

plain = st.none() | st.booleans() | st.integers() | st.text(max_size=3)
hostile = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, -1, 1, 2**63, 10**400, -(10**400), 1e308, -1e308, 5e-324, -0.0, 1e-200]),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(
        [
            "", " ", "a", "null", "../../etc", "$HOME", "a/b~c", "\ud800", "\udfff", "\ue000",
            "\x00", "\u202e", "<script>", "{{ a.time }}", "x" * 3000, "9" * 500, "é" * 100, "\n",
            "1", "NaN", "\U0001f600", "__proto__", "%s%n", "softmax.wide", "do_bench",
        ]
    ),
    st.text(st.characters(), max_size=8),
    st.sampled_from([[], {}, [[]], {"": {}}, [{}], {"value": 1}, deep, [1, "a", None], {"a": deep}]),
    st.lists(plain | st.lists(plain, max_size=3), max_size=3),
    st.dictionaries(
        st.text(max_size=3), plain | st.dictionaries(st.text(max_size=3), plain, max_size=3),
        max_size=3,
    ),
)  # fmt: skip
keys = st.sampled_from(["", "a", "\ud800", "\ue001", "~/", "x" * 3000, "schema", "samples", "0"])
kinds = st.sampled_from(["cpu", "cuda"])


@st.composite
def damaged(draw):
    """A document of which one to three places are no longer what they were."""
    kind = draw(kinds)
    document = copy.deepcopy(good(kind)[0])
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.sampled_from(list(places(document))))
        if not place:
            continue
        parent, key = held(document, place[:-1]), place[-1]
        what = draw(st.sampled_from(["replace", "remove", "rename", "add", "swap"]))
        if what == "remove":
            del parent[key]
        elif what == "rename" and isinstance(parent, dict):
            parent[draw(keys)] = parent.pop(key)
        elif what == "add" and isinstance(parent, dict):
            parent[draw(keys)] = copy.deepcopy(draw(hostile))
        elif what == "swap":
            other = draw(st.sampled_from(list(places(document))))
            parent[key] = copy.deepcopy(held(document, other))
        else:
            parent[key] = copy.deepcopy(draw(hostile))
    return document


@examples(250)
@given(damaged())
def test_a_document_with_wrong_values_is_told_with_pointers_that_lead_somewhere(document):
    artifact, problems = read(json.dumps(document).encode())
    if artifact is None:
        judge(problems, document)
    else:
        use(artifact)


@examples(60)
@given(damaged(), st.sampled_from([None, 0, 1, 4]))
def test_a_verdict_depends_on_nothing_but_what_the_text_says(document, indent):
    """However it is laid out, the same document has the same problems."""
    one = read(json.dumps(document).encode())[1]
    other = read(json.dumps(document, indent=indent, ensure_ascii=False).encode("utf-8", "replace"))
    if "\\ud" not in json.dumps(document):  # which no UTF-8 can hold as it is
        assert [p.message for p in one] == [p.message for p in other[1]]


# Text.

pieces = st.one_of(
    st.sampled_from(
        [
            b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-1e999", b"0x10", b"01", b"1.", b".5",
            b"+1", b"9" * 5000, b"1" + b"0" * 400, b"[" * 5000, b'{"a":' * 5000, b"]", b"}", b",",
            b'"', b"\\", b"\\ud800", b'"\\ud800"', b"\x00", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf",
            b'"a":1,"a":2,', b"//", b"/*", b"null", b"true", b"'", b"\xc2\x85", b"\xe2\x80\xa8",
        ]
    ),
    st.binary(max_size=4),
)  # fmt: skip


@examples(300)
@given(kinds, st.data())
def test_a_text_with_wrong_bytes_is_told_with_its_line(kind, data):
    content = json.dumps(good(kind)[0], indent=data.draw(st.sampled_from([None, 1]))).encode()
    for _ in range(data.draw(st.integers(1, 2))):
        at = data.draw(st.integers(0, len(content)))
        width = data.draw(st.integers(0, 5))
        content = content[:at] + data.draw(pieces) + content[at + width :]
    artifact, problems = read(content)
    if artifact is None:
        assert problems
        judge(problems)
    else:
        use(artifact)


@examples(80)
@given(kinds, st.data())
def test_a_key_that_stands_twice_is_told_where_it_stands_again(kind, data):
    document = good(kind)[0]
    objects = [
        place
        for place in places(document)
        if place and isinstance(held(document, place), dict) and held(document, place)
    ]
    place = data.draw(st.sampled_from(objects))
    owner = held(document, place)
    key = data.draw(st.sampled_from(list(owner)))

    def written(value, here):
        if isinstance(value, dict):
            members = [f"{json.dumps(k)}: {written(v, (*here, k))}" for k, v in value.items()]
            if here == place:
                members.append(f"{json.dumps(key)}: {json.dumps(owner[key])}")
            return "{" + ",\n".join(members) + "}"
        if isinstance(value, list):
            return f"[{', '.join(written(v, (*here, n)) for n, v in enumerate(value))}]"
        return json.dumps(value)

    text = written(document, ())
    artifact, problems = read(text.encode())
    assert artifact is None
    (problem,) = problems
    pointer = "".join(f"/{str(k).replace('~', '~0').replace('/', '~1')}" for k in (*place, key))
    assert problem.message == f"{pointer}: this key stands here for the second time"
    line = text.split("\n")[problem.line - 1]
    assert line[problem.column - 1 :].startswith(json.dumps(key))


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1" * 4000])
@examples(20)
@given(kinds, st.data())
def test_what_is_no_number_is_told_where_it_stands(number, kind, data):
    document = copy.deepcopy(good(kind)[0])
    numbers = [
        place
        for place in places(document)
        if type(held(document, place)) in (int, float) and place != ("schema",)
    ]
    place = data.draw(st.sampled_from(numbers))
    held(document, place[:-1])[place[-1]] = "@@"
    text = json.dumps(document, indent=1).replace('"@@"', number)
    artifact, problems = read(text.encode())
    assert artifact is None
    pointer = "".join(f"/{str(k).replace('~', '~0').replace('/', '~1')}" for k in place)
    (problem,) = problems
    assert problem.message.startswith(f"{pointer}: ")
    line = text.split("\n")[problem.line - 1]
    assert line[problem.column - 1 :].startswith(number)


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":'])
@pytest.mark.parametrize("depth", [33, 500, 100_000])
def test_depth_without_end_is_refused_wherever_it_stands(opening, depth):
    text = json.dumps(good()[0])
    for before in (
        f'{{"a": {opening * depth}',
        text.replace('"samples": {', f'"samples": {opening * depth}', 1),
    ):
        artifact, problems = read(before.encode())
        assert artifact is None
        judge(problems)


# The whole road.


@examples(20)
@given(damaged())
def test_a_damaged_artifact_ends_in_problems_or_in_a_site(document):
    """What the reader lets in, no page stumbles over."""
    if read(json.dumps(document).encode())[0] is None:
        document = _mended(document)
    with TemporaryDirectory() as name:
        root = Path(name)
        (root / "kernels/softmax").mkdir(parents=True)
        (root / "writeup.toml").write_text('title = "World"\n')
        objects = {**good()[1], **good("cuda")[1]}
        write_results(root / "results", document, objects)
        try:
            files = build.build(build.configuration(root, relaxed=True)).files
        except Problems:
            return
        assert "index.html" in files


def _mended(document):
    """A document that is let in, with as much of the damage as the reader lets pass.

    Damage that is refused is tried above; here single values take the place of others of their
    own type, which many checks let pass.
    """
    mended = copy.deepcopy(good("cuda" if "cuda" in json.dumps(document) else "cpu")[0])
    seed = len(json.dumps(document))
    leaves = [p for p in places(mended) if not isinstance(held(mended, p), dict | list)]
    for step in range(1, 40):
        place = leaves[seed * step % len(leaves)]
        other = leaves[seed * step * step % len(leaves)]
        trial = copy.deepcopy(mended)
        if type(held(trial, place)) is type(held(trial, other)):
            held(trial, place[:-1])[place[-1]] = held(trial, other)
            if read(json.dumps(trial).encode())[0] is not None:
                mended = trial
    return mended
