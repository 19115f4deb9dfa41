"""The assembler that makes binaries of what Triton compiles: one for everybody in a run.

Triton ships one, and torch's compiler points Triton to another of its own as soon as it has
compiled something in the same process. Which of them made a kernel would then depend on who
came first. So the choice is made before a process starts, where nobody made it already.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
from collections.abc import Mapping
from pathlib import Path

# Triton's own names for the tool, and for the one that newer releases use from Hopper on.
_PLAIN, _NEWER = "ptxas", "ptxas-blackwell"
_VARIABLES = {_PLAIN: "TRITON_PTXAS_PATH", _NEWER: "TRITON_PTXAS_BLACKWELL_PATH"}
# From these on it is the newer one that assembles for compute capability 9.0.
_NEWER_FROM = (3, 9)
_HOPPER, _BLACKWELL = 90, 100


def pinned(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Variables that keep to one assembler whoever compiles: those set already, or Triton's own.

    Empty where Triton is not installed.
    """
    variable = _VARIABLES[_PLAIN]
    tool = environment.get(variable) or shipped(_PLAIN)
    return {variable: str(tool)} if tool else {}


def used(capability: int | None = None, environment: Mapping[str, str] = os.environ) -> Path | None:
    """The assembler for a compute capability such as 90 (the plain one if None is known)."""
    name = _name(capability)
    tool = environment.get(_VARIABLES[name]) or shipped(name)
    return Path(tool) if tool else None


def shipped(name: str) -> Path | None:
    """The tool of that name inside Triton's package; None where there is none."""
    spec = importlib.util.find_spec("triton")
    if spec is None or not spec.submodule_search_locations:
        return None
    tool = Path(spec.submodule_search_locations[0]) / "backends" / "nvidia" / "bin" / name
    return tool if tool.is_file() else None


def _name(capability: int | None) -> str:
    if capability is None or capability < _HOPPER:
        return _PLAIN
    if capability >= _BLACKWELL:
        return _NEWER
    version = importlib.metadata.version("triton") if shipped(_PLAIN) else "0"
    numbers = tuple(map(int, re.findall(r"\d+", version)[:2]))
    return _NEWER if numbers >= _NEWER_FROM else _PLAIN
