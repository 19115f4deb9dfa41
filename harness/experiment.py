"""The nouns an experiment is written in: pure data and callables.

`kernels/<subject>/experiment.py` imports these and assigns one `Experiment` to the name
`experiment`. Nothing here measures anything, and importing this module loads no torch.
Validity across nouns (unknown parents, reserved ids …) is judged by `harness.validate`,
which reports everything at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeVar

if TYPE_CHECKING:
    import torch

Setting = str | int | float | bool | tuple[int, ...]
"""One value of a variant's configuration."""

Role = Literal["baseline", "step", "attempt", "control"]
Lever = Literal["memory access", "irregularity", "balance", "none"]
Requires = Literal["cpu", "cuda", "any"]

Noun = TypeVar("Noun", "Case", "Variant")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """How far an output may lie from the oracle: `|out - truth| <= atol + rtol * |truth|`."""

    atol: float
    rtol: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What must be computed and moved, counted and never measured.

    flops is a number of floating-point operations, bytes a number of bytes read plus
    written. Each method says in words how it was counted; convention names what may be
    counted in two ways (a causal mask in full or in half, an exponential as one flop).
    """

    flops: int
    bytes: int
    flops_method: str
    bytes_method: str
    convention: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One shape and dtype on which variants are compared.

    make_inputs(case, generator, device) draws the tensors that every variant is called
    with, from `distribution`; it must use that generator and no other source of chance.
    dtype is torch's own name ("float32"). seed draws the inputs of the timed calls; the
    gate draws fresh ones. axes name the dimensions of a sweep and default to the shape.
    A case with timed=False is for the gate and for planted mistakes only. modes, where given,
    limits it to some of the experiment's.
    """

    id: str
    what: str
    shape: Mapping[str, int]
    dtype: str
    make_inputs: Callable[[Case, torch.Generator, torch.device], tuple[torch.Tensor, ...]]
    distribution: str
    tolerance: Tolerance
    work: Work
    tags: tuple[str, ...] = ()
    seed: int = 7
    parameters: Mapping[str, float | int | str] = field(default_factory=dict)
    layout: str = "row-major"
    axes: Mapping[str, int] | None = None
    timed: bool = True
    modes: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One implementation: `function(*inputs)` allocates and returns its output.

    With writes_out, `function(*inputs, out=tensor)` is accepted too, and the gate fills
    that tensor with NaN beforehand. `parent` is the variant it differs from by one idea.
    work(case) counts what this implementation moves where that is more than the case's
    compulsory work. requires says where it can run; interpreted sends it through
    Triton's interpreter for the gate where it cannot. cases limits it to some cases by id;
    gate_cases limits its gate further: an interpreted variant to cases that are quick
    enough, any other by leaving out cases that are not timed. Where the device is at hand, an
    interpreted variant runs on it and is checked on every case. modes, where given, names the
    only modes in which it is timed.
    file (relative to the subject's folder) and symbol name its source where the function
    object does not lead there by itself (a wrapper made elsewhere).
    """

    id: str
    role: Role
    what: str
    function: Callable[..., torch.Tensor]
    parent: str | None = None
    lever: Lever | None = None
    idea: str | None = None
    expression: str | None = None
    backend: str | None = None
    rounding: str | None = None
    config: Mapping[str, Setting] = field(default_factory=dict)
    work: Callable[[Case], Work | None] | None = None
    requires: Requires = "any"
    interpreted: bool = False
    writes_out: bool = False
    cases: tuple[str, ...] | None = None
    gate_cases: tuple[str, ...] | None = None
    modes: tuple[str, ...] | None = None
    file: str | None = None
    symbol: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """A one-line change of a variant's real source that the gate must catch.

    `before` must occur on exactly one line of the file and becomes `after`. The changed
    variant must still pass the case `passes` and must fail the case `fails`. file is
    relative to the subject's folder and defaults to the variant's own.
    """

    id: str
    variant: str
    before: str
    after: str
    passes: str
    fails: str
    file: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """A hypothesis as a number: `variant` will be `ratio` times as fast as `over`."""

    variant: str
    over: str
    ratio: float
    case: str
    mode: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """What will be measured, and what was believed beforehand.

    oracle is called with the inputs upcast to float64 and gives the truth; oracle_name
    says it in words. variants stand in story order. varies lists what may differ between
    variants besides `variable`. modes are mode keys (`harness.modes`); each device takes those
    that it offers. headline names the variants that also take part in bursts and in sustained
    work, beside the baseline and the controls. margin is the difference of practice: a ratio within
    1 ± margin is "same". data names further files, relative to the subject's folder, that
    the variants read and that belong to the measured sources.
    """

    title: str
    question: str
    audience: str
    hypothesis: str
    variable: str
    cannot_conclude: str
    next: str
    contract: str
    oracle: Callable[..., torch.Tensor]
    oracle_name: str
    cases: tuple[Case, ...]
    variants: tuple[Variant, ...]
    predicted: tuple[Prediction, ...] = ()
    varies: tuple[str, ...] = ()
    mistakes: tuple[Mistake, ...] = ()
    modes: tuple[str, ...] = ("host", "host_hot")
    headline: tuple[str, ...] = ()
    margin: float = 0.01
    limiter: str | None = None
    independent_check: str | None = None
    data: tuple[str, ...] = ()

    @property
    def baseline(self) -> Variant:
        """The variant that speed-ups are relative to."""
        return next(variant for variant in self.variants if variant.role == "baseline")

    def variant(self, name: str) -> Variant:
        """The variant called `name`; KeyError when there is none."""
        return _named(self.variants, name)

    def case(self, name: str) -> Case:
        """The case called `name`; KeyError when there is none."""
        return _named(self.cases, name)

    def cases_of(self, variant: Variant) -> tuple[Case, ...]:
        """The cases that this variant says it runs on, in order."""
        return tuple(c for c in self.cases if variant.cases is None or c.id in variant.cases)


def _named(nouns: tuple[Noun, ...], name: str) -> Noun:
    for noun in nouns:
        if noun.id == name:
            return noun
    raise KeyError(name)
