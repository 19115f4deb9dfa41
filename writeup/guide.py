"""What an author may write between `{{` and `}}`: the page that `writeup explain language` prints.

It is put together from the language itself. Every form has an example, which the tests
parse; every field, relation, block and key has a line, which the tests count.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping

from writeup import answers, language
from writeup.frontmatter import CHOICES, KEYS
from writeup.language import BlockName, Denominator, Field, Namespace, Relation

_WIDTH = 96
_COLUMN = 42

EXAMPLES: Mapping[str, str] = {
    "bn64.time": "a quantity or a fact of a variant (the fields are below)",
    "bn64.time @ n512-d64, graph": "the same of this case, in this mode",
    "bn64.speedup over sdpa": "how many times as fast, with its band",
    "bn64.speedup over sdpa @ all cases": "the geometric mean, with the worst and the best case",
    "bn64 vs sdpa": "the verdict in words with its figures: faster, slower, same or cannot tell",
    "bn64 vs sdpa @ all cases": "on how many cases which verdict, with mean, worst and best",
    "claim bn64 faster than sdpa": "that sentence, if all measurements left bear it out",
    "claim bn64 registers below sdpa": "an order of two fields, beyond their bands where timed",
    "predicted.bn64 over sdpa": "the ratio that was predicted before the run of record",
    "predicted.bn64 vs measured": "what became of it: within, above or below the band, by how much",
    "env.device": "a fact of the environment, by its name in the record",
    "case.shape": "a fact of a case",
    "ceiling.memory": "a ceiling measured in the run, for the case and mode",
    "run.date": "a fact of the run",
    "code fused.py:softmax_kernel": "a definition as it was measured; alone on its line",
    "diff online fused": "what changed from one variant's file to another's; alone on its line",
    "result": "a generated part; alone on its line (the parts are below)",
}
"""Citations, and what each gives."""

FIELDS: Mapping[Field, str] = {
    Field.TIME: "the median of the block medians",
    Field.BAND: "the interval beside it",
    Field.MIN: "the smallest sample; never a headline",
    Field.MAX: "the largest sample",
    Field.SAMPLES: "how many samples",
    Field.BLOCKS: "how many blocks, each a process",
    Field.OUTLIERS: "how many samples lie far off; they stay in",
    Field.THROUGHPUT: "operations by time",
    Field.BANDWIDTH: "bytes by time",
    Field.INTENSITY: "operations by bytes",
    Field.FRACTION: "the rate, as a share `of attainable` (else), `of copy` or `of ceiling`",
    Field.BYTES: "bytes that must move, as counted",
    Field.FLOPS: "operations, as counted",
    Field.REGISTERS: "registers a thread",
    Field.SPILLS: "spilled bytes a thread; also `spill bytes`",
    Field.STACK: "stack a thread",
    Field.SHARED: "shared memory a block; also `shared memory`",
    Field.SHARED_LIMIT: "shared memory that a block may have",
    Field.WARPS: "warps a block",
    Field.TARGET: "the architecture compiled for",
    Field.ERROR: "the largest absolute error against the oracle",
    Field.RELATIVE_ERROR: "the largest relative error",
    Field.MISMATCHED: "how many elements lay beyond the tolerance",
    Field.CHECKED: "what ran for the check: a device, the interpreter, the compiler",
    Field.STATUS: "ok, or what went wrong",
    Field.REASON: "why there is no speed, with the figures that explain it",
    Field.REQUIRED: "how much it asked for",
    Field.LIMIT: "how much there is",
    Field.CONFIG: "the configuration; `config.KEY` for one setting",
    Field.ROLE: "baseline, step, attempt or control",
    Field.PARENT: "the variant that it departs from",
    Field.LEVER: "where the gain is sought",
    Field.IDEA: "the idea, in the record's words",
    Field.WHAT: "what it is, in the record's words",
    Field.EXPRESSION: "the call, as a reader would write it",
    Field.BACKEND: "what ran underneath",
    Field.ROUNDING: "in what precision it computes and rounds",
    Field.PRECISION: "the precision of the arithmetic, where it is a choice",
    Field.DTYPE: "its data type, else its case's",
    Field.FILE: "its file",
    Field.FUNCTION: "its function in the file",
    Field.METRIC: "`metric.NAME`: any other metric, as the median of the block medians",
    Field.COUNTER: "`counter.NAME`: a hardware counter",
}

RELATIONS: Mapping[Relation, str] = {
    Relation.FASTER: "by more than the margin and the twins' own distance",
    Relation.SLOWER: "the same, the other way round",
    Relation.SAME: "with the whole band inside the margin",
    Relation.BELOW: "behind a field: `claim a registers below b`",
    Relation.ABOVE: "behind a field",
}

DENOMINATORS: Mapping[Denominator, str] = {
    Denominator.ATTAINABLE: "what both ceilings allow at the work's intensity",
    Denominator.COPY: "a copy of the case's own bytes in the same rounds; also `of matched`",
    Denominator.CEILING: "the measured memory ceiling",
}

BLOCKS: Mapping[BlockName, str] = {
    BlockName.PROBLEM: "question, contract, baseline, hypothesis, predictions",
    BlockName.ROOFLINE: "ceilings, ridge, intensity, and where each step stands",
    BlockName.STEPS: "the ladder: before and after of each step",
    BlockName.ATTEMPTS: "what was tried and not kept, with what bound it",
    BlockName.SEARCHED: "every configuration that was tried",
    BlockName.RESULT: "the headline, and every case and mode where it does not hold",
    BlockName.REPRODUCE: "the commands and the sources",
}

FACTS: Mapping[Namespace, str] = {
    Namespace.ENV: "device, or any name below device, software, host, flags, variables",
    Namespace.CASE: f"{', '.join(answers.CASE_FACTS)}, or an extent of its shape",
    Namespace.CEILING: f"{', '.join(answers.CEILING_FACTS)}, or a ceiling's id",
    Namespace.RUN: ", ".join(answers.RUN_FACTS),
}

FRONT: Mapping[str, str] = {
    "title": "may cite, like the next two",
    "description": "a sentence for the home page and for links",
    "audience": "for whom",
    "kind": "a story has four parts; a study is free in form",
    "results": "the commit, or its beginning; `writeup pin` sets it",
    "run": "one of several runs of that commit",
    "device": "one of several devices",
    "case": "the case of citations that name none",
    "mode": "the mode of citations that name none",
    "baseline": "what the headline is compared with, where it is not the record's baseline",
    "headline": "the variant of the headline, where it is not the last step",
    "status": "not measured yet: rules of measurement are silent",
}


def page() -> str:
    """The page, as text for a terminal."""
    return "\n".join(_lines()).rstrip()


def _lines() -> Iterator[str]:
    yield "# language: what a story may cite"
    yield from _prose(
        "A citation stands between {{ and }} in a story's prose, headings, links, titles and "
        "front matter; inside code it stays as it is. Ids are small letters, digits, - and _. "
        "Exactly one measurement must match; an error for several lists the facets that choose."
    )
    yield from _table("Forms", EXAMPLES.items())
    yield from _table("Fields of a variant", FIELDS.items())
    yield from _prose(
        f"{_listed(language.COUNTED)} are of the case's compulsory work, or with "
        "`as implemented` of the work that a variant counts as its own."
    )
    yield from _table(
        "Shares", ((f"fraction of {each}", DENOMINATORS[each]) for each in Denominator)
    )
    yield from _table("Claims", RELATIONS.items())
    ordered = _listed(language.ORDERED - {Field.TIME})
    yield from _prose(f"Fields that can be below or above: {ordered}.")
    yield from _table("Facts", ((f"{name}.NAME", FACTS[name]) for name in Namespace))
    yield from _table("Generated parts", BLOCKS.items())
    yield from _table("Facets, behind @ and with commas between", _FACETS.items())
    yield from _table("Front matter, in TOML between two lines of +++", _front())
    yield from _table("Digits that are no results", [('[5]{.literal reason="…"}', _LITERAL)])
    yield from ("", "## Grammar", "")
    yield textwrap.indent(language.GRAMMAR.strip("\n"), "    ")


def _prose(text: str) -> Iterator[str]:
    yield ""
    yield from textwrap.wrap(text, _WIDTH)


_LITERAL = "a typed digit with its reason, listed on a public page; no unit, at most a few"
_FACETS = {
    "n512-d64": "a case, by its id",
    "graph": "a mode",
    "bfloat16": "a data type",
    "20261130T1812Z-h200": "a run",
    "0123456": "a commit, by its beginning",
    "all cases": "every case, in one mode",
}


def _front() -> Iterator[tuple[str, str]]:
    for key in KEYS:
        values = " or ".join(f'"{value}"' for value in CHOICES.get(key, ("…",)))
        yield f"{key} = {values}", FRONT[key]


def _listed(fields: frozenset[Field]) -> str:
    return ", ".join(field for field in Field if field in fields)


def _table(title: str, rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    every = list(rows)
    width = min(_COLUMN, max(len(name) for name, _ in every) + 2)
    yield from ("", f"## {title}", "")
    for name, said in every:
        yield from textwrap.wrap(
            name.ljust(width) + said,
            _WIDTH,
            initial_indent="  ",
            subsequent_indent=" " * (width + 2),
            break_on_hyphens=False,
        )
