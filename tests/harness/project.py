"""A small project to measure: sums of rows, in a folder of its own."""

from __future__ import annotations

import subprocess
from pathlib import Path

EXPERIMENT = """
import torch

from harness.experiment import Case, Experiment, Mistake, Prediction, Tolerance, Variant, Work

from . import plain, pieces{imports}


def draw(case, generator, device):
    shape = (case.shape["rows"], case.shape["columns"])
    return (torch.rand(shape, generator=generator, device=device) + 0.5,)


def case(name, rows, columns, timed=True):
    return Case(
        id=name,
        what="rows of " + name + " width",
        shape={{"rows": rows, "columns": columns}},
        dtype="float32",
        make_inputs=draw,
        distribution="uniform on a unit interval, moved",
        tolerance=Tolerance(atol=1e-6, rtol=1e-5),
        work=Work(
            flops=rows * columns,
            bytes=8 * rows * columns,
            flops_method="an operation an element",
            bytes_method="each input once, each output once",
        ),
        tags=() if timed else ("smallest",),
        timed=timed,
    )


experiment = Experiment(
    title="Doubling",
    question="Do pieces help?",
    audience="testers",
    hypothesis="No.",
    variable="how many pieces",
    varies=("rounding",),
    cannot_conclude="Anything.",
    next="None.",
    contract="The double of every element.",
    oracle=lambda x: x + x,
    oracle_name="x + x in float64",
    cases=(case("small", 2, 3, timed=False), case("middle", 64, 512)),
    variants=(
        Variant(
            id="plain",
            role="baseline",
            what="one call",
            function=plain.double,
            expression="x * 2",
            backend="ATen",
            rounding="float32",
            writes_out=True,
        ),
        Variant(
            id="pieces",
            role="step",
            parent="plain",
            what="a piece at a time",
            function=pieces.double,
            config={{"piece": 256}},
        ),
        {variants}
    ),
    predicted=(Prediction(variant="pieces", over="plain", ratio=0.5, case="middle", mode="host"),),
    mistakes=({mistakes}),
)
"""

PLAIN = """
import torch


def double(x, out=None):
    return torch.mul(x, 2, out=out)
"""

PIECES = """
import torch


def double(x):
    y = torch.empty_like(x)
    for begin in range(0, x.shape[1], 256):
        y[:, begin : begin + 256] = x[:, begin : begin + 256] * 2
    return y
"""

MISTAKE = """Mistake(
        id="last-piece",
        variant="pieces",
        before="range(0, x.shape[1], 256)",
        after="range(0, 256, 256)",
        passes="small",
        fails="middle",
    ),"""


def write_project(
    root: Path, *, extra: str = "", variants: str = "", mistakes: str = MISTAKE, git: bool = True
) -> Path:
    """A project with the subject `doubling`; `extra` is the text of a further module."""
    folder = root / "kernels" / "doubling"
    folder.mkdir(parents=True)
    (root / "writeup.toml").write_text('title = "A small project"\n')
    (root / ".gitignore").write_text("__pycache__/\n")
    experiment = EXPERIMENT.format(
        imports=", extra" if extra else "", variants=variants, mistakes=mistakes
    )
    files = {"experiment.py": experiment, "plain.py": PLAIN, "pieces.py": PIECES}
    if extra:
        files["extra.py"] = extra
    for name, text in files.items():
        (folder / name).write_text(text.lstrip())
    if git:
        commit(root)
    return root


def commit(root: Path) -> None:
    """Make everything that is there the first commit."""
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.org")
    for words in (("init", "-q"), ("add", "."), (*identity, "commit", "-qm", "first")):
        subprocess.run(["git", *words], cwd=root, check=True)


def variant(name: str, function: str) -> str:
    """The text of one further variant, an attempt departing from the baseline."""
    return (
        f'Variant(id="{name}", role="attempt", parent="plain", what="{name}", function={function}),'
    )
