"""A subject that was measured and that nobody has told: its page is made from the record."""

import json
import re

import pytest

from tests.cases import worlds
from tests.worlds import COMMIT, RUN, minimal_artifact, write_results
from writeup import build, verify
from writeup.errors import Problems

PAGE = "stories/softmax/index.html"
LATER_COMMIT, LATER_RUN = "ab" * 20, "20261231T0900Z-epyc"
PLAN = """+++
title = "A plan for softmax"
status = "blank"
+++

## Problem

Nobody has said why yet. {{ chunked.time }}

{{ problem }}
"""


@pytest.fixture
def project(tmp_path):
    """Lay a project of these artifacts, and of other files by path."""

    def laid(*artifacts, **files):
        (tmp_path / "writeup.toml").write_text('title = "Untold"\n', encoding="utf-8")
        for artifact, objects in artifacts:
            write_results(tmp_path / "results", artifact, objects)
        return worlds.lay(tmp_path, {p: c.encode() for p, c in files.items()})

    return laid


@pytest.fixture
def published(project):
    """Build such a project, publish it, and let the other program check it."""

    def site(*artifacts, **files):
        root = project(*artifacts, **files)
        config = build.configuration(root)
        made = build.build(config)
        assert verify.verify(build.publish(made, config)) == []
        return made

    return site


def recorded(**options):
    return minimal_artifact(blocks=6, samples=2, **options)


def text_of(site, page=PAGE):
    return site.files[page].decode()


def headings(text):
    return re.findall(r"<h2 id=\"([a-z-]+)\"", text)


def test_a_record_without_a_story_has_a_page_of_all_four_parts(published):
    site = published(recorded())
    text = text_of(site)
    assert headings(text) == ["problem", "roofline", "steps", "result", "measuring-it-again"]
    said = recorded()[0]["runs"][RUN]["experiments"]["softmax"]
    for key in ("title", "question", "hypothesis", "cannot_conclude", "next"):
        assert said[key] in text
    for block in ("problem", "roofline", "steps", "attempts", "result", "reproduce"):
        assert f'id="{block}-block"' in text
    assert "chunked-small" in text.partition('id="attempts-block"')[2]
    assert "harness run softmax --device cpu" in text
    assert f'href="../../results/{COMMIT}/index.html#{RUN}/softmax.small/chunked/host"' in text
    assert "No story has been written of this yet" in text


def test_the_home_page_links_the_record_and_says_who_tells_it(published):
    home = text_of(published(recorded()), "index.html")
    assert f'<a href="{PAGE}">' in home
    assert "told by its record alone" in home
    assert 'class="badge faster"' in home


def test_the_summary_tells_stories_and_records_apart(published):
    assert published(recorded()).summary.startswith(
        "0 stories, 1 subject told by the record alone, 1 artifact with 1 run, "
    )


def later():
    artifact, objects = recorded(commit=LATER_COMMIT, run=LATER_RUN, effects={"chunked": 0.5})
    artifact["runs"][LATER_RUN] |= {
        "started": "2026-12-31T09:00:00Z",
        "ended": "2026-12-31T09:20:00Z",
    }
    return artifact, objects


def test_the_newest_run_tells_and_names_the_others(published):
    text = text_of(published(recorded(), later()))
    assert 'class="badge slower"' in text.partition("<h2")[0]
    assert f'href="../../results/{COMMIT}/index.html#{RUN}"' in text
    assert f"{COMMIT}/index.html#{RUN}/softmax" not in text


def test_a_blank_story_with_results_lends_its_title_and_waits(published):
    text = text_of(published(recorded(), **{worlds.STORY: PLAN}))
    assert "<h1>A plan for softmax</h1>" in text
    assert "Nobody has said why" not in text
    assert 'id="result-block"' in text
    assert "not measured yet" not in text


def test_a_blank_title_that_cites_gives_way_to_that_of_the_record(published):
    plan = PLAN.replace("A plan for softmax", "{{ chunked.time }} of softmax")
    title = recorded()[0]["runs"][RUN]["experiments"]["softmax"]["title"]
    assert f"<h1>{title}</h1>" in text_of(published(recorded(), **{worlds.STORY: plan}))


def test_what_a_blank_story_types_is_judged_although_it_waits(project):
    root = project(recorded(), **{worlds.STORY: PLAN.replace("why yet", "why for 5 ms")})
    with pytest.raises(Problems) as caught:
        build.build(build.configuration(root))
    (problem,) = caught.value.problems
    assert (problem.place, problem.rule) == (f"{worlds.STORY}:8:25", "typed-number")


def test_a_blank_story_without_results_is_a_plan_as_before(published):
    other = recorded(subject="gelu")
    text = text_of(published(other, **{worlds.STORY: PLAN}))
    assert "Nobody has said why yet. not measured yet" in text
    assert "it is a plan" in text


def untimed():
    """A record of errors alone: no variant has a time, one has a metric."""
    artifact, objects = recorded(cases=("small",))
    run = artifact["runs"][RUN]
    run["experiments"]["softmax"]["predicted"] = []
    case = run["cases"]["softmax.small"]
    case.pop("rounds")
    case["variants"] = {
        name: {k: v for k, v in variant.items() if k != "timings"}
        for name, variant in case["variants"].items()
        if variant["role"] != "control"
    }
    case["variants"]["chunked"]["metrics"] = {
        "ulp": {"unit": "1", "samples": {"softmax.01": [2, 4, 3]}}
    }
    return artifact, objects


def test_a_record_without_times_shows_every_case_and_metric(published):
    site = published(untimed())
    text = text_of(site)
    assert headings(text) == ["problem", "what-was-recorded", "measuring-it-again"]
    assert "needs a CUDA device" in text
    assert "ulp of chunked, small" in text
    assert "recorded, nothing compared" in text_of(site, "index.html")


def test_a_headline_is_sought_on_the_first_case_that_has_one(published):
    artifact, objects = recorded()
    small = artifact["runs"][RUN]["cases"]["softmax.small"]
    for name in ("compiled", "chunked"):
        small["variants"][name]["role"] = "attempt"
        small["variants"][name]["parent"] = "eager"
    text = text_of(published((artifact, objects)))
    assert f"{RUN}/softmax.wide/chunked/host" in text.partition("<h2")[0]


def test_without_ceilings_the_page_says_so(published):
    artifact, objects = recorded()
    del artifact["runs"][RUN]["ceilings"]
    text = text_of(published((artifact, objects)))
    assert "There is no roofline: the run measured no ceilings" in text
    assert 'id="roofline-block"' not in text


def test_uncounted_work_leaves_out_the_roofline_only(published):
    artifact, objects = recorded()
    for case in artifact["runs"][RUN]["cases"].values():
        del case["work"]["flops"]
    text = text_of(published((artifact, objects)))
    assert "There is no roofline: the work of this case was not counted" in text
    assert 'id="steps-block"' in text


def test_a_record_without_experiment_or_tolerance_has_its_page_too(published):
    artifact, objects = recorded()
    run = artifact["runs"][RUN]
    del run["experiments"]
    for case in run["cases"].values():
        del case["tolerance"]
    with pytest.raises(Problems) as caught:
        published((artifact, objects))
    assert {p.rule for p in caught.value.problems} == {"not-concluded"}
    config = "[severity]\nnot-concluded = 'warning'\n"
    text = text_of(published((artifact, objects), **{"writeup.toml": config}))
    assert "<h1><code>" in text
    assert 'id="result-block"' in text


@pytest.mark.parametrize("title", ["{{ result }} <b>bold</b>", "[a](javascript:b) `code`", "+++"])
def test_no_text_of_a_record_is_read_as_markup(published, title):
    artifact, objects = recorded()
    artifact["runs"][RUN]["experiments"]["softmax"] |= {"title": title, "question": title}
    text = text_of(published((artifact, objects)))
    shown = title.replace("<", "&lt;").replace(">", "&gt;")
    assert f"<h1>{shown}</h1>" in text
    assert text.count('id="result-block"') == 1


@pytest.mark.parametrize(
    ("key", "words", "rule"),
    [
        ("hypothesis", "It is 3.7x as good.", "typed-number"),
        ("cannot_conclude", "", "not-concluded"),
    ],
)
def test_a_record_passes_the_rules_of_records(project, key, words, rule):
    artifact, objects = recorded()
    artifact["runs"][RUN]["experiments"]["softmax"][key] = words
    if not words:
        del artifact["runs"][RUN]["experiments"]["softmax"][key]
    root = project((artifact, objects))
    with pytest.raises(Problems) as caught:
        build.build(build.configuration(root))
    (problem,) = caught.value.problems
    assert (problem.path, problem.rule) == (f"results/{COMMIT}.json", rule)


def test_a_timer_whose_unit_was_not_confirmed_stops_the_page_of_a_record(project):
    artifact, objects = recorded()
    del artifact["runs"][RUN]["timer"]["check"]
    with pytest.raises(Problems) as caught:
        build.build(build.configuration(project((artifact, objects))))
    assert {(p.path, p.rule) for p in caught.value.problems} == {
        (f"results/{COMMIT}.json", "unit-unconfirmed")
    }


def test_json_of_an_untold_site_names_no_story_as_its_source(published):
    site = published(recorded())
    occurrences = json.loads(site.files["citations.json"])["occurrences"]
    assert not any("source" in each for each in occurrences)
