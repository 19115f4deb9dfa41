"""From a number on a page to its samples: what is meant, and what is said of each form."""

import json
import re

import pytest

from tests.worlds import COMMIT, RUN, minimal_artifact
from tests.writeup.test_verify import every_form
from writeup import addresses, rederive, result
from writeup.chain import HOW, chains
from writeup.errors import WriteupError

TIME = f"{COMMIT}/{RUN}/softmax.wide/chunked/host"
PAGES = {
    "index.html": b"<p>\n<b>here</b>\n",
    "stories/a/index.html": "<p>é</p>\n<p>there</p>\n".encode(),
}


@pytest.fixture(scope="module")
def artifact():
    raw, _ = minimal_artifact(noise=0.004, samples=5)
    return result.parse(json.dumps(raw).encode(), f"results/{COMMIT}.json")


@pytest.fixture(scope="module")
def shown(artifact):
    """A piece of evidence of every form that the generator derives, by key."""
    return {each.key: each for each in every_form(artifact, b"the artifact")}


def href(evidence):
    return "#".join(filter(None, addresses.target(evidence) or ())) or None


@pytest.fixture(scope="module")
def explained(artifact, shown):
    """Ask for chains of that evidence, each shown on two pages, one cited in a story."""
    evidence = {
        key: {
            "form": each.form,
            "at": list(each.at),
            "args": list(each.args),
            "text": each.text,
            "label": each.label,
            "href": href(each),
        }
        for key, each in shown.items()
    }
    occurrences = [
        {"page": page, "offset": offset, "length": 4, "key": key}
        for key in evidence
        for page, offset in (("index.html", 7), ("stories/a/index.html", 12))
    ]
    time = next(key for key, each in shown.items() if each.at == (TIME,) and each.form == "time")
    for each in occurrences:
        if each["key"] == time:
            each["source"] = "kernels/a/story.md:3:9"
    record = json.dumps({"evidence": evidence, "occurrences": occurrences}).encode()
    return lambda what: chains(record, {COMMIT: artifact}, PAGES, what)


def lines(text, name):
    """The values of the lines of that name, with those below that have none."""
    found, inside = [], False
    for line in text.split("\n")[1:]:
        label, value = line[2:11].strip(), line[12:]
        inside = label == name or (inside and not label)
        if inside:
            found.append(value)
    return found


def key_of(shown, form, at=None):
    return next(k for k, e in shown.items() if e.form == form and at in (None, e.at))


def test_a_chain_leads_from_the_pages_to_the_samples_and_the_estimate(explained, shown, artifact):
    key = key_of(shown, "time", (TIME,))
    text = explained(key)
    assert text.startswith(f"{shown[key].text}  [{key}]\n  what      time of chunked, wide, host\n")
    assert lines(text, "shown on") == ["stories/a/index.html:2:4", "index.html:2:4"]
    assert lines(text, "cited at") == ["kernels/a/story.md:3:9"]
    assert lines(text, "form") == ["time: the median of the block medians"]
    assert lines(text, "from") == [TIME]
    assert lines(text, "artifact") == [f"results/{COMMIT}.json"]
    (pointer,) = lines(text, "pointer")
    samples = artifact.at(pointer)
    blocks = [line.split() for line in lines(text, "block")]
    assert [block[0] for block in blocks] == list(samples)
    assert all(block[1:4] == ["5", "samples,", "median"] for block in blocks)
    (estimate,) = lines(text, "estimate")
    assert re.fullmatch(
        re.escape(shown[key].text) + r" \(8\.\d+–8\.\d+\u202fms\), of 12 blocks", estimate
    )


def test_a_ratio_is_told_block_by_block(explained, shown):
    key = key_of(shown, "speedup")
    text = explained(key)
    assert len(lines(text, "pointer")) == 2
    blocks = lines(text, "block")
    assert len(blocks) == 12
    assert all(
        re.fullmatch(r"softmax\.\d\d  \d.+ by \d.+: 1\.\d+\u202f×", block) for block in blocks
    )
    assert lines(text, "estimate")[0].startswith(shown[key].text)


def test_a_verdict_names_its_twins(explained, shown):
    text = explained(key_of(shown, "verdict"))
    assert re.match(r"(?:0\.99|1\.00)\d+\u202f× \(", lines(text, "twins")[0])


def test_a_mean_over_cases_lists_its_pairs(explained, shown):
    pairs = lines(explained(key_of(shown, "geomean")), "pair")
    assert [pair.split("  ")[0] for pair in pairs] == [
        f"{RUN}/softmax.{case}/chunked/host over eager" for case in ("small", "wide")
    ]


def test_a_ceiling_lists_its_probes_and_names_the_best(explained, shown):
    key = key_of(shown, "ceiling")
    probes = lines(explained(key), "probe")
    (best,) = [probe for probe in probes if probe.endswith("  (the best)")]
    assert shown[key].text in best


def test_a_fact_shows_what_stands_at_its_pointer(explained, shown, artifact):
    for key, each in shown.items():
        if each.form in ("fact", "share", "date", "command", "list", "shape", "prediction"):
            pointer, _, value = lines(explained(key), "pointer")[0].partition("  ")
            assert value == json.dumps(artifact.at(pointer), ensure_ascii=False)


def test_samples_of_a_control_are_told_by_block(explained, shown):
    key = key_of(shown, "sampled")
    text = explained(key)
    assert len(lines(text, "block")) == 12
    assert lines(text, "estimate")[0].startswith(shown[key].text)


def test_counted_work_is_told_with_its_method(explained, shown):
    text = explained(key_of(shown, "intensity"))
    assert lines(text, "bytes")[0].endswith("  each input once, each output once")
    assert lines(text, "flops")


def test_every_form_is_explained_in_words_and_no_other(explained, shown):
    assert HOW.keys() == rederive.FORMS.keys()
    for key, each in shown.items():
        text = explained(key)
        assert lines(text, "form")[0].endswith(f": {HOW[each.form]}")
        assert lines(text, "from")[:5] == list(each.at)[:5]


def test_every_pointer_of_every_chain_leads_somewhere(explained, shown, artifact):
    for key in shown:
        for pointer in lines(explained(key), "pointer"):
            artifact.at(pointer.partition("  ")[0])


@pytest.mark.parametrize(
    "what",
    [
        TIME,
        TIME.partition("/")[2],
        f"#{TIME.partition('/')[2]}",
        f"../../results/{COMMIT}/index.html#{TIME.partition('/')[2]}",
        f"https://example.org/base/results/{COMMIT}/#{TIME.partition('/')[2]}",
        f"file:///tmp/site/results/{COMMIT}/index.html#{TIME.partition('/')[2]}",
        f"results/{COMMIT}/index.html#{TIME.partition('/')[2].replace('softmax.wide', 'softmax%2Ewide')}",
    ],
)
def test_a_link_means_what_rests_on_its_place_first_and_what_compares_it_after(
    explained, shown, what
):
    told = explained(what).split("\n\n")
    assert len(told) == 6
    assert re.fullmatch(r"and \d+ more that rest on it", told[-1])
    assert told[0].startswith(f"{shown[key_of(shown, 'time', (TIME,))].text}  [")
    assert len(set(told)) == 6


@pytest.mark.parametrize(
    "what", ["kernels/a/story.md:3:9", "kernels/a/story.md:3:14", "kernels/a/story.md:3"]
)
def test_a_citation_is_meant_by_a_place_within_it_or_its_line(explained, shown, what):
    assert f"[{key_of(shown, 'time', (TIME,))}]" in explained(what)


@pytest.mark.parametrize("what", ["index.html:2:4", "index.html:2:7", "stories/a/index.html:2"])
def test_a_place_of_a_page_means_what_stands_there(explained, what):
    assert "more that rest on it" in explained(what)


@pytest.mark.parametrize(
    ("link", "form"),
    [
        ("https://example.org/method/#level", "constant"),
        ("../../method/index.html#margin", "constant"),
        ("literals/index.html", "literal"),
        (f"results/{COMMIT}/index.html#{RUN}/environment/device", "fact"),
        (f"results/{COMMIT}/#{RUN}/experiments/softmax/predicted/0", "prediction"),
    ],
)
def test_a_link_to_another_place_means_what_links_there(explained, link, form):
    assert f"\n  form      {form}" in explained(link)


@pytest.mark.parametrize(
    "what",
    [
        "", "time", "000000000001", "index.html#", "story.md:3:1", "#", "index.html:2:3",
        "index.html:2:8", "kernels/a/story.md:3:8", "kernels/a/story.md:4", f"{COMMIT}x",
        "https://example.org/stories/a/#b",
    ],
)  # fmt: skip
def test_what_names_no_number_is_refused(explained, what):
    with pytest.raises(WriteupError, match="neither a rule nor a number"):
        explained(what)
