"""A new subject: a folder that is measured and built as it stands, ready to be changed.

Each file of the scaffold is itself valid Python or Markdown; `$subject` inside is
replaced by the subject's name.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from string import Template

from writeup import resources
from writeup.config import Config
from writeup.errors import WriteupError

_ID = re.compile(r"[a-z][a-z0-9_-]*")


def new(root: Path, subject: str, config: Config) -> list[Path]:
    """Write the folder of `subject` under the first configured folder; its files, sorted.

    All or nothing: the folder appears complete or not at all, and one that exists in any
    configured folder is never touched. Raises WriteupError when the name is no id, when
    the subject exists, or when the disk refuses.
    """
    if not _ID.fullmatch(subject):
        raise WriteupError(
            f"{subject!r} cannot name a subject: use small letters, digits, '-' and '_', "
            "and begin with a letter"
        )
    for folder in config.kernels:
        if os.path.lexists(root / folder / subject):
            raise WriteupError(f"{folder}/{subject} exists already; nothing was written")
    target = root / config.kernels[0] / subject
    try:
        _write(target, _files(subject))
    except OSError as error:
        raise WriteupError(f"cannot write {target}: {error.strerror or error}") from error
    return sorted(target.iterdir())


def next_steps(root: Path, files: list[Path]) -> str:
    """What an author does after `new`, as lines of text; paths are relative to `root`."""
    folder = files[0].parent.relative_to(root).as_posix()
    subject = files[0].parent.name
    return "\n".join(
        (
            f"{folder} holds a small experiment that runs. Next:",
            f"  1. say in {folder}/reference.py what is computed, and count it in work.py",
            f"  2. put the question, the cases and what you expect into {folder}/experiment.py",
            "  3. write one file for each variant, and commit: a prediction precedes its run",
            f"  4. harness run {subject} --device cpu (or cuda)",
            f"  5. writeup pin {subject}, and tell it in {folder}/story.md",
            "  6. writeup build",
        )
    )


def _files(subject: str) -> dict[str, str]:
    """Name and text of each file of the scaffold."""
    return {
        path.name: Template(path.read_text(encoding="utf-8")).substitute(subject=subject)
        for path in sorted((resources.templates() / "scaffold").iterdir())
        if path.is_file()
    }


def _write(target: Path, files: dict[str, str]) -> None:
    """Write `files` into a staging folder beside `target` and move it there in one step."""
    target.parent.mkdir(parents=True, exist_ok=True)
    staging = target.with_name(f".new-{target.name}-{os.getpid()}")
    staging.mkdir()
    try:
        for name, text in files.items():
            (staging / name).write_text(text, encoding="utf-8", newline="\n")
        staging.rename(target)
    except OSError:
        shutil.rmtree(staging, ignore_errors=True)
        raise
