"""Where a gate judges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

CPU = torch.device("cpu")


class Place:
    """The processor: its calls return when their work is done, and nothing breaks it."""

    device = CPU

    def drain(self) -> None:
        """Wait for the work of a call; what went wrong with it is raised here."""

    def works(self) -> bool:
        """Whether the device still answers this process."""
        return True

    def resources(self, call: Callable[[], Any]) -> dict[str, Any]:  # noqa: ARG002
        """What the kernels of a call use, as the record has it; nothing where that is unknown."""
        return {}
