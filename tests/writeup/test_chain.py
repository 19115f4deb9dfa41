import json

import pytest

from writeup.chain import chains
from writeup.errors import WriteupError

COMMIT = "ab" * 20
TIME = f"{COMMIT}/r/softmax.wide/eager/host"
ARTIFACTS = {COMMIT: f"results/{COMMIT}.json", "cd" * 20: "results/other.json"}


def record(count=1):
    evidence = {
        f"{n:012x}": {
            "form": "time",
            "at": [TIME],
            "args": ["in:ms"] if n else [],
            "text": f"{n} ms",
            "label": "time of eager",
        }
        for n in range(count)
    }
    occurrences = [
        {"page": page, "offset": 1, "length": 4, "key": key}
        for key in evidence
        for page in ("stories/a/index.html", "index.html", "index.html")
    ]
    occurrences[0]["source"] = "kernels/a/story.md:3:1"
    return json.dumps({"evidence": evidence, "occurrences": occurrences}).encode()


WHOLE = f"""\
0 ms  [000000000000]
  what      time of eager
  form      time
  from      {TIME}
  artifact  results/{COMMIT}.json
  cited at  kernels/a/story.md:3:1
  shown on  index.html
  shown on  stories/a/index.html"""


@pytest.mark.parametrize(
    "what",
    [
        "000000000000",
        TIME,
        TIME.partition("/")[2],
        f"../../results/{COMMIT}/index.html#r/softmax.wide/eager/host",
        "kernels/a/story.md:3:1",
    ],
)
def test_a_chain_leads_from_the_pages_to_the_artifact(what):
    assert chains(record(), ARTIFACTS, what) == WHOLE


def test_of_many_numbers_some_are_told_and_the_rest_counted():
    told = chains(record(12), ARTIFACTS, TIME).split("\n\n")
    assert len(told) == 6
    assert told[-1] == "and 7 more that rest on it"
    assert len(set(told)) == 6


@pytest.mark.parametrize("what", ["", "time", "000000000001", "index.html#", "story.md:3:1", "#"])
def test_what_names_no_number_is_refused(what):
    with pytest.raises(WriteupError, match="neither a rule nor a number"):
        chains(record(), ARTIFACTS, what)
