import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cases import worlds
from tests.worlds import COMMIT, RUN, minimal_artifact
from writeup import build, rederive
from writeup.errors import Problems, Severity, WriteupError

ARTIFACT = f"results/{COMMIT}.json"
COPY = f"results/{COMMIT}/artifact.json"
TABLE = f"results/{COMMIT}/samples.csv"
STORY = "stories/softmax/index.html"
CITATIONS = build.CITATIONS
CHANGED = f"{COMMIT}/{RUN}/softmax.wide/chunked/host"
SECOND = "20261201T0900Z-epyc"


def built(folder, world, **options):
    return build.build(build.configuration(worlds.lay(folder, world), **options))


def tree(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def run(folder, *arguments, **environment):
    """The program in a process of its own; -P keeps the folder off its path."""
    return subprocess.run(
        [sys.executable, "-P", "-m", "writeup", *arguments],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def full():
    return worlds.contents(worlds.CASES / "full")


@pytest.fixture(scope="module")
def site(full, tmp_path_factory):
    return built(tmp_path_factory.mktemp("full"), full)


# What follows from one sample.


@pytest.fixture(scope="module")
def changed(full, tmp_path_factory):
    """The site after one sample of a middle block became the largest of its measurement."""
    document = json.loads(full[ARTIFACT])
    case = document["runs"][RUN]["cases"]["softmax.wide"]
    samples = case["variants"]["chunked"]["timings"]["host"]["samples"]
    middle = sorted(samples, key=lambda block: sum(samples[block]))[2]
    samples[middle][0] = max(value for values in samples.values() for value in values) + 20_000
    content = (json.dumps(document, indent=1, sort_keys=True) + "\n").encode()
    assert len(content) == len(full[ARTIFACT])
    return built(tmp_path_factory.mktemp("changed"), {**full, ARTIFACT: content})


def evidence(site):
    return json.loads(site.files[CITATIONS])["evidence"]


def shown(entry):
    """The text, and the figure behind it in full precision."""
    return entry["text"], entry.get("value")


def derived(site, key):
    """What the definitions make of an entry, by the verifier's own implementation."""
    raw = evidence(site)[key]
    records = rederive.Records({COMMIT: json.loads(site.files[COPY])}, site.files, {})
    entry = rederive.Entry(
        key, raw["form"], tuple(raw["at"]), tuple(raw["args"]), raw["text"], raw.get("value")
    )
    found = rederive.derive(entry, records)
    return found.text, found.value


def test_one_changed_sample_changes_the_numbers_that_rest_on_it_and_no_others(site, changed):
    before, after = evidence(site), evidence(changed)
    assert before.keys() == after.keys()
    moved = {key for key in before if shown(before[key]) != shown(after[key])}
    resting = {key for key, each in before.items() if CHANGED in each["at"]}
    # The two files that hold the samples have other digests; the rest is what cites them.
    digests = {
        k for k, e in before.items() if e["form"] == "digest" and e["at"][0] in (COPY, TABLE)
    }
    assert len(digests) == 2
    # Of the numbers that rest on the sample, those move whose statistic it moves by definition.
    assert moved == digests | {k for k in resting if derived(site, k) != derived(changed, k)}
    still = {before[key]["form"] for key in resting - moved}
    assert still <= {"min", "quartile", "samples", "blocks", "outliers", "count"} | {
        "verdict",  # the effects are far from the margin
        "speedup",  # over other baselines, whose median ratio is that of another block
        "geomean",  # the worst case is another one
        "foretold",  # the prediction lies far below the band
    }
    forms = {before[key]["form"] for key in moved}
    assert {"time", "band", "max", "speedup", "speedup-band", "fraction"} <= forms
    assert {"throughput", "geomean", "missed"} <= forms


def test_one_changed_sample_changes_only_the_pages_that_show_it(site, changed):
    before, after = evidence(site), evidence(changed)
    moved = {key for key in before if shown(before[key]) != shown(after[key])}
    occurrences = json.loads(site.files[CITATIONS])["occurrences"]
    pages = {each["page"] for each in occurrences if each["key"] in moved}
    different = set(build.differences(site, changed))
    assert different == pages | {COPY, TABLE, CITATIONS, "manifest.json"}
    assert STORY in different
    assert not any(path.startswith(("sources/", "method/", "literals/")) for path in different)


def test_the_manifest_names_every_input_and_every_output(site, full):
    manifest = json.loads(site.files["manifest.json"])
    assert manifest["inputs"] == {
        path: hashlib.sha256(content).hexdigest() for path, content in full.items()
    }
    assert manifest["outputs"] == {
        path: hashlib.sha256(content).hexdigest()
        for path, content in site.files.items()
        if path != "manifest.json"
    }


def test_the_artifact_on_the_site_is_the_file_that_was_read(site, full):
    assert site.files[COPY] == full[ARTIFACT]


# Same inputs, same bytes.


def test_two_processes_in_two_folders_build_the_same_bytes(tmp_path, full):
    sites = []
    for seed, folder in (("0", tmp_path / "a"), ("4711", tmp_path / "deep" / "er" / "b")):
        worlds.lay(folder, full)
        done = run(folder, "build", PYTHONHASHSEED=seed, TZ=f"UTC{seed[0]}", LC_ALL="C")
        assert done.returncode == 0, done.stderr
        sites.append(tree(folder / "site"))
    assert sites[0] == sites[1]
    assert str(tmp_path).encode() not in b"".join(sites[0].values())


def test_no_link_leads_out_of_the_folder_it_was_built_in(site):
    assert not [p for p in site.files if p.startswith("/") or ".." in Path(p).parts]


# All or nothing.


def test_a_build_with_problems_leaves_the_old_site(tmp_path, full):
    folder = worlds.lay(tmp_path, full)
    build.publish(build.build(build.configuration(folder)), build.configuration(folder))
    before = tree(folder / "site")
    story = folder / worlds.STORY
    story.write_text(story.read_text() + "\nIt takes 5 ms.\n")
    done = run(folder, "build")
    assert done.returncode == 1
    assert "typed-number" in done.stderr
    assert tree(folder / "site") == before
    assert sorted(p.name for p in folder.iterdir()) == [
        "kernels",
        "results",
        "site",
        "writeup.toml",
    ]


def test_a_site_is_replaced_as_a_whole(tmp_path, full):
    folder = worlds.lay(tmp_path, full)
    project = build.configuration(folder)
    build.publish(build.build(project), project)
    worlds.lay(folder, worlds.contents())
    site = build.build(project)
    build.publish(site, project)
    assert tree(folder / "site") == dict(site.files)


def test_a_relaxed_build_publishes_under_a_banner_on_every_page(tmp_path, full):
    world = {**full, worlds.STORY: full[worlds.STORY] + b"\nIt takes 5 ms, {{ chunkd.time }}.\n"}
    folder = worlds.lay(tmp_path, world)
    done = run(folder, "build", "--relaxed")
    assert done.returncode == 0, done.stderr
    assert "error[typed-number]" in done.stderr
    assert "nothing measured is called 'chunkd'" in done.stderr
    pages = {p: c.decode() for p, c in tree(folder / "site").items() if p.endswith(".html")}
    strict = built(tmp_path / "strict", full).files
    for path, page in pages.items():
        assert 'class="banner' in page, path
        assert 'class="banner' not in strict[path].decode(), path


def test_a_relaxed_build_tells_a_typed_number_once_and_at_its_source(tmp_path, full):
    story = full[worlds.STORY].decode()
    typed = story.replace('title = "', 'title = "About 17, ', 1) + "\nIt takes 17 ms, thrice.\n"
    document = json.loads(full[ARTIFACT])
    said = document["runs"][RUN]["experiments"]["softmax"]
    said["hypothesis"] = "It is 3.7 times as good."
    world = {**full, worlds.STORY: typed.encode(), ARTIFACT: json.dumps(document).encode()}
    problems = built(tmp_path, world, relaxed=True).problems
    lines = len(typed.splitlines())
    assert [(p.path, p.line, p.rule) for p in problems] == [
        (worlds.STORY, 2, "typed-number"),
        (worlds.STORY, lines, "typed-number"),
        (worlds.STORY, lines, "typed-number"),
        *[(p.path, p.line, "typed-number") for p in problems if p.path == ARTIFACT],
    ]
    assert len(problems) == 4


def test_a_relaxed_build_still_finds_what_only_a_page_shows(tmp_path, full):
    theme = {
        "theme/not_found.html": b'{% extends "ours/not_found.html" %}{% block footer %}19{% endblock %}'
    }
    story = full[worlds.STORY] + b"\nIt takes 17 ms.\n"
    config = b'theme = "theme"\n'
    world = {**full, **theme, worlds.STORY: story, "writeup.toml": config}
    problems = built(tmp_path, world, relaxed=True).problems
    assert {p.path for p in problems} == {worlds.STORY, "404.html"}


def test_strictness_can_be_given_up_in_the_configuration_too(tmp_path, full):
    world = {**full, worlds.STORY: full[worlds.STORY] + b"\nIt takes 5 ms.\n"}
    world["writeup.toml"] += b"strict = false\n"
    assert built(tmp_path, world).problems


def test_a_record_that_cannot_be_read_stops_a_relaxed_build_too(tmp_path, full):
    world = {**full, ARTIFACT: full[ARTIFACT].replace(b'"margin": 0.01', b'"margin": NaN')}
    with pytest.raises(Problems) as raised:
        built(tmp_path, world, relaxed=True)
    assert {problem.rule for problem in raised.value.problems} == {"bad-artifact"}


# Files, and nothing else.


def test_a_build_asks_no_git_and_runs_no_code_of_the_project(tmp_path, full):
    folder = worlds.lay(tmp_path / "project", full)
    trap = f"open({str(tmp_path / 'sprung')!r}, 'a').write(__name__)\n"
    for path in ("kernels/softmax/experiment.py", "kernels/softmax/conftest.py"):
        (folder / path).write_text(trap)
    for path in ("kernels/__init__.py", "conftest.py", "json.py", "click.py", "kernels/torch.py"):
        (folder / path).write_text(trap)
    git = tmp_path / "bin" / "git"
    git.parent.mkdir()
    git.write_text(f"#!/bin/sh\necho git >> {tmp_path / 'sprung'}\nexit 1\n")
    git.chmod(0o755)
    done = run(folder, "build", PATH=str(git.parent))
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "sprung").exists()
    # Checking is what asks, and git alone.
    assert run(folder, "check", PATH=str(git.parent)).returncode == 0
    assert set((tmp_path / "sprung").read_text().split()) == {"git"}


def test_a_build_loads_neither_torch_nor_triton_nor_the_harness(tmp_path, full):
    folder = worlds.lay(tmp_path, full)
    code = (
        "import sys; from pathlib import Path; from writeup import build;"
        "build.build(build.configuration(Path()));"
        "print(sorted({'torch', 'triton', 'harness', 'kernels'} & {m.split('.')[0] for m in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], cwd=folder, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_a_file_linked_from_outside_the_project_is_refused(tmp_path, full):
    folder = worlds.lay(tmp_path / "project", full)
    outside = tmp_path / "story.md"
    (folder / worlds.STORY).rename(outside)
    (folder / worlds.STORY).symlink_to(outside)
    with pytest.raises(Problems, match="problem") as raised:
        build.build(build.configuration(folder))
    (problem,) = raised.value.problems
    assert problem.message == "the file lies outside the project"
    assert problem.path == worlds.STORY


def test_a_site_is_never_published_over_its_sources(tmp_path, full):
    folder = worlds.lay(tmp_path, full)
    project = build.configuration(folder)
    site = build.build(project)
    for target in (folder, folder / "kernels", folder / "results"):
        with pytest.raises(WriteupError):
            build.publish(site, project, target)
    assert tree(folder) == full


# Severities.


def test_a_warning_is_told_and_stops_nothing(tmp_path, full):
    world = {**full, worlds.STORY: full[worlds.STORY] + b"\nSee [it](../../gone.html).\n"}
    world["writeup.toml"] += b'[severity]\nbroken-link = "warning"\n'
    site = built(tmp_path, world)
    (problem,) = site.problems
    assert (problem.rule, problem.severity) == ("broken-link", Severity.WARNING)
    assert STORY in site.files


def test_a_reasoned_ignore_silences_its_rule_at_its_path_only(tmp_path, full):
    text = b"\nSee [it](../../gone.html).\n"
    world = {**full, worlds.STORY: full[worlds.STORY] + text}
    ignore = '[[ignore]]\nrule = "{}"\npath = "{}"\nreason = "it comes later"\n'
    silent = ignore.format("broken-link", "kernels/*/story.md").encode()
    assert built(tmp_path / "a", world | {"writeup.toml": silent}).problems == ()
    for wrong in (("broken-link", "elsewhere/*"), ("typed-number", "kernels/*/story.md")):
        toml = ignore.format(*wrong).encode()
        with pytest.raises(Problems):
            built(tmp_path / wrong[0], world | {"writeup.toml": toml})


def test_the_summary_counts_what_was_checked(site):
    assert site.summary.startswith("1 story, 1 artifact with 1 run, ")
    assert site.summary.endswith(" numbers traced")


# More than one of everything.


def test_two_subjects_and_two_runs_share_a_site(tmp_path):
    document, objects = minimal_artifact(blocks=6, samples=2)
    gelu, more = minimal_artifact(subject="gelu", run=SECOND, blocks=6, samples=2)
    again, _ = minimal_artifact(run="20261202T0900Z-epyc", blocks=6, samples=2)
    document["runs"] |= gelu["runs"] | again["runs"]
    story = worlds.contents()[worlds.STORY].decode()
    softmax = story.replace("+++\n", f'+++\nrun = "{RUN}"\n', 1)
    world = {
        ARTIFACT: json.dumps(document).encode(),
        worlds.STORY: softmax.replace("@ wide, host", "").encode(),
        "kernels/gelu/story.md": story.replace("Softmax", "Gelu").encode(),
        **{f"results/objects/{blob}": text for blob, text in (objects | more).items()},
    }
    site = built(tmp_path, world)
    assert {STORY, "stories/gelu/index.html"} <= site.files.keys()
    assert site.summary.startswith("2 stories, 1 artifact with 3 runs, ")
    page = site.files[f"results/{COMMIT}/index.html"].decode()
    for run_id in document["runs"]:
        assert f'id="{run_id}"' in page
    occurrences = json.loads(site.files[CITATIONS])["occurrences"]
    entries = evidence(site)
    told = {
        address.split("/")[1]
        for each in occurrences
        if each["page"] == "stories/gelu/index.html"
        for address in entries[each["key"]]["at"]
        if entries[each["key"]]["form"] == "time"
    }
    assert told == {SECOND}


def test_a_record_without_experiments_has_its_pages_all_the_same(tmp_path, full):
    document = json.loads(full[ARTIFACT])
    del document["runs"][RUN]["experiments"]
    site = built(tmp_path, {**full, ARTIFACT: json.dumps(document).encode()}, relaxed=True)
    assert {STORY, f"results/{COMMIT}/index.html"} <= site.files.keys()
