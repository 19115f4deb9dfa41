"""Where on the site a piece of evidence is shown: one page and one anchor for each address.

An anchor on a result page is the address without its commit, so that a link copied from a
page reads like the address itself.
"""

from __future__ import annotations

import posixpath
import re
from urllib.parse import quote

from writeup.evidence import Evidence

LITERALS = "literals/index.html"
METHOD = "method/index.html"

_COMMIT = re.compile(r"(?:[0-9a-f]{40}|imported-[0-9a-f]{64})(?=[/#]|$)")
# Parts of a run with an anchor of their own, alone or with the next step of the pointer.
_PARTS = ("timer",)
_KEYED = ("ceilings", "experiments", "environment", "controls", "documents")
# The chapter of the method page that explains a constant.
_CONSTANTS = {
    "LEVEL": "level",
    "MIN_BLOCKS": "level",
    "LEFT_OUT": "level",
    "COVERAGE": "level",
    "LEAST_DIGITS": "level",
    "MOST_DIGITS": "level",
    "PLAIN_DIGITS": "level",
    "BLOCKS": "blocks",
    "OUTLIER_MADS": "blocks",
    "MARGIN": "margin",
    "TAIL": "margin",
}
_UNLINKED = ("tick", "digest", "size", "glossary")
_OF_BLOB = ("source", "diff")


def result(commit: str) -> str:
    """The page of an artifact."""
    return f"results/{commit}/index.html"


def source(blob: str) -> str:
    """The page of a file as it was measured."""
    return f"sources/{blob}/index.html"


def story(subject: str) -> str:
    """The page of a story."""
    return f"stories/{subject}/index.html"


def target(evidence: Evidence) -> tuple[str, str] | None:
    """The page and the anchor where an evidence leads; None where it stands for itself."""
    if evidence.form == "constant":
        return METHOD, _CONSTANTS[evidence.args[0]]
    if evidence.form == "literal":
        return LITERALS, ""
    if not evidence.at or evidence.form in _UNLINKED:
        return None
    first = evidence.at[0]
    if evidence.form == "short" and "blob" in evidence.args:
        return source(first), ""
    if evidence.form in _OF_BLOB:
        return source(first), f"L{evidence.args[0]}" if evidence.args else ""
    commit = _COMMIT.match(first)
    if commit is None:
        return None
    rest = first[commit.end() :]
    page = result(commit[0])
    return page, anchor(rest[1:]) if rest.startswith("#") else rest.removeprefix("/")


def anchor(pointer: str) -> str:
    """The id of the nearest part of a result page that shows what a JSON pointer names."""
    steps = [s.replace("~1", "/").replace("~0", "~") for s in pointer.split("/")[1:]]
    if len(steps) < 2 or steps[0] != "runs":
        return ""
    run, rest = steps[1], steps[2:]
    match rest:
        case ["cases", case, "variants", variant, "timings", mode, *_]:
            return f"{run}/{case}/{variant}/{mode}"
        case ["cases", case, "variants", variant, *_]:
            return f"{run}/{case}/{variant}"
        case ["cases", case, *_]:
            return f"{run}/{case}"
        case ["experiments", subject, "predicted", index]:
            return f"{run}/experiments/{subject}/predicted/{index}"
        case [part, key, *_] if part in _KEYED:
            return f"{run}/{part}/{key}"
        case [part, *_] if part in _PARTS:
            return f"{run}/{part}"
    return run


def href(page: str, evidence: Evidence) -> str:
    """The relative link from a page to where an evidence leads; "" where it leads nowhere."""
    found = target(evidence)
    if found is None:
        return ""
    path, fragment = found
    suffix = f"#{quote(fragment, safe='/.:-_~')}" if fragment else ""
    if path == page:
        return suffix or posixpath.basename(path)
    return posixpath.relpath(path, posixpath.dirname(page) or ".") + suffix
