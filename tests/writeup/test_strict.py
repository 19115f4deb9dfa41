"""JSON without its loopholes, and the place of everything refused."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from writeup import strict
from writeup.errors import Problems

RULE = "bad-artifact"

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=20,
)


def read(content):
    text, document = strict.decode(content, "r.json", RULE)
    strict.raise_all(strict.hygiene(document), "r.json", text, RULE)


def refused(text):
    """What is wrong with a text, as (line, column, message)."""
    with pytest.raises(Problems) as caught:
        read(text if isinstance(text, bytes) else text.encode())
    for problem in caught.value.problems:
        assert (problem.path, problem.rule) == ("r.json", RULE)
        assert problem.message.isprintable()
        assert len(problem.message) < 800
    return [(p.line, p.column, p.message) for p in caught.value.problems]


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ('{\n "a": 1,\n "a": 2}', 3, 2, "/a: this key stands here for the second time"),
        ('{"b": {"a\\u0041": 1, "aA": 2}}', 1, 22, "/b/aA: this key stands"),
        ('{"a": [1,\n  NaN]}', 2, 3, "/a/1: NaN is no number"),
        ('{"a": -Infinity}', 1, 7, "/a: -Infinity is no number"),
        ('{"a": 1e999}', 1, 7, "/a: a number beyond all measure"),
        ('{"a": [0, 1, -1e131]}', 1, 14, "/a/2: a number beyond all measure"),
        ('{"a": 1e-200}', 1, 7, "/a: a number beyond all measure"),
        ('{"a": %s}' % ("9" * 200), 1, 7, "/a: a number beyond all measure"),
        ('{"a": %s}' % ("9" * 5000), 1, 7, "/a: a number of 5000 digits"),
        ('{\n"a": }', 2, 6, "this is not JSON: expecting value"),
        ("", 1, 1, "this is not JSON: expecting value"),
        ('{"a": 1} x', 1, 10, "this is not JSON: extra data"),
        ('{"a": "\t"}', 1, 8, "this is not JSON: invalid control character"),
        (b'{"a":\n "\xff"}', 2, 3, "this is not UTF-8"),
        ("\ufeff{}", 1, 1, "this is not JSON"),
        ("[1]", 1, 1, "/: this is not an object"),
        ('"\\ud800"', 1, 1, "/: this is not an object"),
        ('{"a": "\\ud800"}', 1, 7, "/a: a text holds U+D800"),
        ('{"\\udfff": 1}', 1, 12, "holds U+DFFF"),
        ('{"a\\n": [NaN]}', 1, 10, "/a\\u000a/0: NaN is no number"),
        ('{"%s": NaN}' % ("a" * 1000), 1, 1006, "aaa …: NaN is no number"),
        ('{"a": ["x", "\\ue000"]}', 1, 13, "/a/1: a text holds U+E000"),
        ('{"a": "\ue001"}', 1, 7, "/a: a text holds U+E001"),
        ('{"a": "\\u0000"}', 1, 7, "/a: a text holds U+0000"),
        ('{"a": "\\u202e"}', 1, 7, "/a: a text holds U+202E"),
        ('{"a": "\\u200b"}', 1, 7, "/a: a text holds U+200B"),
        ('{"a": "\x7f"}', 1, 7, "/a: a text holds U+007F"),
    ],
)
def test_a_loophole_is_refused_at_its_place(text, line, column, words):
    ((found_line, found_column, message),) = refused(text)
    assert words in message
    assert (found_line, found_column) == (line, column)


def test_depth_made_to_harm_is_refused():
    assert "nested" in refused("[" * 100_000)[0][2]
    assert "nested" in refused('{"a":' * 40 + "1" + "}" * 40)[0][2]


def test_a_fault_deeper_than_any_record_is_a_matter_of_depth():
    deep = '{"a":' * 60 + '{"b":1,"b":2}' + "}" * 60
    assert refused(deep) == [(0, 0, "nested too deeply")]


def test_deep_text_after_an_equal_key_does_not_stall():
    text = '{"a":1,"a":2,"b":' + "[" * 500 + "1," * 20_000 + "1" + "]" * 500 + "}"
    assert refused(text) == [(1, 8, "/a: this key stands here for the second time")]


def test_every_equal_key_is_told():
    assert len(refused('{"a":1,"a":2,"a":{"b":1,"b":2}}')) == 3


def test_the_thousandth_problem_is_not_told():
    found = refused(f'{{"a": [{", ".join(["NaN"] * 1000)}]}}')
    assert len(found) == strict.MOST_PROBLEMS + 1
    assert any("only the first are listed" in message for _, _, message in found)


def test_ordinary_texts_of_other_scripts_pass():
    text = json.dumps({"name": "Größe µs × 10⁻³ — 測定\n\tzwei", "a b": [1.5, -3, 0, True, None]})
    _, document = strict.decode(text.encode(), "r.json", RULE)
    assert list(strict.hygiene(document)) == []


@given(values)
def test_strict_json_reads_what_json_reads(value):
    content = json.dumps({"v": value}).encode()
    assert strict.decode(content, "r.json", RULE)[1] == {"v": value}


@given(values, st.booleans())
def test_every_value_is_found_where_it_stands(value, indented):
    text = json.dumps({"v": value}, indent=1 if indented else None)
    decoder = json.JSONDecoder()
    for place, offset, fault in strict._scan(text):
        assert fault is None
        assert decoder.raw_decode(text, offset)[0] == strict.at(
            {"v": value}, strict.pointer(*place)
        )


@given(st.lists(st.text(), max_size=4))
def test_pointers_lead_back(keys):
    document = "here"
    for key in reversed(keys):
        document = {key: document}
    assert strict.at(document, strict.pointer(*keys)) == "here"


@pytest.mark.parametrize("where", ["/b", "/a/2", "/a/-1", "/a/01", "/a/x", "/a/0/0", "a", "/a/²"])
def test_a_pointer_to_nothing_is_refused(where):
    with pytest.raises(KeyError):
        strict.at({"a": [1, 2]}, where)


@given(st.lists(st.floats() | st.integers() | st.booleans(), max_size=6))
def test_the_quick_look_at_samples_agrees_with_the_long_one(samples):
    def fine(value):
        return value == 0 or (
            math.isfinite(value) and strict.SMALLEST <= abs(value) <= strict.LARGEST
        )

    found = {f.place[1] for f in strict.hygiene({"a": samples})}
    assert found == {i for i, value in enumerate(samples) if not fine(value)}
