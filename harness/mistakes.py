"""Planting mistakes: one line of a variant's real source changed, in a copy of its folder.

A gate that lets a known mistake through vouches for nothing, so each run first shows that
its gate does not.
"""

from __future__ import annotations

import inspect
import shutil
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Any

from harness.errors import SubjectError
from harness.experiment import Experiment, Mistake, Variant

# Where torch.compile, functools.wraps, triton.jit and functools.partial keep what they wrap.
_WRAPPED = ("_torchdynamo_orig_callable", "__wrapped__", "fn", "func")


@dataclass(frozen=True, slots=True)
class Planted:
    """A mistake in place: the changed copy of the folder, and the line as it was and is.

    file is relative to the subject's folder; line counts from one; before and after are the
    whole line without its indentation.
    """

    mistake: Mistake
    folder: Path
    file: str
    line: int
    before: str
    after: str


def plant(experiment: Experiment, folder: Path, scratch: Path, shown: str) -> list[Planted]:
    """Every mistake of the experiment, each in a copy of `folder` below `scratch`.

    Raises SubjectError for the mistakes whose `before` is not on exactly one line.
    """
    planted, faults = [], []
    for mistake in experiment.mistakes:
        variant = experiment.variant(mistake.variant)
        file = mistake.file or source_file(variant, folder)
        try:
            planted.append(_plant(mistake, file, folder, scratch / mistake.id))
        except ValueError as error:
            faults.append(f"{shown}: mistake {mistake.id!r}: {error}")
    if faults:
        raise SubjectError(faults)
    return planted


def _plant(mistake: Mistake, file: str | None, folder: Path, copy: Path) -> Planted:
    if file is None or not (folder / file).is_file():
        raise ValueError(f"the variant's source file is not in its folder ({file}); name `file`")
    lines = (folder / file).read_text(encoding="utf-8").splitlines(keepends=True)
    hits = [number for number, line in enumerate(lines) if mistake.before in line]
    if len(hits) != 1 or lines[hits[0]].count(mistake.before) != 1:
        raise ValueError(f"{mistake.before!r} occurs on {len(hits)} lines of {file}, not once")
    number = hits[0]
    before = lines[number]
    lines[number] = before.replace(mistake.before, mistake.after)
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / file).write_text("".join(lines), encoding="utf-8")
    return Planted(mistake, copy, file, number + 1, before.strip(), lines[number].strip())


def source_file(variant: Variant, folder: Path) -> str | None:
    """The variant's file relative to its subject's folder; None when it lies elsewhere."""
    if variant.file is not None:
        return variant.file
    name = inspect.getsourcefile(code) if (code := plain_function(variant.function)) else None
    if name is None or not Path(name).resolve().is_relative_to(folder.resolve()):
        return None
    return Path(name).resolve().relative_to(folder.resolve()).as_posix()


def symbol(variant: Variant) -> str | None:
    """The name of the variant's function in its file; None for a lambda or a builtin."""
    if variant.symbol is not None:
        return variant.symbol
    function = plain_function(variant.function)
    name = function.__qualname__ if function else ""
    return name if name.replace(".", "_").isidentifier() else None


def plain_function(function: Any) -> FunctionType | None:
    """The Python function inside wrappers, partials and compiled or jitted callables."""
    while inner := next(filter(None, (getattr(function, name, None) for name in _WRAPPED)), None):
        function = inner
    return function if isinstance(function, FunctionType) else None
