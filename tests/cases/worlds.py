"""Small worlds: a base that passes every rule, and edits that show what each rule is for.

    tests/cases/base/                     a whole project
    tests/cases/<rule>/<name>/passes/     an overlay of the base in which nothing is wrong
    tests/cases/<rule>/<name>/fails/      one edit away from it, with exactly one problem
    …/fails/expected.txt                  what `writeup check` prints of it
    tests/cases/full/                     an overlay whose story uses every part of the language

An overlay holds `edits.toml`, whose `[[edit]]` tables name a `file` and either replace the
text `before`, which stands there once, by `after`, or set the JSON `pointer` to a `value` or
to what stands at another (`copy`, `move`), or take it out (`drop = true`), or give the file
another name (`rename`). Any other file of an overlay stands in the world as it is, and
`over = "bare"` lays the world over that folder of this one. Where `passes/` is absent the base
is the passing world.

What is expected is written by hand, from what the rule says. `python -m tests.cases.worlds`
makes the base's results and kernel files again, and shows where a world prints something else
than expected; it writes no expectation.
"""

from __future__ import annotations

import copy
import json
import shutil
import sys
import tomllib
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.worlds import minimal_artifact, write_results

CASES = Path(__file__).parent
BASE = CASES / "base"
EDITS = "edits.toml"
EXPECTED = "expected.txt"
KERNELS = "kernels/"
STORY = "kernels/softmax/story.md"

# Six blocks are the fewest that have a band. `unrolled` is as fast as the baseline, and
# `borderline` faster by just the margin, so that nobody can tell.
VARIANTS = (
    "eager",
    "compiled",
    "unrolled",
    "borderline",
    "chunked",
    "chunked-small",
    "fused",
)
EFFECTS = {"unrolled": 1.0, "borderline": 1.01}


def base_artifact() -> tuple[dict[str, Any], dict[str, bytes]]:
    """The artifact of the base world, with its objects."""
    return minimal_artifact(variants=VARIANTS, effects=EFFECTS, blocks=6, samples=2)


def base_kernels() -> dict[str, bytes]:
    """The kernel files of the base world by path: today's are those that were measured."""
    artifact, objects = base_artifact()
    (run,) = artifact["runs"].values()
    files = run["sources"]["files"]
    return {path: objects[blob] for path, blob in files.items() if path.startswith(KERNELS)}


def names() -> list[str]:
    """The cases, as `rule/name`."""
    return sorted(p.parent.relative_to(CASES).as_posix() for p in CASES.glob("*/*/fails"))


def contents(overlay: Path | None = None) -> dict[str, bytes]:
    """The files of a world by path: those of the base, as the overlay has them."""
    world = dict(_files(BASE))
    if overlay is None or not overlay.is_dir():
        return world
    edits = overlay / EDITS
    table = tomllib.loads(edits.read_text(encoding="utf-8")) if edits.is_file() else {}
    if "over" in table:
        world |= _files(CASES / table["over"])
    world |= {p: content for p, content in _files(overlay) if p not in (EDITS, EXPECTED)}
    for edit in table.get("edit", ()):
        _apply(world, edit)
    return world


def lay(folder: Path, world: dict[str, bytes]) -> Path:
    """Write a world down; the folder."""
    for path, content in world.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return folder


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path.relative_to(folder).as_posix(), path.read_bytes()


def _apply(world: dict[str, bytes], edit: dict[str, Any]) -> None:
    file = edit["file"]
    if "rename" in edit:
        world[edit["rename"]] = world.pop(file)
        return
    text = world[file].decode("utf-8")
    if "pointer" in edit:
        world[file] = _set(text, edit).encode("utf-8")
        return
    assert text.count(edit["before"]) == 1, f"{file} does not hold {edit['before']!r} once"
    world[file] = text.replace(edit["before"], edit["after"]).encode("utf-8")


def _set(text: str, edit: dict[str, Any]) -> str:
    document = json.loads(text)
    value = edit.get("value")
    for key in ("copy", "move"):
        if key in edit:
            holder, last = _place(document, edit[key])
            value = copy.deepcopy(holder[last])
            if key == "move":
                del holder[last]
    holder, last = _place(document, edit["pointer"])
    if edit.get("drop"):
        del holder[last]
    else:
        holder[last] = value
    return json.dumps(document, indent=1, sort_keys=True) + "\n"


def _place(document: Any, pointer: str) -> tuple[Any, str | int]:
    """What holds the value at a JSON pointer, and under which key."""
    *parents, last = (
        step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]
    )
    holder = document
    for step in parents:
        holder = holder[int(step) if isinstance(holder, list) else step]
    return holder, int(last) if isinstance(holder, list) else last


def _compare() -> None:
    """Make the base again, and show where a failing world prints what is not expected of it."""
    from click.testing import CliRunner

    from writeup.cli import main

    shutil.rmtree(BASE / "results", ignore_errors=True)
    write_results(BASE / "results", *base_artifact())
    lay(BASE, base_kernels())
    for name in names():
        overlay = CASES / name / "fails"
        with TemporaryDirectory() as folder:
            lay(Path(folder), contents(overlay))
            done = CliRunner().invoke(main, ["check", "--quiet", "--root", folder])
        file = overlay / EXPECTED
        expected = file.read_text(encoding="utf-8") if file.is_file() else ""
        lines = unified_diff(
            expected.splitlines(), done.stderr.splitlines(), f"{name}: expected", "printed", n=0
        )
        sys.stdout.writelines(f"{line}\n" for line in lines)


if __name__ == "__main__":
    _compare()
