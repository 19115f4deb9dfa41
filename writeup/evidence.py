"""Evidence: a text on a page that came from an artifact, and how it came.

Whatever the generator formats from an artifact travels as a *marked* string: the text
between two private-use characters that no input may hold, with the key of its
derivation in front. Text nodes, attributes, SVG and JSON all carry marks; `finish`
reads the finished pages, refuses every numeral outside them, and strips them.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

START = "\ue000"
END = "\ue001"


def mark(key: str, text: str) -> str:
    """`text` as evidence of the derivation `key`; `text` may hold markup (a listing)."""
    return f"{START}{key}{START}{text}{END}"


@dataclass(frozen=True, slots=True)
class Evidence:
    """A text with its derivation.

    form names the derivation; at holds the addresses it reads, the first of which is where
    its link leads; args are its further parameters. value and unit are the figure behind the
    text in base units (absent for words); label is the accessible name, itself marked where
    it holds figures.
    """

    form: str
    at: tuple[str, ...]
    text: str
    args: tuple[str, ...] = ()
    value: float | int | str | bool | None = None
    unit: str | None = None
    label: str = ""

    @property
    def key(self) -> str:
        """Twelve hex digits that stand for the derivation, whatever its outcome."""
        canonical = json.dumps([self.form, self.at, self.args], ensure_ascii=True)
        return hashlib.sha256(canonical.encode()).hexdigest()[:12]

    @property
    def marked(self) -> str:
        return mark(self.key, self.text)
