"""No numeral passes the gate in any disguise, and nothing else is stopped by it.

Everything goes through the real road: a story in a small project, the verbs of a build one
after another, and the problems of the finished page. The
gate of the source, which tells an author where a numeral was typed, is held to the same.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.effort import examples
from writeup import addresses, build, check, compose, finish, load, naming, render, resolve
from writeup.numerals import Names

STORY = "kernels/subject/story.md"
PAGE = "stories/subject/index.html"
GLOSSARY = {"L2": "a cache", "ResNet-50": "a model", "half precision": "a format"}
FRONT = """+++
title = "{title}"
description = "{description}"
audience = "Everybody."
kind = "study"
status = "blank"
+++

"""


@cache
def _project() -> TemporaryDirectory[str]:
    return TemporaryDirectory()


def gated(body: str, title: str = "A story", description: str = "About it.") -> tuple[set, set]:
    """Lines with a typed number, as (line, what) of the source and of the finished page."""
    root = Path(_project().name)
    (root / "kernels/subject").mkdir(parents=True, exist_ok=True)
    terms = "".join(f'"{word}" = "{why}"\n' for word, why in GLOSSARY.items())
    (root / "writeup.toml").write_text(
        f'title = "World"\ndescription = "A world."\n[glossary]\n{terms}', encoding="utf-8"
    )
    text = FRONT.format(title=title, description=description) + body
    (root / STORY).write_bytes(text.encode())
    config = build.configuration(root, relaxed=True)
    # A build tells at its source what a page shows again; here each gate speaks for itself.
    sources = load.load(config)
    told = resolve.resolve(sources)
    composed = compose.compose(sources, told)
    rendered = render.render(composed.site, addresses.href)
    finished = finish.finish(
        {**rendered.pages, **rendered.assets, **composed.files},
        names={},
        glossary=Names(naming.glossary(config.glossary, sources.stories.values())),
        registry=rendered.evidence,
        placed=composed.places,
    )
    found = {*sources.problems, *check.check(sources, told), *finished.problems}
    typed = [each for each in found if each.rule == "typed-number"]
    assert {each.path for each in typed} <= {STORY, PAGE, "index.html", "literals/index.html"}
    return tuple(
        {(each.line, each.message) for each in typed if each.path == path} for path in (STORY, PAGE)
    )


# Every character that stands for a number.


def is_numeral(character: str) -> bool:
    """By what Unicode says of the character, or of what it is a form of."""
    return unicodedata.category(character)[0] == "N" or any(
        unicodedata.numeric(each, None) is not None
        for each in unicodedata.normalize("NFKC", character)
    )


NUMERALS = [
    character
    for character in map(chr, range(sys.maxunicode + 1))
    if unicodedata.category(character) not in {"Cs", "Cn", "Co"} and is_numeral(character)
]


def test_there_are_numerals_of_every_category_and_script():
    categories = {unicodedata.category(each) for each in NUMERALS}
    assert {"Nd", "Nl", "No", "Lo"} <= categories
    assert {"٣", "Ⅳ", "①", "²", "½", "２", "𝟗", "三", "㎡"} <= set(NUMERALS)
    assert len(NUMERALS) > 1800


def test_every_numeral_of_unicode_is_found_on_the_finished_page():
    source, page = gated("".join(f"row {each} here\n\n" for each in NUMERALS))
    assert len({line for line, _ in source}) == len(NUMERALS)
    assert len({line for line, _ in page}) == len(NUMERALS)


# Digits in disguise.

INVISIBLE = ["\u00ad", "\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\u034f", "\ufe0f"]
ENTITIES = ["&frac12;", "&sup2;", "&frac34;", "&#8545;", "&#x2460;", "&sup1;"]

numeral = st.sampled_from(NUMERALS)
digit = st.sampled_from("0123456789")
digits = st.one_of(
    numeral,
    st.text(alphabet="0123456789", min_size=1, max_size=4),
    st.builds(lambda each: f"&#{ord(each)};", numeral),
    st.builds(lambda each: f"&#x{ord(each):x};", numeral),
    st.builds(lambda each: f"&#X{ord(each):X};", numeral),
    st.sampled_from(ENTITIES),
    st.builds(lambda one, joint, two: one + joint + two, digit, st.sampled_from(INVISIBLE), digit),
    st.builds(lambda one, two: f"{one}*{two}*x", digit, digit),
    st.builds(lambda one, two: f"**{one}**{two}", digit, digit),
    st.builds(lambda one, two: f"{one}`{two}`", digit, digit),
    st.builds(lambda one: f"v{one}x", digit),
    st.builds(lambda one: f"\\{one}", digit),
)

# Where a reader meets a text. Code and front matter show entities as they are typed.
CONTAINERS = {
    "paragraph": "Here {} stands.\n",
    "heading": "## Here {} stands\n",
    "setext": "Here {} stands\n===\n",
    "item": "- a\n- here {} stands\n",
    "numbered": "a\n\n1. here {} stands\n",
    "quote": "> Here {} stands.\n",
    "cell": "| a | b |\n|---|---|\n| a | {} |\n",
    "header": "| a | {} |\n|---|---|\n| a | b |\n",
    "code": "Here ``a {} b`` stands.\n",
    "fence": "```python\na = {}\n```\n",
    "indented": "Here.\n\n    a = {}\n",
    "link": "Here [a {} b](../../index.html) stands.\n",
    "link title": 'Here [a](../../index.html "a {} b") stands.\n',
    "reference": 'Here [a] stands.\n\n[a]: ../../index.html "a {} b"\n',
    "alternative": "Here ![a {} b](a.png) stands.\n",
    "image title": 'Here ![a](a.png "a {} b") stands.\n',
    "emphasis": "Here *a {} b* stands.\n",
    "break": "Here\\\n{}\\\nstands.\n",
}
VERBATIM = {"code", "fence", "indented", "title", "description"}


def placed(text: str, where: str) -> tuple[set, set]:
    if where in ("title", "description"):
        return gated("Nothing.\n", **{where: f"a {text} b".replace("\\", "\\\\")})
    return gated(CONTAINERS[where].format(text))


@examples(60)
@given(digits, st.sampled_from([*CONTAINERS, "title", "description"]))
@example("&#49;", "paragraph")
@example("&#x31;", "alternative")
@example("&frac12;", "cell")
@example("1*0*", "heading")
@example("1\u200d0", "link title")
@example("Ⅳ", "title")
@example("７", "description")
def test_a_digit_is_found_in_any_disguise_and_any_place(text, where):
    # Where entities are shown as they are typed, "&#xaea;" is six letters and signs.
    assume(where not in VERBATIM or any(map(is_numeral, text)))
    source, page = placed(text, where)
    assert source
    assert page


@pytest.mark.parametrize("start", ["0", "2", "7.", "41", "123456789"])
def test_a_list_that_does_not_begin_at_the_beginning_is_found(start):
    source, page = gated(f"Here:\n\n{start.rstrip('.')}. a row\n")
    assert source
    assert page


# What only a theme or a figure could put on a page.


@cache
def clean_page() -> str:
    root = Path(_project().name)
    assert gated("Nothing.\n") == (set(), set())
    return build.build(build.configuration(root, relaxed=True)).files[PAGE].decode()


BEYOND = [
    '<p aria-label="{}">a</p>',
    '<p title="{}">a</p>',
    '<img alt="a {} b" src="a.png">',
    "<svg><text x='0'>{}</text></svg>",
    "<svg><title>{}</title></svg>",
    "<svg><text>a <tspan>{}</tspan></text></svg>",
    '<script type="application/json">{{"say": "{}"}}</script>',
    '<script type="application/json">{{"{} b": true}}</script>',
    "<style>p::after {{ content: '{}' }}</style>",
    '<meta name="description" content="{}">',
    "<table><caption>{}</caption></table>",
    "<noscript>{}</noscript>",
    "<textarea>{}</textarea>",
    '<input placeholder="{}">',
]


@examples(150)
@given(numeral, st.sampled_from(BEYOND))
def test_a_numeral_is_found_wherever_a_page_could_show_it(text, markup):
    page = clean_page().replace("</main>", markup.format(text) + "</main>")
    done = finish.finish({PAGE: page}, names={}, glossary=Names(GLOSSARY), registry={}, placed={})
    assert len(done.problems) == 1


# Numbers in words. A grammar of its own, so that it is no copy of the one that it tries.

ONES = "two three four five six seven eight nine ten eleven twelve sixteen twenty".split()
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
UNITS = (
    "times fold x × % percent milliseconds ms µs microseconds ns nanoseconds seconds minutes "
    "hours days cycles bytes kilobytes gigabytes GB MB KiB GB/s TFLOP/s bits hertz gigahertz "
    "watts joules degrees tokens/s gigaflops"
).split()

cardinal = st.one_of(
    st.sampled_from(ONES),
    st.builds(lambda tens, one: f"{tens} {one}", st.sampled_from(TENS), st.sampled_from(ONES[:8])),
    st.builds(lambda one: f"{one} hundred", st.sampled_from(ONES[:8])),
    st.builds(lambda one: f"{one} and a half", st.sampled_from(ONES)),
    st.builds(lambda a, b: f"{a} point {b}", st.sampled_from(ONES), st.sampled_from(ONES[:8])),
    st.sampled_from(["a hundred", "a thousand", "a dozen", "dozens of", "hundreds of"]),
)
between = st.sampled_from(["", "", "", "more ", "full ", "extra ", "or so ", "wall-clock "])
words = st.one_of(
    st.builds(lambda n, b, u: f"{n} {b}{u}", cardinal, between, st.sampled_from(UNITS)),
    st.builds(lambda n: f"{n} percentage points", cardinal),
    st.builds(lambda n: f"{n} requests per second", cardinal),
    st.builds(lambda n: f"a factor of {n}", st.sampled_from(ONES)),
    st.builds(lambda n: f"{n}fold", st.sampled_from(ONES)),
    st.builds(lambda n: f"{n} fold", st.sampled_from(ONES)),
    st.builds(lambda n: f"{n} orders of magnitude", st.sampled_from(ONES)),
    st.builds(lambda n: f"nine out of {n}", st.sampled_from(ONES)),
    st.builds(lambda n: f"multiplied by {n}", st.sampled_from(ONES)),
    st.builds(lambda n, part: f"{n} {part}", st.sampled_from(ONES), st.sampled_from(
        "thirds quarters fifths sixths sevenths eighths ninths tenths sixteenths hundredths".split()
    )),
    st.sampled_from(
        [
            "twice", "thrice", "doubled", "doubles", "doubling", "double", "tripled", "trebled",
            "quadrupled", "halved", "halving", "halves", "quartered", "an order of magnitude",
            "orders of magnitude", "half the", "half as", "by half", "only half", "at half",
            "one half", "a third of", "a quarter less", "a tenth of", "a sixteenth of", "manyfold",
            "several fold", "several times faster", "many times as", "a couple of seconds",
            "under a millisecond", "takes a microsecond", "by a percent", "sub millisecond",
            "single digit", "double digit", "a factor ten", "one kilobyte", "one cycle",
        ]
    ),
)  # fmt: skip
GAPS = [" ", "\u00a0", "\u202f", "-", "\u2010", "\u2011", "\u2013", "\u2212", "\n", "  ", "&nbsp;"]
MATHEMATICAL = {chr(97 + i): chr(0x1D41A + i) for i in range(26)}
FULL_WIDTH = {chr(97 + i): chr(0xFF41 + i) for i in range(26)}
CIRCLED = {chr(97 + i): chr(0x24D0 + i) for i in range(26)}


@st.composite
def disguised(draw):
    """Words in another case or alphabet, other gaps, and something within them or not."""
    text = draw(words)
    gap = draw(st.sampled_from(GAPS))
    text = text.replace(" ", gap)
    style = draw(st.sampled_from(["plain", "upper", "title", "bold", "wide", "circled"]))
    if "&" in gap:
        style = "plain"
    if style in ("upper", "title"):
        text = text.upper() if style == "upper" else text.capitalize()
        text = text.replace("\u00b5".upper(), "µ")
    for name, alphabet in (("bold", MATHEMATICAL), ("wide", FULL_WIDTH), ("circled", CIRCLED)):
        if style == name:
            text = "".join(alphabet.get(each, each) for each in text)
    at = draw(st.integers(1, len(text) - 1))
    inside = draw(st.sampled_from(["", *INVISIBLE, "\U000e0001", "\u2065", "\u0307", "**"]))
    letters = text[at - 1].isalnum() and text[at : at + 1].isalnum() and "&" not in text
    if letters and inside == "**":
        # Emphasis that begins within a word and ends with it.
        end = re.compile(r"[^\W_]*").match(text, at).end()
        text = f"{text[:at]}**{text[at:end]}**{text[end:]}"
    elif letters:
        text = text[:at] + inside + text[at:]
    return text


PROSE = ["paragraph", "heading", "item", "quote", "link", "link title", "alternative", "emphasis"]


@examples(100)
@given(disguised(), st.sampled_from(PROSE))
@example("three\\\ntimes", "paragraph")
@example("three  \ntimes", "quote")
@example("twi\u0001ce", "paragraph")
@example("half\u2029the", "paragraph")
def test_a_number_in_words_is_found_in_any_disguise(text, where):
    assume("\n" not in text or where in ("paragraph", "quote", "emphasis"))
    if where == "quote":
        text = text.replace("\n", "\n> ")
    marked = "**" in text and where in ("link title", "alternative")
    assume(not marked)
    source, page = gated(CONTAINERS[where].format(text))
    assert source
    assert page


def test_what_a_reader_cannot_see_as_it_stands_is_no_story():
    """Reversed, spelt with controls or with private signs: refused, whatever it would say."""
    root = Path(_project().name)
    for text in ("\u202eeciwt\u202c", "\u2066a\u2069", "a\x02b", "a\x1bb", "a\ue123b", "&#x202e;"):
        gated(f"Here {text} stands.\n")
        found = build.build(build.configuration(root, relaxed=True)).problems
        assert [each.rule for each in found if each.path == STORY] == ["bad-story"], ascii(text)


# Nothing else is stopped.

# No numeral among them, though each is near one.
INNOCENT = [
    "the kernel reads a row", "one of the rows", "two kernels", "the second step", "no one",
    "a third party", "a third kernel that loses", "by a third variant", "to a third kernel",
    "a half-open interval", "the first half of the row", "each half of the warp",
    "the other half waits", "`torch.half` is a dtype", "sometimes it spills", "at times",
    "the weight of a canine", "behalf of the author", "a manifold", "unfolded rows",
    "two second-order terms", "one day somebody will ask", "three stages of a pipeline",
    "fused two in one kernel", "seven warps wait", "it times two kernels", "the timescale",
    "halfway through", "redoubt", "a quartermaster", "headquarters", "once more", "a few rows",
    "several programs", "many launches", "orders of evaluation", "an order of operations",
    "multiple outputs", "the factor that decides", "a ratio of times", "out of order",
    "one launch, one read", "two kernels a second time", "percentile by percentile",
    "L2 is a cache", "ResNet-50 in half precision", "the unit of a byte", "a bit of patience",
    "the shape of a byte", "seconds pass", "nobody waits a second time", "one-pass softmax",
    "four-dimensional tensors", "three-stage pipelines", "in a second pass", "a minute detail",
]  # fmt: skip


@pytest.mark.parametrize("fragment", INNOCENT)
def test_ordinary_prose_is_left_alone(fragment):
    assert gated(f"Here {fragment}.\n\n## And {fragment}\n") == (set(), set())


def _silent(character: str) -> bool:
    name = unicodedata.name(character, "")
    numeric = re.search(r"\b(?:DIGIT|NUMBER|NUMERAL|FRACTION|KEYCAP)\b", name)
    return not (is_numeral(character) or numeric or character in "{}")


# Symbols of the category So are left out: among them are pictures of numbers by hundreds.
letters = st.characters(
    categories=["Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Pc", "Pd", "Po", "Sm", "Sc", "Zs"],
    codec="utf-8",
).filter(_silent)


@examples(70)
@given(
    st.lists(st.sampled_from(INNOCENT), max_size=4),
    st.text(alphabet=letters, max_size=30),
)
def test_what_holds_no_numeral_is_never_stopped(fragments, noise):
    # A single letter before a number in words could be a unit: keep the noise apart.
    text = "; ".join(fragments)
    assert gated(f"{noise}\n\nHere: {text}.\n\n- {text}\n") == (set(), set())
