import hashlib
import html
import json
import posixpath
from pathlib import Path

import pytest

from tests.worlds import COMMIT, RUN, minimal_artifact
from writeup import addresses, derive, rederive, result, selection, stats
from writeup.errors import WriteupError
from writeup.evidence import Evidence
from writeup.finish import citations, finish
from writeup.numerals import Names
from writeup.quantity import Quantity, show
from writeup.verify import verify

STORY = "stories/softmax/index.html"
RESULT = f"results/{COMMIT}/index.html"
COPY = f"results/{COMMIT}/artifact.json"
WIDE = f"{RUN}/softmax.wide"
SOURCE = "def softmax(x):\n    return x.softmax(-1)  # 1 pass\n"


def dumped(value):
    return (json.dumps(value, sort_keys=True, ensure_ascii=True) + "\n").encode()


@pytest.fixture(scope="module")
def recorded():
    raw, _ = minimal_artifact(noise=0.004, samples=5)
    content = dumped(raw)
    return content, result.parse(content, f"results/{COMMIT}.json")


def row(artifact, variant, mode="host", case="wide"):
    rows = selection.rows([artifact], "softmax")
    (found,) = [
        each
        for each in rows
        if each.timing and (each.variant.id, each.mode, each.case.id) == (variant, mode, case)
    ]
    return found


def number(page, evidence, registry):
    """As a template writes it: a link around the element that holds the evidence."""
    registry[evidence.key] = evidence
    tag = "span" if evidence.value is None or isinstance(evidence.value, str) else "data"
    value = f' value="{json.dumps(evidence.value)}"' if tag == "data" else ""
    text = html.escape(evidence.text, quote=False)
    marked = evidence.marked.replace(evidence.text, text) if text else evidence.marked
    inner = f'<{tag}{value} data-e="{evidence.key}">{marked}</{tag}>'
    href = addresses.href(page, evidence)
    return f'<a class="n" href="{href}">{inner}</a>' if href else inner


def every_form(artifact, copy):
    """A piece of evidence of each form that the generator derives."""
    run = artifact.runs[RUN]
    case = run.cases["softmax.wide"]
    chunked, eager = row(artifact, "chunked"), row(artifact, "eager")
    hot = row(artifact, "chunked", "host_hot")
    memory = next(c for c in run.ceilings.values() if c.resource == "memory")
    compute = next(c for c in run.ceilings.values() if c.resource == "compute")
    pairs = [
        (row(artifact, "chunked", case=each), row(artifact, "eager", case=each))
        for each in ("small", "wide")
    ]
    blob = rederive.blob_id(SOURCE.encode())
    twin_copy = chunked.beside(case.matched_copy)
    yield from (derive.time(each) for each in (chunked, eager, hot))
    yield derive.time(chunked, "s")
    yield from (derive.band(chunked), derive.band(chunked, "µs"))
    yield from (derive.minimum(chunked), derive.maximum(chunked))
    yield from (derive.quartile(chunked, 1), derive.quartile(chunked, 3))
    yield from (derive.samples(chunked), derive.blocks(chunked), derive.outliers(chunked))
    for count in (derive.COMPULSORY, derive.IMPLEMENTED):
        yield from (derive.bandwidth(chunked, count), derive.throughput(chunked, count))
    for variant in ("chunked", "chunked-small", "twin-a"):
        beside = (row(artifact, variant), eager)
        yield from (derive.speedup(*beside), derive.speedup_band(*beside), derive.verdict(*beside))
    yield from (derive.tally(pairs, word) for word in stats.Verdict)
    yield from (derive.geomean(pairs, which) for which in ("mean", "best", "worst"))
    yield derive.of_copy(chunked, twin_copy)
    yield derive.of_ceiling(chunked, memory)
    yield derive.of_attainable(chunked, compute, memory)
    for ceiling in run.ceilings.values():
        yield from (derive.ceiling(ceiling), derive.ceiling_band(ceiling))
        yield from (derive.probe(ceiling, each) for each in ceiling.probes)
    yield from (derive.ridge(compute, memory), derive.intensity(case))
    yield from (derive.attainable(case, compute, memory), derive.floor(case, compute, memory))
    at = f"/runs/{RUN}"
    yield derive.fact(artifact, f"{at}/environment/device/name")
    yield derive.fact(artifact, f"{at}/environment/device/cores")
    yield derive.fact(artifact, f"{at}/timer/check/step")
    yield derive.fact(artifact, f"{at}/environment/flags/triton_interpret")
    yield derive.share(artifact, f"{at}/experiments/softmax/margin")
    yield derive.sampled(artifact, f"{at}/controls/floor/host")
    calibration = f"{at}/controls/calibration"
    yield derive.drift(artifact, f"{calibration}/copy-start", f"{calibration}/copy-end")
    yield derive.shape(artifact, f"{case.pointer}/shape")
    yield derive.listed(artifact, f"{at}/experiments/softmax/order")
    yield derive.date(artifact, f"{at}/started")
    yield derive.command(artifact, f"{at}/command")
    yield derive.prediction(artifact, run, "softmax", 0)
    predicted = f"{at}/experiments/softmax/predicted/0"
    yield derive.foretold(artifact, predicted, chunked, eager)
    yield derive.missed(artifact, predicted, chunked, eager)
    yield from (derive.name(COMMIT, "chunked-small"), derive.short(COMMIT))
    yield derive.count([each.address for each, _ in pairs], "measurements")
    yield from (derive.digest(COPY, copy), derive.size(COPY, copy))
    for key in ("LEVEL", "MARGIN", "BLOCKS", "MIN_BLOCKS", "OUTLIER_MADS"):
        yield derive.constant(key)
    yield derive.axis(1e-5, "s")
    yield derive.literal("kernels/softmax/story.md:3:4", "5", "the steps of an instruction")
    yield from (
        derive.listing(blob, 1, 1, "def softmax(x):"),
        derive.listing(blob, 1, 2, SOURCE[:-1]),
    )


def world(recorded):
    """A small finished site with every form on it, as the build would leave it."""
    copy, artifact = recorded
    registry = {}
    shown = list(every_form(artifact, copy))
    blob = rederive.blob_id(SOURCE.encode())
    story = [f"<p>{number(STORY, each, registry)}</p>" for each in shown if each.form != "tick"]
    axis = next(each for each in shown if each.form == "tick")
    story.append(f"<svg><text>{registry.setdefault(axis.key, axis).marked}</text></svg>")
    ids = {(addresses.target(each) or ("", ""))[1] for each in shown if each.form != "constant"}
    for case in artifact.runs[RUN].cases.values():
        for variant in case.variants.values():
            ids |= {f"{RUN}/{case.key}/{variant.id}/{mode}" for mode in variant.timings}
    literal = next(each for each in shown if each.form == "literal")
    constants = ("level", "margin", "blocks", "min-blocks", "outlier-mads")
    pages = {
        STORY: "<!doctype html><title>Softmax on L2</title><main>" + "\n".join(story) + "</main>",
        RESULT: "".join(f'<section id="{each}"></section>' for each in sorted(ids)),
        f"sources/{blob}/index.html": "<pre id='L1'>"
        + number(f"sources/{blob}/index.html", shown[-1], registry)
        + "</pre>",
        "literals/index.html": f"<p>L2, {number('literals/index.html', literal, registry)}</p>",
        "method/index.html": "".join(f'<p id="{each}"></p>' for each in constants),
        COPY: copy,
        f"sources/{blob}/eager.py": SOURCE.encode(),
    }
    done = finish(pages, names={}, glossary=Names(["L2"]), registry=registry)
    assert done.problems == ()
    targets = {
        key: "#".join(filter(None, addresses.target(each) or ()))
        for key, each in done.evidence.items()
    }
    return {**done.pages, "citations.json": dumped(citations(done, targets=targets))}


def sealed(pages, recorded):
    """The pages with a manifest that holds for them."""
    outputs = {path: hashlib.sha256(content).hexdigest() for path, content in pages.items()}
    inputs = {f"results/{COMMIT}.json": hashlib.sha256(recorded[0]).hexdigest()}
    manifest = {"schema": 1, "generator": "writeup 0.1.0", "inputs": inputs, "outputs": outputs}
    return {**pages, "manifest.json": dumped(manifest)}


@pytest.fixture(scope="module")
def pages(recorded):
    return world(recorded)


def laid(folder, pages):
    for path, content in pages.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


def told(folder, pages, recorded, *, files):
    """Messages about a site in which files were changed and the manifest was made to fit."""
    return [each.message for each in verify(laid(folder, sealed({**pages, **files}, recorded)))]


def shifted(pages, at, by):
    """The citations of pages of which the story was made longer at an offset."""
    found = json.loads(pages["citations.json"])
    for each in found["occurrences"]:
        if each["page"] == STORY and each["offset"] >= at:
            each["offset"] += by
    return dumped(found)


def text_of(pages, form, at=""):
    found = json.loads(pages["citations.json"])["evidence"]
    return next(
        each["text"]
        for each in found.values()
        if each["form"] == form and at in "".join(each["at"])
    )


def test_a_site_of_every_form_is_confirmed(tmp_path, pages, recorded):
    assert verify(laid(tmp_path, sealed(pages, recorded))) == []


def test_every_form_that_the_generator_has_is_derived_again(recorded):
    copy, artifact = recorded
    forms = {each.form for each in every_form(artifact, copy)}
    assert forms | {
        "twins",
        "twins-band",
        "margin",
        "glossary",
        "metric",
        "alone",
        "agreement",
    } == set(rederive.FORMS)


def test_an_altered_digit_is_found_even_under_a_new_manifest(tmp_path, pages, recorded):
    text = text_of(pages, "time", "chunked/host")
    altered = text[:-4] + str((int(text[-4]) + 1) % 10) + text[-3:]
    story = pages[STORY].decode().replace(f">{text}<", f">{altered}<", 1)
    assert story.encode() != pages[STORY]
    (message,) = told(tmp_path, pages, recorded, files={STORY: story.encode()})
    assert repr(altered) in message
    assert repr(text) in message


def test_an_altered_digit_is_found_though_the_citations_agree(tmp_path, pages, recorded):
    text = text_of(pages, "speedup")
    altered = text.replace(text[0], str(int(text[0]) + 1), 1)
    files = {
        STORY: pages[STORY].decode().replace(text, altered).encode(),
        "citations.json": dumped(
            json.loads(
                pages["citations.json"].decode().replace(json.dumps(text), json.dumps(altered))
            )
        ),
    }
    messages = told(tmp_path, pages, recorded, files=files)
    assert any(f"comes out as {text!r}" in message for message in messages)


def test_a_file_that_is_not_as_the_manifest_has_it_is_found(tmp_path, pages, recorded):
    laid(tmp_path, sealed(pages, recorded))
    (tmp_path / STORY).write_bytes(pages[STORY] + b"<p>more</p>")
    (tmp_path / "extra.html").write_text("x")
    (tmp_path / "method/index.html").unlink()
    found = {(each.path, each.rule) for each in verify(tmp_path)}
    assert {
        (STORY, "verify-manifest"),
        ("extra.html", "verify-manifest"),
        ("method/index.html", "verify-manifest"),
    } <= found


def test_a_swapped_artifact_is_found_under_a_new_manifest(tmp_path, pages, recorded):
    raw, _ = minimal_artifact(noise=0.004, samples=5, effects={"chunked": 1.9})
    messages = told(tmp_path, pages, recorded, files={COPY: dumped(raw)})
    assert any("comes out as" in message for message in messages)
    assert any("no copy of the artifact" in message for message in messages)


def test_an_artifact_of_another_commit_is_refused(tmp_path, pages, recorded):
    raw, _ = minimal_artifact(commit="f" * 40)
    messages = told(tmp_path, pages, recorded, files={COPY: dumped(raw)})
    assert "it is of another commit than its folder" in messages


def test_an_artifact_of_another_shape_is_told_not_raised_as_a_bug(tmp_path, pages, recorded):
    files = {COPY: dumped({"schema": 1, "commit": COMMIT, "runs": []})}
    files[f"results/{COMMIT}/samples.csv"] = b"run\n"
    messages = told(tmp_path, pages, recorded, files=files)
    assert any("has no samples" in message for message in messages)
    assert any("do not lead to what it needs" in message for message in messages)


def test_an_artifact_with_a_repeated_key_is_refused(tmp_path, pages, recorded):
    content = recorded[0].replace(b'{"commit":', b'{"schema": 1, "commit":', 1)
    messages = told(tmp_path, pages, recorded, files={COPY: content})
    assert "it cannot be read: a key is repeated" in messages


def test_a_moved_link_is_found(tmp_path, pages, recorded):
    story = pages[STORY].decode()
    place = f"../../{RESULT}#{WIDE}/twin-a/host"
    moved = story.replace(f'href="{place}"', f'href="../../{RESULT}#{WIDE}/twin-b/host"', 1)
    assert moved != story
    messages = told(tmp_path, pages, recorded, files={STORY: moved.encode()})
    assert len(messages) == 1
    assert "where it does not come from" in messages[0]


def test_a_link_to_an_anchor_that_is_gone_is_found(tmp_path, pages, recorded):
    anchor = f'id="{WIDE}/chunked/host"'.encode()
    gone = pages[RESULT].replace(anchor, b'id="other"')
    messages = told(tmp_path, pages, recorded, files={RESULT: gone})
    assert messages
    lost = ("where it does not come from", "leads to no place on its page")
    assert all(message.endswith(lost) for message in messages)


def test_an_occurrence_removed_from_the_citations_is_found(tmp_path, pages, recorded):
    found = json.loads(pages["citations.json"])
    for index, occurrence in enumerate(found["occurrences"]):
        form = found["evidence"][occurrence["key"]]["form"]
        if form in {"time", "verdict", "glossary"} and occurrence["page"] == STORY:
            fewer = [*found["occurrences"][:index], *found["occurrences"][index + 1 :]]
            files = {"citations.json": dumped({**found, "occurrences": fewer})}
            assert told(tmp_path, pages, recorded, files=files), form


def test_an_altered_verdict_is_found_with_and_without_the_citations(tmp_path, pages, recorded):
    story = pages[STORY].decode().replace(">slower<", ">faster<")
    assert story != pages[STORY].decode()
    (message,) = told(tmp_path, pages, recorded, files={STORY: story.encode()})
    assert "'faster' where 'slower' belongs" in message
    found = pages["citations.json"].decode().replace('"text": "slower"', '"text": "faster"')
    files = {STORY: story.encode(), "citations.json": found.encode()}
    (message,) = told(tmp_path, pages, recorded, files=files)
    assert "comes out as 'slower'" in message


def test_an_altered_machine_value_is_found(tmp_path, pages, recorded):
    text = pages[STORY].decode()
    start = text.index('<data value="') + len('<data value="')
    story = text[:start] + "9" + text[start + 1 :]
    messages = told(tmp_path, pages, recorded, files={STORY: story.encode()})
    assert "is not that of" in messages[0]


@pytest.mark.parametrize(
    "added",
    [
        "<p>It takes 5 ms.</p>",
        "<p>It takes &#53; ms.</p>",
        "<p>It takes <strong>5</strong></p>",
        "<p>&frac12;</p>",
        "<p>٣</p>",
        "<a href='index.html' title='5 bars'>a</a>",
        "<p aria-label='&#53;'>a</p>",
        "<svg><title>5</title></svg>",
        "<meta name='description' content='5'>",
    ],
)
def test_a_number_smuggled_into_a_page_is_found(tmp_path, pages, recorded, added):
    story = pages[STORY].decode() + added
    (message,) = told(tmp_path, pages, recorded, files={STORY: story.encode()})
    assert "comes from no artifact" in message


def test_what_only_machines_read_is_not_a_number(tmp_path, pages, recorded):
    added = "<p id='a5' class='b5'>a</p><svg viewBox='0 0 5 5'><path d='M 5 5'/></svg>"
    story = pages[STORY].decode() + added
    assert told(tmp_path, pages, recorded, files={STORY: story.encode()}) == []


@pytest.mark.parametrize(
    "added",
    [
        "<!-- 9.9 -->",
        "<!--> 9.9 × <!-- -->",
        "<!-- --!> 9.9 × <!-- -->",
        "<!x> 9.9",
        "<?x > 9.9 × ?>",
        "<![CDATA[ > 9.9 ]]>",
        "<metadata>much faster</metadata>",
        "<svg><metadata>much faster</metadata></svg>",
        '<style>p::after{content:"9.9 ×"}</style>',
        "<svg><style>text{}</style></svg>",
        '<p style="--x:9">a</p>',
        '<script>document.write("9.9 ×")</script>',
        '<script type="application/json">{"href":"9.9"}</script>',
        "<script src='https://example.com/a.js'></script>",
        "<script src='index.html'></script>",
        '<iframe srcdoc="fast"></iframe>',
        '<iframe src="index.html"></iframe>',
        '<object data="data:text/html,fast"></object>',
        '<embed src="index.html">',
        '<img alt="" src="data:image/svg+xml,fast">',
        '<img alt="" src="https://example.com/fast.png">',
        '<table><tr><td abbr="fast">x</td></tr></table>',
        '<p data-x="fast">x</p>',
        '<p onclick="go()">x</p>',
        '<p title="x" title="y">x</p>',
        "<p title=9>x</p>",
        '<p =">fast<p ">x</p>',
        '<a/x=">fast<b ">',
        '<p>fast <p ">x</p>',
        "<p>fast <",
        "<p>fast",
        "<div/>fast",
        "</p>",
        '<input value="fast">',
        "<progress>fast</progress>",
        "<math><mn>x</mn></math>",
        "<textarea>fast</textarea>",
        "<noscript>fast</noscript>",
        "<template>fast</template>",
        "<xmp>fast</xmp>",
        "<meta http-equiv='refresh' content='0;url=fast'>",
        "<meta name='keywords' content='fast'>",
        "<meta charset='utf-16'>",
        "<link rel='stylesheet' href='https://example.com/a.css'>",
        "<data value='9'>fast</data>",
        "<a href='javascript:fast()'>x</a>",
        "<a class='ln' data-n='9.9'></a>",
        "<span class='line'><a class='ln' data-n='9'></a>fast</span>",
    ],
)
def test_markup_that_no_page_of_ours_has_is_found(tmp_path, pages, recorded, added):
    story = pages[STORY].decode() + added
    assert told(tmp_path, pages, recorded, files={STORY: story.encode()})


@pytest.mark.parametrize(
    "added",
    [
        "nine times faster",
        "nine <em>times</em> faster",
        "Nine&#32;times faster",
        "ni\u00adne times faster",
        "twice as fast",
        "half the time",
        "an order of magnitude",
        "a factor of two",
        "twenty-one percent",
        "tenfold",
        "two hundred milliseconds",
        "It doubled.",
    ],
)
def test_a_number_in_words_is_found(tmp_path, pages, recorded, added):
    story = pages[STORY].decode() + f"<p>{added}</p>"
    (message,) = told(tmp_path, pages, recorded, files={STORY: story.encode()})
    assert "in words that comes from no artifact" in message


@pytest.mark.parametrize(
    "added",
    [
        "one of them, two passes, the second time",
        "<span>two</span></p><p><span>times</span>",
        "half-open, sometimes, a halfway house",
    ],
)
def test_words_that_neither_multiply_nor_measure_are_let_be(tmp_path, pages, recorded, added):
    story = pages[STORY].decode() + f"<p>{added}</p>"
    assert told(tmp_path, pages, recorded, files={STORY: story.encode()}) == []


def test_the_key_of_an_evidence_is_a_number_where_it_is_shown(tmp_path, pages, recorded):
    found = json.loads(pages["citations.json"])
    key = next(each for each in found["evidence"] if any(c.isdigit() for c in each))
    story = pages[STORY].decode() + f"<p>{key}</p>"
    (message,) = told(tmp_path, pages, recorded, files={STORY: story.encode()})
    assert "comes from no artifact" in message


@pytest.mark.parametrize(
    "name",
    [
        "extra.htm",
        "extra.xhtml",
        "extra.txt",
        "extra.json",
        "results/extra.csv",
        "assets/extra.wasm",
        "sources/extra/eager.py",
        "picture.png",
        ".nojekyll",
    ],
)
def test_a_file_of_a_kind_that_is_not_published_is_found(tmp_path, pages, recorded, name):
    (message,) = told(tmp_path, pages, recorded, files={name: b"9.9 times"})
    assert message == "it is of a kind that no site of ours has"


def test_a_file_that_is_only_a_link_to_one_is_found(tmp_path, pages, recorded):
    laid(tmp_path, sealed(pages, recorded))
    (tmp_path / "extra.html").symlink_to(tmp_path / "method/index.html")
    (problem,) = verify(tmp_path)
    assert (problem.path, problem.rule) == ("extra.html", "verify-file")


@pytest.mark.parametrize(
    "sheet",
    [
        'p::after { content: "9.9 ×" }',
        'p::after { content: "much faster" }',
        'p::after { content/**/: "9.9" }',
        "p::after { c\\6fntent: 'x' }",
        "p::after { content: counter(x) }",
        "p::after { content: attr(id) }",
        "p { list-style-type: '9.9 ' }",
        "p { quotes: '9' '9' }",
        "@import 'other.css';",
    ],
)
def test_a_style_sheet_that_says_something_is_found(tmp_path, pages, recorded, sheet):
    path = "assets/writeup.css"
    sound = b".b::before { content: '(' / ''; } .l::before { content: attr(data-n); }"
    assert told(tmp_path / "sound", pages, recorded, files={path: sound}) == []
    assert told(tmp_path / "other", pages, recorded, files={path: sheet.encode()})


def test_a_page_in_another_encoding_is_found(tmp_path, pages, recorded):
    files = {"extra.html": "<p>fast</p>".encode("utf-16")}
    assert "it is not UTF-8" in told(tmp_path, pages, recorded, files=files)


@pytest.mark.parametrize(
    ("tone", "found"), [("slower", False), ("faster", True), ("same faster", True), ("", True)]
)
def test_a_badge_is_of_the_verdict_that_it_holds(tmp_path, pages, recorded, tone, found):
    text = pages[STORY].decode()
    assert text.count(">slower<") == 1
    at = text.rindex("<p>", 0, text.index(">slower<"))
    story = text[:at] + f"<p class='badge {tone}'>" + text[at + 3 :]
    files = {STORY: story.encode(), "citations.json": shifted(pages, at, len(story) - len(text))}
    messages = told(tmp_path, pages, recorded, files=files)
    assert messages == ["the badge of 'slower' is that of another verdict"] * found


def test_a_tick_of_an_axis_stands_in_a_drawing(tmp_path, pages, recorded):
    text = pages[STORY].decode()
    tick = next(
        each["offset"]
        for each in json.loads(pages["citations.json"])["occurrences"]
        if json.loads(pages["citations.json"])["evidence"][each["key"]]["form"] == "tick"
    )
    at = text.rindex("<svg>", 0, tick)
    story = text[:at] + "<div>" + text[at + 5 :].replace("</svg>", "</div>", 1)
    files = {STORY: story.encode(), "citations.json": shifted(pages, at, 0)}
    (message,) = told(tmp_path, pages, recorded, files=files)
    assert message.endswith("is the tick of an axis, but stands in no drawing")


@pytest.mark.parametrize(
    ("to", "lost"),
    [
        ("../../gone/index.html", "no file of the site"),
        ("../..", "no file of the site"),
        ("../../method/index.html#gone", "no place on its page"),
        ("#gone", "no place on its page"),
        (f"../../{COPY}#gone", "no place on its page"),
        ("../../method/index.html#level", ""),
        (f"../../{COPY}", ""),
        ("https://example.com/#gone", ""),
    ],
)
def test_any_link_within_the_site_leads_somewhere(tmp_path, pages, recorded, to, lost):
    story = pages[STORY].decode() + f"<a href='{to}'>a</a>"
    messages = told(tmp_path, pages, recorded, files={STORY: story.encode()})
    assert len(messages) == bool(lost)
    assert all(lost in each for each in messages)


def test_a_number_declared_a_name_must_be_one(tmp_path, pages, recorded):
    story = pages[STORY].decode() + "<p>It takes 5.1 ms.</p>"
    name = Evidence("name", (), "5.1", ("5.1",))
    found = json.loads(pages["citations.json"])
    found["evidence"][name.key] = {"form": "name", "at": [], "args": ["5.1"], "text": "5.1"}
    found["occurrences"].append(
        {"page": STORY, "offset": story.index("5.1 ms"), "length": 3, "key": name.key}
    )
    files = {STORY: story.encode(), "citations.json": dumped(found)}
    (message,) = told(tmp_path, pages, recorded, files=files)
    assert "'5.1' is a number, not a name" in message


def test_a_literal_must_stand_on_the_public_list(tmp_path, pages, recorded):
    files = {"literals/index.html": b"<p>none</p>"}
    found = json.loads(pages["citations.json"])
    found["occurrences"] = [o for o in found["occurrences"] if not o["page"].startswith("literals")]
    files["citations.json"] = dumped(found)
    messages = told(tmp_path, pages, recorded, files=files)
    assert any("does not list it" in message for message in messages)


def test_a_changed_source_is_found(tmp_path, pages, recorded):
    blob = rederive.blob_id(SOURCE.encode())
    page = f"sources/{blob}/index.html"
    files = {
        page: pages[page].replace(b"softmax(-1)", b"softmax(+1)"),
        f"sources/{blob}/eager.py": SOURCE.replace("-1", "+1").encode(),
    }
    assert told(tmp_path, pages, recorded, files=files)


@pytest.mark.parametrize(
    ("word", "named"),
    [
        ("torch 2.13.0", True),
        ("chunked-small", True),
        ("Chunked", True),
        ("softmax.wide", True),
        ("host_hot", True),
        ("float32", True),
        ("memory-dram-copy", True),
        ("kernels/softmax/chunked.py", True),
        ("chunked.py", True),
        ("float32_matmul_precision", True),
        (RUN, True),
        (COMMIT, True),
        ("torch 2.13.1", False),
        ("13", False),
        ("2.13", False),
        ("chunk 4", False),
        ("3 s", False),
        ("softmax over", False),
        ("50 ms", False),
        ("over a 50 ms sleep", False),
        ("CLOCK_MONOTONIC_RAW over a 50 ms sleep", False),
        ("Softmax over rows", False),
    ],
)
def test_names_are_ids_and_versions_and_never_prose(recorded, word, named):
    records = rederive.Records({COMMIT: json.loads(recorded[0])}, {}, {})
    entry = rederive.Entry("k", "name", (), (word,), word)
    if named:
        assert rederive.derive(entry, records).text == word
    else:
        with pytest.raises(rederive.UnderivableError):
            rederive.derive(entry, records)


def test_a_figure_that_a_record_holds_is_no_name(recorded):
    raw = json.loads(recorded[0])
    raw["runs"][RUN]["cases"]["softmax.wide"]["variants"]["eager"]["config"] = {"33554432": 1}
    records = rederive.Records({COMMIT: raw}, {}, {})
    with pytest.raises(rederive.UnderivableError, match="is a number"):
        rederive.derive(rederive.Entry("k", "name", (), ("33554432",), ""), records)


def test_an_id_is_not_cut_so_short_that_it_reads_as_a_figure(recorded):
    records = rederive.Records({COMMIT: json.loads(recorded[0])}, {}, {})

    def short(digest, length):
        return rederive.derive(rederive.Entry("k", "short", (digest,), (length,), ""), records)

    assert short(COMMIT, "10").text == COMMIT[:10]
    with pytest.raises(rederive.UnderivableError, match="too few"):
        short(COMMIT, "2")
    with pytest.raises(rederive.UnderivableError, match="no record"):
        short("softmax.wide", "10")


def test_twins_and_margins_are_derived_from_the_record(recorded):
    _, artifact = recorded
    records = rederive.Records({COMMIT: dict(artifact.raw)}, {}, {})
    chunked = row(artifact, "chunked")
    expected = derive.twins(chunked)

    def shown(form):
        return rederive.derive(rederive.Entry("k", form, (chunked.address,), (), ""), records)

    assert shown("twins").value == expected.value
    assert "–" in shown("twins-band").text
    assert shown("margin").text.endswith("%")


def test_what_follows_from_two_ceilings_has_a_band_of_their_ends(recorded):
    raw = json.loads(recorded[0])
    at = f"{COMMIT}/{RUN}"
    held = raw["runs"][RUN]["ceilings"]
    held["c"] = {"resource": "compute", "regime": "interleaved", "probes": {"p": {}}}
    held["m"] = {"resource": "memory", "regime": "interleaved", "probes": {"p": {}}}
    held["burst"] = {"resource": "memory", "regime": "burst", "probes": {"p": {}}}
    # Rates of 0.96 to 1.04 flop/s and 3.6 to 4.4 byte/s, by block medians.
    compute = ({"flops": {"value": 1, "unit": "flop"}}, (1 / 1.04, 1, 1 / 0.96))
    memory = ({"bytes": {"value": 4, "unit": "byte"}}, (4 / 4.4, 1, 4 / 3.6))
    for name, (work, (low, middle, high)) in {"c": compute, "m": memory, "burst": memory}.items():
        blocks = [low] * 3 + [middle] * 6 + [high] * 3
        samples = {f"softmax.{n:02}": [each] for n, each in enumerate(blocks)}
        held[name]["probes"]["p"] = {"work": work, "unit": "s", "samples": samples}
    case = raw["runs"][RUN]["cases"]["softmax.wide"]
    case["work"] = {"flops": {"value": 8, "unit": "flop"}, "bytes": {"value": 8, "unit": "byte"}}
    records = rederive.Records({COMMIT: raw}, {}, {})

    def shown(form, *addresses):
        entry = rederive.Entry("k", form, tuple(f"{at}/{each}" for each in addresses), (), "")
        return rederive.derive(entry, records)

    pair = ("ceilings/c", "ceilings/m")
    assert shown("ridge", *pair).text == show(Quantity(0.25, "flop/byte", 0.96 / 4.4, 1.04 / 3.6))
    attainable = shown("attainable", "softmax.wide", *pair)
    assert attainable.text == show(Quantity(1, "flop/s", 0.96, 1.04))
    floor = shown("floor", "softmax.wide", *pair)
    assert floor.text == show(Quantity(8, "s", 8 / 1.04, 8 / 0.96))
    few = held["m"]["probes"]["p"]["samples"]
    held["m"]["probes"]["p"]["samples"] = dict(list(few.items())[4:8])
    assert shown("ridge", *pair).text == show(Quantity(0.25, "flop/byte"))
    assert shown("attainable", "softmax.wide", *pair).text == show(Quantity(1.0, "flop/s"))
    with pytest.raises(rederive.UnderivableError, match="in this order"):
        shown("ridge", *reversed(pair))
    with pytest.raises(rederive.UnderivableError, match="regimes"):
        shown("ridge", "ceilings/c", "ceilings/burst")


def test_a_drift_is_that_of_one_calibration_from_start_to_end(recorded):
    raw = json.loads(recorded[0])
    held = raw["runs"][RUN]["controls"]["calibration"]
    held["copy-start"]["samples"] = {"calibration.start": [9, 10, 200], "again": [30]}
    held["copy-end"]["samples"] = {"calibration.end": [15]}
    records = rederive.Records({COMMIT: raw}, {}, {})
    where = f"{COMMIT}#/runs/{RUN}/controls/calibration"

    def drift(start, end):
        at = (f"{where}/{start}", f"{where}/{end}")
        return rederive.derive(rederive.Entry("k", "drift", at, (), ""), records)

    found = drift("copy-start", "copy-end")
    assert found.value == pytest.approx(0.25)  # medians 10 and 30 of the blocks: 20, then 15
    assert found.text == show(Quantity(0.25, "%"))
    for pair in (("copy-end", "copy-start"), ("copy-start", "gemm-end"), ("copy-start",) * 2):
        with pytest.raises(rederive.UnderivableError, match="the same at the end"):
            drift(*pair)
    held["copy-end"]["unit"] = "ms"
    with pytest.raises(rederive.UnderivableError, match="different units"):
        drift("copy-start", "copy-end")


def test_blocks_that_do_not_count_are_left_out_of_both(recorded):
    raw = json.loads(recorded[0])
    case = raw["runs"][RUN]["cases"]["softmax.wide"]
    case["rounds"]["host"]["blocks"]["softmax.03"]["invalid"] = "thermal slowdown"
    artifact = result.parse(dumped(raw), f"results/{COMMIT}.json")
    chunked = row(artifact, "chunked")
    evidence = derive.blocks(chunked)
    records = rederive.Records({COMMIT: raw}, {}, {})
    entry = rederive.Entry("k", "blocks", evidence.at, (), "")
    assert evidence.text == "11"
    assert rederive.derive(entry, records).text == "11"


@pytest.mark.parametrize(
    "entry",
    [
        ("unheard-of", (), ()),
        ("time", ("nowhere/r/c/v/m",), ()),
        ("time", (f"{COMMIT}/{RUN}/softmax.wide/chunked",), ()),
        ("time", (), ()),
        ("fact", (f"{COMMIT}#/runs",), ()),
        ("fact", (f"{COMMIT}#/nothing",), ()),
        ("count", (f"{COMMIT}#/nothing",), ("things",)),
        ("source", ("b" * 40,), ("1", "2")),
        ("digest", ("gone.json",), ()),
        ("constant", (), ("PI",)),
    ],
)
def test_an_entry_that_leads_nowhere_is_told_not_raised_as_a_bug(recorded, entry):
    records = rederive.Records({COMMIT: json.loads(recorded[0])}, {}, {})
    form, at, args = entry
    with pytest.raises(rederive.UnderivableError):
        rederive.derive(rederive.Entry("k", form, at, args, ""), records)


def test_a_table_of_samples_holds_the_samples_and_no_others(tmp_path, pages, recorded):
    path = f"results/{COMMIT}/samples.csv"
    rows = ["run,case,variant,mode,process,index,value,unit"]
    for case in recorded[1].runs[RUN].cases.values():
        for variant in case.variants.values():
            for mode, timing in variant.timings.items():
                for process, values in timing.raw["samples"].items():
                    rows += [
                        f"{RUN},{case.key},{variant.id},{mode},{process},{index},{value},ns"
                        for index, value in enumerate(values)
                    ]
    assert told(tmp_path, pages, recorded, files={path: "\n".join(rows).encode()}) == []
    (missing,) = told(tmp_path, pages, recorded, files={path: "\n".join(rows[:-1]).encode()})
    assert missing.endswith("is missing")
    added = "\n".join([*rows, f"{RUN},softmax.wide,eager,host,softmax.01,9,1,ns"])
    (other,) = told(tmp_path, pages, recorded, files={path: added.encode()})
    assert other.endswith("is no sample of the artifact")


def test_a_page_for_any_address_may_link_by_the_whole_address_of_the_site(
    tmp_path, pages, recorded
):
    home = "https://example.com/here/"
    sheet = f"<link rel='stylesheet' href='{home}assets/a.css'>"
    files = {
        "index.html": f"<link rel='canonical' href='{home}'>".encode(),
        "404.html": f"{sheet}<a href='{home}'>a</a><a href='{home}{STORY}'>b</a>".encode(),
        "assets/a.css": b"",
    }
    assert told(tmp_path / "sound", pages, recorded, files=files) == []
    lost = {**files, "404.html": f"<a href='{home}b'>b</a>".encode()}
    (gone,) = told(tmp_path / "gone", pages, recorded, files=lost)
    assert "leads to no file of the site" in gone
    (other,) = told(tmp_path / "other", pages, recorded, files={**files, "b.html": sheet.encode()})
    assert "from outside of the site" in other


def test_a_folder_that_is_no_site_is_told(tmp_path):
    with pytest.raises(WriteupError, match=r"no manifest\.json"):
        verify(tmp_path)
    with pytest.raises(WriteupError, match="there is no site"):
        verify(tmp_path / "gone")


def test_the_verifier_shares_statistics_and_quantities_only():
    import ast

    allowed = {"stats", "quantity", "errors", "rederive", "shown"}
    for module in ("verify", "rederive", "shown"):
        source = (Path(rederive.__file__).parent / f"{module}.py").read_text()
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("writeup"):
                names = [node.module.partition(".")[2]] if "." in node.module else []
                names = names or [alias.name for alias in node.names]
                assert set(names) <= allowed, posixpath.join(module, *names)
