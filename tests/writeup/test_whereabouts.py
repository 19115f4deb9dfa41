"""A problem with the words of a record says where they stand, in the record and in its source."""

import json

import pytest

from tests.cases import worlds
from tests.worlds import COMMIT, RUN, minimal_artifact, write_results
from writeup import build, definition
from writeup.errors import Problems

ARTIFACT = f"results/{COMMIT}.json"
FILE = "kernels/softmax/experiment.py"
SOURCE = '''"""What is asked."""
from harness import Experiment

EXPERIMENT = Experiment(
    hypothesis=(
        "Long rows leave the cache, "
        "so that one pass is 3.7 times "
        "as good."
    ),
)
'''
WORDS = "Long rows leave the cache, so that one pass is 3.7 times as good."


def refused(folder, edit, *, source=SOURCE, indent=1):
    """The problems of a record that was edited."""
    artifact, objects = minimal_artifact(blocks=6, samples=2, sources={FILE: source})
    edit(artifact["runs"][RUN])
    write_results(folder / "results", artifact, objects)
    text = json.dumps(artifact, indent=indent, ensure_ascii=False)
    worlds.lay(folder, {ARTIFACT: text.encode()})
    with pytest.raises(Problems) as caught:
        build.build(build.configuration(folder))
    return text, caught.value.problems


def typed(run):
    run["experiments"]["softmax"]["hypothesis"] = WORDS


def test_a_numeral_in_free_words_is_told_at_its_line_and_column(tmp_path):
    text, (problem,) = refused(tmp_path, typed)
    line = text.split("\n")[problem.line - 1]
    assert line[problem.column - 1 : problem.end - 1] == "3.7"
    assert '"hypothesis"' in line
    assert problem.source == line
    assert problem.rule == "typed-number"


def test_and_at_its_line_and_column_of_the_program_that_said_it(tmp_path):
    _, (problem,) = refused(tmp_path, typed)
    assert problem.hint.endswith(f"; these words are from {FILE}:7:30, as it was measured")
    line = SOURCE.split("\n")[6]
    assert line[29:].startswith("3.7")


@pytest.mark.parametrize(
    "source",
    ["EXPERIMENT = f'''{1}'''\n", "not Python (", 'hypothesis = "Long rows " + "leave"\n', ""],
)
def test_words_that_no_source_holds_are_told_in_the_record_alone(tmp_path, source):
    _, (problem,) = refused(tmp_path, typed, source=source)
    assert problem.line
    assert "these words" not in problem.hint


def test_a_record_on_one_line_is_told_by_column_without_the_line(tmp_path):
    text, (problem,) = refused(tmp_path, typed, indent=None)
    assert (problem.line, text[problem.column - 1 : problem.end - 1]) == (1, "3.7")
    assert problem.source == ""


def test_words_in_other_letters_are_found_too(tmp_path):
    def said(run):
        run["experiments"]["softmax"]["hypothesis"] = 'Zwölf sagt "nein", aber ٣٧ ms bleiben.'

    text, problems = refused(tmp_path, said)
    for problem in problems:
        line = text.split("\n")[problem.line - 1]
        assert line[problem.column - 1 : problem.end - 1] == "٣٧"


@pytest.mark.parametrize(
    ("part", "rule"),
    [("next", "private-data"), ("cannot_conclude", "not-concluded")],
)
def test_every_rule_that_names_a_pointer_is_given_a_line(tmp_path, part, rule):
    def edit(run):
        said = run["experiments"]["softmax"]
        if rule == "private-data":
            said[part] = "ask someone@example.org"
        else:
            del said[part]

    text, (problem,) = refused(tmp_path, edit)
    line = text.split("\n")[problem.line - 1]
    assert problem.rule == rule
    assert f'"{part if rule == "private-data" else "softmax"}":' in line
    assert line[problem.column - 1] in '"{'
    assert problem.source == ("" if rule == "private-data" else line)


def test_problems_stay_sorted(tmp_path):
    def edit(run):
        typed(run)
        run["experiments"]["softmax"]["title"] = "About 17 rows"
        run["experiments"]["softmax"]["next"] = "about 18 rows"

    _, problems = refused(tmp_path, edit)
    assert list(problems) == sorted(problems)
    assert len({p.line for p in problems}) == len(problems) == 3


def test_a_literal_is_found_however_its_blanks_are_set():
    text = 'a = """one\n   two\n"""\nb = ("one " "three")\n'
    assert definition.string(text, "one two") == (1, 3)
    assert definition.string(text, "one three") == (4, 4)
    assert definition.string(text, "one") is None
