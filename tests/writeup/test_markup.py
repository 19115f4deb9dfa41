import html
import json

from hypothesis import given, settings
from hypothesis import strategies as st

from writeup.markup import (
    MarkupError,
    Tag,
    css_runs,
    json_runs,
    line_and_column,
    markup_runs,
    tokens,
)

# What templates write: any text without the controls that HTML replaces or drops.
TEXT = st.text(
    st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="\ufffd"), min_size=1
).filter(lambda text: not text.isspace())


@given(TEXT)
@settings(max_examples=150, deadline=None)
def test_escaped_text_comes_back_from_its_place(text):
    source = f"<p title='x'>{html.escape(text)}</p>"
    (run,) = [each for each in markup_runs(source) if each.where == "text"]
    assert run.text == text
    start, end = run.span(0, len(text))
    assert html.unescape(source[start:end]) == text


@given(TEXT)
@settings(max_examples=150, deadline=None)
def test_an_escaped_attribute_comes_back_from_its_place(text):
    source = f'<img src="a5.png" alt="{html.escape(text)}">'
    (run,) = markup_runs(source)
    assert (run.text, run.where) == (text, "alt")
    start, end = run.span(0, len(text))
    assert html.unescape(source[start:end]) == text


@given(TEXT, st.booleans())
@settings(max_examples=150, deadline=None)
def test_a_string_of_data_comes_back_from_its_place(text, ascii_only):
    source = json.dumps({"href": "unseen", "say": [text]}, ensure_ascii=ascii_only)
    (run,) = [each for each in json_runs(source) if each.where == "data"]
    assert run.text == text
    start, end = run.span(0, len(text))
    assert json.loads(f'"{source[start:end]}"') == text


@given(st.text("<>/!?-[]=\"'& abp\n", max_size=40))
@settings(max_examples=300, deadline=None)
def test_broken_markup_is_read_to_its_end_or_refused(source):
    try:
        found = list(tokens(source))
    except MarkupError:
        return
    places = [(token.start, token.end) for token in found]
    assert places == sorted(places)
    assert all(0 <= start <= end <= len(source) for start, end in places)


def test_escapes_of_a_style_sheet_are_decoded_in_place():
    source = r"a::after { content: 'x\2014  y' }"
    (run,) = css_runs(source)
    assert run.text == "x— y"
    assert source[slice(*run.span(1, 2))] == r"\2014 "


def test_words_across_inline_tags_are_one_run_and_across_blocks_two():
    assert [run.text for run in markup_runs("<p>a<b>b</b><i>c</i></p><p>d</p>")] == ["abc", "d"]


def test_content_of_scripts_is_no_markup():
    found = list(tokens("<script>if (a<b) {}</script><b>x</b>"))
    assert [t.name for t in found if isinstance(t, Tag)] == ["script", "script", "b", "b"]


def test_lines_and_columns_count_from_one():
    assert line_and_column("ab\ncd", 0) == (1, 1)
    assert line_and_column("ab\ncd", 4) == (2, 2)
