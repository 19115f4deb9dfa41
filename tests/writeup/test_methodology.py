"""The method page says everything that it has to, from the one place where it is written."""

import html
import json
import re
from importlib.resources import files

import pytest

from writeup import build, explain, methodology, resources, stats
from writeup.language import Denominator
from writeup.numerals import numerals

SCHEMA = json.loads(resources.schema().read_bytes())["$defs"]
PAGE = "method/index.html"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    (folder / "kernels/subject").mkdir(parents=True)
    (folder / "writeup.toml").write_text('title = "World"\n')
    (folder / "kernels/subject/story.md").write_text(
        '+++\ntitle = "A story"\ndescription = "d"\naudience = "a"\nstatus = "blank"\n+++\n\n## Problem\n'
    )
    return build.build(build.configuration(folder))


@pytest.fixture(scope="module")
def page(site):
    return site.files[PAGE].decode()


def words(markup):
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", markup)).split())


def codes(page):
    return {html.unescape(each) for each in re.findall(r"<code>([^<]*)</code>", page)}


def test_every_page_in_the_folder_is_a_chapter_in_the_order():
    pages = {entry.name for entry in (files("writeup") / "method").iterdir()}
    assert pages == {f"{name}.md" for name in methodology.ORDER}
    assert [each.id for each in methodology.chapters()] == [*methodology.ORDER, "limits"]


def test_every_chapter_and_every_rule_is_on_the_page_and_in_its_contents(page):
    for anchor in [each.id for each in methodology.chapters()] + [*explain.ORDER, "rules"]:
        assert page.count(f' id="{anchor}"') == 1, anchor
        assert f'href="#{anchor}"' in page, anchor


@pytest.mark.parametrize("name", explain.ORDER)
def test_a_rule_stands_there_as_explain_prints_it_and_stands_there_once(page, name):
    rule = explain.rule(name)
    shown = words(page)
    assert shown.count(rule.refuses) == 1
    (why,) = re.findall(r"\*\*Why\.\*\* ([^`*]+?)\n\n", rule.body)
    assert shown.count(" ".join(why.split())) == 1


@pytest.mark.parametrize("kind", ["mode", "regime", "status"])
def test_every_value_that_the_schema_knows_is_explained(page, kind):
    table = next(t for t in re.findall(r"<table>.*?</table>", page, re.DOTALL) if f">{kind}<" in t)
    rows = re.findall(r"<td><code>([^<]*)</code></td>\s*<td>([^<]+|.+?)</td>", table)
    assert [name for name, _ in rows] == SCHEMA[kind]["enum"]
    assert all(len(words(meaning)) > 10 for _, meaning in rows)


def test_every_verdict_and_whatever_withholds_one_is_explained(page):
    assert set(stats.Verdict) <= codes(page)
    shown = [words(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", page)]
    assert set(map(str, stats.Reason)) <= set(shown)


def test_every_denominator_of_a_fraction_is_explained(page):
    assert {f"fraction of {each}" for each in Denominator} <= codes(page)


def constants(site):
    evidence = json.loads(site.files[build.CITATIONS])
    here = {each["key"] for each in evidence["occurrences"] if each["page"] == PAGE}
    return {
        each["args"][0]: each["value"]
        for key, each in evidence["evidence"].items()
        if key in here and each["form"] == "constant"
    }


def test_every_constant_of_the_statistics_is_on_the_page_with_its_value(site):
    shown = constants(site)
    ours = {name: getattr(stats, name) for name in vars(stats) if name.isupper()}
    assert ours.items() <= shown.items()
    assert shown["COVERAGE"] == stats.coverage(stats.BLOCKS)
    kept = stats.interval(range(stats.BLOCKS))
    assert stats.BLOCKS - 2 * shown["LEFT_OUT"] == kept.high - kept.low + 1
    assert shown["TAIL"] == pytest.approx((1 - stats.coverage(stats.BLOCKS)) / 2)


def test_no_chapter_holds_a_number_of_its_own():
    for name in methodology.ORDER:
        text = (files("writeup") / "method" / f"{name}.md").read_text("utf-8")
        assert [found.text for found in numerals(text)] == [], name


def test_the_three_questions_are_answered_by_rules(page):
    section = re.search(r'id="questions".*?</section>', page, re.DOTALL)[0]
    answers = re.findall(r"<p><strong>[^<]*\?</strong>(.*?)</p>", section, re.DOTALL)
    assert len(answers) == 3
    named = [set(re.findall(r'href="#([a-z-]+)"', answer)) for answer in answers]
    for answer, rule in zip(named, ("story-order", "hidden-loss", "typed-number"), strict=True):
        assert rule in answer
        assert answer <= set(explain.ORDER)


def test_what_the_gate_cannot_see_is_told_alike_on_both_pages(site):
    both = [words(site.files[path].decode()) for path in (PAGE, "literals/index.html")]
    for spot in methodology.BLIND_SPOTS:
        assert [text.count(spot) for text in both] == [1, 1]
