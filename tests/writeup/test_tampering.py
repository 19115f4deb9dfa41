"""A site as it is really built, altered by hand: `writeup verify` finds it."""

import hashlib
import json
import re
import subprocess
import sys

import pytest
from click.testing import CliRunner

from tests.cases import worlds
from tests.worlds import COMMIT, minimal_artifact
from writeup import build
from writeup.cli import main

STORY = "stories/softmax/index.html"
COPY = f"results/{COMMIT}/artifact.json"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = worlds.lay(tmp_path_factory.mktemp("world"), worlds.contents(worlds.CASES / "full"))
    return dict(build.build(build.configuration(folder)).files)


def sealed(files):
    """The files under a manifest that fits them, as a careful forger would leave it."""
    manifest = json.loads(files["manifest.json"])
    manifest["outputs"] = {
        path: hashlib.sha256(content).hexdigest()
        for path, content in files.items()
        if path != "manifest.json"
    }
    for path, content in files.items():
        if path.endswith("/artifact.json"):
            commit = path.split("/")[1]
            manifest["inputs"][f"results/{commit}.json"] = hashlib.sha256(content).hexdigest()
    return {**files, "manifest.json": json.dumps(manifest).encode()}


def verified(folder, files):
    """The problems of a site, as the command tells them."""
    worlds.lay(folder, files)
    done = CliRunner().invoke(main, ["verify", str(folder), "--format", "json"])
    assert done.exception is None or isinstance(done.exception, SystemExit)
    assert done.exit_code in (0, 1)
    problems = json.loads(done.stdout) if done.stdout else []
    assert bool(problems) == bool(done.exit_code)
    return problems


def swapped(text, pattern):
    """The text with the last digit of the only group of the first match made another."""
    found = re.search(pattern, text)
    assert found, pattern
    digit = max(i for i in range(*found.span(1)) if text[i].isdigit())
    return text[:digit] + str((int(text[digit]) + 1) % 10) + text[digit + 1 :]


def test_a_built_site_is_confirmed(tmp_path, site):
    assert verified(tmp_path, site) == []
    assert verified(tmp_path / "sealed", sealed(site)) == []


@pytest.mark.parametrize("path", [STORY, f"results/{COMMIT}/index.html"])
@pytest.mark.parametrize(
    "pattern",
    [
        pytest.param(r'<data value="[^"]+" data-e="\w+">([^<]+)</data>', id="text"),
        pytest.param(r'<data value="(\d[\d.]{2})', id="value"),
        pytest.param(r' (?:title|aria-label)="([^"]*\d[^"]*)"', id="attribute"),
        pytest.param(r"<text[^>]*>([^<]*\d[^<]*)</text>", id="picture"),
    ],
)
def test_an_altered_digit_is_found_on_its_page(tmp_path, site, path, pattern):
    text = site[path].decode()
    altered = {**site, path: swapped(text, pattern).encode()}
    stale = verified(tmp_path / "stale", altered)
    assert ("verify-manifest", path) in {(each["rule"], each["path"]) for each in stale}
    forged = verified(tmp_path / "forged", sealed(altered))
    assert {each["path"] for each in forged} == {path}
    assert "verify-manifest" not in {each["rule"] for each in forged}


def test_a_digit_altered_in_the_citations_is_found(tmp_path, site):
    text = site["citations.json"].decode()
    altered = swapped(text, r'"text": "([^"]*\d[^"]*ms)"')
    assert verified(tmp_path, sealed({**site, "citations.json": altered.encode()}))


def test_a_swapped_artifact_is_found(tmp_path, site):
    other, _ = minimal_artifact(
        variants=worlds.VARIANTS, effects={**worlds.EFFECTS, "chunked": 1.9}, blocks=6, samples=2
    )
    content = (json.dumps(other, indent=1, sort_keys=True) + "\n").encode()
    altered = {**site, COPY: content}
    stale = verified(tmp_path / "stale", altered)
    assert ("verify-manifest", COPY) in {(each["rule"], each["path"]) for each in stale}
    forged = verified(tmp_path / "forged", sealed(altered))
    assert any("comes out as" in each["message"] for each in forged)


def test_one_changed_sample_in_the_published_artifact_is_found(tmp_path, site):
    document = json.loads(site[COPY])
    (run,) = document["runs"].values()
    timing = run["cases"]["softmax.wide"]["variants"]["chunked"]["timings"]["host"]
    timing["samples"]["softmax.03"][0] += 40_000
    altered = {**site, COPY: (json.dumps(document, indent=1, sort_keys=True) + "\n").encode()}
    assert verified(tmp_path, sealed(altered))


def inserted(files, added, evidence=()):
    """The site with markup put into its story, and evidence (entry, text in the markup)."""
    text = files[STORY].decode()
    at = text.index("</main>")
    found = json.loads(files["citations.json"])
    for each in found["occurrences"]:
        if each["page"] == STORY and each["offset"] >= at:
            each["offset"] += len(added)
    for entry, shown in evidence:
        canonical = json.dumps([entry["form"], entry["at"], entry["args"]])
        key = hashlib.sha256(canonical.encode()).hexdigest()[:12]
        found["evidence"][key] = {**entry, "text": shown}
        place = {"page": STORY, "offset": at + added.index(shown), "length": len(shown)}
        found["occurrences"].append({**place, "key": key})
    story = text[:at] + added + text[at:]
    altered = {STORY: story.encode(), "citations.json": json.dumps(found).encode()}
    return sealed({**files, **altered})


@pytest.mark.parametrize(
    "added",
    [
        "<p>It is nine times faster.</p>",
        "<p>It is <em>twice</em> as fast.</p>",
        "<p>It takes half the time.</p>",
        "<p>It is faster by an order of magnitude.</p>",
        "<metadata>9.9 × faster</metadata>",
        "<!--> 9.9 × <!-- -->",
        '<style>p::after{content:"9.9 ×"}</style>',
        '<script>document.write("9.9 ×")</script>',
        "<svg><style><text>9.9</text></style></svg>",
        '<iframe srcdoc="9.9 ×"></iframe>',
        '<img alt="" src="data:image/svg+xml,%3Csvg%3E9.9%3C/svg%3E">',
        '<a class="ln" data-n="9.9 ×"></a>',
        '<p =">9.9 ×<p ">x</p>',
        '<a href="../../gone/index.html">a</a>',
        '<a href="#gone">a</a>',
    ],
)
def test_what_is_put_into_a_page_is_found(tmp_path, site, added):
    assert verified(tmp_path / "sound", inserted(site, "<p>It is faster.</p>")) == []
    problems = verified(tmp_path / "forged", inserted(site, added))
    assert {each["path"] for each in problems} == {STORY}


def test_the_key_of_an_evidence_shown_as_text_is_found(tmp_path, site):
    keys = json.loads(site["citations.json"])["evidence"]
    key = next(each for each in keys if any(character.isdigit() for character in each))
    (problem,) = verified(tmp_path, inserted(site, f"<p>{key}</p>"))
    assert problem["rule"] == "verify-number"


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("chunked-small", True),
        ("host_hot", True),
        ("torch 2.13.0", True),
        ("50 ms", False),
        ("over a 50 ms sleep", False),
        ("2.13.0", False),
    ],
)
def test_only_what_a_record_calls_by_it_is_a_name(tmp_path, site, name, known):
    entry = {"form": "name", "at": [], "args": [name]}
    problems = verified(tmp_path, inserted(site, f"<p>Of {name}.</p>", [(entry, name)]))
    assert (problems == []) == known


def test_the_number_of_another_line_is_found(tmp_path, site):
    for path in (STORY, next(each for each in site if re.match("sources/.*html", each))):
        altered = swapped(site[path].decode(), r'data-n="(\d+)"')
        forged = verified(tmp_path / path, sealed({**site, path: altered.encode()}))
        assert all("is not the number of the line" in each["message"] for each in forged)
        assert forged


def test_the_name_of_a_file_that_leads_to_another_is_found(tmp_path, site):
    text = site[STORY].decode()
    found = re.search(r'<a class="path" href="\.\./\.\./sources/(\w+)/index\.html">', text)
    other = next(each.split("/")[1] for each in site if re.match("sources/", each))
    assert other != found[1]
    altered = text[: found.start(1)] + other + text[found.end(1) :]
    problems = verified(tmp_path, sealed({**site, STORY: altered.encode()}))
    (problem,) = problems
    assert problem["message"].endswith("leads to what another file held")


@pytest.mark.parametrize("name", ["extra.htm", "extra.xhtml", "extra.txt", "stories/a.md"])
def test_a_file_that_a_build_does_not_write_is_found(tmp_path, site, name):
    (problem,) = verified(tmp_path, sealed({**site, name: b"9.9 times faster"}))
    assert (problem["path"], problem["rule"]) == (name, "verify-file")


def test_a_style_sheet_that_shows_a_number_is_found(tmp_path, site):
    path = next(each for each in site if each.endswith(".css"))
    altered = site[path] + b'\np::after{content:"9.9"}'
    (problem,) = verified(tmp_path, sealed({**site, path: altered}))
    assert (problem["path"], problem["rule"]) == (path, "verify-style")


def test_a_moved_link_is_found(tmp_path, site):
    text = site[STORY].decode()
    place = "softmax.wide/compiled/host"
    found = re.search(rf'<a class="n" href="[^"]*#[^"]*{place}"', text)
    moved = found[0].replace("/compiled/", "/unrolled/")
    altered = {**site, STORY: text.replace(found[0], moved, 1).encode()}
    (problem,) = verified(tmp_path, sealed(altered))
    assert problem["path"] == STORY
    assert "where it does not come from" in problem["message"]


def test_an_entry_removed_from_the_citations_is_found(tmp_path, site):
    found = json.loads(site["citations.json"])
    key = next(o["key"] for o in found["occurrences"] if o["page"] == STORY and "source" in o)
    del found["evidence"][key]
    found["occurrences"] = [o for o in found["occurrences"] if o["key"] != key]
    altered = {**site, "citations.json": json.dumps(found).encode()}
    problems = verified(tmp_path, sealed(altered))
    assert STORY in {each["path"] for each in problems}


def test_an_occurrence_removed_from_the_citations_is_found(tmp_path, site):
    found = json.loads(site["citations.json"])
    index = next(
        i
        for i, o in enumerate(found["occurrences"])
        if o["page"] == STORY and found["evidence"][o["key"]]["form"] == "time"
    )
    del found["occurrences"][index]
    altered = {**site, "citations.json": json.dumps(found).encode()}
    assert {each["path"] for each in verified(tmp_path, sealed(altered))} == {STORY}


def test_verifying_loads_nothing_of_what_made_the_site(tmp_path, site):
    folder = worlds.lay(tmp_path, site)
    code = (
        "import sys; from writeup.cli import main\n"
        f"try: main(['verify', {str(folder)!r}, '--quiet'])\n"
        "except SystemExit as done: assert not done.code\n"
        "print(sorted(m for m in sys.modules if m.startswith('writeup')))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True
    )
    assert set(json.loads(done.stdout.replace("'", '"'))) == {
        "writeup",
        "writeup.cli",
        "writeup.errors",
        "writeup.quantity",
        "writeup.rederive",
        "writeup.shown",
        "writeup.stats",
        "writeup.verify",
    }


@pytest.mark.parametrize("path", ["manifest.json", "citations.json", COPY])
@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff", b'{"schema": 1}', b"[" * 100_000])
def test_a_site_that_cannot_be_read_ends_in_a_message(tmp_path, site, path, content):
    worlds.lay(tmp_path, {**site, path: content})
    done = CliRunner().invoke(main, ["verify", str(tmp_path)])
    assert isinstance(done.exception, SystemExit)
    assert done.exit_code == 1
    assert "error" in done.stderr
