from importlib.resources import files

import pytest

from writeup import explain
from writeup.errors import WriteupError
from writeup.numerals import numerals

PARTS = ["**Why.**", "**Fails:**", "**Passes:**", "**How to mend it:**"]


def test_every_page_in_the_folder_is_a_rule_in_the_order():
    pages = {entry.name for entry in (files("writeup") / "rules").iterdir()}
    assert pages == {f"{id_}.md" for id_ in explain.ORDER}
    assert list(explain.rules()) == list(explain.ORDER)


@pytest.mark.parametrize("id_", explain.ORDER)
def test_a_page_says_what_why_and_how(id_):
    rule = explain.rule(id_)
    places = [rule.text.index(f"\n{part}") for part in PARTS]
    assert places == sorted(places)
    assert not [line for line in rule.body.splitlines() if line.startswith("#")]
    assert rule.title
    assert rule.refuses.endswith(".")
    assert rule.body.count("```") == 4, "one example fails and one passes"
    _, failing, _, passing, _ = rule.body.split("```")
    assert failing != passing


@pytest.mark.parametrize("id_", explain.ORDER)
def test_a_page_shows_no_typed_number(id_):
    text = explain.rule(id_).text
    assert [found.text for found in numerals(text)] == []


def test_an_unknown_rule_is_told_with_the_nearest_one():
    with pytest.raises(WriteupError, match="did you mean 'typed-number'"):
        explain.rule("typed-numbers")


def test_a_rule_unlike_any_other_is_told_with_all_there_are():
    with pytest.raises(WriteupError, match="typed-number, bare-comparative"):
        explain.rule("zzz")
