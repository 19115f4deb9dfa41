"""What is measured of $subject, and what was believed before it was."""

from __future__ import annotations

import torch

from harness.experiment import Case, Experiment, Mistake, Prediction, Tolerance, Variant, Work

from . import by_row, eager, reference, single_pass, work

ITEMSIZE = 4  # float32


def inputs(
    case: Case, generator: torch.Generator, device: torch.device
) -> tuple[torch.Tensor, ...]:
    """x [rows, columns] and bias [columns]."""
    dtype = getattr(torch, case.dtype)
    rows, columns = case.shape["rows"], case.shape["columns"]
    x = torch.randn(rows, columns, generator=generator, device=device, dtype=dtype)
    bias = torch.randn(columns, generator=generator, device=device, dtype=dtype)
    return x, bias


def compulsory(rows: int, columns: int) -> Work:
    """What any implementation must do."""
    return Work(
        flops=work.flops(rows, columns),
        bytes=work.compulsory_bytes(rows, columns, ITEMSIZE),
        flops_method="a product and a sum for each element",
        bytes_method="each input once, each output once",
    )


def eager_work(case: Case) -> Work:
    """What the baseline does, intermediate included."""
    rows, columns = case.shape["rows"], case.shape["columns"]
    return Work(
        flops=work.flops(rows, columns),
        bytes=work.eager_bytes(rows, columns, ITEMSIZE),
        flops_method="a product and a sum for each element",
        bytes_method="each input and output once, and the stored product written and read",
    )


def case(name: str, what: str, *, rows: int, columns: int, timed: bool = True) -> Case:
    """A case of this experiment; only the shape differs from one to the next."""
    return Case(
        id=name,
        what=what,
        shape={"rows": rows, "columns": columns},
        dtype="float32",
        make_inputs=inputs,
        distribution="standard normal",
        tolerance=Tolerance(atol=1e-6, rtol=1e-6),  # two roundings of values near ten
        work=compulsory(rows, columns),
        timed=timed,
    )


experiment = Experiment(
    title="$subject",
    audience="whoever wonders whether an expression or a call of the library is worth choosing",
    question="Does it pay to scale and shift in a single call?",
    hypothesis=(
        "Time follows the bytes moved, so leaving out the stored product should save its traffic."
    ),
    predicted=(
        Prediction(variant="single-pass", over="eager", ratio=2.0, case="wide", mode="host"),
    ),
    variable="whether the product is stored",
    cannot_conclude="anything about shapes that fit into a cache",
    next="the same in place, so that no output is allocated",
    contract="x * SCALE + bias, freshly allocated, in the dtype of x",
    oracle=reference.scale_and_shift,
    oracle_name="the same expression in float64, cast to the dtype",
    cases=(
        case("small", "a single row, for the gate", rows=1, columns=8, timed=False),
        case("wide", "more than a cache holds", rows=2048, columns=8192),
    ),
    variants=(
        Variant(
            id="eager",
            role="baseline",
            what="the expression as written",
            function=eager.scale_and_shift,
            expression="x * SCALE + bias",
            backend="ATen",
            rounding="to the dtype after the product and after the sum",
            work=eager_work,
        ),
        Variant(
            id="single-pass",
            role="step",
            parent="eager",
            lever="memory access",
            what="a single call that multiplies and adds",
            idea="never store the product",
            function=single_pass.scale_and_shift,
            expression="torch.add(bias, x, alpha=SCALE)",
            backend="ATen",
            rounding="to the dtype after the sum, and after the product where it is not fused",
        ),
        # What did not work is measured and told too: it stays, as an attempt.
        Variant(
            id="by-row",
            role="attempt",
            parent="single-pass",
            lever="memory access",
            what="a call for each row",
            idea="a row fits into a cache",
            function=by_row.scale_and_shift,
            expression="torch.add(bias, row, alpha=SCALE) for each row",
            backend="ATen",
            rounding="to the dtype after the sum, and after the product where it is not fused",
        ),
    ),
    mistakes=(
        Mistake(
            id="first-row-only",
            variant="single-pass",
            before="torch.add(bias, x, alpha=SCALE)",
            after="torch.add(bias, x[:1], alpha=SCALE).expand_as(x)",
            passes="small",
            fails="wide",
        ),
    ),
)
