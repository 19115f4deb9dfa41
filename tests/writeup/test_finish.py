import json

import pytest

from writeup.evidence import Evidence, mark
from writeup.finish import MarkError, citations, finish, unmark
from writeup.markup import MarkupError
from writeup.numerals import Names

TIME = Evidence("time", ("c/r/k.w/v/host",), "1.01\u202fms", value=0.00101, unit="s")
WORD = Evidence("verdict", ("c/r/k.w/v/host", "c/r/k.w/b/host"), "faster")
CODE = Evidence("source", ("b" * 40,), "if a < 10:\n    b &= 0x1f", args=("1", "2"))
AMPERSAND = Evidence("name", ("c",), "R&D 7")
COUNT = Evidence("registers", ("c/r/k.w/v",), "32", value=32)
RATIO = Evidence("speedup", ("c/r/k.w/v/host", "c/r/k.w/b/host"), "1.60\u202f×", value=1.6)
REGISTRY = {each.key: each for each in (TIME, WORD, CODE, AMPERSAND, COUNT, RATIO)}
NONE = Names(())


def gate(content, path="index.html", names=(), glossary=()):
    return finish(
        {path: content},
        names={path: Names(names)},
        glossary=Names(glossary),
        registry=REGISTRY,
    )


def refused(content, path="index.html", **names):
    return [problem.message.split("'")[1] for problem in gate(content, path, **names).problems]


def test_evidence_loses_its_marks_and_leaves_its_place():
    done = gate(f"<p>It takes {TIME.marked} here.</p>")
    assert done.problems == ()
    assert done.pages == {"index.html": "<p>It takes 1.01\u202fms here.</p>".encode()}
    (occurrence,) = done.occurrences
    assert (occurrence.page, occurrence.key) == ("index.html", TIME.key)
    text = done.pages["index.html"].decode()
    assert text[occurrence.offset : occurrence.end] == TIME.text


def test_places_count_characters_not_bytes_or_marks():
    done = gate(f"<p>µ€𝄞 {TIME.marked}</p><img alt='{TIME.marked}, {WORD.marked}'>")
    text = done.pages["index.html"].decode()
    shown = [text[each.offset : each.end] for each in done.occurrences]
    assert shown == [TIME.text, TIME.text, WORD.text]


@pytest.mark.parametrize(
    ("content", "numeral"),
    [
        ("<p>It takes 5 ms.</p>", "5"),
        ("<p>It takes &#53; ms.</p>", "5"),
        ("<p>It takes &#x35; ms.</p>", "5"),
        ("<p>&frac12; of it</p>", "½"),
        ("<p>a cup &sup2;</p>", "²"),
        ("<p><b>1</b><b>2</b></p>", "12"),
        ("<p>tw&shy;ice as fast</p>", "twice"),
        ("<p>twi&#8203;ce as fast</p>", "twice"),
        ("<p>tw<b>ice</b> as fast</p>", "twice"),
        ("<h1>5</h1>", "5"),
        ("<title>Up by 5</title>", "5"),
        ("<img alt='5 bars' src='x.png'>", "5"),
        ("<img alt=5 src=x.png>", "5"),
        ("<p title='5'>a</p>", "5"),
        ("<p aria-label='5'>a</p>", "5"),
        ("<meta name='description' content='5 times'>", "5"),
        ("<meta property=og:title content='Only 5'>", "5"),
        ("<input placeholder='5'>", "5"),
        ("<option value='5'>five</option>", "5"),
        ("<ol start='5'><li>a</ol>", "5"),
        ("<svg><text x='7'>5</text></svg>", "5"),
        ("<svg><title>5</title></svg>", "5"),
        ("<svg><desc><![CDATA[5]]></desc></svg>", "5"),
        ("<svg><text><tspan>1</tspan><tspan>2</tspan></text></svg>", "12"),
        ("<textarea><b>5</b></textarea>", "5"),
        ("<noscript>5</noscript>", "5"),
        ("<template><p>5</p></template>", "5"),
        ("<style>p::before { content: 'x 5' }</style>", "5"),
        (r"<style>p::before { content: '\35 ' }</style>", "5"),
        ('<script type=\'application/json\'>{"say": "5 ms"}</script>', "5"),
        ('<script type="application/json">{"say": "\\u0035 ms"}</script>', "5"),
        ('<script type="application/json">{"href": "7", "say": [1, {"id": 3}]}</script>', "1"),
        ('<script type="application/json">{"a5": true}</script>', "5"),
        ("<p>a < 5</p>", "5"),
        ("<!-- > --><p>5</p>", "5"),
        ("<p>it's three times</p>", "three times"),
        ("<p>three<br>times</p>", "three\\ntimes"),
        ("<p>twi\x01ce</p>", "twice"),
        ("<p>twi&#x2065;ce</p>", "twice"),
    ],
)
def test_a_numeral_that_a_reader_would_see_is_refused(content, numeral):
    assert refused(content) == [numeral]


@pytest.mark.parametrize(
    "content",
    [
        "<!-- 5 --><p>a</p>",
        "<!doctype html><html lang='en'><p id='a5' class='b5'><a href='x5.html'>a</a></p></html>",
        "<script>let x = 5;</script>",
        "<style>p { margin: 5px } /* content: '5' */</style>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        "<meta http-equiv='x' content='5'>",
        "<td colspan='2'>a</td><p tabindex='0' data-e='0123'>b</p>",
        "<data value='0.5'>a</data><time datetime='2026-11-30'>then</time>",
        "<svg viewBox='0 0 5 5'><path d='M1 2'/><metadata>5</metadata></svg>",
        '<script type=\'application/json\'>{"href": "5", "ok": true}</script>',
    ],
)
def test_what_is_for_the_machine_alone_passes(content):
    assert refused(content) == []


def test_evidence_passes_in_text_attributes_drawings_and_data():
    content = (
        f"<p title='{TIME.marked}'>{TIME.marked}</p><svg><text>{TIME.marked}</text></svg>"
        f'<script type="application/json">{{"say": "{TIME.marked}"}}</script>'
        f"<style>p::after {{ content: '{TIME.marked}' }}</style>"
    )
    done = gate(content)
    assert done.problems == ()
    assert len(done.occurrences) == 5


@pytest.mark.parametrize(
    ("content", "numeral"),
    [
        (f"<p>1{TIME.marked}</p>", "11.01"),
        (f"<p>0.{TIME.marked}</p>", "0.1.01"),
        (f"<p>{TIME.marked}2</p>", "2"),
        (f"<p>{TIME.marked} 2</p>", "2"),
    ],
)
def test_a_digit_typed_beside_evidence_is_refused(content, numeral):
    assert refused(content) == [numeral]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (f"<p>{COUNT.marked} times faster</p>", "32 times"),
        (f"<p>{COUNT.marked}-fold</p>", "32-fold"),
        (f"<p>{COUNT.marked} %</p>", "32 %"),
        (f"<p>{COUNT.marked}× faster</p>", "32×"),
        ("<p>n512 times faster</p>", "n512 times"),
        (f"<p>{COUNT.marked}<br>times</p>", "32\ntimes"),
    ],
)
def test_a_figure_of_the_record_is_made_no_ratio_by_typed_words(content, words):
    (problem,) = gate(content, names=["n512"]).problems
    assert problem.message.startswith(f"{words!r} is typed")


@pytest.mark.parametrize(
    "content",
    [
        f"<p>{COUNT.marked} × {COUNT.marked} elements</p>",
        f"<p>{COUNT.marked} registers, sometimes {COUNT.marked}</p>",
        f"<p>{mark(RATIO.key, '<b>1.60</b>&#8239;×')} over eager</p>",
    ],
)
def test_a_sign_between_extents_or_of_the_evidence_itself_makes_none(content):
    assert gate(content, names=["n512"]).problems == ()


def test_blocks_are_read_apart_and_inline_elements_together():
    assert refused("<table><tr><td>tw</td><td>ice</td></tr></table>") == []
    assert refused("<p>three</p><p>ms</p>") == []
    assert refused("<p><span>three</span> <i>ms</i></p>") == ["three ms"]


def test_a_problem_names_page_place_and_surroundings():
    (problem,) = gate("<p>Here</p>\n<p>it takes 5 ms</p>").problems
    assert problem.place == "index.html:2:13"
    assert problem.rule == "typed-number"
    assert problem.source == "it takes 5 ms"
    assert problem.end == 14


def test_a_name_of_the_page_passes_and_is_recorded():
    done = gate("<p>On L2 with case n512, not n513.</p>", names=["n512"], glossary=["L2"])
    assert [problem.message.split("'")[1] for problem in done.problems] == ["513"]
    text = done.pages["index.html"].decode()
    shown = {text[e.offset : e.end]: done.evidence[e.key].form for e in done.occurrences}
    assert shown == {"L2": "glossary", "n512": "name"}


def test_a_name_takes_a_word_away_from_a_numeral_around_it():
    done = gate("<p>the same in half precision</p>", glossary=["half precision"])
    assert done.problems == ()
    text = done.pages["index.html"].decode()
    assert [text[e.offset : e.end] for e in done.occurrences] == ["half precision"]
    assert refused("<p>cut in half, in half precision</p>", glossary=["half precision"]) == [
        "in half"
    ]


def test_a_name_of_the_record_needs_no_reason_of_the_glossary():
    done = gate("<p>in float32</p>", names=["float32"], glossary=["float32"])
    assert [each.form for each in done.evidence.values()] == ["name"]
    assert len(done.occurrences) == 1


def test_a_name_is_let_through_on_its_own_pages_only():
    pages = {"a.html": "<p>n512</p>", "b.html": "<p>n512</p>"}
    done = finish(pages, names={"a.html": Names(["n512"])}, glossary=NONE, registry={})
    assert [problem.path for problem in done.problems] == ["b.html"]


def test_a_name_within_tags_is_one_occurrence():
    done = gate("<p><b>n5</b>12</p>", names=["n512"])
    assert done.problems == ()
    (occurrence,) = done.occurrences
    text = done.pages["index.html"].decode()
    assert text[occurrence.offset : occurrence.end] == "n5</b>12"


def test_a_mark_may_surround_markup():
    html = '<code>if a &lt; 10:</code>\n<code>    b &amp;= <i class="mh">0x1f</i></code>'
    done = gate(f"<pre>{mark(CODE.key, html)}</pre>")
    assert done.problems == ()
    (occurrence,) = done.occurrences
    assert done.pages["index.html"].decode()[occurrence.offset : occurrence.end] == html


def test_escaped_evidence_is_recognised():
    done = gate(f"<p>{mark(AMPERSAND.key, 'R&amp;D 7')}</p>")
    assert done.problems == ()
    assert done.occurrences[0].length == len("R&amp;D 7")


def test_stand_alone_files_are_gated_by_their_kind():
    assert refused("<svg><text>5</text></svg>", "figure.svg") == ["5"]
    assert refused('p::before{content:"5"}', "a.css") == ["5"]
    assert refused('{"a": "5"}', "a.json") == ["5"]
    assert refused("5", "robots.txt") == ["5"]
    assert refused("5", "a.js") == []


def test_bytes_pass_untouched_unless_they_are_pages():
    raw = b'{"a": 5, "b": "\xee\x80\x80"}'
    done = gate(raw, "results/c/artifact.json")
    assert done.pages["results/c/artifact.json"] == raw
    assert refused(b"<p>5</p>") == ["5"]


def test_text_that_a_style_sheet_counts_or_copies_is_refused():
    counted = gate("li::before { content: counter(item) }", "a.css")
    assert "counter(item)" in counted.problems[0].message
    assert refused("li::before { content: attr(data-x) }", "a.css") == ["attr(data-x)"]
    assert refused("li::before { content: attr(title) }", "a.css") == []


def test_the_number_of_a_line_of_source_is_its_place_and_nothing_else():
    assert refused(".ln::before { content: attr(data-n) }", "a.css") == []
    assert refused("<a class='ln' data-n='12'></a>") == []
    assert refused("<a class='ln' data-n='12 ms'></a>") == ["12"]


def test_a_key_of_evidence_may_be_a_key_of_data():
    content = json.dumps({TIME.key: {"say": TIME.marked}}, ensure_ascii=False)
    assert gate(content, "cards.json").problems == ()


@pytest.mark.parametrize(
    "content",
    [
        f"<p>\ue000{TIME.key}\ue0005</p>",
        "<p>5\ue001</p>",
        f"<p>{mark(TIME.key, WORD.marked)}</p>",
        f"<p>{mark('0' * 12, '5')}</p>",
        "<p>\ue000nothing\ue000</p>",
        f"<p>{mark(TIME.key, '2.02')}</p>",
        "<p>&#xe000;</p>",
        json.dumps({"a": TIME.marked}).join(["<script type='application/json'>", "</script>"]),
    ],
    ids="open closed nested unknown keyless forged entity escaped".split(),
)
def test_a_mark_that_went_wrong_is_a_bug(content):
    with pytest.raises(MarkError):
        gate(content)


def test_markup_that_cannot_be_read_is_refused_with_its_page():
    with pytest.raises(MarkupError, match=r"index\.html"):
        gate("<p title='5")
    with pytest.raises(MarkupError, match=r"a\.svg.*entities"):
        gate('<!DOCTYPE svg [<!ENTITY n "5">]><svg/>', "a.svg")


def test_unmarking_gives_the_text_and_its_spans():
    text, spans = unmark("p", f"a{TIME.marked}b{WORD.marked}")
    assert text == "a1.01\u202fmsbfaster"
    assert [text[span.offset : span.end] for span in spans] == [TIME.text, WORD.text]


def test_citations_hold_what_occurs_and_where_it_was_cited():
    placed = {("index.html", TIME.key): "kernels/softmax/story.md:12:5"}
    done = finish(
        {"index.html": f"<p>{TIME.marked}</p>"},
        names={},
        glossary=NONE,
        registry=REGISTRY,
        placed=placed,
    )
    found = citations(done, targets={TIME.key: "results/c/index.html#r"})
    assert found == {
        "schema": 1,
        "evidence": {
            TIME.key: {
                "form": "time",
                "at": ["c/r/k.w/v/host"],
                "args": [],
                "text": TIME.text,
                "value": 0.00101,
                "unit": "s",
                "href": "results/c/index.html#r",
            }
        },
        "occurrences": [
            {
                "page": "index.html",
                "offset": 3,
                "length": 7,
                "key": TIME.key,
                "source": "kernels/softmax/story.md:12:5",
            }
        ],
    }


def test_equal_pages_give_equal_answers_in_any_order():
    pages = {f"{name}.html": f"<p>{TIME.marked} L2 5</p>" for name in "bca"}
    backwards = dict(reversed(pages.items()))
    one, two = (
        finish(each, names={}, glossary=Names(["L2"]), registry=REGISTRY)
        for each in (pages, backwards)
    )
    assert (one.occurrences, one.problems) == (two.occurrences, two.problems)
    assert list(one.pages) == list(two.pages)
