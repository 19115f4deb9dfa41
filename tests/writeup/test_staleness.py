"""Numbers that no longer speak for today's code say so, by name, and refuse nothing."""

import copy
import hashlib
import html
import json
import re

import pytest

from tests.cases import worlds
from tests.worlds import COMMIT, RUN, minimal_artifact, write_results
from writeup import build, config, load, resources, result, staleness, verify
from writeup.numerals import numerals
from writeup.staleness import GONE, Stale, Today

ARTIFACT = f"results/{COMMIT}.json"
RECORD = f"results/{COMMIT}/index.html"
PAGE = "stories/softmax/index.html"
HOME = "index.html"
EAGER, FUSED = "kernels/softmax/eager.py", "kernels/softmax/fused.py"
AGAIN = "20261201T0900Z-epyc"
PROTOCOLS = json.loads(resources.protocols().read_bytes())


# Which runs are stale, by what they recorded.


@pytest.fixture(scope="module")
def run():
    document, _ = minimal_artifact(blocks=6, samples=2)
    return result.parse(json.dumps(document).encode(), ARTIFACT).runs[RUN]


def today(run, *, protocols=None, **texts):
    """Today as it was when the run was made, but for the given files (None: gone)."""
    kernels = staleness.kernel_files(run.files, ["kernels"])
    files = {path: frozenset({run.files[path]}) for path in kernels}
    for name, text in texts.items():
        path = f"kernels/softmax/{name}.py"
        files[path] = GONE if text is None else staleness.ids(text)
    return Today(files, protocols or {"cpu": {1: "The first."}})


def test_the_files_that_were_measured_make_nothing_stale(run):
    assert staleness.stale(run, today(run)) is None


def test_a_changed_file_and_a_gone_one_are_told_by_name(run):
    found = staleness.stale(run, today(run, fused=b"x = 1\n", eager=b"", chunked=None))
    assert found == Stale((EAGER, FUSED), ("kernels/softmax/chunked.py",), ())
    gone = "kernels/softmax/chunked.py gone"
    assert found.reasons == f"kernels/softmax/eager.py and 1 more changed; {gone}"


def test_every_number_above_that_of_the_run_is_told_with_its_reason(run):
    first, second, third = "The first.", "Turns are drawn anew.", "Caches are emptied."
    raised = {10: third, 2: second, 1: first}
    found = staleness.stale(run, today(run, protocols={"cpu": raised, "cuda": {1: first}}))
    assert found == Stale((), (), (second, third))
    assert found.reasons == "the way of measuring changed"


@pytest.mark.parametrize(
    "protocols",
    [
        {"cpu": {1: "The first."}, "cuda": {1: "The first.", 2: "Of other devices."}},
        {"cuda": {2: "A kind that is not that of the run."}},
    ],
)
def test_a_number_raised_for_another_kind_of_device_makes_nothing_stale(run, protocols):
    assert staleness.stale(run, today(run, protocols=protocols)) is None


def test_a_run_by_a_newer_harness_is_not_told_stale(run):
    document, _ = minimal_artifact(blocks=6, samples=2)
    document["runs"][RUN]["protocol"] = 7
    newer = result.parse(json.dumps(document).encode(), ARTIFACT).runs[RUN]
    assert staleness.stale(newer, today(run)) is None


def test_a_run_of_another_tool_has_no_protocol_and_no_files_to_differ_from(run):
    document, _ = minimal_artifact(commit=f"imported-{'0' * 64}", blocks=6, samples=2)
    session = document["runs"][RUN]
    for name in ("seed", "protocol", "command", "sources"):
        del session[name]
    for variant in (v for case in session["cases"].values() for v in case["variants"].values()):
        variant.pop("file", None)
    session["imported"] = {"tool": "pyperf", "digest": "0" * 64}
    path = f"results/{document['commit']}.json"
    foreign = result.parse(json.dumps(document).encode(), path).runs[RUN]
    raised = {"cpu": {1: "The first.", 2: "Turns are drawn anew."}}
    assert staleness.stale(foreign, today(run, protocols=raised, fused=None)) is None


def test_kernel_files_lie_in_the_folders_of_the_project():
    loaded = ["harness/run.py", "kernels/a/x.py", "kernels_old/a/x.py", "more/deep/b/y.py"]
    assert staleness.kernel_files(loaded, ["kernels"]) == ("kernels/a/x.py",)
    assert staleness.kernel_files(loaded, ["more/deep/", "./kernels"]) == (
        "kernels/a/x.py",
        "more/deep/b/y.py",
    )


def test_an_id_is_that_of_git_whichever_way_the_checkout_turned_line_ends():
    # printf 'a\nb\n' | git hash-object --stdin
    assert "422c2b7ab3b3c668038da977e4e93a5fc623169c" in staleness.ids(b"a\nb\n")
    assert staleness.ids(b"a\nb\n") < staleness.ids(b"a\r\nb\r\n")
    assert staleness.ids(b"a\nb\n").isdisjoint(staleness.ids(b"a\nb"))


@pytest.mark.parametrize("device", sorted(PROTOCOLS))
def test_reasons_of_the_program_itself_pass_the_gate(device):
    for reason in PROTOCOLS[device].values():
        assert not list(numerals(reason))


# What the pages say of it.


@pytest.fixture
def published(tmp_path):
    """Build a world, publish it, and let the other program check it."""

    def site(world):
        project = config.find(worlds.lay(tmp_path / "world", world))
        made = build.build(project)
        assert verify.verify(build.publish(made, project)) == []
        return made

    return site


def said(site, page):
    """The text of a page's notices, one a line."""
    found = re.findall(r'<p class="notice[^>]*>(.*?)</p>', site.files[page].decode(), re.DOTALL)
    return [plain(each) for each in found]


def plain(markup):
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", markup)).split())


def marks(site):
    """The badges of the home page that say stale, with what follows on their line."""
    text = site.files[HOME].decode()
    found = re.findall(
        r'<span class="badge unclear">(?:(?!</span).)*stale</span>[^<]*(?:<.*</p>)?', text
    )
    return [plain(each) for each in found]


def silent(site):
    return not any("stale" in plain(site.files[page].decode()) for page in (HOME, PAGE, RECORD))


def test_today_s_kernel_files_are_inputs_of_the_build(published):
    world = worlds.contents()
    site = published(world)
    inputs = json.loads(site.files["manifest.json"])["inputs"]
    assert inputs == {p: hashlib.sha256(content).hexdigest() for p, content in world.items()}
    assert silent(site)
    assert "stale" not in site.summary


def test_a_changed_kernel_file_is_told_on_every_page_with_what_was_measured(published):
    world = worlds.contents()
    measured = result.blob_id(world[FUSED])
    site = published({**world, FUSED: world[FUSED] + b"# tuned\n"})
    notice = f"The numbers of run {RUN} are stale. {FUSED} has changed since it was measured."
    assert said(site, PAGE) == said(site, RECORD) == [notice]
    for page in (PAGE, RECORD):
        text = site.files[page].decode().partition('class="notice')[2].partition("</p>")[0]
        assert f'href="../../sources/{measured}/index.html"' in text
    assert marks(site) == [f"stale {FUSED} has changed since it was measured.", "stale"]
    assert site.summary.endswith(f", 1 of 1 run is stale: {RUN} ({FUSED} changed)")
    assert site.problems == ()


def test_kernel_files_that_are_gone_are_told_apart_from_changed_ones(published):
    world = worlds.contents()
    other = "kernels/softmax/unrolled.py"
    kept = {p: content for p, content in world.items() if p not in (EAGER, other)}
    site = published({**kept, FUSED: b"\n"})
    changed = f"{FUSED} has changed since it was measured."
    gone = f"{EAGER} and {other} are gone."
    assert said(site, PAGE) == [f"The numbers of run {RUN} are stale. {changed} {gone}"]


def test_a_raised_protocol_is_told_with_its_reasons(published):
    assert PROTOCOLS["cuda"].keys() == {"1", "2"}
    document, objects = minimal_artifact(kind="cuda", blocks=6, samples=2)
    files = document["runs"][RUN]["sources"]["files"]
    site = published(
        {
            "writeup.toml": b'title = "Untold"\n',
            ARTIFACT: json.dumps(document).encode(),
            **{f"results/objects/{blob}": content for blob, content in objects.items()},
            **{path: objects[blob] for path, blob in files.items() if "kernels/" in path},
        }
    )
    notice = (
        f"The numbers of run {RUN} are stale. The way of measuring has changed since protocol 1."
        f" {PROTOCOLS['cuda']['2']}"
    )
    assert notice in said(site, PAGE)
    assert said(site, RECORD) == [notice]
    assert marks(site) == ["stale The way of measuring has changed since.", "stale"]


def test_prose_makes_nothing_stale(published):
    world = worlds.contents()
    story = world[worlds.STORY].replace(b"Each row is normalised", b"Every row is normalised")
    assert story != world[worlds.STORY]
    assert silent(published({**world, worlds.STORY: story}))


def test_files_of_the_harness_make_nothing_stale(published):
    world = worlds.contents()
    assert "harness/sample.py" in json.loads(world[ARTIFACT])["runs"][RUN]["sources"]["files"]
    assert silent(published({**world, "harness/sample.py": b"# another loop\n"}))


def test_a_folder_that_is_no_longer_one_of_kernels_makes_nothing_stale(published):
    world = worlds.contents()
    moved = {
        p.replace("kernels/", "prose/") if p == worlds.STORY else p: content
        for p, content in world.items()
        if p == worlds.STORY or not p.startswith("kernels/")
    }
    settings = world["writeup.toml"] + b'kernels = ["prose"]\n'
    assert silent(published({**moved, "writeup.toml": settings}))


def test_of_several_runs_only_those_are_marked_that_are_stale(published):
    world = worlds.contents()
    document = json.loads(world[ARTIFACT])
    later = copy.deepcopy(document["runs"][RUN])
    later["started"], later["ended"] = "2026-12-01T09:00:00Z", "2026-12-01T09:10:00Z"
    tuned = world[FUSED] + b"# tuned\n"
    later["sources"]["files"][FUSED] = result.blob_id(tuned)
    document["runs"][AGAIN] = later
    story = world[worlds.STORY].replace(b"+++\n", f'+++\nrun = "{AGAIN}"\n'.encode(), 1)
    site = published(
        {
            **world,
            ARTIFACT: json.dumps(document).encode(),
            f"results/objects/{result.blob_id(tuned)}": tuned,
            FUSED: tuned,
            worlds.STORY: story,
        }
    )
    assert said(site, PAGE) == []
    (notice,) = said(site, RECORD)
    assert notice.startswith(f"The numbers of run {RUN} are stale.")
    assert marks(site) == ["1 stale"]
    assert site.summary.endswith(f", 1 of 2 runs is stale: {RUN} ({FUSED} changed)")


def test_runs_that_are_stale_alike_are_counted_under_one_reason(published):
    world = worlds.contents()
    document = json.loads(world[ARTIFACT])
    document["runs"][AGAIN] = copy.deepcopy(document["runs"][RUN])
    story = world[worlds.STORY].replace(b"+++\n", f'+++\nrun = "{RUN}"\n'.encode(), 1)
    changed = {ARTIFACT: json.dumps(document).encode(), worlds.STORY: story, FUSED: b"\n"}
    site = published({**world, **changed})
    assert site.summary.endswith(f", 2 of 2 runs are stale: {RUN} and {AGAIN} ({FUSED} changed)")
    assert len(said(site, RECORD)) == 2
    assert len(said(site, PAGE)) == 1


# What lies where a kernel file lay.


def loaded(folder):
    return load.load(config.find(folder))


@pytest.fixture
def folder(tmp_path):
    return worlds.lay(tmp_path / "world", worlds.contents())


def test_a_checkout_that_turned_line_ends_around_is_not_stale(folder):
    for path in (folder / "kernels/softmax").glob("*.py"):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    sources = loaded(folder)
    assert staleness.stale_runs(sources.artifacts.values(), sources.today) == {}


def test_a_folder_of_its_name_is_not_the_file(folder):
    (folder / FUSED).unlink()
    (folder / FUSED).mkdir()
    assert loaded(folder).today.files[FUSED] is GONE


def test_a_link_out_of_the_project_is_not_the_file(folder, tmp_path):
    outside = tmp_path / "outside.py"
    (folder / FUSED).rename(outside)
    (folder / FUSED).symlink_to(outside)
    sources = loaded(folder)
    assert sources.today.files[FUSED] is GONE
    assert FUSED not in sources.inputs


def test_a_link_to_itself_is_not_the_file(folder):
    (folder / FUSED).unlink()
    (folder / FUSED).symlink_to(folder / FUSED)
    assert loaded(folder).today.files[FUSED] is GONE


def test_a_name_that_no_file_can_have_is_gone(tmp_path):
    long = f"kernels/softmax/{'x' * 300}.py"
    write_results(
        tmp_path / "results", *minimal_artifact(blocks=6, samples=2, sources={long: "x = 1\n"})
    )
    sources = loaded(tmp_path)
    assert sources.problems == ()
    assert sources.today.files[long] is GONE
