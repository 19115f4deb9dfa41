"""Fresh processes and the conversation with them.

A job goes in as one line of JSON on the child's standard input, which stays open: when it
ends, so has the parent, and the child leaves at once. Events come back as lines of JSON on
a pipe of their own, so that whatever a variant prints disturbs nothing. Who is being called
stands in the ledger (`harness.ledger`).
"""

from __future__ import annotations

import json
import os
import select
import signal
import site
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import assembler
from harness.faults import Fault, exited, hung
from harness.ledger import NOBODY, Ledger

Event = dict[str, Any]

# Inductor keeps a pool of compiling processes otherwise, which would be company.
_QUIET = {"TORCHINDUCTOR_COMPILE_THREADS": "1"}
INTERPRETER = {"TRITON_INTERPRET": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
# Line information holds the path of the source, and with it the digest of a binary would
# depend on the folder that it was compiled in.
_COMPILING = {"TRITON_DISABLE_LINE_INFO": "1"}
_FAREWELL: Event = {"event": "farewell"}
_SHOWN_LOG = 8000


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long one call of a variant may take, and how long the harness itself may be silent.

    Both in seconds.
    """

    call: float = 120.0
    silence: float = 300.0


def variables_on(device: str) -> dict[str, str]:
    """What a child that measures on `cpu` or `cuda` finds in its environment besides ours."""
    return {**_COMPILING, **assembler.pinned()} if device == "cuda" else {}


class ChildFailed(Exception):
    """A child ended while no variant was being called: a bug of ours or of an experiment.

    The message holds what it wrote to its standard error, with its traceback.
    """


class Charged(Exception):
    """A child ended, or was ended, in the call with this number."""

    def __init__(self, number: int, fault: Fault) -> None:
        super().__init__(f"call {number}: {fault.reason['text']}")
        self.number = number
        self.fault = fault


@dataclass(frozen=True, slots=True, kw_only=True)
class Launcher:
    """How children are started: in which folder, with what limits and extra variables."""

    folder: Path
    limits: Limits
    variables: Mapping[str, str]

    @contextmanager
    def start(self, module: str, job: Event) -> Iterator[Child]:
        """A child that runs `python -m <module>` on this job; ended on leaving."""
        with tempfile.TemporaryDirectory(prefix="writeup-child-") as scratch:
            child = Child(self, module, job, Path(scratch))
            try:
                yield child
            finally:
                child.end()


class Child:
    """One process, its events, and whom it was calling last."""

    def __init__(self, launcher: Launcher, module: str, job: Event, scratch: Path) -> None:
        self._limits = launcher.limits
        self._ledger = Ledger.create(scratch / "ledger")
        self._log = (scratch / "log").open("w+b")
        self._events, theirs = os.pipe()
        self._process = subprocess.Popen(
            # -P: the folder it runs in may hold a `harness` of its own.
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            cwd=launcher.folder,
            env=_environment(launcher.variables),
            pass_fds=(theirs,),
            start_new_session=True,
        )
        os.close(theirs)
        self._send({**job, "events": theirs, "ledger": str(scratch / "ledger")})

    @property
    def pid(self) -> int:
        return self._process.pid

    def events(self) -> Iterator[Event]:
        """Its events until it says farewell. Raises Charged or ChildFailed if it never does.

        An exit status of zero is no farewell: a variant may have ended the process.
        """
        rest = b""
        while chunk := self._read():
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                event = json.loads(line)
                if event == _FAREWELL:
                    return
                yield event
        code = self._process.wait()
        if self._ledger.open != NOBODY:
            raise Charged(self._ledger.open, exited(code))
        raise ChildFailed(f"a process ended with status {code}\n{self.log()}")

    def log(self) -> str:
        """The last of what it printed."""
        self._log.seek(0)
        return self._log.read().decode(errors="replace")[-_SHOWN_LOG:]

    def end(self) -> None:
        """Kill it and whatever it started, if it still runs; close everything."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        if self._process.stdin:
            self._process.stdin.close()
        os.close(self._events)
        self._log.close()
        self._ledger.close()

    def _send(self, job: Event) -> None:
        stream = self._process.stdin
        if stream is None:
            raise AssertionError("a child is started with a pipe as its standard input")
        try:
            stream.write(json.dumps(job).encode() + b"\n")
            stream.flush()
        except BrokenPipeError:
            # It died at once; `events` finds its status and shows why.
            return

    def _read(self) -> bytes:
        """More of the events; empty at their end. Raises when the child is silent too long."""
        sequence, since = self._ledger.sequence, time.monotonic()
        patience = min(1.0, self._limits.call / 4)
        while not select.select([self._events], [], [], patience)[0]:
            if self._ledger.sequence != sequence:
                sequence, since = self._ledger.sequence, time.monotonic()
            called = self._ledger.open
            silent = time.monotonic() - since
            if called != NOBODY and silent > self._limits.call:
                raise Charged(called, hung(self._limits.call))
            if called == NOBODY and silent > self._limits.silence:
                raise ChildFailed(f"a process was silent for {silent:.0f} s\n{self.log()}")
        return os.read(self._events, 1 << 16)


def _environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Our own variables, those given, and a path on which this very harness is found."""
    home = str(Path(__file__).resolve().parent.parent)
    path = os.environ.get("PYTHONPATH", "")
    if home not in (*site.getsitepackages(), site.getusersitepackages()):
        path = os.pathsep.join(filter(None, (home, path)))
    return {**os.environ, **_QUIET, **variables, **({"PYTHONPATH": path} if path else {})}


def serve(work: Callable[[Event, Callable[[Event], None], Ledger], None]) -> None:
    """The child's side: read the job, do it, send events.

    work(job, send, ledger) may raise: the traceback goes to the parent by way of the log.
    """
    job = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    with os.fdopen(job["events"], "w", encoding="utf-8") as stream:

        def send(event: Event) -> None:
            stream.write(json.dumps(event, allow_nan=False) + "\n")
            stream.flush()

        with Ledger(Path(job["ledger"])) as ledger:
            work(job, send, ledger)
        send(_FAREWELL)
    # Threads of a runtime may crash while they are taken down; all that matters is sent.
    sys.stdout.flush()
    os._exit(0)


def _leave_with_parent() -> None:
    # The bare descriptor: a buffered reader's lock, held here, would abort an orderly exit.
    os.read(sys.stdin.fileno(), 1)
    os._exit(1)
