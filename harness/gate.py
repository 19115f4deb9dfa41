"""Is it right? Every variant against the float64 oracle, before anything is timed.

This is what runs in the throw-away process (`python -m harness.gate`). Inputs are drawn
afresh from several seeds; the truth is the oracle on inputs upcast to float64, cast to the
case's dtype. Apart from the values, a variant must leave its inputs as they were, bit for
bit, and hand out memory that is neither theirs nor that of its previous answer.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from harness import discover
from harness.child import Event, serve
from harness.experiment import Case, Experiment, Variant
from harness.faults import Fault, VariantFailed, guarded
from harness.ledger import Ledger
from harness.loaded import project_files
from harness.place import CPU, Place

Call = Callable[..., torch.Tensor]
# Elements that are compared at once, by kind of device. On a processor a few such buffers of
# float64 fit in a near cache, and torch shares nothing this short among threads, which would
# wait for each other on a machine that is busy with other work. A GPU wants work for all of it.
_STRETCH = {"cpu": 1 << 14, "cuda": 1 << 26}


@dataclass(slots=True)
class Evidence:
    """What the checks of one variant on one case found.

    Errors are the largest over all elements whose truth is finite; mismatched counts the
    elements beyond the tolerance, nonfinite those that are not finite where the truth is.
    wrong is the first thing found wrong, in words, or None.
    """

    seeds: list[int] = field(default_factory=list)
    compared: int = 0
    mismatched: int = 0
    nonfinite: int = 0
    max_abs_error: float = 0.0
    max_rel_error: float = 0.0
    inputs_unchanged: bool = True
    prefilled_nan: bool = False
    wrong: str | None = None

    def blame(self, words: str) -> None:
        """Keep the first thing that is wrong."""
        self.wrong = self.wrong or words

    def record(self, checked: str) -> Event:
        """As the artifact has it: `correctness`."""
        event: Event = {
            "checked": checked,
            "passed": self.wrong is None,
            "compared": self.compared,
            "mismatched": self.mismatched,
            "nonfinite": self.nonfinite,
            "inputs_unchanged": self.inputs_unchanged,
            "prefilled_nan": self.prefilled_nan,
            "seeds": self.seeds,
        }
        if self.compared:
            event["max_abs_error"] = self.max_abs_error
            event["max_rel_error"] = self.max_rel_error
        return event


def draw(case: Case, seed: int, device: torch.device = CPU) -> tuple[torch.Tensor, ...]:
    """The inputs of a case for one seed, on a device. TypeError when they are no tensors."""
    generator = torch.Generator(device)
    generator.manual_seed(seed)
    inputs = case.make_inputs(case, generator, device)
    if not isinstance(inputs, tuple) or not all(isinstance(x, torch.Tensor) for x in inputs):
        raise TypeError(f"make_inputs of case {case.id!r} returns a tuple of tensors")
    return inputs


@dataclass(frozen=True, slots=True)
class Trial:
    """The inputs that one seed gives, never handed out themselves, and the oracle's answer."""

    inputs: tuple[torch.Tensor, ...]
    expected: torch.Tensor

    def copies(self) -> tuple[torch.Tensor, ...]:
        """Inputs to hand out: equal ones, gaps included, in memory of their own."""
        return tuple(_copy(tensor) for tensor in self.inputs)


class Trials:
    """Inputs and truth of the case at hand, made once for all variants."""

    def __init__(self, experiment: Experiment, device: torch.device = CPU) -> None:
        self._experiment = experiment
        self._device = device
        self._case: str | None = None
        self._known: dict[int, Trial] = {}

    def __call__(self, case: Case, seed: int) -> Trial:
        if case.id != self._case:
            self._case, self._known = case.id, {}
        if seed not in self._known:
            self._known[seed] = self._make(case, seed)
        return self._known[seed]

    def inputs(self) -> tuple[torch.Tensor, ...]:
        """Some inputs of the case at hand, to hand out."""
        return next(iter(self._known.values())).copies()

    def _make(self, case: Case, seed: int) -> Trial:
        """The oracle on inputs upcast to float64, cast to the case's dtype."""
        inputs = draw(case, seed, self._device)
        upcast = [x.double() if x.is_floating_point() else x.clone() for x in inputs]
        answer = self._experiment.oracle(*upcast)
        dtype: torch.dtype = getattr(torch, case.dtype)
        return Trial(inputs, answer.to(dtype))


def examine(
    variant: Variant, case: Case, seeds: Sequence[int], trials: Trials, call: Call
) -> Evidence:
    """Check a variant on a case. call(function, inputs, **options) makes each call.

    Raises VariantFailed when a call of the variant fails.
    """
    evidence = Evidence()
    previous: torch.Tensor | None = None
    for seed in seeds:
        trial = trials(case, seed)
        inputs = trial.copies()
        _spoil_freed_memory(trial.expected)
        output = call(variant.function, inputs)
        evidence.seeds.append(seed)
        _judge_memory(evidence, output, (*inputs, *([] if previous is None else [previous])))
        _judge(evidence, output, trial.expected, case)
        if variant.writes_out and evidence.wrong is None:
            _judge_out(evidence, variant, inputs, trial.expected, case, call)
        _judge_inputs(evidence, inputs, trial.inputs)
        if evidence.wrong is not None:
            break
        previous = output
    return evidence


def _spoil_freed_memory(like: torch.Tensor) -> None:
    """Leave NaN where a GPU's next output of this kind will lie.

    torch hands freed memory out again, and it may hold the right answer of another variant.
    """
    if like.is_cuda and like.is_floating_point():
        torch.full_like(like, math.nan)


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    """All bytes of the tensor's storage, gaps between its elements included."""
    storage = tensor.untyped_storage()
    empty = torch.empty(0, dtype=torch.uint8, device=tensor.device)
    return empty.set_(storage, 0, (storage.nbytes(),), (1,))


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    """An equal tensor of the same strides in fresh memory, gaps between elements included."""
    storage = _bytes(tensor).clone().untyped_storage()
    shape, strides = tensor.size(), tensor.stride()
    empty = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
    return empty.set_(storage, tensor.storage_offset(), shape, strides)


def _judge_memory(evidence: Evidence, output: Any, others: Sequence[torch.Tensor]) -> None:
    """Neither the inputs' memory nor that of the previous answer, which is still held."""
    if not isinstance(output, torch.Tensor) or output.numel() == 0:
        return
    place = output.untyped_storage().data_ptr()
    if place in {x.untyped_storage().data_ptr() for x in others if x.numel()}:
        evidence.blame("the output shares memory with an input or with the previous output")


def _judge(evidence: Evidence, output: Any, expected: torch.Tensor, case: Case) -> None:
    if not isinstance(output, torch.Tensor):
        evidence.blame(f"the output is a {type(output).__name__}, not a tensor")
    elif output.shape != expected.shape:
        evidence.blame(f"the output has shape {_sizes(output)}, not {_sizes(expected)}")
    elif output.dtype != expected.dtype:
        evidence.blame(f"the output is {_name(output.dtype)}, not {_name(expected.dtype)}")
    elif output.device != expected.device:
        evidence.blame(f"the output lies on {output.device}, not on {expected.device}")
    else:
        _judge_values(evidence, output, expected, case)


def _judge_values(
    evidence: Evidence, output: torch.Tensor, expected: torch.Tensor, case: Case
) -> None:
    """Element by element, a stretch that stays in a cache at a time."""
    got, want = output.reshape(-1), expected.reshape(-1)
    length = _STRETCH[want.device.type]
    for begin in range(0, want.numel(), length):
        stretch = slice(begin, begin + length)
        _judge_stretch(evidence, got[stretch].double(), want[stretch].double(), case)
    if evidence.mismatched:
        evidence.blame("elements lie further from the oracle than the tolerance allows")


def _judge_stretch(evidence: Evidence, got: torch.Tensor, want: torch.Tensor, case: Case) -> None:
    """|output - truth| <= atol + rtol |truth| where the truth is finite, else alike."""
    evidence.compared += want.numel()
    finite = torch.isfinite(want)
    if not finite.all():
        alike = torch.eq(got, want) | (torch.isnan(got) & torch.isnan(want))
        evidence.mismatched += int((~alike[~finite]).sum())
        got, want = got[finite], want[finite]
    error, size = (got - want).abs(), want.abs()
    # A comparison with NaN is false, so a NaN error counts as beyond the tolerance.
    within = error <= case.tolerance.atol + case.tolerance.rtol * size
    evidence.mismatched += int((~within).sum())
    seen = torch.isfinite(got)
    if not seen.all():
        evidence.nonfinite += int((~seen).sum())
        error, size = error[seen], size[seen]
    evidence.max_abs_error = max(evidence.max_abs_error, _largest(error))
    # No error relative to nothing: where the truth is zero the quotient is left out.
    relative = torch.where(size > 0, error / size, 0.0)
    evidence.max_rel_error = max(evidence.max_rel_error, _largest(relative))


def _judge_out(
    evidence: Evidence,
    variant: Variant,
    inputs: Sequence[torch.Tensor],
    expected: torch.Tensor,
    case: Case,
    call: Call,
) -> None:
    """The same with an output handed in and full of NaN: every element must be written."""
    out = torch.empty_like(expected)
    if out.is_floating_point():
        out.fill_(math.nan)
        evidence.prefilled_nan = True
    answer = call(variant.function, inputs, out=out)
    if isinstance(answer, torch.Tensor) and answer.data_ptr() != out.data_ptr():
        evidence.blame("given `out`, it answers with another tensor")
    _judge(evidence, out, expected, case)


def _judge_inputs(
    evidence: Evidence, inputs: Sequence[torch.Tensor], before: Sequence[torch.Tensor]
) -> None:
    pairs = zip(inputs, before, strict=True)
    if not all(torch.equal(_bytes(now), _bytes(then)) for now, then in pairs):
        evidence.inputs_unchanged = False
        evidence.blame("an input was changed by the call")


def _largest(values: torch.Tensor) -> float:
    return float(values.max()) if values.numel() else 0.0


def _sizes(tensor: torch.Tensor) -> str:
    return "×".join(str(size) for size in tensor.shape)


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def case_facts(experiment: Experiment, case: Case, device: torch.device = CPU) -> Event:
    """What only the tensors tell: the strides of each input, by the oracle's own names."""
    inputs = draw(case, case.seed, device)
    names = _input_names(experiment.oracle, len(inputs))
    pairs = zip(names, inputs, strict=True)
    return {"strides": {name: list(tensor.stride()) for name, tensor in pairs}}


def _input_names(oracle: Callable[..., Any], count: int) -> list[str]:
    """Names of the inputs: the oracle's parameters where it has as many, else by position."""
    try:
        names = list(inspect.signature(oracle).parameters)[:count]
    except ValueError:
        # A builtin without a signature.
        names = []
    fit = len(names) == count and all(name.isascii() and name[0].islower() for name in names)
    return names if fit else [f"input{number}" for number in range(1, count + 1)]


def work(job: Event, send: Callable[[Event], None], ledger: Ledger) -> None:
    """Judge each task of the job: a variant, from the subject or a changed copy, on a case.

    A GPU that a variant has broken answers nothing more in this process, so the rest of the
    tasks is left for another.
    """
    root = Path(job["root"])
    subject = discover.Subject(job["subject"], Path(job["folder"]))
    experiment = discover.load(subject, root)
    if job["checked"] == "interpreter":
        _fill_fresh_memory_with_nan()
    place = _place(job["checked"])
    trials = Trials(experiment, place.device)
    told: set[str] = set()
    for number, task in enumerate(job["tasks"]):
        case = experiment.case(task["case"])
        if case.id not in told:
            told.add(case.id)
            facts = case_facts(experiment, case, place.device)
            send({"event": "case", "case": case.id, **facts})
        variant = _variant(task, job, experiment)
        call = functools.partial(_call, ledger, number, place.drain)
        outcome = judge(variant, case, job, trials, call)
        if outcome["status"] == "ok" and "copy" not in task:
            again = functools.partial(call, variant.function, trials.inputs())
            outcome |= place.resources(again)
        send({"event": "judged", "number": number, **outcome})
        if outcome["status"] not in ("ok", "incorrect") and not place.works():
            break
    send({"event": "end", "files": project_files(root)})


def _call(
    ledger: Ledger,
    number: int,
    drain: Callable[[], None],
    function: Call,
    inputs: Sequence[torch.Tensor],
    **options: Any,
) -> torch.Tensor:
    """One guarded call, noted in the ledger until its work is done."""

    def finished(*given: torch.Tensor, **more: Any) -> torch.Tensor:
        output = function(*given, **more)
        drain()
        return output

    ledger.enter(number)
    try:
        return guarded(finished, inputs, **options)
    finally:
        ledger.leave()


def judge(variant: Variant, case: Case, job: Event, trials: Trials, call: Call) -> Event:
    """The outcome of one task: a status, what was found, and a reason where it is not ok."""
    try:
        evidence = examine(variant, case, job["seeds"], trials, call)
    except VariantFailed as failure:
        return _outcome(failure.fault)
    # Memory fresh from torch was full of NaN too; the kernel's own allocation came from there.
    evidence.prefilled_nan = evidence.prefilled_nan or job["checked"] == "interpreter"
    correctness = evidence.record(job["checked"])
    if evidence.wrong is None:
        return {"status": "ok", "correctness": correctness}
    fault = Fault("incorrect", {"text": evidence.wrong, "code": "gate-failed"})
    return {**_outcome(fault), "correctness": correctness}


def _outcome(fault: Fault) -> Event:
    return {"status": fault.status, "reason": fault.reason}


def _fill_fresh_memory_with_nan() -> None:
    """Let `torch.empty` hand out NaN, so that an element nobody wrote is seen.

    torch does this in its deterministic mode; the interpreter's arithmetic is numpy's and is
    not touched by that mode.
    """
    torch.use_deterministic_algorithms(mode=True, warn_only=True)


def _place(checked: str) -> Place:
    if checked != "device":
        return Place()
    # Here, because importing it asks for a GPU's libraries.
    from harness.resources import Gpu

    return Gpu()


def _variant(task: Event, job: Event, experiment: Experiment) -> Variant:
    """The variant of a task, from the subject or from the changed copy that the task names."""
    if "copy" not in task:
        return experiment.variant(task["variant"])
    subject = discover.Subject(job["subject"], Path(task["copy"]))
    alias = f"{job['subject']}_{task['mistake']}"
    return discover.load(subject, subject.folder, alias).variant(task["variant"])


if __name__ == "__main__":
    serve(work)
