"""`writeup new`: a subject that is valid as it stands, all of it or nothing."""

from __future__ import annotations

import tomllib

import pytest

from writeup import scaffold
from writeup.config import Config
from writeup.errors import WriteupError

FILES = [
    "by_row.py",
    "eager.py",
    "experiment.py",
    "reference.py",
    "single_pass.py",
    "story.md",
    "work.py",
]


@pytest.fixture
def config(tmp_path):
    return Config(root=tmp_path, kernels=("ours", "theirs"))


def test_a_new_subject_has_every_part_of_an_experiment(tmp_path, config):
    files = scaffold.new(tmp_path, "rotary", config)
    assert files == [tmp_path / "ours" / "rotary" / name for name in FILES]
    assert all(path.is_file() for path in files)


def test_the_name_of_the_subject_replaces_every_placeholder(tmp_path, config):
    for path in scaffold.new(tmp_path, "rotary", config):
        text = path.read_text()
        assert "$" not in text
        assert "\r" not in text
    assert 'title="rotary"' in (tmp_path / "ours" / "rotary" / "experiment.py").read_text()


def test_the_story_is_blank_and_has_the_four_parts_in_order(tmp_path, config):
    scaffold.new(tmp_path, "rotary", config)
    _, front, body = (tmp_path / "ours" / "rotary" / "story.md").read_text().split("+++\n")
    assert tomllib.loads(front)["status"] == "blank"
    headings = [line[3:] for line in body.splitlines() if line.startswith("## ")]
    assert headings == ["Problem", "Roofline", "Steps", "Result"]


@pytest.mark.parametrize(
    "name", ["Rotary", "4d", "a b", "", "../x", "a/b", "a.b", "-x", "é", "x\n"]
)
def test_a_name_that_cannot_be_cited_is_refused(tmp_path, config, name):
    with pytest.raises(WriteupError, match="cannot name a subject"):
        scaffold.new(tmp_path, name, config)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("folder", ["ours", "theirs"])
def test_a_subject_that_exists_in_any_folder_is_never_touched(tmp_path, config, folder):
    (tmp_path / folder / "rotary").mkdir(parents=True)
    with pytest.raises(WriteupError, match=f"{folder}/rotary exists already; nothing was written"):
        scaffold.new(tmp_path, "rotary", config)
    assert not list((tmp_path / folder / "rotary").iterdir())


def test_a_dangling_link_of_that_name_is_not_followed(tmp_path, config):
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours" / "rotary").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(WriteupError, match="exists already"):
        scaffold.new(tmp_path, "rotary", config)
    assert not (tmp_path / "elsewhere").exists()


def test_a_disk_that_refuses_halfway_leaves_nothing_behind(tmp_path, config, monkeypatch):
    written = []

    def write_text(self, text, **_):
        written.append(self)
        if len(written) == 3:
            raise OSError(28, "No space left on device")
        return len(text)

    monkeypatch.setattr("pathlib.Path.write_text", write_text)
    with pytest.raises(WriteupError, match="No space left on device"):
        scaffold.new(tmp_path, "rotary", config)
    assert not list((tmp_path / "ours").iterdir())


def test_the_next_steps_name_the_folder_and_the_command(tmp_path, config):
    files = scaffold.new(tmp_path, "rotary", config)
    text = scaffold.next_steps(tmp_path, files)
    assert "ours/rotary/experiment.py" in text
    assert "harness run rotary" in text


@pytest.fixture
def experiment(tmp_path, config):
    from harness import discover

    scaffold.new(tmp_path, "rotary", config)
    (subject,) = discover.find(tmp_path, ("ours",))
    return discover.load(subject, tmp_path)


def test_every_variant_of_a_new_subject_agrees_with_the_oracle(experiment):
    import torch

    for case in experiment.cases:
        generator = torch.Generator().manual_seed(case.seed)
        inputs = case.make_inputs(case, generator, torch.device("cpu"))
        truth = experiment.oracle(*(tensor.double() for tensor in inputs))
        for variant in experiment.variants:
            output = variant.function(*inputs)
            assert output.dtype == inputs[0].dtype
            assert output.shape == inputs[0].shape
            tolerance = {"atol": case.tolerance.atol, "rtol": case.tolerance.rtol}
            assert torch.allclose(output.double(), truth, **tolerance)


def test_the_planted_mistake_occurs_once_and_can_be_seen(tmp_path, experiment):
    (mistake,) = experiment.mistakes
    path = tmp_path / "ours" / "rotary" / "single_pass.py"
    text = path.read_text()
    assert sum(mistake.before in line for line in text.splitlines()) == 1
    path.write_text(text.replace(mistake.before, mistake.after))

    import torch

    from harness import discover

    (subject,) = discover.find(tmp_path, ("ours",))
    changed = discover.load(subject, tmp_path, alias="rotary-changed").variant(mistake.variant)
    agrees = {}
    for name in (mistake.passes, mistake.fails):
        case = experiment.case(name)
        inputs = case.make_inputs(case, torch.Generator().manual_seed(1), torch.device("cpu"))
        agrees[name] = torch.allclose(changed.function(*inputs), experiment.oracle(*inputs))
    assert agrees == {mistake.passes: True, mistake.fails: False}


def test_counted_work_is_what_the_tensors_hold(experiment):
    import torch

    for case in experiment.cases:
        inputs = case.make_inputs(case, torch.Generator().manual_seed(1), torch.device("cpu"))
        output = experiment.baseline.function(*inputs)
        moved = sum(tensor.nbytes for tensor in (*inputs, output))
        assert case.work.bytes == moved
        assert experiment.baseline.work(case).bytes == moved + 2 * output.nbytes
