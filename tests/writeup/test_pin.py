"""Moving a story to newer results: what is changed, what is said of it, and what is refused."""

import json

import pytest
from click.testing import CliRunner

from tests.cases import worlds
from tests.worlds import COMMIT, RUN, minimal_artifact, write_results
from writeup import frontmatter
from writeup.cli import main

NEW, NEW_RUN = "ab" * 20, "20261231T0900Z-epyc"
STORY = f"""+++
# What it is called.
title = "Softmax"   # short
kind = 'study'
results = "{COMMIT[:10]}"  # the first run
case = "wide"
mode = "host"
+++

It takes {{{{ chunked.time }}}} in {{{{ case.what }}}}; {{{{ chunked vs eager }}}}.

{{{{ result }}}}

{{{{ code chunked.py:softmax }}}}
"""


def later(commit=NEW, run=NEW_RUN, started="2026-12-31T09:00:00Z", **options):
    options = {"effects": {"chunked": 2.0}, "blocks": 6, "samples": 2} | options
    artifact, objects = minimal_artifact(commit=commit, run=run, **options)
    artifact["runs"][run] |= {"started": started, "ended": started.replace("T09:0", "T09:2")}
    return artifact, objects


@pytest.fixture
def project(tmp_path):
    """A told story, its results, and newer ones."""
    (tmp_path / "writeup.toml").write_text("", encoding="utf-8")
    write_results(tmp_path / "results", *minimal_artifact(blocks=6, samples=2))
    write_results(tmp_path / "results", *later())
    worlds.lay(tmp_path, {worlds.STORY: STORY.encode()})
    return tmp_path


def pin(root, *arguments):
    done = CliRunner().invoke(main, ["pin", "--root", str(root), *arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def text(root):
    return (root / worlds.STORY).read_bytes().decode()


def add_run(root, run, started, commit=NEW, **options):
    """One more run in an artifact."""
    path = root / "results" / f"{commit}.json"
    document = json.loads(path.read_text())
    more, objects = later(commit, run, started, **options)
    document["runs"] |= more["runs"]
    write_results(root / "results", document, objects)


# What is written.


def test_only_the_value_changes_whatever_stands_around_it(project):
    assert pin(project).exit_code == 0
    assert text(project) == STORY.replace(f'"{COMMIT[:10]}"', f'"{NEW}"')


def test_line_ends_and_a_byte_order_mark_stay(project):
    windows = "\ufeff" + STORY.replace("\n", "\r\n")
    (project / worlds.STORY).write_bytes(windows.encode())
    assert pin(project).exit_code == 0
    assert text(project) == windows.replace(f'"{COMMIT[:10]}"', f'"{NEW}"')


def test_a_story_without_results_gets_a_line_behind_the_keys_before_it(project):
    line = f'results = "{COMMIT[:10]}"  # the first run\n'
    (project / worlds.STORY).write_text(STORY.replace(line, ""))
    assert pin(project).exit_code == 0
    assert text(project) == STORY.replace(line, f'results = "{NEW}"\n')


def test_a_new_line_ends_like_those_around_it(project):
    line = f'results = "{COMMIT[:10]}"  # the first run\n'
    windows = STORY.replace(line, "").replace("\n", "\r\n")
    (project / worlds.STORY).write_bytes(windows.encode())
    assert pin(project).exit_code == 0
    assert text(project) == STORY.replace(line, f'results = "{NEW}"\n').replace("\n", "\r\n")


def test_a_run_that_was_named_is_named_anew(project):
    named = STORY.replace("case =", f'run = "{RUN}" # that one\ncase =', 1)
    (project / worlds.STORY).write_text(named)
    assert pin(project).exit_code == 0
    assert text(project) == named.replace(COMMIT[:10], NEW).replace(RUN, NEW_RUN)


def test_the_file_stays_as_readable_as_it_was(project):
    (project / worlds.STORY).chmod(0o640)
    assert pin(project).exit_code == 0
    assert (project / worlds.STORY).stat().st_mode & 0o777 == 0o640
    assert [p.name for p in (project / worlds.STORY).parent.iterdir()] == ["story.md"]


def test_a_dry_run_says_the_same_and_writes_nothing(project):
    dry = pin(project, "--dry-run")
    assert text(project) == STORY
    assert dry.stderr == "nothing was written\n"
    assert pin(project).stdout == dry.stdout


def test_a_second_time_there_is_nothing_to_do(project):
    pin(project)
    once = text(project)
    done = pin(project)
    assert done.stdout == f"{worlds.STORY}: has its newest results already\n"
    assert text(project) == once


# What is said.


def test_it_says_old_and_new_and_which_citations_change(project):
    lines = [line.replace("\u202f", " ") for line in pin(project).stdout.splitlines()]
    assert lines[0] == f"{worlds.STORY}:"
    assert lines[1] == f"  results: {COMMIT[:10]} -> {NEW}"
    assert lines[2].startswith("  10:10 {{ chunked.time }}: 8.7")
    assert " ms -> 6.9" in lines[2]
    assert lines[3].startswith("  10:49 {{ chunked vs eager }}: chunked is faster than eager, 1.")
    assert lines[4].startswith("  12:1 {{ result }}: chunked is faster than eager, 1.")
    assert lines[5:] == ["  3 of 5 citations change"]


def test_another_source_is_a_change_of_its_listing(project):
    changed = {"kernels/softmax/chunked.py": "def softmax(x):\n    return None\n"}
    write_results(project / "results", *later(sources=changed))
    shown = pin(project).stdout
    assert "{{ code chunked.py:softmax }}: kernels/softmax/chunked.py " in shown
    assert "4 of 5 citations change" in shown


def test_a_claim_that_the_new_results_do_not_bear_out_is_told_and_left_to_the_author(project):
    claimed = STORY.replace("{{ chunked vs eager }}", "{{ claim chunked faster than eager }}")
    (project / worlds.STORY).write_text(claimed)
    write_results(project / "results", *later(effects={"chunked": 0.5}))
    done = pin(project)
    assert done.exit_code == 0
    assert NEW in text(project)
    assert f"{worlds.STORY}:10:49: warning[unresolved-claim]" in done.stderr


# What is refused.


def test_what_would_no_longer_resolve_is_listed_and_nothing_is_written(project):
    gone = STORY.replace("in {{ case.what }}", "and {{ chunked-small.time }}")
    (project / worlds.STORY).write_text(gone.replace("results =", "# older\nresults ="))
    write_results(project / "results", *later(variants=("eager", "compiled", "chunked")))
    before = text(project)
    done = pin(project)
    assert done.exit_code == 1
    assert f"{worlds.STORY}:11:36: error[unknown-citation]: nothing is measured of" in done.stderr
    sought = f"'chunked-small' with the front matter's commit {NEW[:16]}, case wide"
    assert sought in done.stderr
    assert f"it is measured @ {COMMIT[:7]}\n" in done.stderr
    assert text(project) == before


def test_a_place_that_is_refused_is_that_of_the_file_as_it_is(project):
    line = f'results = "{COMMIT[:10]}"  # the first run\n'
    gone = STORY.replace(line, "").replace("in {{ case.what }}", "and {{ chunked-small.time }}")
    (project / worlds.STORY).write_text(gone)
    write_results(project / "results", *later(variants=("eager", "compiled", "chunked")))
    assert f"{worlds.STORY}:9:36: error[unknown-citation]" in pin(project).stderr


def test_a_default_that_the_new_results_lack_is_refused(project):
    write_results(project / "results", *later(cases=("small",)))
    done = pin(project)
    assert done.exit_code == 1
    assert "nothing measured of 'softmax' has the case 'wide'" in done.stderr or (
        "'chunked'" in done.stderr
    )
    assert text(project) == STORY


def test_several_runs_of_the_newest_commit_must_be_chosen_from(project):
    add_run(project, "20261231T1000Z-epyc", "2026-12-31T09:05:00Z")
    done = pin(project)
    assert done.exit_code == 1
    assert done.stderr.splitlines() == [
        f"error: 2 runs of {NEW[:12]} hold 'softmax'; choose one:",
        "  --run 20261231T1000Z-epyc  AMD EPYC, 2026-12-31T09:05:00Z",
        f"  --run {NEW_RUN}  AMD EPYC, 2026-12-31T09:00:00Z",
    ]
    assert text(project) == STORY
    assert pin(project, "--run", NEW_RUN).exit_code == 0
    expected = f'results = "{NEW}"  # the first run\nrun = "{NEW_RUN}"\n'
    assert expected in text(project)


def test_a_story_at_the_newest_of_several_runs_is_asked_nothing(project):
    add_run(project, "20261231T1000Z-epyc", "2026-12-31T09:05:00Z")
    assert pin(project, "--run", "20261231T1000Z-epyc").exit_code == 0
    assert pin(project).exit_code == 0
    assert pin(project, "--run", NEW_RUN).exit_code == 0
    assert pin(project).exit_code == 1


def test_the_newest_is_that_which_began_last_not_the_last_commit(project):
    oldest = later("ff" * 20, "20250101T0900Z-epyc", "2025-01-01T09:00:00Z")
    write_results(project / "results", *oldest)
    assert pin(project).exit_code == 0
    assert NEW in text(project)


def test_results_may_be_chosen_by_the_beginning_of_a_commit(project):
    pin(project)
    assert pin(project, "--results", COMMIT[:8]).exit_code == 0
    assert f'results = "{COMMIT}"' in text(project)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--results", "77"],
            f"no result of 'softmax' is of the commit '77'; there are: {COMMIT[:12]}",
        ),
        (["--results", ""], "more than one result of 'softmax' is of the commit ''"),
        (["--run", f"{NEW_RUN}-2"], f"did you mean '{NEW_RUN}'?"),
        (["--run", "x"], f"there are:\n  {NEW_RUN}  AMD EPYC"),
        (["sofmax"], "no story tells 'sofmax'; did you mean 'softmax'?"),
        (["zebra"], "no story tells 'zebra'; there are: softmax"),
    ],
)
def test_what_is_not_there_is_refused_with_what_is(project, arguments, message):
    done = pin(project, *arguments)
    assert done.exit_code == 1
    assert message in done.stderr
    assert text(project) == STORY


def test_a_story_of_one_device_does_not_move_to_another(project):
    (project / worlds.STORY).write_text(STORY.replace("case =", 'device = "AMD EPYC"\ncase ='))
    document, objects = later("cd" * 20, "20270101T0900Z-h200", "2027-01-01T09:00:00Z")
    document["runs"]["20270101T0900Z-h200"]["environment"]["device"]["name"] = "Another"
    write_results(project / "results", document, objects)
    assert pin(project).exit_code == 0
    assert f'results = "{NEW}"' in text(project)


def test_a_blank_story_is_pinned_by_name_and_is_blank_no_more(project):
    line = f'results = "{COMMIT[:10]}"  # the first run\n'
    blank = STORY.replace(line, "").replace("case =", 'status = "blank" # yet\ncase =')
    (project / worlds.STORY).write_text(blank)
    assert "name the blank one that shall" in pin(project).stderr
    done = pin(project, "softmax")
    assert done.exit_code == 0
    assert text(project) == STORY.replace(line, f'results = "{NEW}"\n')
    assert "  status: blank -> nothing" in done.stdout
    assert "{{ chunked.time }}: nothing -> 6.9" in done.stdout


def test_a_story_that_cannot_be_read_is_not_moved(project):
    (project / worlds.STORY).write_text(STORY.replace("chunked.time", "chunked.tme"))
    done = pin(project)
    assert done.exit_code == 1
    assert "did you mean 'time'?" in done.stderr


def test_an_artifact_that_cannot_be_read_moves_nothing(project):
    (project / "results" / f"{NEW}.json").write_text("{")
    assert pin(project).exit_code == 1
    assert text(project) == STORY


def test_a_folder_that_cannot_be_written_is_told_in_words(project, monkeypatch):
    def refuse(*_):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("pathlib.Path.write_bytes", refuse)
    done = pin(project)
    assert done.exit_code == 1
    assert "Read-only file system" in done.stderr
    assert text(project) == STORY


# The edit by itself.

FRONT = '+++\na = 1\n{}\n+++\nx = "body"\n'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('results = "old"', 'results = "new"'),
        ("results='old'#c", 'results="new"#c'),
        ('"results" = """\nold"""  ', '"results" = "new"  '),
        ("  results\t=\t'''old'''\t# results = \"no\"", '  results\t=\t"new"\t# results = "no"'),
        ('# results = "no"\nresults = "o\\"ld"', '# results = "no"\nresults = "new"'),
        (
            'title = """\nresults = "no"\n"""\nresults = "old"',
            'title = """\nresults = "no"\n"""\nresults = "new"',
        ),
    ],
)
def test_a_value_is_replaced_where_it_stands(before, after):
    story = FRONT.format(before)
    assert frontmatter.edited(story, {"results": "new"}) == FRONT.format(after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('title = "t"\nmode = "m"', 'title = "t"\nresults = "new"\nmode = "m"'),
        ('title = """t\n"""\nmode = "m"', 'title = """t\n"""\nresults = "new"\nmode = "m"'),
        ('mode = "m"', 'results = "new"\n'),
    ],
)
def test_a_key_that_is_new_stands_in_its_order(before, after):
    edited = frontmatter.edited(FRONT.format(before), {"results": "new"})
    if before.startswith("mode"):
        assert edited == '+++\nresults = "new"\na = 1\nmode = "m"\n+++\nx = "body"\n'
    else:
        assert edited == FRONT.format(after)


def test_a_key_is_taken_out_with_its_lines():
    story = FRONT.format('status = """bl\\\n  ank""" # yet\nmode = "m"')
    assert frontmatter.edited(story, {"status": None}) == FRONT.format('mode = "m"')
    assert frontmatter.edited(story, {"run": None}) == story
