"""What a variant's own failure is called, and the one place where it is caught.

Only the call of a variant stands inside `guarded`, so a bug of the harness can never be
taken for a failure of what it measures.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

Output = TypeVar("Output")

Status = Literal[
    "ok",
    "incorrect",
    "out_of_resources",
    "compile_error",
    "runtime_error",
    "timeout",
    "unsupported",
]

# By name: torch and triton move these classes between modules, and neither is imported here.
_COMPILER_ERRORS = frozenset(
    {
        "CompilationError",
        "CompileTimeAssertionFailure",
        "BackendCompilerFailed",
        "InductorError",
        "PTXASError",
    }
)
_RESOURCE_ERRORS = frozenset({"OutOfResources", "OutOfMemoryError", "MemoryError"})
# What torch's CPU allocator says in an otherwise plain RuntimeError.
_ALLOCATOR_WORDS = ("DefaultCPUAllocator", "can't allocate memory")
_REASON_LIMIT = 300
# The first lines of a compiler explain the rest, which may be a whole program.
_LOG_LIMIT = 2000
# A number by itself; the digits of a name such as float32 are part of it.
_FIGURE = re.compile(r"(?<!\w)\d[\w.,:]*")


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a variant has no speed: a status other than "ok", and the reason as a record has it.

    reason holds `text` and may hold `code`, `required` and `limit` (quantities).
    """

    status: Status
    reason: dict[str, Any]


class VariantFailed(Exception):
    """A call of a variant raised; `fault` says what that is called. The cause is chained."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.reason["text"])
        self.fault = fault


def guarded(function: Callable[..., Output], inputs: Sequence[Any], **options: Any) -> Output:
    """`function(*inputs, **options)`; raises VariantFailed for whatever the call raises."""
    try:
        return function(*inputs, **options)
    # The variant is a stranger's code: any failure of this call, an exit included, is its own.
    except (Exception, SystemExit) as error:
        raise VariantFailed(classify(error)) from error


def classify(error: BaseException) -> Fault:
    """The status and reason of an exception that left a variant's call."""
    names = {kind.__name__ for kind in type(error).__mro__}
    text, log = _told(error)
    if names & _RESOURCE_ERRORS or any(word in str(error) for word in _ALLOCATOR_WORDS):
        return Fault("out_of_resources", {"text": _wanting(error) or text, **_amounts(error)})
    if names & _COMPILER_ERRORS:
        return Fault("compile_error", {"text": text, **log})
    if "NotImplementedError" in names:
        return Fault("unsupported", {"text": text, "code": "not-implemented", **log})
    return Fault("runtime_error", {"text": text, **log})


def exited(code: int) -> Fault:
    """The fault of a variant in whose call the process ended, by its exit status."""
    if code < 0:
        name = signal.Signals(-code).name
        text = f"the process was ended by {name} during the call"
        return Fault("runtime_error", {"text": text, "code": "process-killed"})
    reason = {"text": "the process ended during the call", "code": "process-exited"}
    return Fault("runtime_error", {**reason, "log": f"exit status {code}"})


def hung(seconds: float) -> Fault:
    """The fault of a call that was given up after so many seconds."""
    limit = {"value": seconds, "unit": "s"}
    reason = {"text": "the call did not return within its time limit", "code": "time-limit"}
    return Fault("timeout", {**reason, "limit": limit})


def _told(error: BaseException) -> tuple[str, dict[str, Any]]:
    """What an exception says: one short line without figures, and a log where that cut any.

    Text is read as prose, in which a figure would be nobody's measurement.
    """
    name = type(error).__name__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return name, {}
    first = f"{name}: {lines[0]}"
    text = _FIGURE.sub("…", first)[:_REASON_LIMIT]
    whole = "\n".join(lines)
    log = "".join(c for c in whole if c == "\n" or c.isprintable())[:_LOG_LIMIT].rstrip()
    return text, {"log": log} if log and (text != first or len(lines) > 1) else {}


def _wanting(error: BaseException) -> str | None:
    """What Triton says there was too little of, without the figures that stand beside it."""
    what = getattr(error, "name", None)
    return f"asks for more {what} than there is" if what and _amounts(error) else None


def _amounts(error: BaseException) -> dict[str, Any]:
    """How much was asked for and how much there is, where the exception says so in numbers."""
    found = {}
    for key in ("required", "limit"):
        value = getattr(error, key, None)
        if isinstance(value, int):
            # triton.runtime.errors.OutOfResources counts bytes of shared memory, or registers.
            unit = "byte" if "memory" in str(getattr(error, "name", "")) else "1"
            found[key] = {"value": value, "unit": unit}
    return found
