"""How hard the property tests try.

By default they draw the same examples every time, so that a change is red because of the
change. `WRITEUP_EFFORT=20` draws twenty times as many, and others each time.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

EFFORT = int(os.environ.get("WRITEUP_EFFORT", "1"))


def examples(count: int) -> settings:
    """`@examples(50)` on a property: that many examples, times the effort."""
    return settings(max_examples=count * EFFORT)


def load() -> None:
    """Make this the profile of every property of the session."""
    settings.register_profile(
        "effort",
        derandomize=EFFORT == 1,
        deadline=None,  # two busy cores are no judge of a property
        max_examples=100 * EFFORT,
        suppress_health_check=[HealthCheck.too_slow],
        print_blob=True,
    )
    settings.load_profile("effort")
