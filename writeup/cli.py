"""The `writeup` command: from arguments to text and an exit code.

Exit codes: 0 fine, 1 findings, 2 usage. Only here is anything printed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from writeup.pinning import Pin

from writeup.errors import Problem, Problems, Severity, WriteupError

FINDINGS = 1
USAGE = 2

# Given to every command, so that each has them however it is called.
_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
# Not printable by name, but harmless; a message may run over several lines.
_BLANKS = "\t\n\xa0\u202f"
_LANGUAGE = "language"
_FORMATS = ("text", "github", "json")
_FORMATS_TOLD = """\b
--format json prints a list, sorted by place, of objects with
  path, line, column, end   where: path from the project's root, places from one,
                            zero unknown; end is the column behind the fault
  severity                  "error" or "warning"
  rule, message, hint       `writeup explain RULE` tells more
--format github prints workflow commands, which annotate a pull request.
"""


def _format_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--format",
        "form",
        type=click.Choice(_FORMATS),
        default="text",
        show_default=True,
        help="How problems are written.",
    )(command)


def _root_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--root",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        default=Path(),
        help="A folder of the project; its configuration is looked for upwards from here.",
    )(command)


def _failing_clearly(command: Callable[..., Any]) -> Callable[..., Any]:
    """What a person can mend becomes text and an exit code; a bug keeps its traceback."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        form = kwargs.get("form", "text")
        try:
            return command(*args, **kwargs)
        except Problems as error:
            _print(error.problems, form)
            raise SystemExit(FINDINGS) from None
        except WriteupError as error:
            click.echo(f"error: {error}", err=True)
            raise SystemExit(FINDINGS) from None

    return run


@click.group(
    context_settings=_SETTINGS,
    epilog="Exit codes: 0 fine, 1 findings, 2 usage. NO_COLOR is respected.",
)
@click.version_option(package_name="writeup", prog_name="writeup")
def main() -> None:
    """Render recorded measurements as pages whose every number can be followed back."""


@main.command(context_settings=_SETTINGS)
@_root_option
@_format_option
@click.option("--out", type=click.Path(path_type=Path), help="Publish here, not in `site`.")
@click.option("--relaxed", is_flag=True, help="Publish despite problems, with a banner.")
@click.option("--check-reproducible", is_flag=True, help="Build twice and compare the bytes.")
@click.option("-q", "--quiet", is_flag=True, help="Print problems only.")
@_failing_clearly
def build(
    root: Path, form: str, out: Path | None, relaxed: bool, check_reproducible: bool, quiet: bool
) -> None:
    """Build the site from stories and recorded results; all or nothing."""
    from writeup import build as building

    config = building.configuration(root, relaxed=relaxed)
    site = building.build(config)
    if check_reproducible:
        different = building.differences(site, building.build(config))
        if different:
            raise WriteupError(f"two builds differ in {', '.join(different)}")
    _print(site.problems, form)
    target = building.publish(site, config, out)
    if not quiet:
        click.echo(f"{site.summary} -> {_shown(target)}", err=True)


@main.command(context_settings=_SETTINGS, epilog=_FORMATS_TOLD)
@_root_option
@_format_option
@click.option("-q", "--quiet", is_flag=True, help="Print problems only.")
@_failing_clearly
def check(root: Path, form: str, quiet: bool) -> None:
    """Do all that `build` does, except publish, and ask the history for measured sources."""
    from writeup import build as building

    site = building.build(building.configuration(root), ask_history=True)
    _print(site.problems, form)
    if not quiet:
        click.echo(site.summary, err=True)


@main.command(context_settings=_SETTINGS)
@_root_option
@click.argument("subject")
@_failing_clearly
def new(root: Path, subject: str) -> None:
    """Write the folder of a new SUBJECT, with a blank record that builds at once."""
    from writeup import config, scaffold

    project = config.find(root)
    files = scaffold.new(project.root, subject, project)
    for path in files:
        click.echo(_shown(path))
    click.echo(scaffold.next_steps(project.root, files), err=True)


@main.command(context_settings=_SETTINGS)
@_root_option
@_format_option
@click.argument("subjects", metavar="[SUBJECT]...", nargs=-1)
@click.option("--results", metavar="COMMIT", help="Move to this commit, not to the newest run's.")
@click.option("--run", metavar="RUN", help="Move to this run, where a commit has several.")
@click.option("-n", "--dry-run", is_flag=True, help="Say what would change, and write nothing.")
@_failing_clearly
def pin(
    root: Path,
    form: str,
    subjects: tuple[str, ...],
    results: str | None,
    run: str | None,
    dry_run: bool,
) -> None:
    """Move the stories of SUBJECTs, or all of them, to their newest results.

    Only the front matter changes. What the story then says otherwise is listed; if a citation
    would no longer resolve, nothing is written.
    """
    from writeup import config
    from writeup import pin as pinning

    project = config.find(root)
    pins = pinning.pins(project, subjects, results=results, run=run)
    if not dry_run:
        pinning.write_pins(project, pins)
    for each in pins:
        for line in _pin(each):
            click.echo(line)
    _print([p.weighing(Severity.WARNING) for each in pins for p in each.problems], form)
    if dry_run:
        click.echo("nothing was written", err=True)


def _pin(each: Pin) -> Iterable[str]:
    """What became of a story: its keys, and its citations with their words before and after."""
    if not each.changes:
        yield f"{each.path}: has its newest results already"
        return
    yield f"{each.path}:"
    yield from (f"  {key}: {old} -> {new}" for key, old, new in each.changes)
    for moved in each.moved:
        yield f"  {moved.line}:{moved.column} {moved.citation}: {moved.before} -> {moved.after}"
    yield f"  {len(each.moved)} of {each.citations} citations change"


@main.command(context_settings=_SETTINGS)
@_root_option
@click.option(
    "--format",
    "into",
    type=click.Choice(("text", "markdown", "html")),
    default="text",
    show_default=True,
    help="What the sentence is pasted into.",
)
@click.argument("link")
@click.argument("other", required=False)
@_failing_clearly
def quote(root: Path, into: str, link: str, other: str | None) -> None:
    """Say what LINK leads to, in a sentence to paste elsewhere, with its band and its link.

    LINK is copied from a page, or `<commit>/<run>/<case>/<variant>/<mode>`. A time is also told
    beside the baseline, or beside OTHER: a variant of its case, or a link.
    """
    from writeup import config
    from writeup import quote as quotation
    from writeup.quoting import Format

    project = config.find(root)
    click.echo(quotation.quoted(project, link, other, Format(into)))
    if not project.base_url:
        click.echo("no base_url is configured, so the link is a path within the site", err=True)


@main.command(context_settings=_SETTINGS)
@click.argument("what", required=False)
@_root_option
@_failing_clearly
def explain(what: str | None, root: Path) -> None:
    """Explain a rule, `language` (what a story may cite), or the chain of a number.

    A number is meant by a link copied from a page, an address, its key in citations.json, or a
    path:line:column of a story or of a page. Without an argument, list the rules.
    """
    from writeup import explain as explaining

    if what is None:
        for rule in explaining.rules().values():
            click.echo(f"{rule.id:24} {rule.refuses}")
        click.echo(f"{_LANGUAGE:24} What a story may cite: every form, field and key.")
    elif what == _LANGUAGE:
        from writeup import guide

        click.echo(guide.page())
    elif what in explaining.rules():
        click.echo(explaining.rules()[what].text)
    else:
        from writeup import build as building

        click.echo(building.explained(building.configuration(root), what))


@main.command(context_settings=_SETTINGS)
@_format_option
@click.argument("site", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("-q", "--quiet", is_flag=True, help="Print problems only.")
@_failing_clearly
def verify(site: Path, form: str, quiet: bool) -> None:
    """Derive every number of a built SITE again from the artifacts that it carries."""
    from writeup import verify as verifying

    problems = verifying.verify(site)
    if problems:
        _print(problems, form)
        raise SystemExit(FINDINGS)
    if not quiet:
        click.echo(f"{_shown(site)}: every number follows from its artifact", err=True)


def _shown(path: Path) -> str:
    """A path as a person would type it from here."""
    return os.path.relpath(path)


def _print(problems: Sequence[Problem], form: str) -> None:
    if form == "json":
        click.echo(json.dumps([_as_dict(p) for p in problems], indent=1, ensure_ascii=False))
        return
    lines = _github(problems) if form == "github" else _text(problems)
    for line in lines:
        click.echo(line, err=form == "text", color=_coloured())
    if problems and form == "text":
        click.echo(_count(problems), err=True)


def _coloured() -> bool | None:
    """False where colours are unwanted; else the terminal decides (https://no-color.org)."""
    return False if os.environ.get("NO_COLOR") else None


def _as_dict(problem: Problem) -> dict[str, Any]:
    return {
        "path": problem.path,
        "line": problem.line,
        "column": problem.column,
        "end": problem.end,
        "severity": str(problem.severity),
        "rule": problem.rule,
        "message": problem.message,
        "hint": problem.hint,
    }


def _text(problems: Iterable[Problem]) -> Iterable[str]:
    for problem in problems:
        colour = "red" if problem.severity is Severity.ERROR else "yellow"
        kind = click.style(f"{problem.severity}[{problem.rule}]", fg=colour)
        yield f"{problem.place}: {kind}: {_printable(problem.message)}"
        if problem.source and problem.column:
            yield f"    {_printable(problem.source)}"
            yield from _caret(problem)
        if problem.hint:
            yield f"    hint: {_printable(problem.hint)}"


def _printable(text: str) -> str:
    """Somebody's text, so that it cannot move the cursor or turn the line around."""
    return "".join(c if c.isprintable() or c in _BLANKS else "\ufffd" for c in text)


def _caret(problem: Problem) -> Iterable[str]:
    """A line that points at what is wrong; none below an excerpt, which begins elsewhere."""
    before = problem.source[: problem.column - 1]
    if len(before) == problem.column - 1:
        pad = "".join("\t" if c == "\t" else " " for c in before)
        end = min(problem.end or problem.column + 1, len(problem.source) + 1)
        yield f"    {pad}{'^' * max(1, end - problem.column)}"


def _github(problems: Iterable[Problem]) -> Iterable[str]:
    """Workflow commands, which a run of GitHub Actions shows beside the lines they name."""
    for problem in problems:
        places = {"file": problem.path, "line": problem.line, "col": problem.column}
        named = {**places, "title": problem.rule}
        properties = ",".join(
            f"{key}={_property(str(value))}" for key, value in named.items() if value
        )
        message = f"{problem.message}. {problem.hint}" if problem.hint else problem.message
        yield f"::{problem.severity} {properties}::{_data(message)}"


def _data(text: str) -> str:
    """The text of a workflow command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """A value before the text, where colons and commas separate."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _count(problems: Sequence[Problem]) -> str:
    errors = sum(p.severity is Severity.ERROR for p in problems)
    warnings = len(problems) - errors
    parts = [f"{errors} error{'s' * (errors != 1)}"] if errors else []
    parts += [f"{warnings} warning{'s' * (warnings != 1)}"] if warnings else []
    return ", ".join(parts)


if __name__ == "__main__":
    main()
