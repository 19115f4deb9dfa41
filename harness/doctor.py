"""Is this machine fit to measure on? Each question is a small function with findings.

A finding that fails would stop or spoil a run; one that warns leaves something out of it.
Nothing is changed but a temporary file in the results folder, written and removed.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from harness import assembler
from harness.environment import compiler, software
from harness.provenance import ProvenanceError, head_commit
from harness.state import Busy, load, others_between
from harness.timer import HostTimer, UnitCheck

_GIB = 1 << 30


class Level(StrEnum):
    """What a finding means for a run."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """The answer to one question. id names the question and is the same on every machine."""

    id: str
    level: Level
    text: str


# First and last release whose behaviour the harness knows.
_TRITON = ((3, 6), (3, 9))
# Other processes may keep this many processors busy, on average, before it is company.
_COMPANY = 0.1
_WATCHED_SECONDS = 0.5
# A run of record is a few MB; its journal and the compilers' caches are larger.
_DISK_LOW, _DISK_FULL = _GIB, _GIB // 10
# Buffers that flush a cache or probe a ceiling, and the inputs of a case, in every process.
_MEMORY_LOW, _MEMORY_OUT = 4 * _GIB, _GIB

# What the harness relies on in other tools: command that prints help -> flags it must name.
_FLAGS: Mapping[tuple[str, ...], tuple[str, ...]] = {
    ("git", "hash-object", "-h"): ("--stdin-paths", "--stdin", "--path", "-w"),
    ("git", "ls-tree", "-h"): ("-r", "-z"),
    ("g++", "--help"): ("--version",),
}
_ASSEMBLER_FLAGS = ("--verbose", "--gpu-name", "--fmad", "-lineinfo", "-suppress-debug-info")


def examine(
    root: Path, device: str, *, results: Path | None = None, commit: str | None = None
) -> list[Finding]:
    """Every finding about measuring the project at `root` on `cpu` or `cuda`.

    results is the folder that will be written to (`results` in the root unless given);
    commit what `--commit` says. Takes a few seconds, most of them watching for company and
    starting the interpreter.
    """
    return [
        *check_versions(device),
        *check_device(device),
        *check_idle(),
        *check_timer(HostTimer().check()),
        *check_compiler(),
        *check_commit(root, commit),
        *check_results(results or root / "results"),
        *check_memory(Path("/proc/meminfo")),
        *check_assembler(),
        *check_tools(flags()),
        *check_interpreter(),
    ]


def check_versions(device: str) -> Iterator[Finding]:
    """Python, torch and Triton, as they would be imported."""
    if importlib.util.find_spec("torch") is None:
        yield Finding("torch", Level.FAIL, "torch is not installed; nothing can be measured")
        return
    versions = software(importlib.import_module("torch"), device)
    listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    yield Finding("versions", Level.OK, listed)
    yield from check_triton(versions.get("triton"))


def check_triton(version: str | None) -> Iterator[Finding]:
    first, last = (".".join(map(str, bound)) for bound in _TRITON)
    if version is None:
        text = "triton is not installed; its kernels are recorded as unsupported"
        yield Finding("triton", Level.WARN, text)
    elif _TRITON[0] <= _numbers(version)[:2] <= _TRITON[1]:
        yield Finding("triton", Level.OK, f"triton {version} is one the harness was checked with")
    else:
        text = f"triton {version} is outside {first} to {last}, what the harness was checked with"
        yield Finding("triton", Level.WARN, text)


def check_device(device: str) -> Iterator[Finding]:
    if device == "cpu":
        yield Finding("device", Level.OK, f"{len(os.sched_getaffinity(0))} hardware threads to use")
    elif device != "cuda":
        yield Finding("device", Level.FAIL, f"{device} is not a device; choose cpu or cuda")
    elif importlib.import_module("torch").cuda.is_available():
        name = importlib.import_module("torch").cuda.get_device_name()
        yield Finding("device", Level.OK, f"torch sees {name}")
    else:
        yield Finding("device", Level.FAIL, "torch finds no CUDA device; choose --device cpu")


def check_idle() -> Iterator[Finding]:
    """Whether other processes are at work, watched for a moment."""
    before = Busy.now()
    time.sleep(_WATCHED_SECONDS)
    others = others_between(before, Busy.now())
    yield judge_company(None if others is None else others["value"], load()["value"])


def judge_company(others: float | None, average: float) -> Finding:
    """others is the number of processors kept busy; average the load over a minute."""
    if others is None:
        return Finding("idle", Level.WARN, "the system does not tell what other processes do")
    text = f"other processes keep {others:.2f} processors busy; load average {average:.2f}"
    if others > _COMPANY:
        return Finding("idle", Level.WARN, f"{text}; end them, or their noise is measured too")
    return Finding("idle", Level.OK, text)


def check_timer(check: UnitCheck) -> Iterator[Finding]:
    """The unit of the host clock, against the reference that a run records."""
    text = (
        f"{check.reference}: expected {check.expected_ms:.2f} ms, "
        f"measured {check.measured_ms:.2f} ms, step {check.step:g} ns"
    )
    yield Finding("timer", Level.OK if check.agrees else Level.FAIL, text)


def check_compiler() -> Iterator[Finding]:
    found = compiler()
    if found is None:
        text = "no C++ compiler; torch.compile cannot make code for the CPU (install g++)"
        yield Finding("compiler", Level.WARN, text)
    else:
        yield Finding("compiler", Level.OK, f"{found} for torch.compile")


def check_commit(root: Path, commit: str | None) -> Iterator[Finding]:
    """Whether it can be said what is measured."""
    if commit is not None:
        known = re.fullmatch(r"[0-9a-f]{40}", commit) is not None
        text = f"{commit}, as given" if known else f"--commit {commit} is not forty hex digits"
        yield Finding("commit", Level.OK if known else Level.FAIL, text)
        return
    try:
        yield Finding("commit", Level.OK, f"{head_commit(root)}, which is checked out")
    except ProvenanceError as error:
        yield Finding("commit", Level.FAIL, str(error))


def check_results(folder: Path) -> Iterator[Finding]:
    """Whether a result could be written, found out by writing where it would go."""
    existing = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    try:
        with tempfile.TemporaryFile(dir=existing) as file:
            file.write(b"writeup")
            file.flush()
        free = shutil.disk_usage(existing).free
    except OSError as error:
        text = f"{existing} cannot be written: {error.strerror}; name another with --out"
        yield Finding("results", Level.FAIL, text)
        return
    yield Finding("results", Level.OK, f"{folder} can be written")
    yield judge_space("disk", free, low=_DISK_LOW, out=_DISK_FULL)


def check_memory(meminfo: Path) -> Iterator[Finding]:
    """Memory that is available without swapping (proc(5), MemAvailable, in KiB)."""
    try:
        match = re.search(r"^MemAvailable:\s*(\d+) kB", meminfo.read_text("ascii"), re.MULTILINE)
    except OSError:
        match = None
    if match is None:
        yield Finding("memory", Level.WARN, "the system does not tell how much memory is available")
    else:
        yield judge_space("memory", int(match[1]) * 1024, low=_MEMORY_LOW, out=_MEMORY_OUT)


def judge_space(name: str, free: int, *, low: int, out: int) -> Finding:
    """free, low and out are bytes: below low is a warning, below out a failure."""
    level = Level.FAIL if free < out else Level.WARN if free < low else Level.OK
    wanted = "" if level is Level.OK else f"; a run wants {low / _GIB:g} GiB"
    return Finding(name, level, f"{free / _GIB:.1f} GiB available{wanted}")


def flags() -> dict[tuple[str, ...], tuple[str, ...]]:
    """What the help of each tool must name; of Triton's assembler too, where there is one."""
    tool = assembler.used()
    return {**_FLAGS, **({(str(tool), "--help"): _ASSEMBLER_FLAGS} if tool else {})}


def check_assembler() -> Iterator[Finding]:
    """Whether kernels are made by the assembler that Triton ships."""
    tool, own = assembler.used(), assembler.shipped("ptxas")
    if tool is None:
        return
    if tool == own:
        yield Finding("assembler", Level.OK, "kernels are made by the assembler Triton ships")
    else:
        text = "TRITON_PTXAS_PATH names another assembler than the one Triton ships"
        yield Finding("assembler", Level.WARN, text)


def check_tools(flags: Mapping[tuple[str, ...], tuple[str, ...]]) -> Iterator[Finding]:
    """Whether installed tools still name the flags that the harness uses.

    flags maps a command that prints help to what that help must name.
    """
    for command, wanted in flags.items():
        words = (Path(command[0]).name, *command[1:])
        name = " ".join(word for word in words if word not in ("-h", "--help"))
        identifier = f"tool-{name.replace(' ', '-').replace('+', 'p')}"
        shown = _help(command)
        if shown is None:
            yield Finding(identifier, Level.WARN, f"{words[0]} is not installed")
            continue
        missing = [flag for flag in wanted if flag not in shown]
        if missing:
            text = f"the help of `{name}` no longer names {', '.join(missing)}"
            yield Finding(identifier, Level.WARN, text)
        else:
            yield Finding(identifier, Level.OK, f"`{name}` names {', '.join(wanted)}")


def check_interpreter() -> Iterator[Finding]:
    """Whether Triton's interpreter gives a right answer, in a process of its own."""
    if importlib.util.find_spec("triton") is None:
        return
    probe = Path(__file__).with_name("interpreter_probe.py")
    # -P: the probe's folder is the harness's, whose modules are not to be found by bare names.
    answer = subprocess.run(
        [sys.executable, "-P", str(probe)],
        capture_output=True,
        check=False,
        env={
            **os.environ,
            "TRITON_INTERPRET": "1",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        },
    )
    if answer.returncode == 0:
        yield Finding("interpreter", Level.OK, "Triton's interpreter sums a row as torch does")
    else:
        said = answer.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        text = f"Triton kernels cannot be checked without a GPU: {said or 'no answer'}"
        yield Finding("interpreter", Level.WARN, text)


def _help(command: tuple[str, ...]) -> str | None:
    """What a tool prints about itself, to either stream; None where it is not installed.

    git answers -h with a status of its own, so the status says nothing.
    """
    try:
        answer = subprocess.run(
            command, capture_output=True, check=False, env={**os.environ, "LC_ALL": "C"}
        )
    except FileNotFoundError:
        return None
    return (answer.stdout + answer.stderr).decode(errors="replace")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version.partition("+")[0]))
