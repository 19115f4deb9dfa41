"""The chain of a number: from the page that shows it to the samples that it follows from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from writeup.errors import WriteupError

# Of many numbers that match, this many are told; the others are counted.
_MOST = 5


def chains(citations: bytes, artifacts: Mapping[str, str], what: str) -> str:
    """The chains of every number that `what` names, as text.

    citations is the content of citations.json; artifacts holds the path of each commit's
    artifact. what is a key, an address (or its end), or `path:line:column` of a citation.
    Raises WriteupError where no number is meant.
    """
    record = json.loads(citations)
    keys = sorted(set(_matches(record, what)))
    if not keys:
        raise WriteupError(
            f"neither a rule nor a number is called '{what}'; copy a number's link or its key "
            "from citations.json, or give the place of a citation as path:line:column"
        )
    told = [_chain(record, artifacts, key) for key in keys[:_MOST]]
    if len(keys) > _MOST:
        told.append(f"and {len(keys) - _MOST} more that rest on it")
    return "\n\n".join(told)


def _matches(record: Mapping[str, Any], what: str) -> Iterator[str]:
    wanted = what.partition("#")[2] if what.partition("#")[0].endswith("index.html") else what
    for key, each in record["evidence"].items():
        addresses = [*each["at"], *(a.partition("/")[2] for a in each["at"])]
        if wanted == key or (wanted and wanted in addresses):
            yield key
    for occurrence in record["occurrences"]:
        if occurrence.get("source") == what:
            yield occurrence["key"]


def _chain(record: Mapping[str, Any], artifacts: Mapping[str, str], key: str) -> str:
    each = record["evidence"][key]
    places = [o for o in record["occurrences"] if o["key"] == key]
    pages = sorted({o["page"] for o in places})
    cited = sorted({o["source"] for o in places if "source" in o})
    lines = [f"{each['text']}  [{key}]"]
    if each.get("label"):
        lines.append(f"  what      {each['label']}")
    lines.append(f"  form      {' '.join([each['form'], *each['args']])}")
    lines += [f"  {'from' if i == 0 else '':9} {a}" for i, a in enumerate(each["at"])]
    files = {artifacts[c] for c in artifacts if any(a.startswith(c) for a in each["at"])}
    lines += [f"  artifact  {path}" for path in sorted(files)]
    lines += [f"  cited at  {place}" for place in cited]
    lines += [f"  shown on  {page}" for page in pages]
    return "\n".join(lines)
