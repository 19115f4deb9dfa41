"""Words that fill a field and say nothing."""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W_]+")
# What is left when none of these count is what the field says.
_FILLERS = frozenset(
    "a above all an and any anything applicable as at auto automatic be before below but by can "
    "cannot code conclude concluded custom decide decided default determined do done earlier else "
    "everything for here how i if in is it know known later library more n na nil no none nor "
    "normal not nothing of omitted one or other placeholder previous same say see so sorry "
    "standard tba tbc tbd that the there this to todo undecided unknown unspecified us usual "
    "various we what whatever will wip with yet".split()
)


def says_nothing(text: object) -> bool:
    """Whether a field is absent, empty, or filled with words that no reader learns from."""
    words = _WORD.findall(text.casefold()) if isinstance(text, str) else []
    return all(word in _FILLERS for word in words)
