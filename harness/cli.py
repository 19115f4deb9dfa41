"""The `harness` command: errors become text and an exit code here, and only here is printed.

Exit codes: 0 fine, 1 findings, 2 usage.
"""

from __future__ import annotations

import importlib.util
import re
import secrets
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from harness.errors import HarnessError, SelectionError, SubjectError
from writeup import stats

_COMMIT = re.compile(r"[0-9a-f]{40}")


class _Findings(click.ClickException):
    """Something was found that a person must mend; exit code 1."""

    def show(self, file: Any = None) -> None:
        """Print the message as it is: each of its lines is a finding."""
        click.echo(self.format_message(), file=file, err=file is None)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="writeup", prog_name="harness")
def main() -> None:
    """Measure subjects and record what was seen: gate, sample, record."""


@main.command("list")
def list_command() -> None:
    """List the subjects, their cases, variants and modes."""
    from harness import discover

    project = _project()
    found = _told(lambda: discover.find(project.root, project.kernels))
    faults: list[str] = []
    for subject in found:
        try:
            experiment = discover.load(subject, project.root)
        except SubjectError as error:
            faults.extend(error.faults)
            continue
        click.echo(f"{subject.name}: {experiment.title}")
        click.echo(f"  cases     {', '.join(case.id for case in experiment.cases)}")
        click.echo(f"  variants  {', '.join(v.id for v in experiment.variants)}")
        click.echo(f"  modes     {', '.join(experiment.modes)}")
    if not found:
        click.echo(f"no subject: no folder in {', '.join(project.kernels)} has an experiment.py")
    if faults:
        raise _Findings("\n".join(faults))


@main.command()
@click.argument("subjects", nargs=-1, metavar="[SUBJECT]...")
@click.option("--case", "cases", multiple=True, help="Time this case only (repeatable).")
@click.option("--variant", "variants", multiple=True, help="This variant only, and the baseline.")
@click.option("--mode", "modes", multiple=True, help="This mode only, such as host or do_bench.")
@click.option("--device", default="cpu", show_default=True, help="What to measure on: cpu or cuda.")
@click.option("--commit", help="The commit that is measured, when git cannot tell.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder of results.")
@click.option(
    "--bundle",
    type=click.Path(path_type=Path),
    help="Also put the artifact and its objects into this one file, for `merge`.",
)
@click.option(
    "--shapes",
    type=click.Path(path_type=Path),
    help="Of ceilings, time only the probes that `harness ceilings --shapes` wrote here.",
)
@click.option(
    "--blocks",
    type=click.IntRange(1, 99),
    default=stats.BLOCKS,
    show_default=True,
    help="Fresh processes a subject; the unit of inference.",
)
@click.option("--rounds", type=click.IntRange(1, 64), help="Rounds a case and mode in a block.")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), help="Seed of everything random.")
@click.option("--plan", "only_plan", is_flag=True, help="Say what would run, and do nothing.")
@click.option("--budget", help="Time for the whole session, such as 90s, 20m or 1h.")
def run(subjects: tuple[str, ...], cases: tuple[str, ...], **options: Any) -> None:
    """Measure SUBJECTs (all, when none is named) and add a run to the record."""
    device = _device(options["device"])
    _require_torch()
    from harness import plan as planning

    project = _project()
    settings = planning.Settings.on(
        device,
        shapes=_shapes(options["shapes"]),
        blocks=options["blocks"],
        rounds=options["rounds"],
        seed=secrets.randbelow(2**31) if options["seed"] is None else options["seed"],
        budget=_seconds(options["budget"]),
    )
    selection = planning.Selection(
        subjects=subjects, cases=cases, variants=options["variants"], modes=options["modes"]
    )
    plans = _told(lambda: planning.plan(_experiments(project, subjects), selection, device))
    if options["only_plan"]:
        for line in planning.lines(plans, settings):
            click.echo(line)
        return
    _measure(project, plans, settings, options)


@main.command()
@click.option("--device", default="cpu", show_default=True, help="The device to examine.")
@click.option("--commit", help="The commit that would be measured.")
def doctor(device: str, commit: str | None) -> None:
    """Say whether this machine and checkout are fit to measure on."""
    device = _device(device)
    from harness.doctor import Level, examine

    project = _project()
    found = examine(project.root, device, results=project.root / project.results, commit=commit)
    for finding in found:
        click.echo(f"{finding.level}: {finding.text}")
    if any(finding.level is Level.FAIL for finding in found):
        raise SystemExit(1)


@main.command()
@click.option("--device", default="cpu", show_default=True, help="The device to try.")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, help="Seed of the order.")
@click.option(
    "--shapes",
    type=click.Path(path_type=Path),
    help="Write the best probes of each ceiling here, for `harness run --shapes`.",
)
def ceilings(device: str, seed: int, shapes: Path | None) -> None:
    """Measure what this device can do at most, and say which shapes reach it."""
    device = _device(device)
    _require_torch()
    _require_device(device)
    from harness import survey
    from harness.company import alone

    project = _project()

    def look() -> list[Any]:
        with alone():
            return survey.survey(device, project.root, seed)

    reached = _told(look)
    for line in survey.lines(reached):
        click.echo(line)
    if shapes is not None:
        survey.write(reached, shapes)


@main.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="Folder of results to merge into.")
def merge(paths: tuple[Path, ...], out: Path | None) -> None:
    """Unite results (artifacts, folders of them, or bundles) in one folder, run by run."""
    from harness import bundle, record

    if out is None:
        project = _project()
        out = project.root / project.results

    def unite() -> tuple[Path, ...]:
        with ExitStack() as stack:
            folders = [
                stack.enter_context(bundle.opened(path)) if bundle.is_bundle(path) else path
                for path in paths
            ]
            return record.merge(folders, out)

    for path in _told(unite):
        click.echo(path)


def _device(name: str) -> str:
    from harness import modes

    if name not in modes.DEVICES:
        raise click.UsageError(f"--device {name}: there are: {', '.join(modes.DEVICES)}")
    return name


def _require_device(device: str) -> None:
    """A plan needs no device, but a measurement does."""
    import torch

    if device == "cuda" and not torch.cuda.is_available():
        raise click.UsageError("--device cuda: torch finds no CUDA device here")


def _shapes(path: Path | None) -> dict[str, list[str]] | None:
    """The probes that a survey found worth timing."""
    from harness import survey

    return None if path is None else _told(lambda: survey.read(path))


def _require_torch() -> None:
    """The only heavy dependency; `list` and `merge` do without it where they can."""
    if importlib.util.find_spec("torch") is None:
        raise click.UsageError(
            "measuring needs torch, which is not installed here; install it for this machine "
            "(https://pytorch.org), then `pip install 'writeup[harness]'`"
        )


def _project() -> Any:
    """The configured project that the working directory lies in."""
    from writeup import config

    return _told(lambda: config.find(Path.cwd()))


def _experiments(project: Any, subjects: tuple[str, ...]) -> list[Any]:
    """The experiments asked for; another subject's fault is no reason not to run these."""
    from harness import discover

    found = discover.find(project.root, project.kernels)
    named = [one for one in found if not subjects or one.name in subjects]
    if missing := sorted(set(subjects) - {one.name for one in found}):
        there = ", ".join(one.name for one in found) or "none"
        raise click.UsageError(f"no subject is called {', '.join(missing)} (there are: {there})")
    if not named:
        raise click.UsageError(f"no folder in {', '.join(project.kernels)} has an experiment.py")
    faults: list[str] = []
    loaded = []
    for subject in named:
        try:
            loaded.append((subject, discover.load(subject, project.root)))
        except SubjectError as error:
            faults.extend(error.faults)
    if faults:
        raise SubjectError(faults)
    return loaded


def _measure(project: Any, plans: Any, settings: Any, options: Mapping[str, Any]) -> None:
    from harness import bundle, provenance
    from harness import plan as planning
    from harness import run as session
    from harness.progress import Progress

    commit = options["commit"]
    if commit is not None and not _COMMIT.fullmatch(commit):
        raise click.UsageError("--commit takes the forty hexadecimal digits of a commit")
    _require_device(options["device"])
    for line in planning.lines(plans, settings):
        click.echo(line)
    terminal = sys.stderr.isatty()
    progress = Progress(
        write=lambda text: click.echo(text, nl=False, err=True),
        terminal=terminal,
        estimated=planning.estimate(plans, settings).total,
    )
    order = session.Order(
        root=project.root,
        results=options["out"] or project.root / project.results,
        commit=commit or _told(lambda: provenance.head_commit(project.root)),
        command=_command(project.root),
        plans=tuple(plans),
        settings=settings,
        device=options["device"],
    )
    try:
        recorded = _told(lambda: session.run(order, progress))
    finally:
        progress.end()
    click.echo(f"recorded run {recorded.run_id} in {_shown(recorded.path, project.root)}")
    if options["bundle"] is not None:
        _told(lambda: bundle.write(recorded.path, options["bundle"]))
    for finding in recorded.findings:
        click.echo(finding)


def _told(action: Callable[[], Any]) -> Any:
    """Do it; what a person can mend becomes a message and exit code 1, or 2 for usage.

    Anything else is a bug and keeps its traceback.
    """
    from harness.provenance import ProvenanceError
    from harness.record import RecordError
    from writeup.errors import Problems

    try:
        return action()
    except SelectionError as error:
        raise click.UsageError(str(error)) from error
    except Problems as error:
        told = (f"{one.place}: {one.message}" for one in error.problems)
        raise _Findings("\n".join(told)) from error
    except (HarnessError, ProvenanceError, RecordError) as error:
        raise _Findings(str(error)) from error


def _command(root: Path) -> tuple[str, ...]:
    """The command line as a reader would repeat it from the root, without private paths."""
    from harness import privacy

    return ("harness", *(privacy.scrub(word, root) or word for word in sys.argv[1:]))


def _seconds(text: str | None) -> float | None:
    if text is None:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|h)?", text)
    if match is None:
        raise click.UsageError(f"--budget {text}: write a time such as 90s, 20m or 1h")
    return float(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2] or "s"]


def _shown(path: Path, root: Path) -> str:
    return str(path.relative_to(root) if path.is_relative_to(root) else path)
