import hashlib
import html
import json
import posixpath
from pathlib import Path

import pytest

from tests.worlds import COMMIT, RUN, minimal_artifact
from writeup import addresses, derive, rederive, result, selection
from writeup.errors import WriteupError
from writeup.evidence import Evidence
from writeup.finish import citations, finish
from writeup.numerals import Names
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
    yield derive.shape(artifact, f"{case.pointer}/shape")
    yield derive.listed(artifact, f"{at}/experiments/softmax/order")
    yield derive.date(artifact, f"{at}/started")
    yield derive.command(artifact, f"{at}/command")
    yield derive.prediction(artifact, run, "softmax", 0)
    yield from (derive.name(COMMIT, "chunked-small"), derive.short(COMMIT))
    yield derive.count([each.address for each, _ in pairs], "measurements")
    yield from (derive.digest(COPY, copy), derive.size(COPY, copy))
    for key in ("LEVEL", "MARGIN", "BLOCKS", "MIN_BLOCKS", "OUTLIER_MADS"):
        yield derive.constant(key)
    yield from (derive.counter(3), derive.axis(1e-5, "s"))
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
    story = [f"<p>{number(STORY, each, registry)}</p>" for each in shown]
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
        "method/index.html": "".join(f'<b id="{each}"></b>' for each in constants),
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
    assert forms | {"twins", "twins-band", "margin", "glossary", "metric"} == set(rederive.FORMS)


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
    assert all("where it does not come from" in message for message in messages)


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
        "<p>It takes <b>5</b></p>",
        "<p>&frac12;</p>",
        "<p>٣</p>",
        "<img alt='5 bars' src='a.png'>",
        "<p aria-label='&#53;'>a</p>",
        "<svg><title>5</title></svg>",
        '<script type="application/json">{"say": "5"}</script>',
        "<meta name='description' content='5'>",
    ],
)
def test_a_number_smuggled_into_a_page_is_found(tmp_path, pages, recorded, added):
    story = pages[STORY].decode() + added
    (message,) = told(tmp_path, pages, recorded, files={STORY: story.encode()})
    assert "comes from no artifact" in message


def test_what_only_machines_read_is_not_a_number(tmp_path, pages, recorded):
    added = "<!-- 5 --><script>let x = 5</script><p id='a5' class='b5' data-x='5'>a</p>"
    story = pages[STORY].decode() + added
    assert told(tmp_path, pages, recorded, files={STORY: story.encode()}) == []


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
    assert "no record of the site names '5.1'" in message


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


def test_versions_are_names_behind_what_they_belong_to(recorded):
    _, artifact = recorded
    records = rederive.Records({COMMIT: dict(artifact.raw)}, {}, {})

    def named(word):
        entry = rederive.Entry("k", "name", (), (word,), word)
        try:
            return rederive.derive(entry, records).text == word
        except rederive.UnderivableError:
            return False

    assert named("torch 2.13.0")
    assert named("chunked-small")
    assert not named("torch 2.13.1")
    assert not named("13")
    assert not named("2.13")


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
        ("counter", (), ("five",)),
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


def test_a_folder_that_is_no_site_is_told(tmp_path):
    with pytest.raises(WriteupError, match=r"no manifest\.json"):
        verify(tmp_path)
    with pytest.raises(WriteupError, match="there is no site"):
        verify(tmp_path / "gone")


def test_the_verifier_shares_statistics_and_quantities_only():
    import ast

    allowed = {"stats", "quantity", "errors", "rederive"}
    for module in ("verify", "rederive"):
        source = (Path(rederive.__file__).parent / f"{module}.py").read_text()
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("writeup"):
                names = [node.module.partition(".")[2]] if "." in node.module else []
                names = names or [alias.name for alias in node.names]
                assert set(names) <= allowed, posixpath.join(module, *names)
