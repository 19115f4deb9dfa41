import pytest

from writeup import config
from writeup.errors import Problems, Severity


def found(folder, text, name="writeup.toml"):
    (folder / name).write_text(text)
    return config.find(folder)


def refused(folder, text):
    with pytest.raises(Problems) as raised:
        found(folder, text)
    return [(p.place, p.rule, p.message, p.hint) for p in raised.value.problems]


def test_without_a_file_the_defaults_hold(tmp_path):
    project = config.find(tmp_path)
    assert (project.root, project.source) == (tmp_path, "")
    assert (project.kernels, project.results, project.site) == (("kernels",), "results", "site")
    assert project.strict


def test_the_nearest_folder_above_with_a_configuration_is_the_root(tmp_path):
    inner = tmp_path / "kernels" / "softmax"
    inner.mkdir(parents=True)
    (tmp_path / "writeup.toml").write_text('title = "Ours"\n')
    project = config.find(inner)
    assert (project.root, project.source, project.title) == (tmp_path, "writeup.toml", "Ours")


def test_a_table_of_pyproject_counts_and_one_without_it_does_not(tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "pyproject.toml").write_text('[tool.writeup]\ntitle = "Ours"\n')
    (inner / "pyproject.toml").write_text('[project]\nname = "x"\n')
    project = config.find(inner)
    assert (project.root, project.source, project.title) == (tmp_path, "pyproject.toml", "Ours")


def test_writeup_toml_goes_before_pyproject(tmp_path):
    (tmp_path / "pyproject.toml").write_text('[tool.writeup]\ntitle = "B"\n')
    assert found(tmp_path, 'title = "A"').title == "A"


def test_every_key_is_read(tmp_path):
    project = found(
        tmp_path,
        """
title = "T"
description = "D"
kernels = ["a", "b/c"]
results = "r"
site = "s"
theme = "t"
base_url = "https://example.org/"
repository = "https://example.org/r"
strict = false
glossary = { "ResNet-50" = "a network" }
severity = { "no-attempts" = "warning" }

[[ignore]]
rule = "story-order"
path = "a/*"
reason = "a guest"
""",
    )
    assert (project.title, project.description) == ("T", "D")
    assert (project.kernels, project.results) == (("a", "b/c"), "r")
    assert (project.site, project.theme) == ("s", "t")
    assert (project.base_url, project.repository) == (
        "https://example.org/",
        "https://example.org/r",
    )
    assert not project.strict
    assert project.glossary == {"ResNet-50": "a network"}
    assert project.severity == {"no-attempts": Severity.WARNING}
    assert project.ignore == (config.Ignore("story-order", "a/*", "a guest"),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title = 5", "title must be a string"),
        ('strict = "no"', "strict must be true or false"),
        ("kernels = [5]", "kernels must be a string"),
        ("kernels = []", "kernels must be a list of folders inside the project"),
        ('kernels = ["../x"]', "kernels must be a folder inside the project, not '../x'"),
        ('results = "/etc"', "results must be a folder inside the project, not '/etc'"),
        ('site = "a/../../b"', "site must be a folder inside the project, not 'a/../../b'"),
        ('theme = ".."', "theme must be a folder inside the project, not '..'"),
        ("glossary = 3", "glossary must be a table of word = reason"),
        ('glossary = { L9 = " " }', "gives none for 'L9'"),
        ('severity = { a = "fatal" }', "severity must be a table of rule = 'error' or 'warning'"),
        ("severity = { a = [1] }", "severity must be a table of rule = 'error' or 'warning'"),
        ("severity = 3", "severity must be a table of rule = 'error' or 'warning'"),
        ('ignore = [{ rule = "a", path = "b" }]', "with rule, path and reason"),
        ('ignore = [{ rule = "a", path = "b", reason = "" }]', "with rule, path and reason"),
        ("ignore = [5]", "with rule, path and reason"),
        ("ignore = {}", "with rule, path and reason"),
        ('severity = { no-attemps = "warning" }', "there is no rule 'no-attemps'"),
        ('severity = { typed-number = "warning" }', "the rule 'typed-number' always holds"),
        (
            'ignore = [{ rule = "bad-artifact", path = "b", reason = "c" }]',
            "the rule 'bad-artifact' always holds",
        ),
    ],
)
def test_a_value_of_the_wrong_kind_is_told_where_it_stands(tmp_path, text, message):
    ((place, rule, told, _),) = refused(tmp_path, f'description = "D"\n{text}\n')
    assert (place, rule) == ("writeup.toml:2:1", "bad-config")
    assert message in told


@pytest.mark.parametrize("rule", sorted(config.CLOSED))
def test_a_rule_without_which_pages_would_be_untrue_always_holds(tmp_path, rule):
    text = f'[[ignore]]\nrule = "{rule}"\npath = "*"\nreason = "no time"\n'
    ((place, _, message, hint),) = refused(tmp_path, text)
    assert place == "writeup.toml:1:1"
    assert message.endswith(f"the rule '{rule}' always holds")
    assert f"writeup explain {rule}" in hint
    ((_, _, message, _),) = refused(tmp_path, f'severity = {{ {rule} = "warning" }}\n')
    assert message.endswith(f"the rule '{rule}' always holds")
    assert found(tmp_path, f'severity = {{ {rule} = "error" }}\n').severity


def test_an_ignore_knows_its_line(tmp_path):
    table = '[[ignore]]\nrule = "no-attempts"\npath = "{}"\nreason = "r"\n'
    project = found(tmp_path, f'title = "T"\n{table.format("a")}\n{table.format("b")}')
    assert [(each.path, each.line) for each in project.ignore] == [("a", 2), ("b", 7)]
    text = 'ignore = [{ rule = "no-attempts", path = "a", reason = "r" }]\n'
    assert [each.line for each in found(tmp_path, text).ignore] == [1]


def test_a_misspelt_rule_is_told_with_the_nearest_one(tmp_path):
    text = 'ignore = [{ rule = "no-attemps", path = "a", reason = "r" }]\n'
    ((_, _, _, hint),) = refused(tmp_path, text)
    assert hint == "did you mean 'no-attempts'?"


def test_an_unknown_key_is_told_with_the_nearest_one(tmp_path):
    ((place, _, message, hint),) = refused(tmp_path, 'titel = "x"')
    assert (place, message, hint) == (
        "writeup.toml:1:1",
        "unknown key 'titel'",
        "did you mean 'title'?",
    )


def test_everything_wrong_is_told_at_once(tmp_path):
    assert len(refused(tmp_path, "title = 5\nstrict = 5\ntitel = 5\n")) == 3


@pytest.mark.parametrize("text", ["title", "= 5", "[", "title = 'a'\ntitle = 'b'"])
def test_what_is_no_toml_is_told(tmp_path, text):
    ((place, rule, message, _),) = refused(tmp_path, text)
    assert (place, rule) == ("writeup.toml", "bad-config")
    assert message.startswith("not TOML: ")


def test_a_table_that_is_none_is_told(tmp_path):
    (tmp_path / "pyproject.toml").write_text("tool.writeup = 5\n")
    with pytest.raises(Problems) as raised:
        config.find(tmp_path)
    assert raised.value.problems[0].message == "[tool.writeup] is not a table"
