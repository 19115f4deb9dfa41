"""The geometry of a strip plot: every sample of a mode, one lane a block.

All strips of a plot share one logarithmic axis, so that two variants can be compared and
one slow sample does not press the others together. Lengths are in the plot's own units;
the template draws them as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from writeup.axis import linear_ticks, log_ticks
from writeup.evidence import Evidence
from writeup.quantity import tick
from writeup.views import Measured, Role, Strip, Words, clean

WIDTH = 720.0
_RIGHT = 12.0
_TOP, _BOTTOM = 26.0, 6.0
_LANE, _SAMPLE, _GAP = 3.6, 2.8, 15.0
# The width of a character of a label, and the most that labels may take.
_CHARACTER, _LABELS = 6.6, 190.0


@dataclass(frozen=True, slots=True)
class Mark:
    """A tick of the axis at x."""

    x: str
    label: Evidence


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement: a path of its samples, its estimate's line and its band's box."""

    name: Words
    role: Role
    time: Measured
    path: str
    label_y: str
    top: str
    height: str
    estimate: str
    band_x: str
    band_width: str


@dataclass(frozen=True, slots=True)
class Plot:
    """A strip plot; width and height are those of its view box."""

    width: str
    height: str
    left: str
    foot: str
    ticks: tuple[Mark, ...]
    rows: tuple[Row, ...]


def plot(strips: Sequence[Strip]) -> Plot | None:
    """The plot of the strips' samples, in seconds; None where there is nothing to draw."""
    drawn = [strip for strip in strips if any(strip.blocks)]
    samples = [s for strip in drawn for block in strip.blocks for s in block if s > 0]
    if not samples:
        return None
    left = min(_LABELS, 14 + _CHARACTER * max(len(clean(strip.name)) for strip in drawn))
    low, high = min(samples), max(samples)
    place = _axis(low, high, left)
    rows, y = [], _TOP
    for strip in drawn:
        rows.append(_row(strip, y, place))
        y += _LANE * len(strip.blocks) + _GAP
    foot = y - _GAP + _BOTTOM
    return Plot(
        width=_length(WIDTH),
        height=_length(foot),
        left=_length(left),
        foot=_length(foot),
        ticks=tuple(Mark(_length(place(value)), _tick(value)) for value in _ticks(low, high)),
        rows=tuple(rows),
    )


def _length(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _axis(low: float, high: float, left: float) -> Callable[[float], float]:
    """The place of a value in seconds; a span of nothing is drawn in the middle."""
    width = WIDTH - left - _RIGHT
    span = math.log(high / low)

    def place(value: float) -> float:
        share = math.log(min(max(value, low), high) / low) / span if span else 0.5
        return left + share * width

    return place


def _ticks(low: float, high: float) -> list[float]:
    """Ticks of a log axis; of a linear one where it spans too little for those."""
    ticks = log_ticks(low, high)
    if len(ticks) >= 3 or low == high:
        return ticks
    return linear_ticks(low, high, most=5)


def _tick(value: float) -> Evidence:
    return Evidence("tick", (), tick(value, "s"), (repr(value), "s"), value, "s")


def _row(strip: Strip, top: float, place: Callable[[float], float]) -> Row:
    height = _LANE * len(strip.blocks)
    low, high = (place(end) for end in strip.time.span)
    path = "".join(
        f"M{_length(place(sample))} {_length(top + _LANE * lane)}v{_length(_SAMPLE)}"
        for lane, block in enumerate(strip.blocks)
        for sample in block
        if sample > 0
    )
    return Row(
        name=strip.name,
        role=strip.role,
        time=strip.time,
        path=path,
        label_y=_length(top + height / 2),
        top=_length(top - 3),
        height=_length(height + 5),
        estimate=_length(place(strip.time.value)),
        band_x=_length(low),
        band_width=_length(max(high - low, 0.5)),
    )
