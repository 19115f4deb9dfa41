"""Finding and loading subjects."""

import subprocess
import sys

import pytest

from harness.discover import find, load
from harness.errors import SubjectError
from tests.harness.project import EXPERIMENT, PIECES, PLAIN, write_project


def write_subject(folder, plain=PLAIN):
    folder.mkdir(parents=True)
    text = EXPERIMENT.format(imports="", variants="", mistakes="")
    (folder / "experiment.py").write_text(text)
    (folder / "plain.py").write_text(plain)
    (folder / "pieces.py").write_text(PIECES)


def test_two_subjects_may_each_have_a_file_of_the_same_name(tmp_path):
    write_subject(tmp_path / "kernels" / "first")
    write_subject(tmp_path / "kernels" / "second", PLAIN.replace("x, 2", "x, 3"))
    before = set(sys.modules)
    subjects = find(tmp_path, ("kernels",))
    assert [subject.name for subject in subjects] == ["first", "second"]
    twofold, threefold = (load(subject, tmp_path).baseline.function for subject in subjects)
    import torch

    assert float(twofold(torch.ones(1))) == 2
    assert float(threefold(torch.ones(1))) == 3
    assert twofold.__module__ == "_writeup_subject_first.plain"
    assert "kernels" not in set(sys.modules) - before


def test_a_project_with_its_own_harness_and_templates_is_measured_by_ours(tmp_path):
    write_project(tmp_path, git=False)
    for name in ("harness", "templates"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise ImportError('theirs')")
    told = subprocess.run(
        [sys.executable, "-P", "-m", "harness", "list"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env=_environment(),
    )
    assert told.returncode == 0, told.stderr
    assert "doubling: Doubling" in told.stdout


def _environment():
    import os
    from pathlib import Path

    import harness

    return {**os.environ, "PYTHONPATH": str(Path(harness.__file__).parent.parent)}


def test_a_folder_that_is_not_there_and_names_that_clash_are_told_together(tmp_path):
    write_subject(tmp_path / "a" / "same")
    write_subject(tmp_path / "b" / "same")
    write_subject(tmp_path / "b" / "Bad")
    with pytest.raises(SubjectError) as caught:
        find(tmp_path, ("a", "b", "c"))
    assert len(caught.value.faults) == 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import torch\nimport no_such_module\n", "experiment.py:2: ModuleNotFoundError"),
        ("x = (\n", "experiment.py:1: SyntaxError"),
        ("from . import missing\n", "experiment.py:1: ImportError"),
        ("experiment = 3\n", "it assigns no Experiment to the name `experiment`"),
    ],
)
def test_an_experiment_that_does_not_load_is_told_with_its_line(tmp_path, text, words):
    folder = tmp_path / "kernels" / "broken"
    folder.mkdir(parents=True)
    (folder / "experiment.py").write_text(text)
    [subject] = find(tmp_path, ("kernels",))
    with pytest.raises(SubjectError) as caught:
        load(subject, tmp_path)
    assert words in str(caught.value)


def test_a_fault_in_another_file_of_the_subject_names_that_file(tmp_path):
    write_subject(tmp_path / "kernels" / "broken", "import torch\n1 / 0\n")
    [subject] = find(tmp_path, ("kernels",))
    with pytest.raises(SubjectError, match=r"\(plain.py:2\): ZeroDivisionError"):
        load(subject, tmp_path)
