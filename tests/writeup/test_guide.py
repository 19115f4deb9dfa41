"""The page of the language says all of it, and nothing that does not parse."""

import re
from typing import get_args

import pytest

from writeup import answers, guide, language
from writeup.document import parse_story
from writeup.frontmatter import KEYS
from writeup.language import (
    BlockName,
    Citation,
    CitationError,
    Denominator,
    Field,
    Measure,
    Namespace,
    Relation,
    parse,
)

PAGE = guide.page()


@pytest.mark.parametrize("example", guide.EXAMPLES)
def test_every_example_is_a_citation(example):
    parse(example)
    assert f"  {example}  " in PAGE


def test_every_kind_of_citation_has_an_example():
    assert {type(parse(example)) for example in guide.EXAMPLES} == set(get_args(Citation))
    parsed = [parse(example) for example in guide.EXAMPLES]
    assert {each.namespace for each in parsed if hasattr(each, "namespace")} == set(Namespace)


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        (guide.FIELDS, Field),
        (guide.RELATIONS, Relation),
        (guide.DENOMINATORS, Denominator),
        (guide.BLOCKS, BlockName),
        (guide.FACTS, Namespace),
        (guide.FRONT, KEYS),
    ],
    ids=["fields", "relations", "denominators", "blocks", "facts", "front"],
)
def test_every_word_of_the_language_has_a_line_and_no_other(rows, names):
    assert list(map(str, rows)) == list(map(str, names))
    assert all(rows.values())
    words = " ".join(PAGE.split())
    assert all(" ".join(said.split()) in words for said in rows.values())


@pytest.mark.parametrize("field", Field)
def test_every_field_is_asked_for_as_the_page_spells_it(field):
    named = field in (Field.METRIC, Field.COUNTER)
    spelt = f"a.{field}.x" if named else f"a.{field}"
    assert parse(spelt).measure.field is field
    for also in re.findall(r"also `([a-z ]+)`", guide.FIELDS[field]):
        assert parse(f"a.{also}").measure.field is field


def test_what_can_be_ordered_or_counted_is_listed():
    listed = re.search(r"Fields that can be below or above: ([^.]+)\.", PAGE)[1]
    ordered = {" ".join(name.split()) for name in listed.split(",")}
    assert ordered == {str(field) for field in language.ORDERED - {Field.TIME}}
    counted = re.search(r"\n\n([a-z, ]+) are of the case's compulsory work", PAGE)[1].split(", ")
    for field in Field:
        try:
            assert parse(f"a.{field} as implemented").measure == Measure(field, implemented=True)
        except CitationError:
            assert str(field) not in counted
        else:
            assert str(field) in counted


def test_words_that_the_grammar_quotes_are_read_where_it_has_them():
    rules = dict(re.findall(r"^(\w+)\s+= ((?:.*\n(?:\s+\|.*\n)?))", language.GRAMMAR, re.MULTILINE))
    assert set(rules) >= {"citation", "value", "claim", "predicted", "facets"}
    used = {
        name
        for rule in rules.values()
        for name in re.findall(r"(?<![\".\w])[a-z]+(?![\".\w])", rule)
    }
    terminals = {
        "id",
        "field",
        "denominator",
        "key",
        "name",
        "namespace",
        "file",
        "symbol",
        "token",
        "block",
    }
    assert used <= set(rules) | terminals
    assert set(rules["counted"].replace('"', "").replace("|", "").split()) == set(language.COUNTED)
    assert rules["relation"].count('"') // 2 == len(Relation) + 3


@pytest.mark.parametrize("fact", [*answers.RUN_FACTS, *answers.CASE_FACTS, *answers.CEILING_FACTS])
def test_facts_are_named_on_the_page(fact):
    assert re.search(rf"\b{fact}\b", PAGE)


def test_the_literal_that_the_page_shows_is_one():
    shown = re.search(r"\[5\]\{[^}]*\}", PAGE)[0]
    story = parse_story(f'+++\ntitle = "a"\n+++\n{shown}\n', "story.md")
    assert [literal.text for literal in story.literals] == ["5"]


def test_the_page_fits_a_terminal():
    assert max(map(len, PAGE.splitlines())) <= 100
    assert "\n\n\n" not in PAGE
