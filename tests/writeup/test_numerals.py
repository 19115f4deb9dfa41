"""Numerals in any script or form, and what may be typed all the same."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from writeup.numerals import Kind, Names, figures, numerals, typed

NOBODY = Names(())

NUMERIC = [
    character
    for character in map(chr, range(sys.maxunicode + 1))
    if unicodedata.category(character) != "Cs" and unicodedata.numeric(character, None) is not None
]

# Text, and the numerals in it with their kinds.
FORMS = [
    ("5 rows", ["5"]),
    ("l33t", ["33"]),
    ("x²", ["²"]),
    ("½", ["½"]),
    ("２", ["２"]),
    ("٣", ["٣"]),
    ("Ⅳ", ["Ⅳ"]),
    ("三", ["三"]),
    ("①", ["①"]),
    ("⒈", ["⒈"]),
    ("🔟", ["🔟"]),
    ("1\ufe0f\u20e3", ["1\ufe0f\u20e3"]),
    ("𝟗", ["𝟗"]),
    ("㎡", ["㎡"]),
    ("💯", ["💯"]),
    ("🕐", ["🕐"]),
    ("1\u200d2", ["1\u200d2"]),
    ("1\u200b\u200b2", ["1\u200b\u200b2"]),
    ("1,234.5 ms", ["1,234.5"]),
    ("1\u202f234", ["1\u202f234"]),
    ("5, 6", ["5", "6"]),
    ("3.7x", ["3.7"]),
]
MULTIPLES = [
    "twice",
    "Twice",
    "TWICE",
    "thrice",
    "double",
    "doubled",
    "doubling",
    "halved",
    "halves",
    "triple",
    "quadruple",
    "quadrupled",
    "tenfold",
    "two-fold",
    "ten\u00a0fold",
    "many-fold",
    "hundredfold",
    "order of magnitude",
    "an order-of-magnitude",
    "two\u00a0orders of magnitude",
    "half the",
    "half as",
    "by half",
    "in half",
    "two thirds",
    "two-thirds",
    "a third of",
    "a quarter less",
    "factor of two",
    "𝐭𝐰𝐢𝐜𝐞",
    "ｔｗｉｃｅ",
    "twi\u00adce",
    "twi\u200bce",
]
COUNTS = [
    "ten times",
    "ten\u00a0times",
    "ten-times",
    "ten ×",
    "three ms",
    "three milliseconds",
    "zero bytes",
    "five %",
    "five%",
    "five percent",
    "five per cent",
    "twenty-five percent",
    "one hundred and five GB",
    "two and a half times",
    "three point seven x",
    "a couple of seconds",
    "hundreds of microseconds",
    "dozen times",
    "ninety TFLOP/s",
    "ninety GB/s",
    "five tokens per",
    "one second",
]
INNOCENT = [
    "one row",
    "two kernels",
    "no one",
    "one of the rows",
    "manifold scaffold unfold threshold",
    "a third party",
    "a half-open interval",
    "the second step",
    "two second-order terms",
    "sometimes, at times",
    "behalf of the author",
    "redouble",
    "attend times",
    "a kernel",
    "",
]


@pytest.mark.parametrize(("text", "found"), FORMS)
def test_a_digit_is_found_in_any_form(text, found):
    assert [numeral.text for numeral in numerals(text)] == found
    assert {numeral.kind for numeral in numerals(text)} == {Kind.DIGIT}


@pytest.mark.parametrize("words", MULTIPLES)
def test_a_word_that_multiplies_is_found_whole(words):
    (found,) = numerals(f"It was {words}, say.")
    assert (found.text, found.kind) == (words, Kind.MULTIPLE)


@pytest.mark.parametrize("words", COUNTS)
def test_a_number_in_words_before_a_unit_is_found_whole(words):
    (found,) = numerals(f"It was {words}, say.")
    assert (found.text, found.kind) == (words, Kind.COUNT)


@pytest.mark.parametrize("words", INNOCENT)
def test_words_that_measure_nothing_are_let_through(words):
    assert list(numerals(words)) == []


@given(st.sampled_from(NUMERIC), st.text(max_size=12), st.text(max_size=12))
def test_whatever_unicode_calls_numeric_is_found_whatever_is_around_it(numeral, before, after):
    text = before + numeral + after
    assert any(found.start <= len(before) < found.end for found in numerals(text))


@given(st.text(max_size=40))
def test_numerals_come_in_order_and_quote_the_text(text):
    end = 0
    for found in numerals(text):
        assert found.start < found.end
        assert found.end > end
        assert text[found.start : found.end] == found.text
        end = found.end


@given(
    st.lists(
        st.sampled_from(
            ["bn64", "L2", "ResNet-50", "5", "x2", "L2.5", "bn64-2", "٣", " ", "-", "a"]
        ),
        max_size=10,
    )
)
def test_every_digit_is_typed_or_inside_a_name(parts):
    text = "".join(parts)
    names = Names(["bn64", "L2", "ResNet-50"])
    covered = {at for c in names.cover(text) for at in range(c.start, c.end)}
    found = {at for f in typed(text, names) for at in range(f.start, f.end)}
    digits = {at for at, character in enumerate(text) if character.isnumeric()}
    assert digits <= covered | found
    assert not covered & found


def test_names_are_let_through_as_whole_words_only():
    names = Names(["bn64", "L2", "triton 3.7.1", "NVIDIA H200"])
    text = "bn64 on L2 with triton\u00a03.7.1 on NVIDIA\nH200"
    assert typed(text, names) == []
    assert [cover.name for cover in names.cover(text)] == [
        "bn64",
        "L2",
        "triton 3.7.1",
        "NVIDIA H200",
    ]
    for near in ("bn641", "xbn64", "L2\u20e3", "BN64", "triton 3.7.12", "triton, 3.7.1"):
        assert typed(near, names), near


def test_the_longest_name_wins():
    names = Names(["ResNet", "ResNet-50", "ResNet-50 v2"])
    assert [c.name for c in names.cover("ResNet-50 v2, ResNet-50, ResNet")] == [
        "ResNet-50 v2",
        "ResNet-50",
        "ResNet",
    ]


def test_a_term_is_let_through_by_its_name_and_not_by_its_shape():
    names = Names(["double buffering", "half precision"])
    assert typed("Double buffering in half precision", names) == []
    assert [f.text for f in typed("double the speed, half the time", names)] == [
        "double",
        "half the",
    ]


def test_what_is_typed_beside_a_name_is_still_found():
    assert [f.text for f in typed("L2.5 and bn64-2", Names(["L2", "bn64"]))] == ["5", "2"]


@pytest.mark.parametrize(
    "text", ["half", "half warp", "x.half()", "softmax(x.double(), dim)", "dtype=double"]
)
def test_an_element_type_in_code_is_no_figure(text):
    assert figures(text) == []


@pytest.mark.parametrize("text", ["double the speed", "in half the time", "halved", "(half of it)"])
def test_a_multiple_among_code_is_a_figure_all_the_same(text):
    assert len(figures(text)) == 1


@pytest.mark.parametrize(
    "text",
    ["one hundred and " * 4000, "two-" * 20000, "1" + "\u200b" * 50000 + "2", "orders " * 10000],
    ids=["numbers", "hyphens", "invisible", "orders"],
)
def test_a_long_text_is_read_to_its_end(text):
    assert typed(text + " twice", NOBODY)[-1].end == len(text) + len(" twice")


@pytest.mark.parametrize("text", ["the other ones", "rows in fours", "twos and threes"])
def test_a_plural_is_no_number_of_seconds(text):
    assert list(numerals(text)) == []
