"""The rule of comparisons in words: a sentence that compares rests on a claim or a verdict.

Two kinds of words. Some compare speeds and nothing else ("faster", "outperforms"): they are
refused wherever a person types them in a story. Others compare all sorts of things ("longer
than", "wins", "up to"): they are refused where the sentence or its paragraph tells of a
variant, by its id, by a citation of it, or by a word that stands for one.

What was written before the run, the words of a record, is expectation and not looked at.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from writeup.document import Placed, text_runs
from writeup.errors import Problem
from writeup.language import Claim, Ratio, Value, Versus
from writeup.places import Run
from writeup.sources import Sources
from writeup.told import Told

RULE = "bare-comparative"


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(patterns)})(?![^\W_])")


_QUICK = "(?:fast|quick|slow|swift|speedi|snappi|nippi)"
_OF_SPEED = _any(
    rf"{_QUICK}(?:er|est)",
    r"(?:more|most|less|least)\s+(?:quick|rapid|slow|swift|speedi|sluggish)(?:ly)?",
    r"(?:as|equally|just\s+as)\s+(?:fast|quick|slow|rapid)(?:ly)?(?:\s+as)?",
    r"out-?(?:perform|run|pace|class|strip|shine|race|do)(?:s|es|ed|ing)?",
    r"out(?:ran|did|done)",
    r"beats?",
    r"beat(?:en|ing)",
    r"state[\s-]of[\s-]the[\s-]art",
    r"record[\s-](?:breaking|setting)",
    r"best[\s-](?:in|of)[\s-](?:class|breed)",
    r"un(?:beaten|beatable|matched|rivall?ed|surpassed)",
    r"second\s+to\s+none",
    r"speed\s+(?:king|demon|champion|record)",
)
_TIME = (
    r"(?:(?:run\s?-?|wall\s?-?)?times?|latency|latencies|durations?"
    r"|throughputs?|bandwidths?|speeds?)"
)
_OF_ALL_SORTS = _any(
    r"wins?",
    r"won",
    r"winn(?:er|ers|ing)",
    r"los(?:es?|t|ing)\s+(?:to|over|against|out)",
    r"losers?",
    r"up\s+to",
    r"(?:better|worse|longer|shorter|sooner|later|higher|lower|cheaper|dearer)\s+than",
    r"(?:no|not|nothing|none)\s+(?:\w+\s+)?(?:better|worse|cheaper)",
    r"cheap(?:er|est)",
    r"(?:the|its|by\s+far\s+the|at)\s+(?:very\s+)?(?:best|worst)",
    r"(?:less|more|fewer|least|most)\s+(?:time|milliseconds?|microseconds?|cycles)",
    rf"(?:less|more|lower|higher|shorter|longer|better|worse|reduced|improved)\s+{_TIME}",
    r"(?:tak|need|cost|spend|requir|finish|us)(?:es|s|e|ed|ing)?\s+(?:much\s+|far\s+)?(?:less|longer)",
    r"took\s+(?:much\s+|far\s+)?(?:less|longer)",
    r"(?:more|less|most|least)\s+(?:efficient|performant|optimal)(?:ly)?",
    r"(?:super|infer)ior(?:\s+to)?",
    r"(?:trounc|surpass|overtak|dominat|eclips|trump|crush|smash|demolish|annihilat|obliterat)\w*",
    r"overtook",
    r"(?:destroy|thrash)(?:s|es|ed|ing)",
    r"in\s+the\s+dust",
    r"leav(?:es|ing)\s+\S+(?:\s+\S+)?\s+behind",
    r"left\s+behind",
    r"(?:lag|trail|fall)(?:s|ged|ging|ing)?\s+behind",
    r"ahead\s+of",
    r"(?:edg|pull)(?:es|s|ed|ing)\s+(?:out|ahead|away)",
    r"improv(?:es?|ed|ing|ements?)\s+(?:on|upon|over)",
    rf"(?:improv|reduc|cut|sav|shorten|shrink|lower)(?:es|s|e|ts|ed|ing|ting)?\s+(?:the\s+|its\s+)?{_TIME}",
    r"on\s+(?:a\s+)?par\s+with",
    r"neck\s+and\s+neck",
    r"(?:ties?|tied|level|keeps?\s+(?:up|pace)|kept\s+(?:up|pace))\s+with",
    r"rivals?",
    r"no\s+match\s+for",
    r"(?:speed|lead)\s*-?\s*ups?\s+(?:over|against)",
    r"(?:a|the|its|clear|huge|large|big|massive|impressive)\s+speed\s?-?ups?",
    r"(?:speed|sped|slow)(?:s|ed|ing)?\s*-?\s*(?:up|down)",
    r"(?:advantage|gain|lead|edge)\s+over",
    r"(?:several|many|multiple|a\s+few|countless)\s+times",
)
# Words that stand for a variant where none is named.
_STANDING_FOR_ONE = _any(
    r"it",
    r"its",
    r"this",
    r"that",
    r"they",
    r"these",
    r"those",
    r"ours?",
    r"we",
    r"mine",
    r"(?:new|old|last|first|final|fused|tuned|naive|optimi[sz]ed)\s+(?:one|way|code)",
    r"kernels?",
    r"versions?",
    r"variants?",
    r"implementations?",
    r"baselines?",
    r"references?",
    r"rewrites?",
    r"attempts?",
    r"steps?",
    r"compilers?",
    r"inductor",
    r"py\s?torch",
    r"torch",
    r"triton",
    r"cudnn",
    r"cublas",
    r"numpy",
    r"jax",
)
_ENDS_SENTENCE = re.compile(r"(?<=[.!?;])\s+")


@dataclass(slots=True)
class _Paragraph:
    """What stands between blank lines: typed runs in order, and the variants cited in it."""

    runs: list[Run] = field(default_factory=list)
    cited: set[str] = field(default_factory=set)


def bare_comparatives(_: Sources, told: Mapping[str, Told]) -> Iterator[Problem]:
    """Words that compare, in sentences that nothing measured bears out."""
    for each in told.values():
        ids = {row.variant.id for row in each.record}
        names = {_folded(spelt)[0]: id_ for id_ in ids for spelt in (id_, id_.replace("-", " "))}
        for paragraph in _paragraphs(each):
            yield from _bare(each, paragraph, names)


def _paragraphs(each: Told) -> list[_Paragraph]:
    """The paragraphs of a story, its front matter's keys and headings among them."""
    lines = each.story.text.split("\n")
    starts, start = [], 0
    for number, line in enumerate(lines):
        if not line.strip() or line.lstrip().startswith("#") or line.strip() == "+++":
            start = number + 1
        starts.append(start)
    found: dict[int, _Paragraph] = {}
    for run in text_runs(each.story):
        found.setdefault(starts[run.line - 1], _Paragraph()).runs.append(run)
    # Where nobody tells the record, the citations are the generator's and stand in no line.
    for placed in each.story.citations if each.setting is None else ():
        found.setdefault(starts[placed.line - 1], _Paragraph()).cited.update(_variants(placed))
    return [found[at] for at in sorted(found)]


def _variants(placed: Placed) -> Iterator[str]:
    """The variants whose figures a citation shows."""
    match placed.citation:
        case Value(variant=variant):
            yield variant.text
        case Ratio(variant=variant, over=other):
            yield from (variant.text, other.text)
        case Versus(variant=variant, other=other) | Claim(variant=variant, other=other):
            yield from (variant.text, other.text)
        case _:
            return


def _bare(each: Told, paragraph: _Paragraph, names: Mapping[str, str]) -> Iterator[Problem]:
    about = {name for run in paragraph.runs for name in _named(_folded(run.text)[0], names)}
    for run in paragraph.runs:
        text, offsets = _folded(run.text)
        for start, end in _sentences(text):
            here = _named(text[start:end], names)
            told_of = bool(about or paragraph.cited or _STANDING_FOR_ONE.search(text, start, end))
            for found in _comparing(text, start, end, told_of=told_of):
                first, last = offsets[found.start()], offsets[found.end() - 1] + 1
                named = here or sorted(about) or sorted(paragraph.cited)
                shown = run.text[first:last]
                beside = f" beside '{named[0]}'" if named else ""
                message = f"'{shown}'{beside} rests on nothing"
                yield run.problem(first, last, RULE, message, _hint(each, named))


def _comparing(text: str, start: int, end: int, *, told_of: bool) -> Iterator[re.Match[str]]:
    """The comparing words of a sentence, none inside another."""
    kinds = (_OF_SPEED, _OF_ALL_SORTS) if told_of else (_OF_SPEED,)
    found = [match for kind in kinds for match in kind.finditer(text, start, end)]
    behind = start
    for match in sorted(found, key=lambda m: (m.start(), -m.end())):
        if match.start() >= behind:
            behind = match.end()
            yield match


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for gap in _ENDS_SENTENCE.finditer(text):
        yield start, gap.start()
        start = gap.end()
    yield start, len(text)


def _named(text: str, names: Mapping[str, str]) -> list[str]:
    """The ids of the variants that a text names, in its order."""
    spaced = " ".join(text.split())
    found = {
        match.start(): id_
        for spelt, id_ in names.items()
        for match in re.finditer(rf"(?<![\w-]){re.escape(spelt)}(?![\w-])", spaced)
    }
    return list(dict.fromkeys(found[at] for at in sorted(found)))


def _hint(each: Told, named: list[str]) -> str:
    """The claim that would say it."""
    if not named:
        return (
            "name the variants: {{ claim a faster than b }}, or {{ a vs b }}; "
            "what is only expected belongs into the hypothesis of experiment.py"
        )
    first, *others = named
    if not others and each.scene is not None and each.scene.baseline.variant.id != first:
        others = [each.scene.baseline.variant.id]
    other = others[0] if others else "…"
    return (
        f"write {{{{ claim {first} faster than {other} }}}}, "
        f"or let {{{{ {first} vs {other} }}}} say what the samples bear out"
    )


# Letters of other scripts that look like Latin ones.
_LOOKALIKES = str.maketrans("аеорсухіѕјһԁոαοντ", "aeopcyxisjhdnaovt")


def _folded(text: str) -> tuple[str, list[int]]:
    """A text in small plain letters without what no reader sees, and where each stood."""
    parts: list[str] = []
    offsets: list[int] = []
    for at, character in enumerate(text):
        plain = _plain(character)
        parts.append(plain)
        offsets.extend([at] * len(plain))
    return "".join(parts), offsets


@lru_cache(maxsize=4096)
def _plain(character: str) -> str:
    if unicodedata.category(character) in {"Cf", "Mn", "Me"} or character == "\u034f":
        return ""
    if unicodedata.category(character) == "Pd":
        return "-"
    folded = unicodedata.normalize("NFKD", character).casefold()
    plain = "".join(c for c in folded if unicodedata.category(c) != "Mn")
    return plain.translate(_LOOKALIKES)
