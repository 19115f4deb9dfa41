"""Where the ticks of an axis stand, in the unit of its values. Standard library only."""

from __future__ import annotations

import math


def log_ticks(low: float, high: float) -> list[float]:
    """Decades in [low, high]: with steps between in a short span, every other in a long one."""
    decades = math.log10(high / low)
    steps = (1, 2, 5) if decades < 1.7 else (1, 3) if decades < 3.4 else (1,)
    stride = 2 if decades > 7 else 1
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    values = [
        float(f"{step}e{decade}") for decade in range(first, last + 1, stride) for step in steps
    ]
    return [value for value in values if low <= value <= high]


def linear_ticks(low: float, high: float, most: int = 7) -> list[float]:
    """At most `most` ticks in [low, high], one, two or five times a power of ten apart."""
    span = high - low
    # The power is kept as text: tens multiplied up would leave 0.30000000000000004 on an axis.
    exponent = math.floor(math.log10(span / most))
    step = next(
        float(f"{n}e{exponent}")
        for n in (1, 2, 5, 10, 20)
        if span / float(f"{n}e{exponent}") < most
    )
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{index * step:.12g}") for index in range(first, last + 1)]
