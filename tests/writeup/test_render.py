import re
from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path
from typing import get_args

import pytest
from jinja2 import UndefinedError
from jinja2.exceptions import SecurityError

from tests.writeup.view_samples import (
    COMMIT,
    RESULT,
    evidence,
    href,
    ladder,
    measured,
    roofline,
)
from writeup import render, resources, views
from writeup.evidence import END, START, Evidence
from writeup.markup import markup_runs
from writeup.views import Code, Fact, Facts, Link, Role, Tone, Verdict

MARKED = re.compile(f"{START}[0-9a-f]{{12}}{START}.*?{END}", re.DOTALL)
BLOB = "ab" * 20
STORY = "stories/softmax/index.html"
FASTER = Verdict(Tone.FASTER, evidence("faster", form="verdict"), "fused is faster")
OK = Verdict(Tone.OK, "ok")
TEXT = "def fused(x):\n    return x * 2\n"


def listing(text=TEXT, blob=BLOB):
    found = Evidence("source", (blob,), text.rstrip("\n"), ("1", str(text.count("\n"))))
    return views.Listing(found, Code("fused.py"), "python", 1, f"sources/{blob}/index.html")


def prediction():
    return views.Prediction(
        "p", Code("fused"), Code("eager"), "wide", "host", evidence("1.4 ×", 1.4), None, FASTER
    )


def outcome(case):
    return views.Outcome(
        case, "host", evidence("64 rows"), "float", FASTER, measured("9 ms", 9e-3), None, None
    )


def blocks():
    fact = (Fact("Work", evidence("42 MFLOP", 4.2e7), "counted"),)
    time = measured("1.01 ms", 1.01e-3)
    return (
        views.ProblemBlock("problem", "How fast?", fact, "It should be.", (prediction(),)),
        roofline(),
        ladder(),
        views.AttemptsBlock(
            "attempts",
            (
                views.Attempt(
                    "odd",
                    Code("odd"),
                    Code("fused"),
                    "an idea",
                    Verdict(Tone.FAILED, "out of resources"),
                    (views.Change("chunk", evidence("1"), evidence("2")),),
                    time,
                    time,
                    "too much",
                    fact,
                    ("needs ", evidence("240 KiB")),
                    Link("odd.py", f"sources/{BLOB}/index.html"),
                ),
            ),
        ),
        views.SearchedBlock(
            "searched",
            (
                views.Search(
                    Code("fused"),
                    fact,
                    ("chunk",),
                    (views.Tried((evidence("4"),), OK, time, True),),
                ),
            ),
        ),
        views.ResultBlock(
            id="result",
            headline=FASTER,
            variant=Code("fused"),
            baseline=Code("eager"),
            time=time,
            baseline_time=time,
            speedup=measured("1.76 ×", 1.76),
            shape=evidence("64 × 9"),
            dtype="float",
            device=evidence("EPYC 9"),
            mode="host",
            exceptions=(outcome("small"),),
            holds=(outcome("wide"),),
        ),
        views.CasesBlock("cases", (case(),), fact),
        views.ReproduceBlock(
            "reproduce", (("writeup rerun ", evidence("a1/b2")),), fact, (Link("fused.py", STORY),)
        ),
        views.CodeBlock("code", "The loop", listing()),
        views.DiffBlock(
            "diff", "The change", listing(), listing(TEXT.replace("2", "3"), "cd" * 20)
        ),
    )


def story(body=None):
    return views.Story(
        path=STORY,
        title=("Softmax in ", evidence("1.01 ms", 1.01e-3)),
        description="One pass",
        audience="readers",
        body=body or (lambda pen: "".join(pen.draw(block) for block in blocks())),
        verdict=FASTER,
        facts=(Fact("Device", evidence("EPYC 9")),),
        contents=(views.Heading("Problem", "problem"),),
        notices=(views.Notice("Stale."),),
        record=Link("The record", RESULT),
    )


def case():
    time = measured("1.01 ms", 1.01e-3)
    number = evidence("12", 12, form="samples")
    timing = views.TimingRow(
        "run/softmax.wide/eager/host",
        Code("eager"),
        Role.BASELINE,
        time,
        *(number,) * 7,
        ratio=time,
        verdict=FASTER,
        fraction=evidence("97 %", 0.97),
    )
    strip = views.Strip(Code("eager"), Role.BASELINE, ((1e-3, 1.1e-3), (2e-3,)), time)
    mode = views.ModeSection(
        "run/softmax.wide/-/host", "host", "cold", (timing,), (strip,), "writeup rerun", "twins"
    )
    variant = views.VariantRow(
        "run/softmax.wide/eager",
        Code("eager"),
        Role.BASELINE,
        "torch's own",
        OK,
        error=evidence("1e-8"),
        config=(Fact("chunk", evidence("4096")),),
    )
    lost = replace(
        variant, id="run/softmax.wide/odd", status=Verdict(Tone.FAILED, "timeout"), log="slow"
    )
    return views.CaseSection(
        "run/softmax.wide",
        "wide",
        "wide rows",
        (Fact("Shape", evidence("64 × 9")),),
        (variant, lost),
        (mode,),
    )


def result():
    time = measured("1.01 ms", 1.01e-3)
    group = (Facts("Device", (Fact("Name", evidence("EPYC 9"), id="/runs/r/name"),)),)
    mistake = views.Mistake(
        "forgotten", "fused.py", evidence("x * 2"), evidence("x"), "small", "wide", OK
    )
    run = views.RunSection(
        id="run",
        title=evidence("run 1"),
        facts=(Fact("Seed", evidence("7")),),
        environment=group,
        timer=(Fact("Timer", "perf_counter"),),
        ceilings=(
            views.CeilingRow(
                "run/ceilings/dram",
                "dram",
                "memory",
                "dram",
                "",
                "burst",
                time,
                (views.Probe("copy", time, best=True),),
            ),
        ),
        controls=(Facts("Floor", (Fact("host", evidence("310 ns")),)),),
        experiments=(
            views.ExperimentSection(
                "run/softmax", "Softmax", (), (prediction(),), (mistake,), Link("Story", STORY)
            ),
        ),
        cases=(case(),),
        documents=(
            views.Document("time", "https://docs.python.org/", "says", "x", evidence("3.11")),
            views.Document("bad", "javascript:alert(document)", "says", "x", "y"),
        ),
        rerun="writeup rerun",
    )
    return views.Result(
        path=RESULT,
        title=("Artifact ", evidence(COMMIT[:12])),
        description="All of it",
        facts=(),
        runs=(run,),
        sources=(views.SourceRow("fused.py", evidence(BLOB), f"sources/{BLOB}/index.html"),),
        downloads=(
            views.Download(
                "artifact.json", f"results/{COMMIT}/artifact.json", "raw", evidence("9c11"), None
            ),
        ),
        cited_by=(Link("Softmax", STORY, "problem"),),
    )


def chapter(name):
    return views.Chapter(name, Code(name), lambda pen: f"<p>{pen.draw(evidence('95 %'))}</p>", "s")


def pages():
    literal = views.Literal(evidence("5"), "a section", (Link("Softmax", STORY),))
    card = views.Card("Softmax", STORY, "One pass", FASTER, evidence("EPYC 9"), evidence("2026"))
    shelf = views.Shelf(evidence(COMMIT[:12]), RESULT, "softmax", "EPYC", evidence("2026"), "one")
    return (
        views.Home("Writeups", "Claims", (card,), (shelf,), (prediction(),), ("Open.",)),
        story(),
        result(),
        views.Source(
            f"sources/{BLOB}/index.html",
            Code("fused.py"),
            "Measured",
            listing(),
            used_by=(Link("Artifact", RESULT),),
        ),
        views.Literals("Literals", "None is a result", (literal,), (literal,), ("images",)),
        views.Method("Method", "How", (chapter("band"),), (chapter("typed-number"),)),
        views.NotFound(),
    )


def site(*only, **more):
    return views.Site("Writeups", "Claims", only or pages(), **more)


def rendered(*only, theme=None, **more):
    return render.render(site(*only, **more), href, theme=theme)


@pytest.fixture(scope="module")
def whole():
    return rendered()


def clean(text):
    return re.sub(f"{START}[^{START}]*{START}|{END}", "", text)


def test_samples_cover_every_kind_of_page_and_block():
    assert {type(page) for page in pages()} == set(get_args(views.Page))
    assert {type(block) for block in blocks()} == set(get_args(views.Block))


def test_templates_type_no_digit_that_a_reader_can_see(whole):
    for path, page in whole.pages.items():
        for run in markup_runs(MARKED.sub("", page)):
            assert not re.search(r"\d", run.text), (path, run.where, run.text)


def test_all_marks_of_a_page_belong_to_evidence_that_is_handed_back(whole):
    for page in whole.pages.values():
        assert set(re.findall(f"{START}(.*?){START}", page)) <= whole.evidence.keys()


def test_a_number_is_a_quiet_link_that_carries_its_value_and_key():
    found = evidence("1.01 ms", 0.00101)
    assert render.number(found, "../x.html#a") == (
        f'<a class="n" href="../x.html#a"><data value="0.00101" data-e="{found.key}">'
        f"{found.marked}</data></a>"
    )


def test_the_name_of_a_number_starts_with_what_is_seen():
    found = evidence("1.01 ms", 0.00101, label="median of all blocks")
    assert f'aria-label="{found.marked}, median of all blocks"' in render.number(found, "#a")


def test_a_number_with_nowhere_to_lead_is_no_link():
    assert "<a" not in render.number(evidence("95 %", 0.95), "")


def test_words_of_evidence_carry_no_value():
    assert "<data" not in render.number(evidence("faster"), "#a")


def test_evidence_cannot_inject_markup():
    hostile = "<img src=x onerror=alert(document)>"
    page = views.NotFound(title=evidence(hostile), description=(hostile, evidence('"><b>')))
    html = rendered(page).pages["404.html"]
    assert "<img" not in html
    assert "<b>" not in html


def test_a_link_of_an_artifact_with_a_scheme_that_runs_code_is_text_alone(whole):
    assert "javascript:" not in whole.pages[RESULT]
    assert 'href="https://docs.python.org/"' in whole.pages[RESULT]


def test_links_hold_no_links(whole):
    for page in whole.pages.values():
        depth = 0
        for tag in re.findall(r"<(/?)a[\s>]", page):
            depth += -1 if tag else 1
            assert depth in (0, 1)


def test_ids_of_a_page_are_unique(whole):
    for path, page in whole.pages.items():
        ids = re.findall(r'\sid="([^"]+)"', page)
        assert len(ids) == len(set(ids)), path


def test_the_content_security_policy_comes_before_all_that_it_governs(whole):
    for page in whole.pages.values():
        head = page[page.index("<head>") :]
        policy = head.index("Content-Security-Policy")
        assert "default-src 'none'" in head[policy : policy + 60]
        assert all(policy < head.index(tag) for tag in ("<title", "<link", "<script"))


def test_pages_need_nothing_that_the_policy_forbids(whole):
    for page in whole.pages.values():
        assert not re.search(r"\sstyle=|<style|\son\w+=", page)
        assert all("src=" in tag for tag in re.findall(r"<script[^>]*>", page))


def test_nothing_is_fetched_from_elsewhere(whole):
    for page in whole.pages.values():
        fetched = re.findall(r'<(?:link|script|img)[^>]*(?:href|src)="([^"]+)"', page)
        assert all(not re.match(r"[a-z]+:|//", address) for address in fetched)
    for content in whole.assets.values():
        assert b"http" not in content.replace(b"http://www.w3.org/2000/svg", b"")


def test_relative_links_between_pages_lead_to_pages_and_assets(whole):
    known = {*whole.pages, *whole.assets, f"results/{COMMIT}/artifact.json"}
    known.add(f"sources/{'cd' * 20}/index.html")
    for path, page in whole.pages.items():
        for address in re.findall(r'(?:href|src)="([^"#]+)[^"]*"', page):
            if not address.startswith("https:"):
                target = (Path("/") / path).parent / address
                assert Path(*target.parts).resolve().relative_to("/").as_posix() in known


def test_headings_of_every_page_skip_no_level(whole):
    for path, page in whole.pages.items():
        levels = [int(level) for level in re.findall(r"<h(\d)", page)]
        if path == STORY:  # its second level is the prose's own
            levels = [1, 2, *levels[1:]]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(b <= a + 1 for a, b in pairwise(levels)), (path, levels)


def test_every_page_has_its_landmarks_and_a_way_past_the_masthead(whole):
    for page in whole.pages.values():
        assert 'href="#main"' in page
        assert all(f"<{tag}" in page for tag in ("header", "nav", "main", "footer"))
        assert '<html lang="en">' in page


def test_losses_of_the_headline_are_shown_unfolded(whole):
    page = whole.pages[STORY]
    losses = page[page.index('class="exceptions"') :]
    assert "small" in losses[: losses.index("</table>")]
    assert "<details" not in losses[: losses.index("</table>")]


def test_source_lines_have_anchors_and_numbers_that_are_not_copied(whole):
    page = clean(whole.pages[f"sources/{BLOB}/index.html"])
    assert '<span class="line" id="L2"><a class="ln" data-n="2" href="#L2"' in page
    lines = re.findall(r'<span class="line".*', page)
    assert re.sub(r"<[^>]+>", "", lines[0]) == "def fused(x):"


def test_a_difference_shows_both_sides_as_lines_of_their_files(whole):
    page = whole.pages[STORY]
    sides = [e for e in whole.evidence.values() if e.form == "source" and e.args == ("2", "2")]
    assert {e.at[0] for e in sides} == {BLOB, "cd" * 20}
    assert 'class="line removed"' in page
    assert 'class="line added"' in page


def test_assets_are_named_by_their_content(whole):
    for path, content in whole.assets.items():
        assert re.fullmatch(r"assets/[a-z]+\.[0-9a-f]{8}\.(css|js|svg)", path)
        assert content


def test_a_figure_that_was_not_measured_is_a_dash_and_says_so(whole):
    assert 'aria-label="not measured"' in whole.pages["index.html"]


def test_a_relaxed_site_says_so_on_every_page():
    assert all("relaxed mode" in page for page in rendered(relaxed=True).pages.values())
    assert not any("relaxed mode" in page for page in rendered().pages.values())


def test_canonical_addresses_appear_once_the_site_knows_where_it_lives(whole):
    there = rendered(url="https://example.org/p/")
    assert '<link rel="canonical" href="https://example.org/p/">' in there.pages["index.html"]
    assert "canonical" not in whole.pages["index.html"]


def test_links_of_the_page_for_unknown_addresses_work_at_any_depth():
    page = rendered(views.NotFound(), url="https://example.org/p").pages["404.html"]
    assert 'href="https://example.org/p/assets/writeup.' in page
    assert 'href="https://example.org/p/index.html"' in page


def test_rendering_twice_gives_the_same_pages(whole):
    assert rendered() == whole


def test_two_pages_of_one_path_are_refused():
    with pytest.raises(ValueError, match="two pages claim"):
        rendered(views.NotFound(), views.NotFound())


def test_a_theme_replaces_blocks_templates_and_assets(tmp_path):
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "writeup.css").write_text("body { color: red }")
    (tmp_path / "not_found.html").write_text(
        '{% extends "ours/not_found.html" %}{% block footer %}<footer>Ours</footer>{% endblock %}'
    )
    found = rendered(views.NotFound(), theme=tmp_path)
    assert "<footer>Ours</footer>" in found.pages["404.html"]
    assert "Page not found" in found.pages["404.html"]
    assert b"body { color: red }" in found.assets.values()


def test_an_undefined_name_in_a_theme_stops_the_build(tmp_path):
    (tmp_path / "not_found.html").write_text("{{ nothing_of_the_kind }}")
    with pytest.raises(UndefinedError, match="nothing_of_the_kind"):
        rendered(views.NotFound(), theme=tmp_path)


def test_a_theme_cannot_reach_out_of_its_sandbox(tmp_path):
    (tmp_path / "not_found.html").write_text("{{ say.__globals__['Path']('/').iterdir() }}")
    with pytest.raises(SecurityError):
        rendered(views.NotFound(), theme=tmp_path)


def test_what_a_theme_puts_out_is_escaped(tmp_path):
    (tmp_path / "not_found.html").write_text("{{ page.title }}")
    page = rendered(views.NotFound(title="<b>"), theme=tmp_path).pages["404.html"]
    assert page == "&lt;b&gt;"


def test_every_template_is_one_that_a_page_or_block_uses():
    used = {*render._PAGES.values(), *render._BLOCKS.values(), "layout.html"}
    folder = resources.templates()
    there = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*.html")
        if path.relative_to(folder).parts[0] not in ("partials", "scaffold")
    }
    assert there == used


def test_a_story_page_stays_light_before_figures(whole):
    page = re.sub(r"<svg.*?</svg>", "", whole.pages[STORY], flags=re.DOTALL)
    assets = sum(len(content) for content in whole.assets.values())
    assert len(clean(page).encode()) + assets < 150_000


def test_views_are_frozen():
    records = [t for t in vars(views).values() if isinstance(t, type) and hasattr(t, "__slots__")]
    assert all(t.__dataclass_params__.frozen for t in records if hasattr(t, "__dataclass_params__"))
    assert all(fields(t) for t in records if hasattr(t, "__dataclass_params__"))


@pytest.fixture(scope="module")
def on_disk(tmp_path_factory, whole):
    folder = tmp_path_factory.mktemp("site")
    for path, content in {**whole.pages, **whole.assets}.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else clean(content).encode())
    return folder


@pytest.mark.browser
def test_pages_work_from_disk_on_narrow_screens_in_light_and_dark(chromium, on_disk, whole):
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        quiet = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=chromium, args=quiet)
        said, failed, backgrounds = [], [], set()
        for scheme in ("light", "dark"):
            tab = browser.new_page(viewport={"width": 320, "height": 700}, color_scheme=scheme)
            tab.on("console", lambda message: said.append(message.text))
            tab.on("requestfailed", lambda request: failed.append((request.failure, request.url)))
            for path in whole.pages:
                tab.goto((on_disk / path).as_uri())
                assert tab.evaluate("document.documentElement.scrollWidth") == 320, path
            backgrounds.add(tab.evaluate("getComputedStyle(document.body).backgroundColor"))
        browser.close()
    assert said == []
    # Leaving for the next page cuts a request for its icon short; that is no failure.
    assert [url for failure, url in failed if failure != "net::ERR_ABORTED"] == []
    # The style sheet was loaded under the policy, and follows the reader's setting.
    assert len(backgrounds) == 2
    assert "rgba(0, 0, 0, 0)" not in backgrounds
