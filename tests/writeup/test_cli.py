import json
import os
import re
import subprocess
import sys

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cases import worlds
from tests.worlds import COMMIT, RUN
from writeup.cli import main
from writeup.explain import ORDER

ARTIFACT = f"results/{COMMIT}.json"
FAILING = worlds.CASES / "typed-number" / "prose" / "fails"
COMMANDS = ("build", "check", "explain", "new", "pin", "quote", "verify")


def run(*arguments, **options):
    done = CliRunner().invoke(main, [str(each) for each in arguments], **options)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


@pytest.fixture
def base(tmp_path):
    return worlds.lay(tmp_path / "base", worlds.contents())


@pytest.fixture
def failing(tmp_path):
    return worlds.lay(tmp_path / "failing", worlds.contents(FAILING))


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    folder = tmp_path_factory.mktemp("full")
    worlds.lay(folder, worlds.contents(worlds.CASES / "full"))
    assert run("build", "--root", folder).exit_code == 0
    return folder


# Exit codes, help, colours.


def test_zero_is_fine_one_is_findings_two_is_usage(base, failing):
    assert run("check", "--root", base).exit_code == 0
    assert run("check", "--root", failing).exit_code == 1
    assert run("build", "--root", failing).exit_code == 1
    assert run("check", "--rot", base).exit_code == 2
    assert run("check", "--format", "xml", "--root", base).exit_code == 2
    assert run("check", "--root", base / "nowhere").exit_code == 2


@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS)])
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_every_command_has_help(command, flag):
    done = run(*command, flag)
    assert done.exit_code == 0
    assert done.stdout.startswith("Usage: ")


def test_help_names_every_command_and_the_exit_codes():
    told = run("--help").stdout
    assert all(f"\n  {name} " in told for name in COMMANDS)
    assert "0 fine, 1 findings, 2 usage" in told


def test_an_unknown_command_is_a_mistake_of_usage():
    done = run("biuld")
    assert done.exit_code == 2
    assert "No such command 'biuld'" in done.stderr


def test_a_bare_call_shows_the_help_and_is_no_success():
    done = run()
    assert done.exit_code == 2
    assert "Usage:" in done.output


@pytest.mark.parametrize("colour", [True, False])
def test_colours_are_for_terminals_and_end_where_they_are_unwanted(failing, colour):
    done = run("check", "--root", failing, color=colour)
    assert ("\x1b[31m" in done.stderr) is colour


def test_no_color_is_respected_on_a_terminal(failing):
    pty = pytest.importorskip("pty", reason="needs a terminal")

    def printed(**environment):
        ours, theirs = pty.openpty()
        with subprocess.Popen(
            [sys.executable, "-m", "writeup", "check", "--root", str(failing)],
            stderr=theirs,
            stdout=theirs,
            env={k: v for k, v in os.environ.items() if k != "NO_COLOR"} | environment,
        ) as process:
            os.close(theirs)
            process.wait()
        text = os.read(ours, 1 << 16).decode()
        os.close(ours)
        return text

    assert "\x1b[31m" in printed(TERM="xterm")
    assert "\x1b[" not in printed(TERM="xterm", NO_COLOR="1")


# Formats.


def test_text_goes_to_the_error_stream_with_place_source_caret_and_hint(failing):
    done = run("check", "--quiet", "--root", failing)
    assert done.stdout == ""
    place, source, caret, hint, count = done.stderr.splitlines()
    assert place.startswith(f"{worlds.STORY}:12:13: error[typed-number]: '131072' is typed")
    assert source == "    Each row of 131072 is normalised on its own."
    assert caret == " " * 16 + "^" * 6
    assert hint.startswith("    hint: ")
    assert count == "1 error"


def test_a_caret_stands_under_its_character_behind_tabs(base):
    story = base / worlds.STORY
    story.write_text(story.read_text() + "\n-\tIt takes\t5 ms.\n")
    lines = run("check", "--quiet", "--root", base).stderr.splitlines()
    assert lines[2] == "     \t        \t^"


def test_a_line_that_is_shown_cannot_turn_the_terminal_around(base):
    story = base / worlds.STORY
    story.write_text(story.read_text() + "\nIt is 1\u202e0 \x1b[31m.\n")
    done = run("check", "--quiet", "--root", base)
    assert done.exit_code == 1
    assert "    It is 1\ufffd0 \ufffd[31m.\n           ^\n" in done.stderr
    assert "\u202e" not in done.stderr
    assert "\x1b" not in done.stderr


def test_json_is_a_list_on_the_output_stream(failing):
    done = run("check", "--quiet", "--root", failing, "--format", "json")
    (problem,) = json.loads(done.stdout)
    assert done.stderr == ""
    assert problem["path"] == worlds.STORY
    assert (problem["line"], problem["column"], problem["end"]) == (12, 13, 19)
    assert (problem["severity"], problem["rule"]) == ("error", "typed-number")
    assert problem["message"]
    assert problem["hint"]


def test_json_of_nothing_wrong_is_an_empty_list(base):
    assert json.loads(run("check", "-q", "--root", base, "--format", "json").stdout) == []


def test_github_annotations_name_the_place_and_keep_to_a_line(failing):
    story = failing / worlds.STORY
    story.write_text(story.read_text().replace("131072", "100 %"))
    (line,) = run("check", "-q", "--root", failing, "--format", "github").stdout.splitlines()
    assert line.startswith(f"::error file={worlds.STORY},line=12,col=13,title=typed-number::")
    assert "'100" in line
    assert "%25" in line or "%" not in line.rpartition("::")[2]


def test_a_problem_of_a_whole_file_has_no_line_in_any_format(base):
    (base / ARTIFACT).rename(base / f"results/{'f' * 40}.json")
    (base / ARTIFACT).parent.joinpath("objects").rename(base / "elsewhere")
    github = run("check", "-q", "--root", base, "--format", "github").stdout
    assert github.startswith(f"::error file=results/{'f' * 40}.json,")
    assert ",line=0" not in github
    assert ":0" not in run("check", "-q", "--root", base).stderr


# Build.


def test_build_says_what_it_made_unless_told_to_be_quiet(base):
    done = run("build", "--root", base)
    assert re.search(r"^1 story, 1 artifact with 1 run, \d+ files, .* -> .*site$", done.stderr)
    assert run("build", "--root", base, "--quiet").output == ""


def test_a_site_can_be_published_elsewhere(base, tmp_path):
    assert run("build", "-q", "--root", base, "--out", tmp_path / "other").exit_code == 0
    assert (tmp_path / "other" / "index.html").is_file()
    assert not (base / "site").exists()


def test_a_build_can_prove_that_it_repeats(base):
    assert run("build", "-q", "--root", base, "--check-reproducible").exit_code == 0


def test_check_writes_nothing(base):
    before = sorted(base.rglob("*"))
    assert run("check", "--root", base).exit_code == 0
    assert sorted(base.rglob("*")) == before


def test_a_project_is_found_from_a_folder_inside_it(base):
    assert run("check", "--root", base / "kernels" / "softmax").exit_code == 0


# Explain.


def test_every_rule_is_explained():
    listed = run("explain").stdout
    for rule in ORDER:
        assert f"{rule} " in listed
        done = run("explain", rule)
        assert done.exit_code == 0
        assert done.stdout.startswith(f"# {rule}: ")


CHAIN = re.compile(
    rf"(?P<text>8\.73.ms)  \[(?P<key>[0-9a-f]{{12}})\]\n"
    rf"  what      time of chunked, wide, host\n"
    rf"  shown on  stories/softmax/index\.html:\d+:\d+\n"
    rf"(?:            \S+\n)*"
    rf"  cited at  kernels/softmax/story\.md:26:21\n"
    rf"  form      time: the median of the block medians\n"
    rf"  from      {COMMIT}/{RUN}/softmax\.wide/chunked/host\n"
    rf"  artifact  results/{COMMIT}\.json\n"
    rf"  pointer   /runs/{RUN}/cases/softmax\.wide/variants/chunked/timings/host/samples\n"
    rf"(?:  block     softmax\.0\d  2 samples, median 8\.\d+.ms\n){{6}}"
    rf"  estimate  8\.73.ms \(8\.\d+–8\.\d+.ms\), of 6 blocks",
)


def test_a_number_is_explained_by_the_place_of_its_citation(base):
    done = run("explain", f"{worlds.STORY}:26:21", "--root", base)
    assert CHAIN.fullmatch(done.stdout.rstrip("\n")), done.stdout


def test_a_number_is_explained_by_its_key(base):
    told = run("explain", f"{worlds.STORY}:26:21", "--root", base).stdout
    assert run("explain", CHAIN.match(told)["key"], "--root", base).stdout == told


@pytest.mark.parametrize(
    "address",
    [
        f"{COMMIT}/{RUN}/softmax.wide/chunked/host",
        f"{RUN}/softmax.wide/chunked/host",
        f"../../results/{COMMIT}/index.html#{RUN}/softmax.wide/chunked/host",
    ],
)
def test_numbers_are_explained_by_the_address_that_they_rest_on(base, address):
    told = run("explain", address, "--root", base).stdout
    chains = told.rstrip("\n").split("\n\n")
    assert re.fullmatch(r"and \d+ more that rest on it", chains.pop())
    assert len(chains) == 5
    assert all("softmax.wide/chunked/host" in each for each in chains)
    assert len({each.partition("[")[2][:12] for each in chains}) == 5


def test_what_is_neither_a_rule_nor_a_number_is_a_finding(base):
    done = run("explain", "typed-nummer", "--root", base)
    assert done.exit_code == 1
    assert "'typed-nummer'" in done.stderr


# New.


def test_a_new_subject_builds_at_once_as_a_blank_story(tmp_path):
    (tmp_path / "writeup.toml").write_text('title = "Ours"\n')
    done = run("new", "gelu", "--root", tmp_path)
    assert done.exit_code == 0
    assert "kernels/gelu/story.md" in done.stdout
    assert "harness run gelu" in done.stderr
    done = run("build", "--root", tmp_path)
    assert done.exit_code == 0, done.stderr
    assert done.stderr.startswith("1 story (1 blank), 0 artifacts")
    page = (tmp_path / "site/stories/gelu/index.html").read_text()
    assert "Nothing of this story has been measured yet" in page
    assert run("verify", tmp_path / "site").exit_code == 0


def test_a_new_blank_subject_stands_beside_measured_ones(base):
    assert run("new", "gelu", "--root", base).exit_code == 0
    done = run("build", "--root", base)
    assert done.exit_code == 0, done.stderr
    assert done.stderr.startswith("2 stories (1 blank), 1 artifact")


@pytest.mark.parametrize("name", ["Gelu", "../gelu", "softmax", "", "g elu"])
def test_a_subject_that_cannot_be_is_refused(base, name):
    before = sorted(base.rglob("*"))
    done = run("new", name, "--root", base)
    assert done.exit_code == 1
    assert done.stderr.startswith("error: ")
    assert sorted(base.rglob("*")) == before


# Nothing there.


def test_no_story_and_no_artifact_is_an_error(tmp_path):
    (tmp_path / "writeup.toml").write_text('title = "Ours"\n')
    done = run("build", "--root", tmp_path)
    assert done.exit_code == 1
    assert "no story in kernels and no result in results" in done.stderr
    assert not (tmp_path / "site").exists()


def test_a_story_that_is_not_blank_needs_a_result(base):
    for path in (base / "results").glob("*.json"):
        path.unlink()
    done = run("check", "--quiet", "--root", base)
    assert done.exit_code == 1
    assert "nothing is measured: results is empty" in done.stderr


def test_results_without_a_story_make_a_site(base):
    (base / worlds.STORY).unlink()
    done = run("build", "--root", base)
    assert done.exit_code == 0, done.stderr
    assert (base / f"site/results/{COMMIT}/index.html").is_file()


def test_verify_needs_a_site(tmp_path):
    done = run("verify", tmp_path)
    assert done.exit_code == 1
    assert "no manifest.json" in done.stderr


def test_verify_confirms_what_build_made(full):
    done = run("verify", full / "site")
    assert done.exit_code == 0
    assert "every number follows from its artifact" in done.stderr


# Whatever is thrown at it.

QUICK = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
BASE = worlds.contents()


@st.composite
def mutated(draw, content):
    """Bytes with a few spans replaced, taken out or repeated."""
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(content)))
        end = min(len(content), start + draw(st.sampled_from([0, 1, 1, 2, 7, 60])))
        piece = draw(
            st.sampled_from(
                [b"", content[start:end] * 2, b"\xff", b"\x00", b"NaN", b"1e999", b"-0"]
            )
            | st.sampled_from(
                [b'"', b"{", b"}", b"[", b"]", b",", b"null", b"9" * 30, b"{{", b"}}"]
            )
            | st.sampled_from(["\ue000", "５", "²", "{{ env.x", "[5]{.literal", "+++"]).map(
                str.encode
            )
            | st.binary(max_size=4)
        )
        content = content[:start] + piece + content[end:]
    return content


def ends_in_words(folder, world):
    done = run("check", "--root", worlds.lay(folder, world))
    assert done.exit_code in (0, 1)
    assert "Traceback" not in done.output
    if done.exit_code:
        assert re.search(r"\d+ errors?", done.stderr) or done.stderr.startswith("error: ")


@QUICK
@given(content=mutated(BASE[ARTIFACT]))
def test_a_mutated_artifact_ends_in_words(tmp_path, content):
    ends_in_words(tmp_path, {**BASE, ARTIFACT: content})


@QUICK
@given(content=mutated(BASE[worlds.STORY]))
def test_a_mutated_story_ends_in_words(tmp_path, content):
    ends_in_words(tmp_path, {**BASE, worlds.STORY: content})


@pytest.mark.parametrize(
    "toml",
    [
        b"\xff",
        b"title",
        b"title = 5",
        b'kernels = ["../elsewhere"]',
        b'results = "/etc"',
        b"severity = 3",
        b"ignore = [1]",
        b'[glossary]\nL2 = ""',
        b"[" * 5000,
    ],
)
def test_a_configuration_that_is_wrong_ends_in_words(base, toml):
    (base / "writeup.toml").write_bytes(toml)
    done = run("build", "--root", base)
    assert done.exit_code == 1
    assert "bad-config" in done.stderr


def test_results_that_are_a_file_end_in_words(base):
    for path in sorted((base / "results").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    (base / "results").rmdir()
    (base / "results").write_text("")
    assert run("build", "--root", base).exit_code == 1


def test_a_folder_where_a_file_belongs_ends_in_words(base):
    (base / "results" / f"{'a' * 40}.json").mkdir()
    (base / "kernels" / "gelu" / "story.md").mkdir(parents=True)
    done = run("build", "--root", base)
    assert done.exit_code == 1
    assert "no regular file" in done.stderr
