"""The distribution in someone else's repository, from a wheel and from an editable install."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

import pytest

COMMIT = "0123456789abcdef0123456789abcdef01234567"
SHARED = ("result.schema.json", "protocols.json")
FOREIGN = ("harness", "templates", "kernels", "tests", "results")


def run(*command, cwd, check=True, **variables):
    """Run a command as a user's shell would: nothing of ours on the path."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PIP_TARGET"))}
    env |= variables
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=env, capture_output=True, text=True, check=False
    )
    if check:
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done


@pytest.fixture(scope="module")
def distributions(root, tmp_path_factory):
    """The sdist, and the wheel that is built from it."""
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, root, cwd=out)
    (sdist,) = out.glob("*.tar.gz")
    (wheel,) = out.glob("*.whl")
    return sdist, wheel


@pytest.fixture(scope="module")
def sdist(distributions):
    return distributions[0]


@pytest.fixture(scope="module")
def wheel(distributions):
    return distributions[1]


def install(venv, *what):
    """A new environment with `what`; dependencies are those of this interpreter.

    They are reached through a path file. Path files found on such a path are not read, so
    an editable install of ours in this interpreter stays out of sight. Its name sorts first:
    the path file of an editable install needs a dependency itself.
    """
    run(sys.executable, "-m", "venv", "--without-pip", venv, cwd=venv.parent)
    python = venv / "bin" / "python"
    paths = {key: sysconfig.get_path(key) for key in ("purelib", "platlib")}
    site = Path(
        run(
            python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=venv
        ).stdout.strip()
    )
    (site / "__dependencies.pth").write_text("\n".join(sorted(set(paths.values()))) + "\n")
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps")
    run(*pip, "--no-index", "--no-build-isolation", "--ignore-installed", *what, cwd=venv)
    return venv / "bin"


@pytest.fixture(scope="module")
def from_wheel(wheel, tmp_path_factory):
    return install(tmp_path_factory.mktemp("wheel") / "venv", wheel)


@pytest.fixture(scope="module")
def from_checkout(root, tmp_path_factory):
    return install(tmp_path_factory.mktemp("editable") / "venv", "--editable", root)


@pytest.fixture(params=["from_wheel", "from_checkout"])
def bin_folder(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def other(tmp_path):
    """A repository of a stranger who has folders of our names, none of which may be imported."""
    for name in FOREIGN:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"raise RuntimeError('{name} is not yours')\n")
    (tmp_path / "templates" / "page.html.j2").write_text("{{ not_ours }}")
    return tmp_path


def files_of(package):
    return {
        path.relative_to(package.parent).as_posix()
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_wheel_holds_two_packages_and_nothing_else(root, wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    tops = {PurePosixPath(name).parts[0] for name in names}
    assert tops == {"writeup", "harness", "writeup-0.1.0.dist-info"}
    packed = {f"writeup/{name}" for name in files_of(root / "templates")}
    modules = {name for name in names if not name.startswith("writeup-0.1.0.dist-info/")}
    assert modules == (
        files_of(root / "writeup")
        | files_of(root / "harness")
        | packed
        | {f"writeup/{name}" for name in SHARED}
    )


@pytest.mark.parametrize("name", SHARED)
def test_both_packages_have_the_same_schema_and_protocols(wheel, name):
    archive = zipfile.ZipFile(wheel)
    assert archive.read(f"writeup/{name}") == archive.read(f"harness/{name}")


def test_wheel_says_its_licence_and_its_two_commands(wheel):
    archive = zipfile.ZipFile(wheel)
    metadata = archive.read("writeup-0.1.0.dist-info/METADATA").decode()
    assert "\nLicense-Expression: MIT\n" in metadata
    assert "\nRequires-Python: >=3.11\n" in metadata
    assert "writeup-0.1.0.dist-info/licenses/LICENSE" in archive.namelist()
    scripts = archive.read("writeup-0.1.0.dist-info/entry_points.txt").decode()
    assert scripts.split() == (
        "[console_scripts] harness = harness.cli:main writeup = writeup.cli:main".split()
    )


def test_rendering_needs_no_distribution_that_measuring_needs(wheel):
    lines = zipfile.ZipFile(wheel).read("writeup-0.1.0.dist-info/METADATA").decode().splitlines()
    base = [line for line in lines if line.startswith("Requires-Dist:") and "extra ==" not in line]
    assert base
    assert not [line for line in base if "torch" in line or "triton" in line or "numpy" in line]


def test_sdist_holds_what_the_wheel_needs_and_no_measurement(sdist):
    with tarfile.open(sdist) as archive:
        tops = {PurePosixPath(name).parts[1] for name in archive.getnames()}
    assert {"writeup", "harness", "templates", "pyproject.toml", "LICENSE", "README.md"} <= tops
    assert not tops & {"kernels", "results", "site", "tests"}


def test_commands_tell_their_use_among_foreign_folders(bin_folder, other):
    for command in ("writeup", "harness"):
        assert run(bin_folder / command, "--help", cwd=other).stdout.startswith("Usage:")
    assert "0.1.0" in run(bin_folder / "writeup", "--version", cwd=other).stdout
    assert "typed-number" in run(bin_folder / "writeup", "explain", cwd=other).stdout


def test_packages_come_from_the_installation(from_wheel, from_checkout, root, other):
    ask = "import harness, writeup; print(harness.__file__, writeup.__file__)"
    for bin_folder, home in ((from_wheel, from_wheel.parent), (from_checkout, root)):
        done = run(bin_folder / "python", "-P", "-c", ask, cwd=other)
        assert all(Path(path).is_relative_to(home) for path in done.stdout.split())


def test_editable_install_exposes_only_the_two_packages(from_checkout, other):
    ask = "import importlib.util as u; print([n for n in {names} if u.find_spec(n)])"
    names = ["writeup", "harness", "templates", "kernels", "tests", "results"]
    done = run(from_checkout / "python", "-P", "-c", ask.format(names=names), cwd=other)
    assert done.stdout.strip() == "['writeup', 'harness']"


def test_new_subject_builds_and_is_listed_among_foreign_folders(bin_folder, other):
    written = run(bin_folder / "writeup", "new", "demo", cwd=other).stdout.splitlines()
    assert "kernels/demo/experiment.py" in written
    run(bin_folder / "writeup", "build", cwd=other)
    run(bin_folder / "writeup", "verify", "site", cwd=other)
    assert "demo" in (other / "site" / "stories" / "demo" / "index.html").read_text()
    assert "demo" in run(bin_folder / "harness", "list", cwd=other).stdout


def test_a_run_in_fresh_processes_finds_our_harness_among_foreign_folders(from_wheel, other):
    run(from_wheel / "writeup", "new", "demo", cwd=other)
    few = ("--mode", "host", "--blocks", "1", "--rounds", "1", "--commit", COMMIT)
    # A session holds the machine by a file in the temporary folder; no time is judged here.
    (other / "tmp").mkdir()
    run(from_wheel / "harness", "run", "demo", *few, cwd=other, TMPDIR=str(other / "tmp"))
    record = json.loads((other / "results" / f"{COMMIT}.json").read_text())
    (session,) = record["runs"].values()
    files = session["sources"]["files"]
    assert {path for path in files if path.startswith("kernels/")} == {
        f"kernels/demo/{name}.py"
        for name in ("by_row", "eager", "experiment", "reference", "single_pass", "work")
    }
    assert not [path for path in files if path.startswith(("harness/", "templates/", "tests/"))]


def test_new_refuses_to_overwrite_and_says_so(from_wheel, other):
    run(from_wheel / "writeup", "new", "demo", cwd=other)
    (other / "kernels" / "demo" / "story.md").write_text("mine")
    done = run(from_wheel / "writeup", "new", "demo", cwd=other, check=False)
    assert done.returncode == 1
    assert "kernels/demo exists already" in done.stderr
    assert (other / "kernels" / "demo" / "story.md").read_text() == "mine"
