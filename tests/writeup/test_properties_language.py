"""Citations: whatever prints parses back, and whatever does not parse says where.

The printer here is the grammar of `writeup.language` turned round, so that it and the parser
can only agree by both being right.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.effort import examples
from writeup.document import parse_story
from writeup.language import (
    COUNTED,
    ORDERED,
    PREDICTED,
    RESERVED,
    Block,
    BlockName,
    CitationError,
    Claim,
    Code,
    Denominator,
    Diff,
    Facets,
    Fact,
    Field,
    Measure,
    Namespace,
    Predicted,
    Ratio,
    Relation,
    Value,
    Versus,
    Word,
    parse,
)

BLANKS = [" ", "  ", "\t", "\u00a0", "\u2003", "\u3000"]

ids = st.from_regex(r"[a-z][a-z0-9_-]{0,11}", fullmatch=True)
variants = ids.filter(lambda text: text not in RESERVED).map(Word)
facet_words = (
    st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,11}", fullmatch=True)
    .filter(lambda text: text != "all")
    .map(Word)
)
facets = st.builds(
    lambda words, everything: Facets(tuple(words), everything),
    st.lists(facet_words, max_size=3, unique_by=str),
    st.booleans(),
)


# The key of a setting, which may hold points.
settings = st.lists(
    st.from_regex(r"[A-Za-z0-9_-]{1,8}", fullmatch=True), min_size=1, max_size=3
).map(lambda parts: Word(".".join(parts)))


@st.composite
def measures(draw, among=tuple(Field)):
    field = draw(st.sampled_from(sorted(among)))
    if field in (Field.METRIC, Field.COUNTER):
        return Measure(field, name=Word(draw(ids)))
    if field is Field.CONFIG and draw(st.booleans()):
        return Measure(field, name=draw(settings))
    of = draw(st.none() | st.sampled_from(Denominator)) if field is Field.FRACTION else None
    return Measure(field, of=of, implemented=field in COUNTED and draw(st.booleans()))


@st.composite
def claims(draw):
    relation = draw(st.sampled_from(Relation))
    ordered = relation in (Relation.BELOW, Relation.ABOVE)
    measure = draw(measures(ORDERED)) if ordered else Measure(Field.TIME)
    return Claim(draw(variants), relation, draw(variants), measure, draw(facets))


names = st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{0,11}", fullmatch=True).map(Word)
files = st.lists(
    st.from_regex(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,7}", fullmatch=True), min_size=1, max_size=3
).map(lambda parts: Word("/".join(parts)))
symbols = st.lists(
    st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,7}", fullmatch=True), min_size=1, max_size=3
).map(lambda parts: Word(".".join(parts)))
facts = st.builds(
    lambda namespace, path, found: Fact(namespace, tuple(path), found),
    st.sampled_from(Namespace),
    st.lists(names, min_size=1, max_size=3),
    facets,
)
predictions = st.builds(
    Predicted, st.none() | variants, st.none() | variants, st.booleans(), facets
)
citations = st.one_of(
    st.builds(Value, variants, measures(), facets),
    st.builds(Ratio, variants, variants, facets),
    st.builds(Versus, variants, variants, facets),
    claims(),
    facts,
    predictions,
    st.builds(Code, files, st.none() | symbols),
    st.builds(Diff, variants, variants),
    st.builds(Block, st.sampled_from(BlockName)),
)


def printed(citation) -> list[str]:
    """The words of a citation, between which blanks may stand."""
    match citation:
        case Value(variant, measure, found):
            return [f"{variant}.{_first(measure)}", *_rest(measure), *_facets(found)]
        case Ratio(variant, over, found):
            return [f"{variant}.speedup", "over", str(over), *_facets(found)]
        case Versus(variant, other, found):
            return [str(variant), "vs", str(other), *_facets(found)]
        case Claim(variant, relation, other, measure, found):
            ordered = relation in (Relation.BELOW, Relation.ABOVE)
            what = [_first(measure), *_rest(measure)] if ordered else []
            return ["claim", str(variant), *what, *relation.split(), str(other), *_facets(found)]
        case Fact(namespace, path, found):
            return [".".join([namespace, *map(str, path)]), *_facets(found)]
        case Predicted(variant, over, measured, found):
            first = f"{PREDICTED}.{variant}" if variant else PREDICTED
            beside = ["over", str(over)] if over else []
            return [first, *beside, *(["vs", "measured"] if measured else []), *_facets(found)]
        case Code(file, symbol):
            return ["code", f"{file}:{symbol}" if symbol else str(file)]
        case Diff(variant, other):
            return ["diff", str(variant), str(other)]
        case Block(name):
            return [str(name)]
    raise AssertionError(citation)


def _first(measure) -> str:
    return f"{measure.field}.{measure.name}" if measure.name else str(measure.field)


def _rest(measure) -> list[str]:
    if measure.implemented:
        return ["as", "implemented"]
    return ["of", str(measure.of)] if measure.of else []


def _facets(found) -> list[str]:
    said = [[str(word)] for word in found.words] + [["all", "cases"]] * found.all_cases
    listed = [part for each in said for part in (",", *each)]
    return ["@", *listed[1:]] if listed else []


@st.composite
def typed(draw):
    """A citation, and it as typed with blanks wherever they may stand."""
    citation = draw(citations)
    parts = printed(citation)
    text = draw(st.sampled_from(["", *BLANKS]))
    for before, part in zip(["", *parts], parts, strict=False):
        bound = before in ("", "@", ",") or part in ("@", ",")
        text += draw(st.sampled_from(["", *BLANKS] if bound else BLANKS)) + part
    return citation, text + draw(st.sampled_from(["", *BLANKS]))


def words_of(thing):
    """Every word and measure of a citation that knows where it stands."""
    if isinstance(thing, Word):
        yield thing.text, thing.at
    elif isinstance(thing, Measure):
        yield str(thing.field), thing.at
        if thing.name:
            yield from words_of(thing.name)
    elif isinstance(thing, tuple):
        for each in thing:
            yield from words_of(each)
    elif hasattr(thing, "__slots__") and not isinstance(thing, str):
        for slot in thing.__slots__:
            yield from words_of(getattr(thing, slot))


@examples(400)
@given(typed())
def test_a_citation_parses_back_to_itself_however_it_is_spaced(pair):
    citation, text = pair
    assert parse(text) == citation


@examples(300)
@given(typed())
def test_every_word_stands_where_it_says(pair):
    citation, text = pair
    found = parse(text)
    # A claim of speed says "faster"; that it is about the time is understood.
    understood = isinstance(citation, Claim) and citation.measure == Measure(Field.TIME)
    for word, at in words_of(found):
        if not (understood and word == "time"):
            assert text[at : at + len(word)] == word


def test_two_words_are_another_spelling_of_one_field():
    assert parse("a.spill bytes") == parse("a.spills")
    assert parse("a.shared   memory @ b") == parse("a.shared @ b")
    assert parse("claim a shared memory below b") == parse("claim a shared below b")
    assert parse("a.fraction of matched") == parse("a.fraction of copy")


# Whatever is typed.


def attempt(text):
    """The citation that a text is, or the error that says why it is none; nothing else."""
    try:
        return parse(text)
    except CitationError as error:
        return error


def judge(text):
    """Whatever it is: if it is no citation, the error says what and where."""
    found = attempt(text)
    if not isinstance(found, CitationError):
        return
    assert 0 <= found.at <= len(text)
    assert found.at < found.end
    assert found.message
    # What is wrong begins with a word, or is missing: at the end, or behind a point.
    missing = found.at == len(text.rstrip()) or text[found.at - 1 : found.at] == "."
    assert missing or not text[found.at].isspace()


@examples(400)
@given(st.text(max_size=60))
def test_any_text_parses_or_says_where_it_does_not(text):
    judge(text)


LEXICON = sorted(
    {*RESERVED, *map(str, Field), *map(str, Namespace), *map(str, Denominator), *map(str, BlockName)}
    | {"speedup", "spill", "bytes", "shared", "memory", "matched", "bn64", "sdpa", "metric.a"}
    | {"@", ",", ".", ":", "..", "@@", "{{", "}}", "a.", ".a", "A", "é", "\u0661", "\U0001f600", "\0"}
)  # fmt: skip


@examples(600)
@given(st.lists(st.sampled_from(LEXICON), max_size=8), st.sampled_from(["", " ", "\u00a0", "."]))
def test_the_words_of_the_language_in_any_order_parse_or_say_where(parts, gap):
    judge(gap.join(parts))


@examples(300)
@given(typed(), st.data())
def test_a_citation_with_a_character_too_many_or_too_few_parses_or_says_where(pair, data):
    _, text = pair
    at = data.draw(st.integers(0, len(text)))
    more = data.draw(st.characters(codec="utf-8"))
    judge(text[:at] + more + text[at:])
    judge(text[:at] + text[at + 1 :])


@pytest.mark.parametrize(
    "text",
    ["a" * 200_000, "a." * 100_000, "a " * 100_000, "a.time @ " + "b," * 4_000, "@" * 100_000],
    ids=["word", "points", "words", "facets", "signs"],
)
def test_a_text_without_end_is_refused_soon(text):
    with pytest.raises(CitationError):
        parse(text)


@examples(200)
@given(typed())
def test_a_citation_in_a_story_stands_where_the_file_has_it(pair):
    citation, text = pair
    gap = "" if isinstance(citation, Code | Diff | Block) else "Before "
    story = parse_story(f"+++\ntitle = 't'\n+++\n\nabc\n\n{gap}{{{{{text}}}}}\n", "story.md")
    (placed,) = story.citations
    assert placed.citation == citation
    assert (placed.line, placed.column) == (7, len(gap) + 1)
    if isinstance(citation, Value):
        column = placed.column_of(placed.citation.variant.at)
        line = story.text.split("\n")[placed.line - 1]
        assert line[column - 1 :].startswith(str(citation.variant))
