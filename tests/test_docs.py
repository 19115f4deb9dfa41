"""The documents say what is so: commands exist, rules are listed, no result is typed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import harness.cli
import writeup.cli
from writeup import explain
from writeup.document import parse_story

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
DECISIONS = (ROOT / "DECISIONS.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")

PROGRAMS = {"writeup": writeup.cli.main, "harness": harness.cli.main}
COMMANDS = [(name, verb) for name, main in PROGRAMS.items() for verb in sorted(main.commands)]
HEADINGS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security", "Measurements"}


def shell_lines(text):
    """Commands in the text's shell blocks, without comments."""
    for block in re.findall(r"```sh\n(.*?)```", text, flags=re.DOTALL):
        for line in block.splitlines():
            if words := shlex.split(line, comments=True):
                yield words


def inline_commands(text):
    """Commands in the text's code spans: `make site`, `harness run rotary --device cpu`."""
    for span in re.findall(r"`((?:make|writeup|harness) [^`]+)`", text):
        yield shlex.split(span)


def written(text):
    return [*shell_lines(text), *inline_commands(text)]


def parse(words):
    """Let the program read its arguments without doing anything; UsageError if it cannot."""
    program, verb, *rest = words
    command = PROGRAMS[program].commands[verb]
    parser = command.make_parser(click.Context(command, info_name=verb, **command.context_settings))
    return parser.parse_args(list(rest))


@pytest.mark.parametrize("words", written(README) + written(CONTRIBUTING), ids=" ".join)
def test_a_command_that_the_documents_show_exists(words):
    if words[0] == "make":
        targets = set(re.findall(r"^([a-z]+):", MAKEFILE, flags=re.MULTILINE))
        assert words[1] in targets
    elif words[0] in PROGRAMS and len(words) > 1 and not words[1].startswith("-"):
        parse(words)


def test_a_command_that_does_not_exist_is_seen():
    with pytest.raises(KeyError):
        parse(["writeup", "publish"])
    with pytest.raises(click.UsageError):
        parse(["writeup", "build", "--fast"])


@pytest.mark.parametrize(("program", "verb"), COMMANDS)
def test_a_command_has_help_and_stands_in_the_readme(program, verb):
    command = PROGRAMS[program].commands[verb]
    assert command.help
    for option in command.params:
        if isinstance(option, click.Option):
            assert option.help, f"{program} {verb} {option.opts[0]} has no help"
    assert re.search(rf"\b{program} {verb}\b", README), f"README does not show {program} {verb}"
    shown = CliRunner().invoke(PROGRAMS[program], [verb, "--help"])
    assert shown.exit_code == 0
    assert shown.output.startswith("Usage:")


def test_the_readme_promises_two_commands_first():
    assert list(shell_lines(README))[:2] == [["make", "site"], ["make", "test"]]


def test_every_make_target_says_what_it_does():
    phony = set(re.search(r"^\.PHONY: (.*)$", MAKEFILE, flags=re.MULTILINE)[1].split())
    explained = set(re.findall(r"^([a-z]+):.*## \S", MAKEFILE, flags=re.MULTILINE))
    assert phony == explained


def test_explain_lists_every_rule_and_explains_each():
    listed = CliRunner().invoke(writeup.cli.main, ["explain"]).output
    for rule in explain.rules():
        assert re.search(rf"^{rule}\s+\S", listed, flags=re.MULTILINE)
        page = CliRunner().invoke(writeup.cli.main, ["explain", rule])
        assert page.exit_code == 0
        assert len(page.output.split()) > 20


def test_the_story_that_the_readme_shows_can_be_read():
    (shown,) = re.findall(r"```markdown\n(.*?)```", README, flags=re.DOTALL)
    story = parse_story(f'+++\ntitle = "shown"\n+++\n{shown}', "story.md")
    assert story.problems == ()
    assert len(story.citations) == 6


def test_explain_tells_the_language_and_the_readme_says_so():
    listed = CliRunner().invoke(writeup.cli.main, ["explain"]).output
    assert re.search(r"^language\s+\S", listed, flags=re.MULTILINE)
    page = CliRunner().invoke(writeup.cli.main, ["explain", "language"])
    assert page.exit_code == 0
    assert page.output.startswith("# language: ")
    assert "`writeup explain language`" in README


def test_every_rule_that_the_readme_names_exists():
    table = README.split("## What a page refuses")[1].split("## ")[0]
    named = re.findall(r"\| `([a-z-]+)` \|$", table, flags=re.MULTILINE)
    assert named
    assert set(named) <= set(explain.rules())


def test_every_rule_that_the_program_can_report_is_explained():
    reported = set()
    for path in sorted((ROOT / "writeup").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        reported |= set(re.findall(r"""rule=["']([a-z]+(?:-[a-z]+)+)["']""", text))
    assert reported <= set(explain.rules())


@pytest.mark.parametrize("text", [README, CONTRIBUTING, DECISIONS], ids=["r", "c", "d"])
def test_no_result_is_typed_in_a_document(text):
    units = r"(?:[mµun]?s|[kMGT]i?B(?:/s)?|[GT]?FLOP\S*|x|×|%|times|fold|percent)"
    assert not re.findall(rf"\d[\d.,]*[ \u202f]*{units}(?![\w-])", text)


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "DECISIONS.md"])
def test_links_between_documents_lead_somewhere(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", text):
        assert (ROOT / target).exists(), f"{name} links to {target}"


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "DECISIONS.md"])
def test_files_that_the_documents_name_exist(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    folders = "writeup|harness|templates|tests|results"
    for path in re.findall(rf"`((?:{folders})/[\w./-]*)`", text):
        assert (ROOT / path).exists(), f"{name} names {path}"


def test_changelog_keeps_the_format():
    sections = re.findall(r"^## (.*)$", CHANGELOG, flags=re.MULTILINE)
    assert sections[0] == "[Unreleased]"
    for section in sections[1:]:
        assert re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2}", section)
    headings = re.findall(r"^### (.*)$", CHANGELOG, flags=re.MULTILINE)
    assert set(headings) <= HEADINGS
    assert "Measurements" in headings


def test_decisions_are_numbered_short_and_complete():
    entries = re.split(r"^## ", DECISIONS, flags=re.MULTILINE)[1:]
    numbers = [int(entry.split(".")[0]) for entry in entries]
    assert numbers == list(range(1, len(entries) + 1))
    for entry in entries:
        lines = [line for line in entry.splitlines() if line.strip()]
        assert len(lines) <= 12, lines[0]
        assert re.findall(r"^\*\*(\w+)\.\*\*", entry, flags=re.MULTILINE) == [
            "Context",
            "Decision",
            "Consequence",
        ], lines[0]
