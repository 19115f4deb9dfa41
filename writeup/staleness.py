"""Which runs no longer speak for today's code, and why.

A run is stale when a kernel file that it loaded has another content today, or is gone, or when
the harness has changed its way of measuring on that kind of device since. Files of the harness
make nothing stale by themselves: whether a change of theirs matters is what the protocol's
number says. Nor does prose.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from writeup.result import Artifact, Run, blob_id

GONE: frozenset[str] = frozenset()
"""The ids of a file that is not there."""


@dataclass(frozen=True, slots=True)
class Today:
    """What results are held against.

    files maps each kernel file that a run loaded to the ids that its content of today may
    have (`ids`), or to GONE. protocols gives by kind of device, and by number,
    what changed in the way of measuring.
    """

    files: Mapping[str, frozenset[str]]
    protocols: Mapping[str, Mapping[int, str]]


@dataclass(frozen=True, slots=True)
class Stale:
    """Why a run is stale: paths that changed or are gone, sorted, and what was measured otherwise.

    raised are the reasons of every protocol number above that of the run, in their order.
    """

    changed: tuple[str, ...]
    gone: tuple[str, ...]
    raised: tuple[str, ...]

    @property
    def reasons(self) -> str:
        """The reasons in a line, for a terminal: pages name every file."""
        told = [
            f"{_first(self.changed)} changed" if self.changed else "",
            f"{_first(self.gone)} gone" if self.gone else "",
            "the way of measuring changed" if self.raised else "",
        ]
        return "; ".join(filter(None, told))


def _first(paths: tuple[str, ...]) -> str:
    rest = len(paths) - 1
    return f"{paths[0]} and {rest} more" if rest else paths[0]


def kernel_files(loaded: Iterable[str], folders: Iterable[str]) -> tuple[str, ...]:
    """Those of the loaded paths that lie in one of the project's folders of kernels, sorted."""
    within = tuple(folders)
    return tuple(
        sorted({p for p in loaded if any(PurePosixPath(p).is_relative_to(f) for f in within)})
    )


def ids(content: bytes) -> frozenset[str]:
    """The blob ids that git may have given a file that lies here with this content.

    Its own; and that of the same lines with other ends, which a checkout may have turned around.
    """
    return frozenset({blob_id(content), blob_id(content.replace(b"\r\n", b"\n"))})


def protocols(content: bytes) -> dict[str, dict[int, str]]:
    """The numbered ways of measuring, by kind of device, from the file that lists them."""
    return {
        device: {int(number): reason for number, reason in numbered.items()}
        for device, numbered in json.loads(content).items()
    }


def stale(run: Run, today: Today) -> Stale | None:
    """Why a run is stale; None where it is not.

    A run that another tool measured names no protocol, and a newer harness one that is not
    known here: neither is told stale by it.
    """
    kernels = sorted(run.files.keys() & today.files.keys())
    numbered = today.protocols.get(str(run.environment["device"]["kind"]), {})
    protocol = run.raw.get("protocol")
    found = Stale(
        changed=tuple(p for p in kernels if today.files[p] and run.files[p] not in today.files[p]),
        gone=tuple(p for p in kernels if not today.files[p]),
        raised=()
        if protocol is None
        else tuple(reason for number, reason in sorted(numbered.items()) if number > protocol),
    )
    return found if found.changed or found.gone or found.raised else None


def stale_runs(artifacts: Iterable[Artifact], today: Today) -> dict[str, Stale]:
    """Every stale run by its address, in the order of the artifacts and their runs."""
    runs = (run for artifact in artifacts for run in artifact.runs.values())
    return {run.address: found for run in runs if (found := stale(run, today)) is not None}
