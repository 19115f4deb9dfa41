"""The command, from the outside."""

import re

import pytest
from click.testing import CliRunner

from harness.cli import main
from tests.harness.project import write_project


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    monkeypatch.chdir(write_project(tmp_path / "project"))
    return lambda *words: CliRunner().invoke(main, words, catch_exceptions=False)


def test_every_command_and_option_has_help(invoke):
    for name, command in main.commands.items():
        assert command.help, name
        assert invoke(name, "--help").exit_code == 0
        for parameter in command.params:
            if parameter.param_type_name == "option":
                assert parameter.help, (name, parameter.name)


def test_list_names_subjects_cases_variants_and_modes(invoke):
    told = invoke("list")
    assert told.exit_code == 0
    assert "doubling: Doubling" in told.output
    for word in ("small, middle", "plain, pieces", "host, host_hot"):
        assert word in told.output


def test_list_tells_a_faulty_subject_beside_the_sound_ones(invoke, tmp_path):
    folder = tmp_path / "project" / "kernels" / "broken"
    folder.mkdir()
    (folder / "experiment.py").write_text("import torch\nno_such_name\n")
    told = invoke("list")
    assert told.exit_code == 1
    assert "doubling: Doubling" in told.output
    assert "kernels/broken/experiment.py:2: NameError" in told.output


def test_a_faulty_subject_does_not_keep_another_from_being_planned(invoke, tmp_path):
    folder = tmp_path / "project" / "kernels" / "broken"
    folder.mkdir()
    (folder / "experiment.py").write_text("1 / 0\n")
    assert invoke("run", "doubling", "--plan").exit_code == 0
    assert invoke("run", "--plan").exit_code == 1


def test_plan_says_what_would_run_and_runs_nothing(invoke, tmp_path):
    told = invoke("run", "--plan", "--blocks", "3", "--seed", "7", "--budget", "20m")
    assert told.exit_code == 0
    assert "doubling.middle (host, host_hot): plain, pieces, twin-a, twin-b, copy" in told.output
    assert "3 blocks" in told.output
    assert "seed 7" in told.output
    assert "20 min" in told.output
    assert not (tmp_path / "project" / "results").exists()
    assert not (tmp_path / "project" / ".writeup").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--device", "tpu"), "there are: cpu, cuda"),
        (("--device", "cuda"), "torch finds no CUDA device here"),
        (("doublng",), "no subject is called doublng (there are: doubling)"),
        (("--case", "wide"), "no case is called wide"),
        (("--variant", "pices"), "no variant is called pices"),
        (("--mode", "graph"), "no mode is called graph"),
        (("--commit", "HEAD"), "forty hexadecimal digits"),
        (("--budget", "soon"), "write a time such as"),
        (("--blocks", "0"), "--blocks"),
    ],
)
def test_wrong_usage_is_told_with_exit_code_2(invoke, words, told):
    result = invoke("run", *words)
    assert result.exit_code == 2
    assert told in re.sub(r"\s+", " ", result.output)


@pytest.mark.parametrize("text", [None, "{", "[]", '{"memory-dram-copy": 3}'])
def test_a_file_of_shapes_that_is_none_is_a_finding(invoke, tmp_path, text):
    if text is not None:
        (tmp_path / "shapes").write_text(text)
    told = invoke("run", "--plan", "--shapes", str(tmp_path / "shapes"))
    assert told.exit_code == 1
    assert "shapes" in told.output


def test_without_history_the_way_out_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(write_project(tmp_path / "project", git=False))
    told = CliRunner().invoke(main, ["run"])
    assert told.exit_code == 1
    assert "--commit" in told.output


def test_merge_of_what_is_no_result_is_a_finding(invoke, tmp_path):
    path = tmp_path / "notes.json"
    path.write_text("{}")
    assert invoke("merge", str(path), "--out", str(tmp_path / "out")).exit_code == 1
