"""Finding subjects and loading each under a private name.

A subject is a folder with an `experiment.py` inside one of the configured folders. It is
loaded as the package `_writeup_subject_<name>`, so that `from . import fused` works, two
subjects may both have a `fused.py`, and nothing depends on what the working directory
would make importable.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import re
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from harness.errors import SubjectError
from harness.experiment import Experiment
from harness.validate import ID, faults_of

FILE = "experiment.py"
_PREFIX = "_writeup_subject_"


@dataclass(frozen=True, slots=True)
class Subject:
    """A folder to measure, by its name."""

    name: str
    folder: Path

    def shown(self, root: Path) -> str:
        """Where its experiment is written, relative to the root."""
        return (self.folder / FILE).relative_to(root).as_posix()


def find(root: Path, folders: tuple[str, ...]) -> tuple[Subject, ...]:
    """Every subject of the project, sorted by name.

    Raises SubjectError for a folder that is not there, a name that cannot be cited, and a
    name found twice.
    """
    found: dict[str, Subject] = {}
    faults: list[str] = []
    for name in folders:
        if not (root / name).is_dir():
            faults.append(f"{name}: there is no such folder (configured as `kernels`)")
            continue
        for subject in _inside(root / name):
            faults.extend(_clash(subject, found, root))
            found.setdefault(subject.name, subject)
    if faults:
        raise SubjectError(faults)
    return tuple(found[name] for name in sorted(found))


def _inside(folder: Path) -> Iterator[Subject]:
    for path in sorted(folder.glob(f"*/{FILE}")):
        yield Subject(path.parent.name, path.parent)


def _clash(subject: Subject, found: dict[str, Subject], root: Path) -> Iterator[str]:
    shown = subject.shown(root)
    if not re.fullmatch(ID, subject.name):
        yield f"{shown}: a subject cannot be called {subject.name!r} ({ID})"
    if subject.name in found:
        yield f"{shown}: {found[subject.name].shown(root)} has the same name"


def load(subject: Subject, root: Path, alias: str = "") -> Experiment:
    """The subject's experiment, valid.

    alias replaces the name in the private package name, for changed copies of a folder.
    Raises SubjectError with everything that is wrong with it.
    """
    shown = subject.shown(root)
    package = _PREFIX + (alias or subject.name)
    try:
        module = _import(package, subject.folder)
    # It runs a stranger's file: whatever that raises is told with its place.
    except Exception as error:
        raise SubjectError([f"{shown}{_line(error, subject.folder)}: {_words(error)}"]) from error
    experiment = getattr(module, "experiment", None)
    if not isinstance(experiment, Experiment):
        raise SubjectError([f"{shown}: it assigns no Experiment to the name `experiment`"])
    faults = [f"{shown}: {fault}" for fault in faults_of(experiment)]
    if faults:
        raise SubjectError(faults)
    return experiment


def _import(package: str, folder: Path) -> ModuleType:
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        del sys.modules[name]
    init = folder / "__init__.py"
    spec = importlib.util.spec_from_file_location(
        package,
        init if init.is_file() else None,
        # A folder without __init__.py is a package all the same.
        loader=None if init.is_file() else _Bare(),
        submodule_search_locations=[str(folder)],
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"{folder} cannot be loaded as a package")
    module = importlib.util.module_from_spec(spec)
    sys.modules[package] = module
    spec.loader.exec_module(module)
    return importlib.import_module(f"{package}.experiment")


class _Bare(importlib.abc.Loader):
    """Loads nothing: the package is its folder."""

    def exec_module(self, module: ModuleType) -> None:
        """Leave the module empty."""


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _line(error: Exception, folder: Path) -> str:
    """`:12` for the last line of the subject's own files that the exception went through."""
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        place = (Path(error.filename), error.lineno)
    else:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if Path(frame.filename).parent == folder]
        if not own:
            return ""
        place = (Path(own[-1].filename), own[-1].lineno or 0)
    path, line = place
    return f":{line}" if path.name == FILE else f" ({path.name}:{line})"
