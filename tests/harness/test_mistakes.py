"""Planting one line."""

import functools

import pytest

from harness.discover import find, load
from harness.errors import SubjectError
from harness.mistakes import plain_function, plant, source_file, symbol
from tests.harness.project import MISTAKE, write_project


@pytest.fixture
def subject(tmp_path):
    write_project(tmp_path / "project", git=False)
    [subject] = find(tmp_path / "project", ("kernels",))
    return subject


def test_one_line_of_a_copy_is_changed_and_the_original_is_not(subject, tmp_path):
    experiment = load(subject, tmp_path / "project")
    before = (subject.folder / "pieces.py").read_text()
    [planted] = plant(experiment, subject.folder, tmp_path / "scratch", "x")
    after = (planted.folder / "pieces.py").read_text()
    changed = [
        number
        for number, pair in enumerate(
            zip(before.splitlines(), after.splitlines(), strict=True), start=1
        )
        if pair[0] != pair[1]
    ]
    assert changed == [planted.line]
    assert planted.after == "for begin in range(0, 256, 256):"
    assert (subject.folder / "pieces.py").read_text() == before


@pytest.mark.parametrize("before", ["range(0, x.shape[2])", "x"])
def test_a_line_that_is_not_there_exactly_once_is_refused(tmp_path, before):
    text = MISTAKE.replace("range(0, x.shape[1], 256)", before)
    write_project(tmp_path / "project", mistakes=text, git=False)
    [subject] = find(tmp_path / "project", ("kernels",))
    experiment = load(subject, tmp_path / "project")
    with pytest.raises(SubjectError, match="not once"):
        plant(experiment, subject.folder, tmp_path / "scratch", "kernels/doubling/experiment.py")


def test_a_variant_is_traced_to_its_file_and_name(subject, tmp_path):
    experiment = load(subject, tmp_path / "project")
    pieces = experiment.variant("pieces")
    assert source_file(pieces, subject.folder) == "pieces.py"
    assert symbol(pieces) == "double"


def test_wrappers_are_seen_through():
    def inner():
        return None

    @functools.wraps(inner)
    def outer():
        return inner()

    assert plain_function(functools.partial(outer)) is inner
    assert plain_function(len) is None
