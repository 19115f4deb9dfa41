"""From a link that somebody copied to a sentence that somebody can paste."""

import html
import json
import re

import pytest
from click.testing import CliRunner

from tests.cases import worlds
from tests.worlds import COMMIT, RUN, minimal_artifact, write_results
from writeup import build, pasted, result
from writeup.cli import main
from writeup.errors import WriteupError
from writeup.selection import Row

BASE = "https://example.org/kernels"
TIME = f"{RUN}/softmax.wide/chunked/host"
OTHER, OTHER_RUN = "01234567" + "f" * 32, "20261201T0900Z-epyc"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    root = tmp_path_factory.mktemp("quoted")
    worlds.lay(root, {"writeup.toml": f'base_url = "{BASE}"\n'.encode()})
    write_results(root / "results", *minimal_artifact(blocks=6, samples=2))
    return root


def quote(root, *arguments):
    done = CliRunner().invoke(main, ["quote", "--root", str(root), *arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def said(root, *arguments):
    done = quote(root, *arguments)
    assert done.exit_code == 0, done.stderr
    return done.stdout.rstrip("\n").replace("\u202f", " ")


WHOLE = re.compile(
    rf"chunked takes 8\.\d+ ms \(8\.\d+–8\.\d+ ms\) on softmax\.wide \(\d+ × \d+, float32, "
    rf"mode host, AMD EPYC, 2026-11-30 18:12 UTC\)\. chunked is faster than eager, "
    rf"1\.\d+ × \(1\.\d+–1\.\d+ ×\), where eager is torch\.softmax\(x, dim=-1\), ATen, float32 "
    rf"throughout; this holds on 4 of 4 measured cases and modes\. "
    rf"{BASE}/results/{COMMIT}/#{TIME}"
)


@pytest.mark.parametrize(
    "link",
    [
        f"{COMMIT}/{TIME}",
        f"{COMMIT[:9]}/{TIME}",
        TIME,
        f"#{TIME}",
        f"{COMMIT}/{TIME.replace('softmax.wide', 'wide')}",
        f"{BASE}/results/{COMMIT}/index.html#{TIME}",
        f"{BASE}/results/{COMMIT}/#{TIME}",
        f"  {BASE}/results/{COMMIT}#{TIME}\n",
        f"results/{COMMIT}/index.html#{TIME}",
        f"../../results/{COMMIT}/index.html#{TIME}",
        f"file:///home/someone/site/results/{COMMIT}/index.html#{TIME}",
        f"http://127.0.0.1:8000/results/{COMMIT}/index.html#{TIME}",
        f"{BASE}/results/{COMMIT}/index.html#{TIME.replace('softmax.wide', 'softmax%2Ewide')}",
    ],
)
def test_every_way_to_write_a_link_is_one_sentence(project, link):
    text = said(project, link)
    assert WHOLE.fullmatch(text), text


def test_markdown_links_the_figures_and_escapes_the_rest(project):
    text = said(project, TIME, "--format", "markdown")
    url = re.escape(f"{BASE}/results/{COMMIT}/#{TIME}")
    assert re.match(rf"`chunked` takes \[8\.\d+ ms\]\({url}\) \(8", text)
    assert re.search(rf"faster than `eager`, \[1\.\d+ ×\]\({url}\) \(1", text)
    assert "`torch.softmax(x, dim=-1)`" in text
    assert text.count(BASE) == 2


def test_html_is_a_fragment_with_links(project):
    text = said(project, TIME, "--format", "html")
    assert text.startswith(
        f'<code>chunked</code> takes <a href="{BASE}/results/{COMMIT}/#{TIME}">8.'
    )
    assert text.count("<a ") == text.count("</a>") == 2


@pytest.mark.parametrize("form", ["markdown", "html"])
def test_words_of_a_record_are_put_out_as_words(tmp_path, form):
    document, objects = minimal_artifact(blocks=6, samples=2)
    eager = document["runs"][RUN]["cases"]["softmax.wide"]["variants"]["eager"]
    eager |= {"expression": "f(`x`) <b>", "backend": "*A* [b](c) <i> & _d_"}
    write_results(tmp_path / "results", document, objects)
    text = said(tmp_path, TIME, "--format", form)
    if form == "html":
        assert "<code>f(`x`) &lt;b&gt;</code>, *A* [b](c) &lt;i&gt; &amp; _d_" in text
    else:
        assert r"``f(`x`) <b>``, \*A\* \[b\](c) \<i\> & \_d\_" in text


def test_a_link_within_the_site_is_told_where_no_address_is_configured(tmp_path):
    write_results(tmp_path / "results", *minimal_artifact(blocks=6, samples=2))
    done = quote(tmp_path, TIME)
    assert done.stdout.endswith(f" results/{COMMIT}/index.html#{TIME}\n")
    assert "no base_url is configured" in done.stderr


def test_a_second_variant_takes_the_place_of_the_baseline(project):
    beside = said(project, TIME, "compiled")
    assert "chunked is faster than compiled, 1." in beside
    assert said(project, TIME, f"{RUN}/softmax.wide/compiled/host") == beside


def test_of_the_baseline_only_its_time_is_said(project):
    text = said(project, f"{RUN}/softmax.wide/eager/host")
    assert text.startswith("eager takes 1")
    assert "than" not in text


def test_how_far_a_verdict_reaches_stands_beside_it(tmp_path):
    effects = {"chunked": {"wide": 1.6, "small": 0.5}}
    write_results(tmp_path / "results", *minimal_artifact(blocks=6, samples=2, effects=effects))
    assert "this holds on 2 of 4 measured cases and modes." in said(tmp_path, TIME)


def test_too_few_blocks_are_told_in_the_place_of_the_band(tmp_path):
    write_results(tmp_path / "results", *minimal_artifact(blocks=5, samples=2))
    text = said(tmp_path, TIME)
    assert "ms, without a band for want of blocks, on softmax.wide" in text
    assert "chunked: we cannot tell it from eager" in text


def test_what_was_not_timed_is_quoted_with_its_reason(project):
    text = said(project, f"{RUN}/softmax.wide/fused", "--format", "markdown")
    assert text == (
        "`fused` has no time on `softmax.wide` (AMD EPYC, 2026-11-30 18:12 UTC): "
        f"[unsupported]({BASE}/results/{COMMIT}/#{RUN}/softmax.wide/fused), "
        "needs a CUDA device; checked in the interpreter."
    )


def test_a_ceiling_is_quoted_with_its_probe(project):
    text = said(project, f"{RUN}/ceilings/memory-dram-copy")
    assert re.match(r"The ceiling memory-dram-copy was measured at 12\.\d+ GB/s \(12\.", text)
    assert text.endswith(f"#{RUN}/ceilings/memory-dram-copy")


def test_a_prediction_is_quoted_with_what_became_of_it(project):
    text = said(project, f"{RUN}/experiments/softmax/predicted/0")
    assert text.startswith(
        "chunked over eager on softmax.wide, mode host (AMD EPYC, 2026-11-30 18:12 UTC): "
        "predicted 1.40 ×, measured 1."
    )
    assert "the prediction lies below the band, 12" in text


@pytest.mark.parametrize(
    ("link", "message"),
    [
        (f"{COMMIT}/{RUN}/softmax.wide/chunkd/host", "did you mean 'chunked'?"),
        (f"{COMMIT}/{RUN}/softmax.wid/chunked/host", "did you mean 'softmax.wide'?"),
        (f"{COMMIT}/{RUN}/softmax.wide/chunked/hots", "did you mean 'host'?"),
        (f"{COMMIT}/{RUN}x/softmax.wide/chunked/host", f"did you mean '{RUN}'?"),
        (f"{COMMIT}/{RUN}/softmax.wide/chunked", "add a mode:\n  host\n  host_hot"),
        (f"{COMMIT}/{RUN}/softmax.wide", "add a variant:\n  "),
        (f"{COMMIT}/{RUN}", "add a case:\n  softmax.small\n  softmax.wide"),
        (COMMIT, f"add a run:\n  {RUN}"),
        ("0" * 40, "no result is called"),
        ("", "no result is called"),
        ("012345", f"there are:\n  {COMMIT}"),
        (f"{RUN}/ceilings", "add a ceiling:"),
        (f"{RUN}/ceilings/memory-dram-cpy", "did you mean 'memory-dram-copy'?"),
        (f"{RUN}/experiments/softmax/predicted/7", "has 1 predictions, and none at '7'"),
        (f"{RUN}/experiments/gelu/predicted/0", "has no experiment 'gelu'"),
        (f"{RUN}/environment/device", "leads to the environment"),
        (f"{BASE}/stories/softmax/index.html#result", "leads to no result"),
        (f"{BASE}/sources/{'ab' * 20}/index.html#L4", "leads to no result"),
        ("https://example.org/", "leads to no result"),
    ],
)
def test_a_link_that_leads_nowhere_is_refused_with_what_is_nearest(project, link, message):
    done = quote(project, link)
    assert done.exit_code == 1
    assert message in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("link", "other", "message"),
    [
        (TIME, "fused", "'fused' was not timed (unsupported)"),
        (TIME, f"{RUN}/softmax.wide/eager/host_hot", "they differ in mode: host and host_hot"),
        (TIME, f"{RUN}/ceilings/memory-dram-copy", "no measurement of a variant"),
        (TIME, "eagr", "did you mean 'eager'?"),
        (f"{RUN}/softmax.wide/fused", "eager", "only a time can be set beside another"),
    ],
)
def test_what_cannot_stand_beside_a_time_is_refused(project, link, other, message):
    done = quote(project, link, other)
    assert done.exit_code == 1
    assert message in done.stderr


def test_results_that_cannot_be_read_are_not_quoted(tmp_path):
    worlds.lay(tmp_path, {f"results/{COMMIT}.json": b"{"})
    done = quote(tmp_path, TIME)
    assert done.exit_code == 1
    assert "bad-artifact" in done.stderr


# Where links come from.


def artifacts(*documents):
    found = {}
    for document in documents:
        name = f"{document['commit']}.json"
        found[document["commit"]] = result.parse(json.dumps(document).encode(), name)
    return found


def test_every_link_of_a_page_to_a_result_is_one_that_can_be_read(project):
    site = build.build(build.configuration(project))
    text = site.files["stories/softmax/index.html"].decode()
    record = artifacts(minimal_artifact(blocks=6, samples=2)[0])
    links = {html.unescape(each) for each in re.findall(r'<a class="n" href="([^"]+)"', text)}
    read = [pasted.find(record, each) for each in links if re.search(r"/(chunked|eager)/", each)]
    assert len(read) > 6
    assert all(isinstance(each, Row) and each.timing is not None for each in read)


def test_a_commit_that_begins_like_another_is_asked_for(project):
    document, _ = minimal_artifact(blocks=6, samples=2)
    other, _ = minimal_artifact(commit=OTHER, run=OTHER_RUN, blocks=6, samples=2)
    both = artifacts(document, other)
    with pytest.raises(WriteupError, match="begins more than one commit"):
        pasted.find(both, f"{COMMIT[:8]}/{TIME}")
    assert pasted.find(both, f"{COMMIT[:9]}/{TIME}").artifact.commit == COMMIT


def test_a_run_of_two_commits_is_asked_for():
    document, _ = minimal_artifact(blocks=6, samples=2)
    other, _ = minimal_artifact(commit=OTHER, blocks=6, samples=2)
    with pytest.raises(WriteupError, match=f"{OTHER}/{RUN}"):
        pasted.find(artifacts(document, other), TIME)


def test_a_case_without_its_subject_must_be_the_only_one_of_its_name():
    document, _ = minimal_artifact(blocks=6, samples=2)
    gelu, _ = minimal_artifact(subject="gelu", cases=("wide",), blocks=6, samples=2)
    document["runs"][RUN]["cases"] |= gelu["runs"][RUN]["cases"]
    sources = gelu["runs"][RUN]["sources"]["files"]
    document["runs"][RUN]["sources"]["files"] |= sources
    document["runs"][RUN].pop("processes")
    record = artifacts(document)
    assert pasted.find(record, f"{RUN}/small/eager/host").case.key == "softmax.small"
    with pytest.raises(WriteupError, match="measured no case 'wide'"):
        pasted.find(record, f"{RUN}/wide/eager/host")
