"""What a person sees while a session runs: where it is, what it sees so far, time left."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from harness.child import Event
from harness.plan import duration
from writeup import stats

_CLEAR_LINE = "\r\x1b[2K"


@dataclass(slots=True)
class Progress:
    """Turns what happens into lines for `write`, which is given text with its line end.

    On a terminal the current place is one line that changes; elsewhere every finished case
    is a line of its own.
    """

    write: Callable[[str], None]
    terminal: bool = False
    estimated: float = 0.0
    _begun: float = field(default_factory=time.monotonic)
    _place: str = ""
    _left: str = ""
    _samples: dict[tuple[str, str, str], dict[str, dict[str, list[float]]]] = field(
        default_factory=dict
    )
    _checked: int = 0

    def note(self, text: str) -> None:
        """Something a person should know, on a line of its own that stays."""
        self._line(text)

    def judged(self, event: Event) -> None:
        """A check of the gate came back."""
        if event["event"] == "judged":
            self._checked += 1
            self._status(f"{self._checked} checks done")

    def block(self, subject: str, number: int, blocks: int) -> None:
        """A block begins."""
        self._place = f"{subject} block {number} of {blocks}"
        if not self._left and self.estimated:
            self._left = f", about {duration(self.estimated)} in all"

    def event(self, subject: str, baseline: str, event: Event) -> None:
        """Something came from a block."""
        if event["event"] == "about":
            self._status(f"{self._place}: {subject}.{event['case']} {event['mode']}{self._left}")
        elif event["event"] == "group":
            self._keep(subject, event)
            ratios = self._ratios(subject, baseline, event)
            case = f"{subject}.{event['case']} {event['mode']}"
            text = f"{self._place}: {case}, {len(event['order'])} rounds: {ratios}{self._left}"
            if self.terminal:
                self._status(text)
            else:
                self._line(text)

    def block_done(self, number: int, blocks: int, seconds: float) -> None:
        """A block of every subject is finished; each of the rest takes about as long."""
        self._left = f", about {duration((blocks - number) * seconds)} left"

    def end(self) -> None:
        """Leave the terminal as it was found."""
        if self.terminal:
            self.write(_CLEAR_LINE)

    def _keep(self, subject: str, event: Event) -> None:
        kept = self._samples.setdefault((subject, event["case"], event["mode"]), {})
        for name, samples in event["samples"].items():
            blocks = kept.setdefault(name, {})
            blocks[f"{self._place}"] = samples

    def _ratios(self, subject: str, baseline: str, event: Event) -> str:
        """Running speed-ups over the baseline, a factor each, without any verdict."""
        kept = self._samples[subject, event["case"], event["mode"]]
        return ", ".join(
            f"{name} {stats.ratio(kept[baseline], kept[name]).value:.3f}"
            for name in event["participants"]
            if name != baseline
        )

    def _status(self, text: str) -> None:
        if self.terminal:
            self.write(f"{_CLEAR_LINE}{text}")

    def _line(self, text: str) -> None:
        self.write(f"{_CLEAR_LINE if self.terminal else ''}{text}\n")
