"""How a time, a band, a verdict and a ceiling are made here: the chapters of the method page.

Every constant in them comes from the code that uses it.
"""

from __future__ import annotations

from collections.abc import Sequence

from writeup import derive, views
from writeup.views import Chapter, Code, Words

_BLOCKS = derive.constant("BLOCKS")
_LEVEL = derive.constant("LEVEL")
_MARGIN = derive.constant("MARGIN")
_FEWEST = derive.constant("MIN_BLOCKS")
_FAR = derive.constant("OUTLIER_MADS")


def chapters() -> tuple[Chapter, ...]:
    """In the order in which a sceptical reader asks."""
    return tuple(Chapter(name, title, _body(paragraphs)) for name, title, paragraphs in _CHAPTERS)


def _body(paragraphs: Sequence[Words]) -> views.Body:
    return lambda pen: "".join(f"<p>{pen.draw(words)}</p>\n" for words in paragraphs)


_CHAPTERS: tuple[tuple[str, str, tuple[Words, ...]], ...] = (
    (
        "samples",
        "A sample",
        (
            (
                "A sample is one timed observation, kept as the timer gave it, with the number of "
                "launches that it holds. Variants take turns sample by sample, in an order drawn "
                "anew "
                "for every round from the recorded seed, so that they share one state of the "
                "machine: "
                "what drifts, drifts for all of them. No sample of a finished block is dropped; a "
                "block that was lost or throttled counts as a whole or not at all."
            ),
            (
                "A mode says what one sample holds and is part of what a measurement is. In a cold "
                "mode the caches are flushed before each sample; in a hot one they are not. Cases "
                "never mix within a round."
            ),
        ),
    ),
    (
        "blocks",
        "A time",
        (
            (
                (
                    "The unit of inference is the block, one fresh process: a process carries its "
                    "own "
                    "luck of allocation and placement, so samples of one process are no "
                    "independent "
                    "witnesses. A run of record has "
                ),
                _BLOCKS,
                " blocks. Each block gives its median, and the time is the median of these.",
            ),
            (
                (
                    "The quartiles, the smallest and the largest sample describe all samples "
                    "together "
                    "and carry no verdict. An outlier, further than "
                ),
                _FAR,
                " median absolute deviations from the median, is counted and stays in.",
            ),
        ),
    ),
    (
        "level",
        "A band",
        (
            (
                (
                    "The band beside an estimate is the exact order-statistic interval of the "
                    "block "
                    "medians, at a level of at least "
                ),
                _LEVEL,
                ". It assumes no distribution and needs no seed. Below ",
                _FEWEST,
                " blocks there is none, and none is shown.",
            ),
            (
                "A speed-up is the time of the baseline by the time of the variant, block by "
                "block: "
                "the median over paired blocks of the logarithm of that ratio, with the same "
                "interval. Over cases it is told as a geometric mean, never without the worst and "
                "the best."
            ),
        ),
    ),
    (
        "margin",
        "A verdict",
        (
            (
                "A difference is worth telling beyond a margin of practice, ",
                _MARGIN,
                " unless the case names another; it is never made from the noise. A variant is ",
                Code("faster"),
                " if the whole band lies above the margin, ",
                Code("slower"),
                " if it lies below, the ",
                Code("same"),
                " if it lies inside; otherwise we ",
                Code("cannot tell"),
                ".",
            ),
            (
                "In the rounds of every case run A/A twins: two equal variants with outputs of "
                "their "
                "own. Where their band leaves the margin or is wider than it, nothing can be "
                "called "
                "the same, and a difference must clear the margin and the twins' own distance."
            ),
        ),
    ),
    (
        "ceilings",
        "A ceiling",
        (
            (
                "Ceilings are measured in the same run on the same device as what stands under "
                "them: "
                "a sweep of copies for memory, of matrix products for arithmetic. A ceiling is the "
                "best median over its probes, and names the probe that reached it. The matched "
                "copy "
                "is a copy of the case's own bytes, timed in the case's own rounds: what a kernel "
                "that reads each input once and writes each output once can be held against."
            ),
            (
                "Work is counted, not measured: each input once, each output once, and the "
                "operations "
                "by the convention that the record prints. What lies above the matched copy "
                "and above the memory ceiling by more than the bands had its bytes miscounted, or "
                "found them in a cache, and stops the build. Above the copy alone is a variant "
                "that obtains its output otherwise than the copy does."
            ),
        ),
    ),
    (
        "failures",
        "What did not work",
        (
            (
                "Before anything is timed, every variant passes a gate against an oracle of higher "
                "precision, on fresh inputs, and the gate itself is tried with mistakes planted in "
                "the real kernels. A variant that fails has a status, a reason and no time. What "
                "could not run on the device is a row too."
            ),
        ),
    ),
    (
        "questions",
        "Three questions to ask of any writeup",
        (
            (
                "Which order makes it checkable? The problem, the roofline, the steps, the result: "
                "what was slow and for whom, what the machine allows, what each idea brought, and "
                "where the headline does not hold."
            ),
            (
                "What belongs in it about a regression? All of it: every measured case and mode in "
                "which the verdict flips or is unclear stands in the result, and no story can trim "
                "that block."
            ),
            (
                "What if a number is in no artifact? Then it is not on the page: the build fails "
                "on "
                "every numeral that does not come from one."
            ),
        ),
    ),
)
