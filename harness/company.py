"""One session at a time: host timings refuse company."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.errors import CompanyError


def lock_path() -> Path:
    """The machine's lock, one for each user: nobody may take another's file in a shared folder."""
    return Path(tempfile.gettempdir()) / f"writeup-harness-{os.getuid()}.lock"


@contextmanager
def alone() -> Iterator[None]:
    """Hold the machine for one session. Raises CompanyError when another has it.

    The system lets go of the lock when the process ends, however it ends.
    """
    descriptor = os.open(lock_path(), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.read(descriptor, 32).decode(errors="replace").strip()
            raise CompanyError(
                f"another session is measuring on this machine (process {holder}); "
                "wait for it to end: two sessions at once would time each other"
            ) from error
        os.ftruncate(descriptor, 0)
        os.write(descriptor, str(os.getpid()).encode())
        yield
    finally:
        os.close(descriptor)
