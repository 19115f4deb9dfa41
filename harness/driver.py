"""What the harness asks of the CUDA driver itself, which torch passes no way to."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

# Of cuda.h: done, and not offered by this device.
_SUCCESS, _NOT_SUPPORTED = 0, 801


@dataclass(frozen=True, slots=True)
class Driver:
    """The driver's library, in the context that torch made current."""

    library: Any

    @classmethod
    def open(cls) -> Driver:
        """Raises OSError where there is no driver."""
        return cls(ctypes.CDLL("libcuda.so.1"))

    def forget_persisting(self) -> None:
        """Give lines that were to be kept in the second-level cache the rank of all others.

        A kernel that loads with `evict_last` leaves lines that outlive the clearing of the cache
        and take its room from whoever is timed next. A device that knows no such lines has none
        to forget. Raises RuntimeError with the driver's number for what went wrong.
        """
        code = self.library.cuCtxResetPersistingL2Cache()
        if code not in (_SUCCESS, _NOT_SUPPORTED):
            raise RuntimeError(f"cuCtxResetPersistingL2Cache answered {code}")
