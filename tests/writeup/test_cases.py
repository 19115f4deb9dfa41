"""The worlds of `tests/cases`: what a rule refuses, and how little is needed to pass it."""

import json
import re
from functools import cache

import pytest
from click.testing import CliRunner

from tests.cases import worlds
from writeup import explain
from writeup.cli import main

TOGETHER = "together/"
NAMES = worlds.names()
SINGLE = [name for name in NAMES if not name.startswith(TOGETHER)]
# The worlds of these are repositories: tests/writeup/test_provenance.py makes them.
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


def test_a_world_of_many_mistakes_tells_all_of_them_in_order(tmp_path):
    done = checked(tmp_path, world("together/twenty", "fails"), "--format", "json")
    problems = json.loads(done.stdout)
    places = [(p["path"], p["line"], p["column"], p["rule"], p["message"]) for p in problems]
    assert places == sorted(places)
    assert len(places) == len(set(places)) == 24
