"""The rules and what they are for, a page each.

The pages travel with the package as Markdown. They are read in a terminal and rendered on
the method page, where they pass the gate like everything else: they show no typed number.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from writeup.errors import WriteupError

# In the order in which a writeup meets them: its words, its citations, its comparisons, its
# story, its record, its site.
ORDER = (
    "typed-number",
    "bare-comparative",
    "unknown-citation",
    "ambiguous-citation",
    "unnamed-baseline",
    "incomparable",
    "unresolved-claim",
    "hidden-loss",
    "result-incomplete",
    "datasheet-ceiling",
    "above-ceiling",
    "step-without-measurement",
    "config-missing",
    "no-attempts",
    "story-order",
    "unit-unconfirmed",
    "source-mismatch",
    "hypothesis-late",
    "not-concluded",
    "private-data",
    "bad-artifact",
    "bad-story",
    "bad-config",
    "broken-link",
)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: title and `refuses` (a sentence or two) are plain text, body is Markdown.

    body goes on after what `refuses` says, and has no headings, so that many rules can stand
    on one page.
    """

    id: str
    title: str
    refuses: str
    body: str

    @property
    def text(self) -> str:
        """The whole page, as `writeup explain` prints it."""
        refuses = textwrap.fill(self.refuses, 100)
        return f"# {self.id}: {self.title}\n\n{refuses}\n\n{self.body}"


@cache
def rules() -> Mapping[str, Rule]:
    """All rules by id, in order."""
    folder = files("writeup") / "rules"
    found = {id_: _parse(id_, (folder / f"{id_}.md").read_text("utf-8")) for id_ in ORDER}
    return MappingProxyType(found)


def rule(id_: str) -> Rule:
    """The rule of that id. Raises WriteupError, with a suggestion, if there is none."""
    found = rules().get(id_)
    if found is None:
        near = get_close_matches(id_, ORDER, n=1)
        hint = f"; did you mean '{near[0]}'?" if near else f"; there are: {', '.join(ORDER)}"
        raise WriteupError(f"there is no rule '{id_}'{hint}")
    return found


def _parse(id_: str, text: str) -> Rule:
    heading, refuses, body = text.split("\n\n", 2)
    return Rule(id_, heading.removeprefix("# "), " ".join(refuses.split()), body)
