"""The worlds of `tests/cases`: what a rule refuses, and how little is needed to pass it."""

import json
import re
from functools import cache

import pytest
from click.testing import CliRunner

from tests.cases import worlds
from writeup import cli, explain
from writeup.cli import main
from writeup.errors import Problem

TOGETHER = "together/"
NAMES = worlds.names()
SINGLE = [name for name in NAMES if not name.startswith(TOGETHER)]
# The worlds of these are repositories: tests/writeup/test_check.py makes them.
OF_HISTORY = {"source-mismatch"}


def checked(tmp_path, world, *options):
    folder = worlds.lay(tmp_path / "world", world)
    return CliRunner().invoke(main, ["check", "--quiet", "--root", str(folder), *options])


@pytest.fixture(scope="module")
def passing(tmp_path_factory):
    """What is printed of a passing world; several cases share one."""
    seen = {}

    def outcome(world):
        key = tuple(sorted(world.items()))
        if key not in seen:
            done = checked(tmp_path_factory.mktemp("passes"), world)
            seen[key] = (done.exit_code, done.stderr, done.stdout)
        return seen[key]

    return outcome


@cache
def world(name, side):
    return worlds.contents(worlds.CASES / name / side)


def test_the_base_world_is_what_its_generator_makes():
    artifact, objects = worlds.base_artifact()
    path = f"results/{artifact['commit']}.json"
    base = worlds.contents()
    assert json.loads(base[path]) == artifact
    assert {p: c for p, c in base.items() if p.startswith("results/objects/")} == {
        f"results/objects/{name}": content for name, content in objects.items()
    }
    kernels = {p: c for p, c in base.items() if p.startswith(worlds.KERNELS)}
    assert kernels == {**worlds.base_kernels(), worlds.STORY: base[worlds.STORY]}


def test_nothing_is_wrong_with_the_base_world(passing):
    assert passing(worlds.contents()) == (0, "", "")


def test_every_rule_has_a_world_that_fails():
    told = {name.partition("/")[0] for name in SINGLE}
    assert told | OF_HISTORY == set(explain.ORDER)


def expected(name):
    return (worlds.CASES / name / "fails" / worlds.EXPECTED).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_a_failing_world_prints_exactly_what_is_expected(tmp_path, name):
    done = checked(tmp_path, world(name, "fails"))
    assert done.stderr == expected(name)
    assert (done.exit_code, done.stdout) == (int("error[" in expected(name)), "")


@pytest.mark.parametrize("name", SINGLE)
def test_a_failing_world_has_one_problem_of_its_rule(name):
    rule = name.partition("/")[0]
    (told,) = re.findall(r": (error|warning)\[([a-z-]+)\]: ", expected(name))
    assert told[1] == rule
    assert expected(name).endswith(f"\n1 {told[0]}\n")


@pytest.mark.parametrize("name", NAMES)
def test_every_problem_says_what_to_do(name):
    lines = expected(name).splitlines()[:-1]
    hints = sum(line.startswith("    hint: ") for line in lines)
    assert hints == len(re.findall(r": (?:error|warning)\[", expected(name)))


@pytest.mark.parametrize(
    "name", [name for name in SINGLE if (worlds.CASES / name / "passes").is_dir()]
)
def test_nothing_is_wrong_with_a_passing_world(passing, name):
    assert passing(world(name, "passes")) == (0, "", "")


@pytest.mark.parametrize("name", SINGLE)
def test_one_edit_lies_between_a_passing_world_and_a_failing_one(name):
    passing, failing = world(name, "passes"), world(name, "fails")
    gone, come = passing.keys() - failing.keys(), failing.keys() - passing.keys()
    if gone or come:  # a file got another name
        ((old,), (new,)) = gone, come
        assert {**failing, old: failing[new]} == {**passing, new: failing[new]}
        return
    (changed,) = [path for path in passing if passing[path] != failing[path]]
    before, after = (each[changed].decode().split("\n") for each in (passing, failing))
    while before and after and before[0] == after[0]:
        del before[0], after[0]
    while before and after and before[-1] == after[-1]:
        del before[-1], after[-1]
    # Two edits far apart would leave all that lies between them on both sides.
    assert min(len(before), len(after)) <= 12


# Twenty mistakes of twenty rules: all that can be found together, without a history.
TWENTY = "together/twenty"
APART = OF_HISTORY | {"bad-artifact", "bad-config", "broken-link"}


def test_a_world_of_twenty_mistakes_tells_each_of_its_rule_in_order(tmp_path):
    done = checked(tmp_path, world(TWENTY, "fails"), "--format", "json")
    assert done.exit_code == 1
    problems = json.loads(done.stdout)
    places = [(p["path"], p["line"], p["column"], p["rule"], p["message"]) for p in problems]
    assert places == sorted(places)
    assert sorted(p["rule"] for p in problems) == sorted(set(explain.ORDER) - APART)
    assert len(problems) == 20


def printed(text):
    """Path, line, column, severity, rule, message and hint of each problem told as text."""
    told = re.compile(
        r"^([^\s:]+):(\d+):(\d+): (error|warning)\[([a-z-]+)\]: (.+)\n(?:(?!    hint: ) {4}.*\n)*"
        r"    hint: (.+)\n",
        re.MULTILINE,
    )
    return told.findall(text)


def test_all_formats_tell_the_same(tmp_path):
    expected_of = printed(expected(TWENTY))
    assert len(expected_of) == 20
    done = checked(tmp_path, world(TWENTY, "fails"), "--format", "json")
    keys = ("path", "line", "column", "severity", "rule", "message", "hint")
    assert [tuple(str(p[key]) for key in keys) for p in json.loads(done.stdout)] == expected_of
    assert {*keys, "end"} == set(json.loads(done.stdout)[0])
    done = checked(tmp_path, world(TWENTY, "fails"), "--format", "github")
    assert (done.exit_code, done.stderr) == (1, "")
    assert [commanded(line) for line in done.stdout.splitlines()] == [
        (path, line, column, severity, rule, f"{message}. {hint}")
        for path, line, column, severity, rule, message, hint in expected_of
    ]


def commanded(line):
    """A workflow command as the runner reads it.

    https://docs.github.com/actions/reference/workflow-commands-for-github-actions: properties
    end at `::`, are separated by commas, and escape %, line ends, colons and commas.
    """
    command, _, data = line.removeprefix("::").partition("::")
    severity, _, properties = command.partition(" ")
    values = dict(each.split("=", 1) for each in properties.split(","))
    for code, character in (("%2C", ","), ("%3A", ":"), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")):
        values = {key: value.replace(code, character) for key, value in values.items()}
        if code not in ("%2C", "%3A"):
            data = data.replace(code, character)
    place = (values["file"], values["line"], values["col"])
    return (*place, severity, values["title"], data)


def test_what_separates_in_a_workflow_command_is_escaped():
    problem = Problem("a,b:c 100%.md", 3, 7, "typed-number", "50 %, or: one\nhalf", "a\rb")
    assert list(cli._github([problem, Problem("d", 0, 0, "bad-story", "m")])) == [
        "::error file=a%2Cb%3Ac 100%25.md,line=3,col=7,title=typed-number::50 %25, or: one%0Ahalf. a%0Db",
        "::error file=d,title=bad-story::m",
    ]


def test_help_describes_what_a_program_can_read(tmp_path):
    done = CliRunner().invoke(main, ["check", "--help"])
    problems = json.loads(checked(tmp_path, world(TWENTY, "fails"), "--format", "json").stdout)
    for key in problems[0]:
        assert re.search(rf"\b{key}\b", done.output)
