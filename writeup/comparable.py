"""Whether two measurements may be set beside each other.

What a ratio must share is of two kinds. Commit, run, device, case and mode (and with the mode
its regime and the state of the caches) are shared always: blocks of a run are paired, and
only within the rounds of a mode. Settings may differ where the experiment declares that it
varies them, and then only.
"""

from __future__ import annotations

from collections.abc import Iterator

from writeup.selection import Row
from writeup.sentences import Comparison, declared, setting

_ROUNDS = ("commit", "run", "device", "case", "mode")

# What must be equal on both sides unless it is declared, each with the names that programs
# have for it. A setting that one side alone names is unknown of the other, not equal.
_SETTINGS = {
    "model": ("model",),
    "precision": (
        "precision",
        "input_precision",
        "allow_tf32",
        "float32_matmul_precision",
        "autocast",
    ),
    "dtype": ("dtype",),
    "batch": ("batch", "batch_size"),
    "packing": ("packing",),
    "bucketing": ("bucketing",),
    "devices": ("devices",),
}


def differences(pair: Comparison) -> tuple[str, ...]:
    """Why two measurements may not be set beside each other; none where they may."""
    row, other = pair.row, pair.other
    failed = [
        f"'{side.variant.id}' was not timed ({side.variant.status})"
        for side in (row, other)
        if side.timing is None or side.variant.status != "ok"
    ]
    if failed and pair.of_times:
        return tuple(dict.fromkeys(failed))
    reasons = [*_of_rounds(pair), *_of_settings(row, other)]
    if pair.of_times:
        reasons += _of_samples(row, other)
        if not reasons and not pair.formed:
            reasons = ["no block holds samples of both"]
    return tuple(reasons)


def _of_rounds(pair: Comparison) -> Iterator[str]:
    for dimension in _ROUNDS:
        a, b = pair.row.of(dimension), pair.other.of(dimension)
        if a != b and (dimension != "mode" or pair.of_times):
            yield f"they differ in {dimension}: {a[:16]} and {b[:16]}"


def _of_samples(row: Row, other: Row) -> Iterator[str]:
    """What one sample is: where the output comes from, and of how many calls it is the mean."""
    if row.mode != other.mode:  # then samples differ by what the mode is
        return
    for key, what in (("outputs", "outputs"), ("launches", "calls in a sample")):
        a, b = row.taken.raw.get(key), other.taken.raw.get(key)
        if a != b:
            yield f"they differ in {what}: {_shown(a)} and {_shown(b)}"


def _of_settings(row: Row, other: Row) -> Iterator[str]:
    varied = set(declared(row))
    for kind, names in _SETTINGS.items():
        if varied.intersection((kind, *names)):
            continue
        for name in names:
            a, b = setting(row, name), setting(other, name)
            if a != b:
                yield f"they differ in {name}: {_shown(a)} and {_shown(b)}"


def _shown(value: object) -> str:
    return "not recorded" if value in (None, "") else str(value)
