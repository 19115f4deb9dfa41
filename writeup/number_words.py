"""Numbers in words: those that multiply, and those that stand before a unit.

Patterns over folded text: small letters of one form, every dash a hyphen, nothing invisible
(`numerals` folds). The grammar is a closed one, of English; what it lets through is listed
with the literals of a site.
"""

from __future__ import annotations

import re
from collections.abc import Iterable


def _any(words: Iterable[str]) -> str:
    """Longest first, so that no word is cut short where the pattern could still go on."""
    return "(?:" + "|".join(sorted(words, key=len, reverse=True)) + ")"


# Bounded, like the words of a number below: a row of blanks or of numbers is read once.
_GAP = r"[\s-]{1,8}"
_BEGIN, _END = r"(?<![^\W_])", r"(?![^\W_])"

# Numbers.

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty "
    "ninety hundred thousand million billion trillion quadrillion dozen"
)
_LARGE = "tens dozens scores hundreds thousands millions billions trillions"
_CARDINAL = _any((_SMALL + " " + _LARGE).split())
_NUMBER = (
    rf"(?:{_CARDINAL}(?:(?:{_GAP}(?:(?:and|point){_GAP})?)?{_CARDINAL}){{0,8}}"
    rf"(?:{_GAP}and{_GAP}an?{_GAP}half)?|(?:a{_GAP})?couple)"
)
_ORDINALS = (
    "third quarter fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
    "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth thirtieth "
    "fortieth fiftieth sixtieth seventieth eightieth ninetieth hundredth thousandth millionth "
    "billionth"
).split()
_FRACTION = _any(_ORDINALS)
_PART = rf"(?:half|halves|{_FRACTION}s?)"

# Units.

_BINARY = "kilo mega giga tera peta exa kibi mebi gibi tebi".split()
_DECIMAL = "pico nano micro milli kilo mega giga tera peta exa".split()
_PIECES = "byte bytes bit bits".split()
_MEASURES = (
    "flop flops hertz watt watts joule joules second seconds metre metres meter meters"
).split()
# `second(?!-)`: a second-order term is no duration.
_SPELT = [
    *_PIECES,
    *(prefix + unit for prefix in _BINARY for unit in _PIECES),
    *(prefix + unit for prefix in _DECIMAL for unit in _MEASURES),
    *"flop flops hertz watt watts joule joules seconds second(?!-)".split(),
]
_SHORT = (
    "times fold x × % percent pct ‰ permille percentage "
    "secs sec s minutes minute mins hours hour days day weeks week "
    "msecs msec ms usecs usec us µs μs nsecs nsec ns ps cycles cycle clocks "
    "kb mb gb tb kib mib gib tib bits/s bytes/s byte/s b/s kb/s mb/s gb/s tb/s "
    "kib/s mib/s gib/s tib/s gbps tbps "
    "flop/s mflop/s gflop/s tflop/s pflop/s mflops gflops tflops pflops flop/byte "
    "hz khz mhz ghz w kw j mj degrees degree °c celsius kelvin "
    "tokens/s tok/s images/s samples/s it/s"
).split()
_PHRASES = [
    rf"per{_GAP}cent",
    *(rf"{what}{_GAP}per" for what in ("tokens", "samples", "images")),
]
_UNIT = _any([*_SPELT, *map(re.escape, _SHORT), *_PHRASES])

# What may stand between a number and its unit.
_ADJECTIVES = (
    "more fewer less further extra additional whole full good odd ish plus long short wall "
    "clock device gpu cpu elapsed average median total mere entire"
).split()
_QUALIFIER = _any([*_ADJECTIVES, rf"or{_GAP}(?:so|more|less|fewer)"])

# Words around an amount.

_COMPARED = _any(
    (
        "less more fewer faster slower quicker longer shorter lower higher smaller larger bigger "
        "greater cheaper better worse off again"
    ).split()
)
_OFTEN = rf"(?:the|as|of|that|this|these|those|its|their|our|what|{_COMPARED})"
_SHARE_OF = rf"(?:the|as|of|its|their|our|{_COMPARED})"
# A noun behind "a third" makes it an ordinal: a third kernel. These are none.
_NO_NOUN = _any(
    (
        "of on in at for and or when while with without to from by but than as if is was are "
        "were on only here there over under across once again"
    ).split()
)
_NOT_BEFORE_NOUN = rf"(?!-)(?!{_GAP}(?!{_NO_NOUN}{_END})[^\W_])"
# A part by its place is no amount: the second half of a row. A member, `torch.half`, is none.
_PLACES = (
    "first second last other each either every upper lower left right top bottom latter former"
).split()
_UNPLACED = "".join(rf"(?<!{word}[\s-])" for word in _PLACES) + r"(?<![.\"'])"
_TUPLES = "doubl tripl trebl quadrupl quintupl sextupl septupl octupl nonupl decupl centupl"
# "In under a millisecond" is a bound, and "a" its number.
_WITHIN = _any(
    (
        "under over about around above below within than nearly almost roughly barely hardly "
        "only just least most"
    ).split()
)
_TAKING = _any("in for by to takes take took taken taking costs cost saves save saved".split())
_LASTING = _any(
    ["percent", "minute", "hour", rf"per{_GAP}cent"]
    + [prefix + "second" for prefix in ("pico", "nano", "micro", "milli")]
)
_WEIGHING = _any([*(p + u for p in _BINARY for u in ("byte", "bit")), "byte"])
_RATED = rf"{_NUMBER}{_GAP}[^\W_]{{1,20}}"
_PERIOD = "(?:(?:milli|micro|nano)?second|minute|hour|day|week|cycle|clock)"

MULTIPLE = re.compile(
    _BEGIN
    # In order: of two that begin together the first is found.
    + "(?:"
    + "|".join(
        (
            r"twice",
            r"thrice",
            rf"(?:{_TUPLES.replace(' ', '|')})(?:es|ed|e|ing)",
            r"halv(?:es|ed|e|ing)",
            r"quarter(?:ed|ing)",
            rf"(?:{_NUMBER}|many|several|multi|multiple)(?:{_GAP})?fold",
            rf"(?:(?:{_NUMBER}|an?|few|many|several){_GAP})?orders?{_GAP}of{_GAP}magnitudes?",
            rf"(?:many|several|few|countless){_GAP}times{_GAP}(?:as|{_COMPARED})",
            rf"{_UNPLACED}half{_GAP}(?:{_OFTEN}|an?)",
            rf"(?:by|in|to|than|an?){_GAP}half(?![-.(])",
            rf"{_NUMBER}{_GAP}{_PART}(?!-)",
            rf"(?:factors?|speed-?ups?|ratios?){_GAP}(?:of|between){_GAP}{_NUMBER}",
            rf"factor{_GAP}{_NUMBER}",
            rf"(?:multipl(?:y|ied|ies|ying)|divid(?:e|ed|es|ing)){_GAP}by{_GAP}{_NUMBER}",
            rf"(?:by|of|to){_GAP}an?{_GAP}{_FRACTION}{_NOT_BEFORE_NOUN}",
            rf"an?{_GAP}{_FRACTION}{_GAP}{_SHARE_OF}",
            # "Fused two in one" is no ratio; "one in two" is.
            rf"{_NUMBER}{_GAP}out{_GAP}of{_GAP}(?:an?{_GAP})?{_NUMBER}",
            rf"{_NUMBER}{_GAP}in{_GAP}(?:an?{_GAP})?(?!one{_END}){_NUMBER}",
            rf"(?:single|double|triple){_GAP}digits?",
            rf"{_UNPLACED}half(?![-.(])",
        )
    )
    + ")"
    + _END
)
"""Words that multiply, divide, or tell a share."""

_AMOUNT = rf"{_NUMBER}(?:ish)?(?:{_GAP}{_QUALIFIER}){{0,2}}(?:{_GAP}of)?(?:{_GAP})?"

_SOME = "(?:ones|twos|threes|fours|fives|sevens|eights|nines)"

COUNT = re.compile(
    _BEGIN
    + "(?:"
    + "|".join(
        (
            # "one day" is some day, and "ones" are no seconds.
            rf"(?!one{_GAP}day{_END})(?!{_SOME}{_END}){_AMOUNT}{_UNIT}",
            rf"{_RATED}(?:{_GAP}per{_GAP}|/){_PERIOD}",
            # "Two kernels a second time" is no rate.
            rf"{_RATED}{_GAP}(?:an?|each|every){_GAP}{_PERIOD}{_NOT_BEFORE_NOUN}",
            rf"{_WITHIN}{_GAP}an?{_GAP}(?:{_LASTING}|{_WEIGHING})",
            rf"{_TAKING}{_GAP}an?{_GAP}{_LASTING}",
            rf"sub(?:{_GAP})?(?:milli|micro|nano|pico)seconds?",
        )
    )
    + ")"
    + _END
)
"""Numbers in words before a unit, %, times, fold or ×; and an article that counts as one."""

UNIT_AFTER = re.compile(rf"(?:{_GAP})?{_UNIT}{_END}", re.IGNORECASE)
"""A unit at the beginning: what makes a figure of the digits before it."""

RATIO_AFTER = re.compile(rf"(?:{_GAP})?(?:times|fold|x|×|%|percent){_END}", re.IGNORECASE)
"""What makes a ratio of the name that ends in digits before it."""
