"""Stories: places of everything typed, citations, problems, HTML."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from writeup.document import Literal, Placed, four_parts, parse_story, plain, text_runs, to_html
from writeup.language import Block, BlockName, Code, Value

PATH = "kernels/softmax/story.md"
FRONT = '+++\ntitle = "A story"\n+++\n'


def story(body, front=FRONT):
    return parse_story(front + body, PATH)


def html(parsed):
    return to_html(
        parsed,
        evidence_html=lambda p: f"<i>{p.text}</i>",
        evidence_text=lambda p: f"‹{p.text}›",
        block_html=lambda p: f"<section>{p.text}</section>",
    )


def digits(parsed):
    """Each digit that is typed: itself, and what stands in the file at its place."""
    lines = parsed.text.split("\n")
    found = []
    for run in text_runs(parsed):
        for index, character in enumerate(run.text):
            if character.isnumeric():
                line, column = run.place(index)
                found.append((character, lines[line - 1][column - 1 :]))
    return found


def problems(parsed):
    return [(p.line, p.column, p.rule) for p in parsed.problems]


# Each construct holds the digit 7, spelt as given, where a reader sees it.
CONSTRUCTS = {
    "paragraph": ("Seven is 7.", "7"),
    "second line of a paragraph": ("one\n  is 7", "7"),
    "paragraph behind a line of blanks": ("> \u00a0\n> has 7", "7"),
    "heading": ("## Step 7 ##", "7"),
    "indented heading": ("  ###   7", "7"),
    "setext heading": ("Step 7\n------", "7"),
    "setext heading of two lines": ("A\nstep 7\n====", "7"),
    "bullet": ("- a\n- has 7", "7"),
    "nested bullet": ("- a\n  - b\n\n    has 7", "7"),
    "bullets on one line": ("- - - has 7", "7"),
    "bullet with a tab": ("-\thas 7", "7"),
    "ordered item": ("1. has 7", "7"),
    "quote": ("> has 7", "7"),
    "quote without a blank": (">has 7", "7"),
    "lazy quote": ("> a\nhas 7", "7"),
    "list in a quote": ("> - a\n> - has 7", "7"),
    "emphasis": ("a *has 7* b", "7"),
    "strong inside a word": ("has**7**x", "7"),
    "unmatched marks": ("**a* _7", "7"),
    "link text": ("[has 7](x.md)", "7"),
    "link title": ('[a](x.md "has 7")', "7"),
    "link title in quotes": ("[a]( <x y>\n 'has 7')", "7"),
    "link title in brackets": ("[a](x.md (has 7))", "7"),
    "alternative text": ("![has 7](x.png)", "7"),
    "emphasis in alternative text": ("![a *has 7*](x.png)", "7"),
    "image in alternative text": ("![a ![has 7](y.png)](x.png)", "7"),
    "image title": ('![a](x.png "has 7")', "7"),
    "image in a link": ("[![has 7](x.png)](y.md)", "7"),
    "inline code": ("a `has 7` b", "7"),
    "padded inline code": ("a `` ` 7 `` b", "7"),
    "inline code of two lines": ("a `b\n 7` c", "7"),
    "decimal entity": ("has &#55;", "&#55;"),
    "hexadecimal entity": ("has &#x37;", "&#x37;"),
    "named entity": ("has &frac12;", "&frac12;"),
    "entity in a title": ('[a](x.md "has &#55;")', "&#55;"),
    "entity behind an escape": (r"\* has 7", "7"),
    "no escape": (r"has \7", "7"),
    "autolink": ("<https://example.org/7>", "7"),
    "e-mail": ("<a7@example.org>", "7"),
    "HTML": ("<b>7</b>", "7"),
    "HTML block": ("<div>\n7\n</div>", "7"),
    "HTML comment": ("<!-- 7 -->", "7"),
    "definition's title": ('[a]\n\n[a]: x.md "has 7"', "7"),
    "definition's title of two lines": ("[a]\n\n[a]: x.md\n  'has\n  7'", "7"),
    "definition in a quote": ("> [a]\n>\n> [a]: x.md 'has 7'", "7"),
    "hard break": ("a  \nhas 7", "7"),
    "hard break by a backslash": ("a\\\nhas 7", "7"),
    "table head": ("| a | has 7 |\n|---|---|\n", "7"),
    "table cell": ("| a | b |\n|---|---|\n| c | has 7 |", "7"),
    "table without outer pipes": ("a | b\n--|--\nc | has 7", "7"),
    "table cell with a pipe": (r"| a | b |" + "\n|---|---|\n" + r"| c \| d \| e | f \| 7 |", "7"),
    "code in a table cell with a pipe": ("| a |\n|---|\n| `x\\|7` |", "7"),
    "table in a list": ("- | a |\n  |---|\n  | 7 |", "7"),
    "fence": ("```\nhas 7\n```", "7"),
    "fence in a quote": ("> ~~~ python\n>   has 7\n> ~~~", "7"),
    "open fence": ("```\n7", "7"),
    "indented code": ("    has 7", "7"),
    "indented code by a tab": ("\thas 7", "7"),
    "indented code in a list": ("- a\n\n      has 7", "7"),
    "start of a list": ("7. a\n8. b", "7"),
    "start of a nested list": ("- 7) a", "7"),
    "start of a list in a list": ("1. 7. a", "7"),
    "before a citation": ("has 7{{ a.time }}", "7"),
    "behind a citation": ("{{ a.time }}7", "7"),
    "between citations in bold": ("{{ a.time }} *{{ b.time }} 7*", "7"),
    "a title's text behind a citation": ('[a](x.md "{{ a.time }} 7")', "7"),
    "alternative text behind a citation": ("![{{ a.time }} 7](x.png)", "7"),
    "another script": ("has ٧", "٧"),
    "a reason": ('[5]{.literal reason="of 7"}', "7"),
}


@pytest.mark.parametrize("name", CONSTRUCTS)
def test_a_typed_digit_is_told_at_its_place(name):
    body, spelling = CONSTRUCTS[name]
    found = digits(story(body))
    assert len(found) == 1
    assert found[0][1].startswith(spelling)


@pytest.mark.parametrize(
    ("line", "spelling"),
    [
        ('description = "has 7"', "7"),
        ("description = 'has 7'", "7"),
        ('\'description\'  =  """\nhas\n7"""', "7"),
        (r'description = "\t\u0037"', r"\u0037"),
        ("description = '''a\n''b'' 7'''", "7"),
        ('description = """a \\\n   7"""', "7"),
        ('audience = "{{ a.time }} and 7"', "7"),
    ],
)
def test_a_digit_typed_in_the_front_matter_is_told_at_its_place(line, spelling):
    found = digits(story("", f'+++\ntitle = "A"\n{line}\n+++\n'))
    assert [where.startswith(spelling) for _, where in found] == [True]


FRAGMENTS = st.sampled_from([body for body, _ in CONSTRUCTS.values() if "[a]:" not in body])
INSIDE = st.lists(st.sampled_from(["> ", "- ", "1. "]), max_size=3)


def put_inside(body, marks):
    for mark in marks:
        first, *rest = body.split("\n")
        rest_mark = mark if mark == "> " else " " * len(mark)
        body = "\n".join([mark + first, *(rest_mark + line for line in rest)])
    return body


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(FRAGMENTS, INSIDE), min_size=1, max_size=4), st.sampled_from(["\n", "\r\n"])
)
def test_in_any_story_each_run_stands_where_it_says(parts, line_end):
    # An open fence would swallow what follows; a word keeps neighbours apart.
    body = "\n\nand\n\n".join(put_inside(b, m) for b, m in parts if not b.startswith("```\n7"))
    parsed = story(body.replace("\n", line_end))
    for character, where in digits(parsed):
        assert where.startswith((character, "&"))
    lines = parsed.text.split("\n")
    for placed in parsed.citations:
        assert lines[placed.line - 1][placed.column - 1 :].startswith(placed.text)


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="7a \n\t#>-*_`[](){}.!|:<&;\\\"'=+~\r", max_size=60))
def test_any_markdown_is_read_and_its_digits_stand_where_they_are_said_to(body):
    parsed = story(body)
    for character, where in digits(parsed):
        assert where.startswith((character, "&"))
    html(parsed)


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_read_without_an_exception(text):
    parse_story(text, PATH)
    html(story(text))


PLACES = {
    "paragraph": ("x {{ a.time }}", (4, 3)),
    "heading": ("## x {{ a.time }}", (4, 6)),
    "nested list": ("- a\n  - b {{ a.time }}", (5, 7)),
    "quote": ("> x\n> {{ a.time }}", (5, 3)),
    "table": ("| a |\n|---|\n| \\| {{ a.time }} |", (6, 6)),
    "alternative text": ("![x {{ a.time }}](y.png)", (4, 5)),
    "image title": ('![x](y.png "of {{ a.time }}")', (4, 16)),
    "link text": ("[x {{ a.time }}](y.md)", (4, 4)),
    "definition": ("[x]\n\n[x]: y.md '{{ a.time }}'", (6, 12)),
    "emphasis": ("*x {{ a.time }}*", (4, 4)),
    "underscores": ("_{{ a.metric.x_y }}_", (4, 2)),
    "behind other characters": ("𝟗é {{ a.time }}", (4, 4)),
}


@pytest.mark.parametrize("name", PLACES)
def test_a_citation_is_placed_at_its_first_brace(name):
    body, place = PLACES[name]
    parsed = story(body)
    (placed,) = parsed.citations
    assert (placed.line, placed.column) == place
    assert isinstance(placed.citation, Value)
    assert not parsed.problems


def test_the_front_matter_may_cite():
    parsed = story(
        "", '+++\ntitle = "As fast as {{ a.time }}"\ndescription = "{{ b.time }}"\n+++\n'
    )
    assert [(p.line, p.column) for p in parsed.citations] == [(2, 21), (3, 16)]
    assert plain(parsed.front.title, lambda p: p.text) == "As fast as {{ a.time }}"
    assert parsed.front.place("description") == (3, 1)


def test_braces_in_code_are_literal():
    parsed = story("`{{ a.time }}`\n\n```\n{{ a.time }}\n```\n\n    {{ result }}\n\n\\{{ a }}")
    assert parsed.citations == ()
    assert parsed.problems == ()
    assert html(parsed).count("{{ a.time }}") == 2


def test_a_block_alone_on_its_line_stands_by_itself():
    parsed = story("text\n{{ result }}\nmore\n\n> {{ code a.py:f }}\n")
    assert parsed.citations[0].citation == Block(BlockName.RESULT)
    assert isinstance(parsed.citations[1].citation, Code)
    assert (parsed.citations[1].line, parsed.citations[1].column) == (8, 3)
    page = html(parsed)
    assert "<p>text</p>\n<section>{{ result }}</section><p>more</p>" in page
    assert "<blockquote><section>{{ code a.py:f }}</section></blockquote>" in page


FAULTS = [
    ("x {{ a.tme }}", (4, 8, "unknown-citation")),
    ("| a |\n|---|\n| {{ a.tme }} |", (6, 8, "unknown-citation")),
    ("x {{ a.time", (4, 3, "unknown-citation")),
    ("{{ a.time\n}}", (4, 1, "unknown-citation")),
    ("{{ a.time and {{ b.time }}", (4, 1, "unknown-citation")),
    ("in {{ result }} prose", (4, 4, "unknown-citation")),
    ("[5]{.literal}", (4, 1, "typed-number")),
    ('[5]{.literal reason=" "}', (4, 1, "typed-number")),
    ('[5]{.litral reason="x"}', (4, 1, "bad-story")),
    ("[a](javascript:alert)", (4, 1, "bad-story")),
    ("[a](JaVaScRiPt:alert)", (4, 1, "bad-story")),
    ("[a](&#106;avascript:alert)", (4, 1, "bad-story")),
    ("<javascript:alert>", (4, 1, "bad-story")),
    ("[a](//example.org)", (4, 1, "bad-story")),
    ("![a](https://example.org/x.png)", (4, 1, "bad-story")),
    ("![a](data:image/png;base64,AAAA)", (4, 1, "bad-story")),
    ("a \ue000 b", (4, 3, "bad-story")),
    ("a &#xE001; b", (4, 3, "bad-story")),
    ('[a](x.md "&#xE001;")', (4, 11, "bad-story")),
    ("<https://example.org/%EE%80%80>", (4, 2, "bad-story")),
    ("> " * 40 + "deep", (4, 1, "bad-story")),
]


@pytest.mark.parametrize(("body", "problem"), FAULTS, ids=[body[:30] for body, _ in FAULTS])
def test_what_is_wrong_with_a_body_is_told_at_its_place(body, problem):
    assert problem in problems(story(body))


FRONT_FAULTS = [
    ("no front matter", (1, 1), "no front matter", "+++"),
    ('+++\ntitle = "A"\n', (1, 1), "not closed", ""),
    ("+++\ntitle = \n+++\n", (2, 9), "not TOML", ""),
    ('+++\ntitle = "A"\ntitle = "B"\n+++\n', (3, 12), "not TOML", ""),
    ('+++\ntitle = "A"\ntitel = "B"\n+++\n', (3, 1), "'titel'", "did you mean 'title'?"),
    ('+++\ntitle = "A"\nkind = "stdy"\n+++\n', (3, 1), "'stdy'", "did you mean 'study'?"),
    ('+++\ntitle = "A"\nrun = 5\n+++\n', (3, 1), "is a string", ""),
    ('+++\ntitle = " "\n+++\n', (2, 1), "is empty", ""),
    ('+++\nkind = "study"\n+++\n', (1, 1), "has a title", ""),
    ('+++\ntitle = "{{ a.tme }}"\n+++\n', (2, 15), "no field", "did you mean 'time'?"),
    ("+++\ntitle = " + "[" * 5000 + "\n+++\n", (2, 1), "not TOML", ""),
]


@pytest.mark.parametrize(("text", "place", "message", "hint"), FRONT_FAULTS)
def test_what_is_wrong_with_the_front_matter_is_told_at_its_place(text, place, message, hint):
    (problem,) = parse_story(text, PATH).problems
    assert (problem.line, problem.column) == place
    assert message in problem.message
    assert hint in problem.hint


def test_a_problem_shows_its_line_and_underlines_what_is_wrong():
    (problem,) = story("Here {{ a.tme }} fails").problems
    assert problem.path == PATH
    assert problem.source == "Here {{ a.tme }} fails"
    assert problem.source[problem.column - 1 : problem.end - 1] == "tme"
    assert problem.hint == "did you mean 'time'?"


def test_a_literal_keeps_its_text_and_reason():
    parsed = story(
        "There are [5]{.literal reason=\"the layers of the recipe\"} layers, [6]{.literal reason='y'}"
    )
    assert parsed.literals == (
        Literal("5", "the layers of the recipe", 4, 11),
        Literal("6", "y", 4, 67),
    )
    assert "There are <i>5</i> layers" in html(parsed)


def test_headings_have_slugs_without_values_and_citations_their_part():
    parsed = story(
        "{{ a.time }}\n\n## Problem\n\n{{ b.time }}\n\n## The *result* of {{ c.time }}\n\n"
        "### Problem\n\n{{ d.time }}\n\n> ## Steps\n\n{{ e.time }}\n"
    )
    assert [(h.level, h.text, h.slug) for h in parsed.headings] == [
        (2, "Problem", "problem"),
        (2, "The result of", "the-result-of"),
        (3, "Problem", "problem-2"),
    ]
    assert [p.section for p in parsed.citations] == [
        "",
        "problem",
        "the-result-of",
        "the-result-of",
        "the-result-of",
    ]
    assert '<h2 id="problem">Problem <a class="anchor" href="#problem"' in html(parsed)


def test_the_four_parts_come_in_the_order_of_the_story():
    parsed = story("## Roofline\n\n## Else\n\n## Problem\n\n### Steps\n\n## Result\n")
    assert [(h.slug, h.line) for h in four_parts(parsed)] == [
        ("roofline", 4),
        ("problem", 8),
        ("result", 12),
    ]


def test_links_and_images_are_told_with_their_places():
    parsed = story("[a](b.md#c) ![d](e.png)\n[f]\n\n[f]: <g h>\n")
    assert [(link.kind, link.destination, link.line, link.column) for link in parsed.links] == [
        ("link", "b.md#c", 4, 1),
        ("image", "e.png", 4, 13),
        ("link", "g%20h", 5, 1),
    ]


def test_evidence_reaches_text_attributes_and_headings():
    page = html(
        story(
            "# {{ a.time }}\n\n{{ a.time }} [b {{ b.time }}](x.md 'c {{ c.time }}') "
            '![d {{ d.time }}](y.png "e {{ e.time }}")\n'
        )
    )
    assert '<h1 id="part"><i>{{ a.time }}</i>' in page
    assert "<p><i>{{ a.time }}</i>" in page
    assert '<a href="x.md" title="c ‹{{ c.time }}›">b ‹{{ b.time }}›</a>' in page
    assert '<img src="y.png" alt="d ‹{{ d.time }}›" title="e ‹{{ e.time }}›">' in page


def test_a_definition_gives_its_title_to_every_link_that_uses_it():
    page = html(story("[a][x] [b][x]\n\n[x]: y.md 'of {{ a.time }} &amp; \"more\"'\n"))
    assert page.count('title="of ‹{{ a.time }}› &amp; &quot;more&quot;"') == 2


def test_markup_is_escaped_and_unsafe_links_lead_nowhere():
    page = html(
        story('<script>x</script> &lt;b&gt; `<i>` [a](javascript:x) "\n\n![<b>](http://x/y "<")')
    )
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "&lt;b&gt;" in page
    assert "<code>&lt;i&gt;</code>" in page
    assert "javascript" not in page
    assert "http://x" not in page


def test_tables_keep_their_alignment_without_inline_style():
    page = html(story("| a | b |\n|:-:|--:|\n| c | d |\n"))
    assert '<th class="align-center">a</th>' in page
    assert '<td class="align-right">d</td>' in page
    assert "style" not in page


def test_tight_lists_have_no_paragraphs():
    assert "<ul><li>a</li>\n<li>b<ul><li>c</li>" in html(story("- a\n- b\n  - c\n"))


def test_text_is_one_run_across_markup_and_ends_at_a_citation():
    texts = [run.text for run in text_runs(story("tw*i*c&#101; {{ a.time }}fold"))]
    assert texts == ["A story", "twice ", "fold"]


HOSTILE = {
    "brackets": "[" * 100_000,
    "images": "![" * 15_000,
    "closed brackets": "[" * 20_000 + "]" * 20_000,
    "nested images": "![" * 5_000 + "](x)" * 5_000,
    "braces": "{{ " * 30_000,
    "empty citations": "{{}}" * 25_000,
    "quotes": ">" * 100_000,
    "lists": "- " * 50_000,
    "stars": "*a_" * 30_000,
    "backticks": "".join("`" * n + " " for n in range(440)),
    "entities": "&" * 100_000,
    "literals": "[5]{.literal reason='" * 5_000,
    "table": "|" * 50_000 + "\n" + "|-" * 25_000 + "|\n",
    "definitions": "[a]: b 'c\n" * 5_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_markdown_is_read_to_its_end(name):
    parsed = story(HOSTILE[name])
    assert len(parsed.problems) <= 201
    html(parsed)


def test_placed_citations_know_the_column_of_their_words():
    (placed,) = story("x {{ a.time @ wide }}").citations
    assert isinstance(placed, Placed)
    facet = placed.citation.facets.words[0]
    assert placed.column_of(facet.at) == len("x {{ a.time @ ") + 1


UNSEEN = {
    "nothing": "\x00",
    "escape": "\x1b",
    "form feed": "\x0c",
    "delete": "\x7f",
    "next line": "\x85",
    "soft hyphen": "\xad",
    "Arabic letter mark": "\u061c",
    "zero width space": "\u200b",
    "zero width joiner": "\u200d",
    "right-to-left mark": "\u200f",
    "right-to-left override": "\u202e",
    "first strong isolate": "\u2068",
    "line separator": "\u2028",
    "word joiner": "\u2060",
    "a byte-order mark within": "\ufeff",
    "Hangul filler": "\u3164",
    "a tag": "\U000e0031",
    "private use": "\ue000",
}


@pytest.mark.parametrize("name", UNSEEN)
def test_a_character_that_no_reader_sees_is_refused_at_its_place(name):
    character = UNSEEN[name]
    (problem,) = story(f"one\n\nis 1{character}0").problems
    assert (problem.line, problem.column, problem.end, problem.rule) == (6, 5, 6, "bad-story")
    assert problem.message.startswith(f"U+{ord(character):04X}, ")


@pytest.mark.parametrize(
    "body",
    [
        "[a](x.md '1\u202e0')",
        "![1\u202e0](x.png)",
        "`1\u202e0`",
        "```\n1\u202e0\n```",
        "{{ a\u202e.time }}",
        "<!-- \u202e -->",
        "is 1&#x202e;0",
        "is 1&rlm;0",
        '[a](x.md "&#8203;")',
    ],
)
def test_it_is_refused_wherever_it_stands_and_however_it_is_spelt(body):
    assert "bad-story" in {p.rule for p in story(body).problems}


def test_it_is_refused_in_the_front_matter_too():
    front = '+++\ntitle = "A 1\u202e0"\ndescription = "\\u200b"\ncase = "a\u200b"\n+++\n'
    places = {(p.line, p.rule) for p in story("", front).problems}
    assert places == {(2, "bad-story"), (3, "bad-story"), (4, "bad-story")}


@pytest.mark.parametrize(
    "body", ["a\tb\r\nc\rd", "caf\xe9 na\xefve \u202f\xa0", "\u4e2d \u05d0\u05d1 \u26a0\ufe0f"]
)
def test_what_a_reader_sees_is_not_refused(body):
    assert story(body).problems == ()
    assert parse_story("\ufeff" + FRONT + body, PATH).problems == ()
