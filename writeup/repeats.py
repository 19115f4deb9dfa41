"""A subject measured more than once at one commit: whether its verdicts come out alike.

Two runs stand for two sessions, with other processes, other memory and perhaps another card of
the same name. A verdict that one of them gives and the other cannot is a matter of noise; two
that contradict each other mean that the bands promise more than they hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from writeup import derive, stats
from writeup.result import Artifact, Case, Run
from writeup.selection import Row


class Outcome(StrEnum):
    """How a verdict came out the second time."""

    ALIKE = "alike"
    MOVED = "moved"
    CONTRARY = "contrary"


@dataclass(frozen=True, slots=True)
class Repeat:
    """A variant beside the baseline, on one case in one mode, in two runs."""

    first: Row
    first_baseline: Row
    again: Row
    again_baseline: Row

    @property
    def outcome(self) -> Outcome:
        """Alike, moved into or out of "cannot tell", or from one verdict to another."""
        verdicts = {
            derive.judgement(self.first, self.first_baseline).verdict,
            derive.judgement(self.again, self.again_baseline).verdict,
        }
        if len(verdicts) == 1:
            return Outcome.ALIKE
        return Outcome.MOVED if stats.Verdict.UNCLEAR in verdicts else Outcome.CONTRARY


def neighbours(artifact: Artifact, subject: str) -> Iterator[tuple[Run, Run]]:
    """Runs of a subject on devices of one name, each with the next, in order of their start."""
    devices: dict[str, list[Run]] = {}
    for run in sorted(artifact.runs.values(), key=lambda each: (each.started, each.id)):
        if subject in run.experiments:
            devices.setdefault(run.device, []).append(run)
    for runs in devices.values():
        yield from pairwise(runs)


def repeats(artifact: Artifact, first: Run, again: Run, subject: str) -> tuple[Repeat, ...]:
    """Everything that both runs timed beside its baseline; controls are not compared."""
    found = []
    for key, case in first.cases.items():
        other = again.cases.get(key)
        if case.subject != subject or other is None:
            continue
        here, there = _rows(artifact, first, case), _rows(artifact, again, other)
        found += [Repeat(*here[place], *there[place]) for place in here if place in there]
    return tuple(found)


def _rows(artifact: Artifact, run: Run, case: Case) -> dict[tuple[str, str], tuple[Row, Row]]:
    """Timed variants with their baseline, by mode and variant."""
    baseline = next((v for v in case.variants.values() if v.role == "baseline"), None)
    if baseline is None:
        return {}
    found = {}
    for variant in case.variants.values():
        if variant is baseline or variant.role == "control":
            continue
        for mode in sorted(variant.timings.keys() & baseline.timings.keys()):
            found[mode, variant.id] = (
                Row(artifact, run, case, variant, variant.timings[mode]),
                Row(artifact, run, case, baseline, baseline.timings[mode]),
            )
    return found


def among(compared: Sequence[Repeat], outcome: Outcome) -> list[Repeat]:
    """Those that came out so."""
    return [one for one in compared if one.outcome is outcome]
