"""The number of the way of measuring, by device, and what each change of it was.

It is raised when results before and after can no longer be compared. The file beside this one
is also read by whoever tells a reader that a result is stale.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

_FILE = Path(__file__).with_name("protocols.json")


def current(device: str) -> int:
    """The number by which a run on `cpu` or `cuda` is measured today."""
    return max(map(int, _protocols()[device]))


@cache
def _protocols() -> Mapping[str, Mapping[str, str]]:
    found: dict[str, dict[str, str]] = json.loads(_FILE.read_text(encoding="utf-8"))
    return found
