"""Who may import whom. The plan of the house, as tests."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# The rooms of writeup whose work is a step of the build: each takes nouns and gives nouns.
VERBS = {"load", "resolve", "check", "render", "finish", "write"}
# Programs of their own; only the door calls them.
ERRANDS = {"verify", "scaffold"}
# What strings verbs together, each for one command.
SENTENCE = {"build", "pin", "quote"}
# Another program than the build, and the arithmetic that the two have in common.
VERIFIER = {"verify", "rederive", "shown"}
SHARED = {"errors", "quantity", "stats"}
DOORS = {"cli", "__main__"}

ROOM_OF = {
    "click": {"writeup.cli", "harness.cli"},
    "jinja2": {"writeup.render"},
    "jsonschema": {"writeup.result", "harness.record"},
    "jsonschema_rs": {"writeup.result"},
    "markdown_it": {"writeup.markdown"},
    "markupsafe": {"writeup.render"},
    "matplotlib": {"writeup.figure"},
    "pygments": {"writeup.source"},
}


def modules(package):
    """Dotted name and path of each module of a package, without compiled templates."""
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in sorted((ROOT / package).rglob("*.py"))
    }


def imports(path, name):
    """Every module a file imports, at its top or inside a function, by absolute name."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = ".".join(filter(None, (*name.split(".")[: -node.level], base)))
            found |= {f"{base}.{alias.name}" for alias in node.names} | {base}
    return found


def graph(package):
    return {name: imports(path, name) for name, path in modules(package).items()}


def rooms(imported, package):
    """Modules of `package` among `imported`: 'writeup.stats.median' is 'stats'."""
    return {name.split(".")[1] for name in imported if name.startswith(f"{package}.")}


def top(name):
    return name.split(".")[0]


WRITEUP = graph("writeup")
HARNESS = graph("harness")
EVERY = WRITEUP | HARNESS
EXISTING = {name.split(".")[1] for name in WRITEUP if "." in name}


def inner(name):
    """Rooms of writeup that a module of writeup imports, itself left out."""
    own = name.split(".")[1] if "." in name else ""
    return (rooms(WRITEUP[name], "writeup") & EXISTING) - {own}


def test_the_plan_names_rooms_that_exist():
    assert VERBS | ERRANDS | SENTENCE | DOORS <= EXISTING
    for allowed in ROOM_OF.values():
        assert allowed <= set(EVERY)


@pytest.mark.parametrize("name", sorted(WRITEUP))
def test_writeup_never_reaches_for_what_measures(name):
    assert not {top(i) for i in WRITEUP[name]} & {"torch", "triton", "harness", "kernels"}


@pytest.mark.parametrize("name", sorted(HARNESS))
def test_harness_shares_only_arithmetic_with_writeup(name):
    # Its door also reads the project's configuration, of which there is one reader.
    door = {"config", "errors"} if name == "harness.cli" else set()
    assert rooms(HARNESS[name], "writeup") & EXISTING <= {"stats", "quantity"} | door
    assert "kernels" not in {top(i) for i in HARNESS[name]}


@pytest.mark.parametrize("name", sorted(n for n in WRITEUP if "." in n))
def test_arrows_run_downward(name):
    room = name.split(".")[1]
    upward = DOORS | SENTENCE | VERBS | ERRANDS
    if room in DOORS:
        upward = VERBS
    elif room in SENTENCE:
        upward = DOORS | {"verify", "scaffold"}
    assert not inner(name) & upward, f"{name} reaches up to {sorted(inner(name) & upward)}"


@pytest.mark.parametrize("name", ["writeup.verify", "writeup.rederive", "writeup.shown"])
def test_verifier_shares_only_arithmetic_with_the_build(name):
    assert inner(name) <= SHARED | VERIFIER
    assert {top(i) for i in WRITEUP[name]} <= sys.stdlib_module_names | {"writeup"}


def test_nothing_of_the_verifier_serves_the_build():
    users = {name for name in WRITEUP if "." in name and inner(name) & VERIFIER}
    assert users <= {"writeup.cli"} | {f"writeup.{room}" for room in VERIFIER}


# The names of the rules, which a configuration may weigh, come with their pages.
@pytest.mark.parametrize("room", sorted(SHARED | {"config", "explain"}))
def test_what_both_programs_share_needs_the_standard_library_only(room):
    tops = {top(i) for i in WRITEUP[f"writeup.{room}"]}
    assert tops <= sys.stdlib_module_names | {"writeup"}
    assert inner(f"writeup.{room}") <= SHARED | {"explain"}


@pytest.mark.parametrize(("dependency", "allowed"), sorted(ROOM_OF.items()))
def test_a_dependency_has_a_room_of_its_own(dependency, allowed):
    users = {name for name, imported in EVERY.items() if dependency in {top(i) for i in imported}}
    strangers = {u for u in users if not any(u == a or u.startswith(f"{a}.") for a in allowed)}
    assert not strangers


def test_every_dependency_is_used_and_every_use_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    module = {"markdown-it-py": "markdown_it", "jsonschema-rs": "jsonschema_rs"}

    def declared(requirements):
        names = {re.match(r"[A-Za-z0-9-]+", r)[0] for r in requirements}
        return {module.get(name, name) for name in names}

    def used(package):
        return {top(i) for imported in package.values() for i in imported} - (
            sys.stdlib_module_names | {"writeup", "harness"}
        )

    base = declared(project["dependencies"])
    extra = declared(project["optional-dependencies"]["harness"])
    assert used(WRITEUP) == base
    assert used(HARNESS) <= base | extra


def knot(found, package):
    """Rooms that need each other, straight or in a ring; empty where every arrow leads down."""
    own = {n.split(".")[1] for n in found if "." in n}
    waiting = {
        room: (rooms(found[f"{package}.{room}"], package) & own) - {room}
        for room in own
        if f"{package}.{room}" in found
    }
    while free := {room for room, needs in waiting.items() if not needs & set(waiting)}:
        waiting = {room: needs for room, needs in waiting.items() if room not in free}
    return sorted(waiting)


@pytest.mark.parametrize(("found", "package"), [(WRITEUP, "writeup"), (HARNESS, "harness")])
def test_no_arrow_leads_back(found, package):
    assert not knot(found, package)


def test_a_ring_of_rooms_is_seen():
    ring = {"p.a": {"p.b"}, "p.b": {"p.c.x"}, "p.c": {"p.a"}, "p.d": {"p.a"}, "p.e": set()}
    assert knot(ring, "p") == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    "path", sorted((ROOT / "kernels").glob("*/*.py")), ids=lambda p: f"{p.parent.name}-{p.stem}"
)
def test_a_kernel_file_can_be_lifted_out(path):
    outside = {top(i) for i in imports(path, "")} - {""} - sys.stdlib_module_names
    siblings = {p.stem for p in path.parent.glob("*.py")}
    allowed = {"torch", "triton"} | siblings
    if path.stem == "experiment":
        allowed |= {"harness"}
        reached = {i for i in imports(path, "") if top(i) == "harness"}
        assert all(i == "harness" or i.startswith("harness.experiment") for i in reached)
    assert outside <= allowed


def test_starting_the_command_loads_nothing_heavy():
    ask = "import sys, writeup.cli; print(*sorted({m.split('.')[0] for m in sys.modules}))"
    done = subprocess.run(
        [sys.executable, "-c", ask], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert "click" in loaded
    heavy = {"torch", "triton", "numpy", "matplotlib", "jsonschema", "jinja2", "pygments"}
    assert not loaded & heavy


def test_the_nouns_of_an_experiment_load_no_torch():
    ask = "import sys, harness.experiment; print('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", ask], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
