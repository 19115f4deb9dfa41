import html
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from writeup.source import Change, difference, highlight, language_of, lines_of

CODE = '''def double(x):
    """Twice
    as much."""
    return 2 * x  # <b>&
'''


def plain(lines):
    return [html.unescape(re.sub(r"</?span[^>]*>", "", line)) for line in lines]


def test_highlighting_changes_no_character_of_a_line():
    assert plain(highlight(CODE, "python")) == lines_of(CODE)


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_any_text_comes_out_of_any_language_as_it_went_in(text):
    for language in ("python", "cuda", "text"):
        assert plain(highlight(text, language)) == lines_of(text)


def test_a_token_over_several_lines_is_closed_on_each():
    lines = highlight(CODE, "python")
    assert all(line.count("<span") == line.count("</span>") for line in lines)
    assert 'class="sd"' in lines[1]
    assert 'class="sd"' in lines[2]


def test_markup_in_source_is_escaped():
    assert "&lt;b&gt;&amp;" in highlight(CODE, "python")[3]


def test_leading_empty_lines_keep_their_place():
    assert len(highlight("\n\nx = 1\n", "python")) == 3


def test_a_file_of_unknown_kind_is_plain_text():
    assert language_of("notes.weird") == "text"
    assert language_of("kernels/softmax/fused.py") == "python"
    assert highlight("a < b", "text") == ("a &lt; b",)
    assert highlight("a", "no-such-language") == ("a",)


def test_a_difference_names_lines_of_both_texts():
    before, after = "a\nb\nc\n", "a\nB\nB\nc\n"
    lines = difference(before, after)
    assert [line.change for line in lines] == [
        Change.KEPT,
        Change.REMOVED,
        Change.ADDED,
        Change.ADDED,
        Change.KEPT,
    ]
    assert [(line.old, line.new) for line in lines] == [
        (0, 0),
        (1, None),
        (None, 1),
        (None, 2),
        (2, 3),
    ]


def test_equal_texts_have_no_difference():
    assert difference(CODE, CODE) == ()


def test_far_changes_are_parted_by_a_gap():
    before = "\n".join(str(n) for n in range(40))
    after = before.replace("1\n", "one\n", 1).replace("38", "x")
    changes = [line.change for line in difference(before, after)]
    assert changes.count(Change.GAP) == 1
    assert len(changes) < 25
