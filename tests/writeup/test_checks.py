"""Ways around the gate that are closed: results told in fields, literals, names and glossaries."""

from pathlib import Path

import pytest

from tests.worlds import minimal_artifact, write_results
from writeup import build, numerals, verify
from writeup.errors import Problems
from writeup.numerals import Names

STORY = """+++
title = "A story"
kind = "study"
case = "wide"
mode = "host"
+++

{body}
"""


def world(folder: Path, body="Prose.", edit=None, settings=""):
    """A project of one story and one artifact, which `edit` may change before it is written."""
    artifact, objects = minimal_artifact(blocks=6, samples=2, modes=("host",))
    if edit is not None:
        edit(next(iter(artifact["runs"].values())))
    (folder / "kernels" / "softmax").mkdir(parents=True)
    (folder / "kernels" / "softmax" / "story.md").write_text(STORY.format(body=body))
    (folder / "writeup.toml").write_text(f'title = "World"\n{settings}')
    write_results(folder / "results", artifact, objects)
    return folder


def refused(folder: Path) -> tuple:
    with pytest.raises(Problems) as caught:
        build.build(build.configuration(folder))
    return caught.value.problems


def variant(run, case="softmax.wide", name="chunked"):
    return run["cases"][case]["variants"][name]


def test_the_world_itself_builds(tmp_path):
    assert build.build(build.configuration(world(tmp_path))).files


@pytest.mark.parametrize(
    "edit",
    [
        lambda run: variant(run).update(expression="9.9 times as fast as eager"),
        lambda run: variant(run)["config"].update(note="8.8 ms, no less"),
        lambda run: run["cases"]["softmax.wide"]["inputs"].update(distribution="ten times normal"),
        lambda run: run["environment"]["device"].update(name="EPYC, 2.2 × eager"),
        lambda run: run["environment"]["software"].update(torch="2.13.0, twice as fast"),
        lambda run: run["timer"].update(name="a clock 7 % off"),
    ],
    ids=["expression", "config", "distribution", "device", "version", "timer"],
)
def test_a_result_told_in_a_field_that_is_shown_as_it_stands_is_refused(tmp_path, edit):
    assert {problem.rule for problem in refused(world(tmp_path, edit=edit))} == {"typed-number"}


@pytest.mark.parametrize(
    "literal",
    [
        '[2.2 ×]{.literal reason="none"}',
        '[99 %]{.literal reason="none"}',
        '[3]{.literal reason="none"} times the rate',
        '[5 faster]{.literal reason="none"}',
    ],
)
def test_a_literal_with_a_unit_or_a_comparison_is_refused(tmp_path, literal):
    problems = refused(world(tmp_path, body=f"It is {literal}."))
    assert [(p.rule, p.line, p.column) for p in problems] == [("typed-number", 8, 7)]


def test_literals_are_few(tmp_path):
    body = " and ".join(f'[{n}]{{.literal reason="a count"}}' for n in range(6))
    (problem,) = refused(world(tmp_path, body=body))
    assert "more literals than 5" in problem.message


@pytest.mark.parametrize("term", ["9.9 times", "2.2 ×", "100 %", "42", "three percent"])
def test_a_glossary_of_figures_is_refused(tmp_path, term):
    problems = refused(world(tmp_path, settings=f'[glossary]\n"{term}" = "a name"\n'))
    assert {problem.rule for problem in problems} == {"bad-config"}


@pytest.mark.parametrize(
    "text", ["python 3.11.7 times as fast", "L3 times", "L2× quicker", "float32 times as good"]
)
def test_a_name_before_times_is_a_multiple(text):
    names = Names(["python 3.11.7", "L3", "L2", "float32"])
    assert numerals.typed(text, names)


@pytest.mark.parametrize("text", ["L2 holds it", "in float32, times vary", "python 3.11.7"])
def test_a_name_that_multiplies_nothing_passes(text):
    assert not numerals.typed(text, Names(["python 3.11.7", "L2", "float32"]))


def test_a_picture_beside_a_story_is_published(tmp_path):
    folder = world(tmp_path, body="![the board](board.png)")
    (folder / "kernels" / "softmax" / "board.png").write_bytes(b"\x89PNG pixels")
    site = build.build(build.configuration(folder))
    assert site.files["stories/softmax/board.png"] == b"\x89PNG pixels"


def test_ignored_rules_are_told_on_a_public_page(tmp_path):
    settings = '[[ignore]]\nrule = "no-attempts"\npath = "kernels/*"\nreason = "it is a survey"\n'
    site = build.build(build.configuration(world(tmp_path, settings=settings)))
    assert "it is a survey" in site.files["literals/index.html"].decode()


def test_a_site_that_knows_its_address_builds_and_is_confirmed(tmp_path):
    folder = world(tmp_path, settings='base_url = "https://example.org/kernels"\n')
    project = build.configuration(folder)
    site = build.publish(build.build(project), project)
    assert b"https://example.org/kernels/assets/" in (site / "404.html").read_bytes()
    assert verify.verify(site) == []
