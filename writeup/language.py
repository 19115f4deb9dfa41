"""The language of citations: what may stand between `{{` and `}}`.

The grammar is closed: no arithmetic, no loops, nothing that an artifact could extend.
`GRAMMAR` says all of it; what each form gives is in `guide`.

Facets stay words here: whether `graph` is a mode or a case only the record can tell.
Every node knows where it stands: `at` is an offset in characters into the text that was
parsed, and takes no part in comparisons, so equal citations are equal wherever they stand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from difflib import get_close_matches
from enum import StrEnum
from typing import NoReturn

from writeup.errors import WriteupError

GRAMMAR = """
citation  = block | claim | code | diff | predicted | fact | versus | speedup | value
value     = id "." measure [facets]
speedup   = id ".speedup" "over" id [facets]
versus    = id "vs" id [facets]
claim     = "claim" id relation id [facets]
relation  = "faster" "than" | "slower" "than" | "same" "as" | measure ("below" | "above")
measure   = field | "fraction" "of" denominator | "metric." id | "counter." id
          | "config." key | counted "as" "implemented"
counted   = "bytes" | "flops" | "intensity" | "bandwidth" | "throughput"
predicted = "predicted" ["." id] ["over" id] ["vs" "measured"] [facets]
fact      = namespace {"." name} [facets]
code      = "code" file [":" symbol]
diff      = "diff" id id
facets    = "@" facet {"," facet}
facet     = "all" "cases" | token
"""

ID = re.compile(r"[a-z][a-z0-9_-]*")
_FACET = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_KEY = re.compile(r"[A-Za-z0-9_-]+")
_FILE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*")
_SYMBOL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")
_TOKEN = re.compile(r"[@,]|[^\s@,]+")

# Longer words are no misspelling of ours, and comparing them would cost time.
_LONGEST_GUESS = 40


class Field(StrEnum):
    """What can be asked of a variant."""

    TIME = "time"
    BAND = "band"
    MIN = "min"
    MAX = "max"
    SAMPLES = "samples"
    BLOCKS = "blocks"
    OUTLIERS = "outliers"
    THROUGHPUT = "throughput"
    BANDWIDTH = "bandwidth"
    INTENSITY = "intensity"
    FRACTION = "fraction"
    BYTES = "bytes"
    FLOPS = "flops"
    REGISTERS = "registers"
    SPILLS = "spills"
    STACK = "stack"
    SHARED = "shared"
    SHARED_LIMIT = "shared limit"
    WARPS = "warps"
    TARGET = "target"
    ERROR = "error"
    RELATIVE_ERROR = "relative error"
    MISMATCHED = "mismatched"
    CHECKED = "checked"
    STATUS = "status"
    REASON = "reason"
    REQUIRED = "required"
    LIMIT = "limit"
    CONFIG = "config"
    ROLE = "role"
    PARENT = "parent"
    LEVER = "lever"
    IDEA = "idea"
    WHAT = "what"
    EXPRESSION = "expression"
    BACKEND = "backend"
    ROUNDING = "rounding"
    PRECISION = "precision"
    DTYPE = "dtype"
    FILE = "file"
    FUNCTION = "function"
    METRIC = "metric"
    COUNTER = "counter"


class Denominator(StrEnum):
    """What a fraction is a fraction of."""

    ATTAINABLE = "attainable"
    COPY = "copy"
    CEILING = "ceiling"


class Relation(StrEnum):
    """How a claim compares; the first three compare times."""

    FASTER = "faster than"
    SLOWER = "slower than"
    SAME = "same as"
    BELOW = "below"
    ABOVE = "above"


class Namespace(StrEnum):
    """Whose facts can be cited."""

    ENV = "env"
    CASE = "case"
    CEILING = "ceiling"
    RUN = "run"


class BlockName(StrEnum):
    """Blocks that are generated whole, each alone on its line."""

    PROBLEM = "problem"
    ROOFLINE = "roofline"
    STEPS = "steps"
    ATTEMPTS = "attempts"
    SEARCHED = "searched"
    RESULT = "result"
    REPRODUCE = "reproduce"


PREDICTED = "predicted"
"""What a citation of a prediction begins with."""

ORDERED = frozenset(
    {
        Field.TIME,
        Field.MIN,
        Field.MAX,
        Field.THROUGHPUT,
        Field.BANDWIDTH,
        Field.INTENSITY,
        Field.FRACTION,
        Field.BYTES,
        Field.FLOPS,
        Field.REGISTERS,
        Field.SPILLS,
        Field.STACK,
        Field.SHARED,
        Field.SHARED_LIMIT,
        Field.WARPS,
        Field.ERROR,
        Field.RELATIVE_ERROR,
        Field.MISMATCHED,
        Field.REQUIRED,
        Field.LIMIT,
        Field.METRIC,
        Field.COUNTER,
    }
)
"""Fields with an order, which a claim can put `below` or `above`."""

COUNTED = frozenset({Field.BYTES, Field.FLOPS, Field.INTENSITY, Field.BANDWIDTH, Field.THROUGHPUT})
"""Fields over counted work: a case's compulsory work, or a variant's `as implemented`."""

RESERVED = frozenset(
    {"claim", "code", "diff", "vs", "over", "of", "all", "cases", PREDICTED}
    | {word for relation in Relation for word in relation.split()}
    | set(Namespace)
    | set(BlockName)
)
"""Words that no variant may be called."""

_TWO_WORDS = {
    ("spill", "bytes"): Field.SPILLS,
    ("shared", "memory"): Field.SHARED,
    ("shared", "limit"): Field.SHARED_LIMIT,
    ("relative", "error"): Field.RELATIVE_ERROR,
}
_DENOMINATORS = {str(name): name for name in Denominator} | {"matched": Denominator.COPY}
_NAMED = (Field.METRIC, Field.COUNTER)


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a citation and its offset."""

    text: str
    at: int = dataclass_field(default=0, compare=False)

    @property
    def end(self) -> int:
        return self.at + len(self.text)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Facets:
    """What narrows a citation to one measurement, or widens it to `all cases`."""

    words: tuple[Word, ...] = ()
    all_cases: bool = False


@dataclass(frozen=True, slots=True)
class Measure:
    """A field of a variant.

    `of` goes with a fraction, `name` with a metric, a counter or one setting of a
    configuration, `implemented` with what is counted.
    """

    field: Field
    of: Denominator | None = None
    name: Word | None = None
    implemented: bool = False
    at: int = dataclass_field(default=0, compare=False)

    def __str__(self) -> str:
        if self.name is not None:
            return f"{self.field}.{self.name}"
        if self.implemented:
            return f"{self.field} as implemented"
        return f"{self.field} of {self.of}" if self.of is not None else str(self.field)


@dataclass(frozen=True, slots=True)
class Value:
    """`bn64.time @ graph`: a quantity or a fact of a variant."""

    variant: Word
    measure: Measure
    facets: Facets = Facets()


@dataclass(frozen=True, slots=True)
class Ratio:
    """`bn64.speedup over sdpa`: time of `over` by time of `variant`."""

    variant: Word
    over: Word
    facets: Facets = Facets()


@dataclass(frozen=True, slots=True)
class Versus:
    """`bn64 vs sdpa`: the verdict in words."""

    variant: Word
    other: Word
    facets: Facets = Facets()


@dataclass(frozen=True, slots=True)
class Claim:
    """`claim bn64 faster than sdpa`: a sentence that the samples must bear out."""

    variant: Word
    relation: Relation
    other: Word
    measure: Measure
    facets: Facets = Facets()


@dataclass(frozen=True, slots=True)
class Fact:
    """`env.device`: a fact of the record."""

    namespace: Namespace
    path: tuple[Word, ...] = ()
    facets: Facets = Facets()


@dataclass(frozen=True, slots=True)
class Predicted:
    """`predicted.bn64 over sdpa`: a ratio as it was predicted; `vs measured`: what became of it."""

    variant: Word | None = None
    over: Word | None = None
    measured: bool = False
    facets: Facets = Facets()


@dataclass(frozen=True, slots=True)
class Code:
    """`code fused.py:softmax_kernel`: source as it was measured."""

    file: Word
    symbol: Word | None = None


@dataclass(frozen=True, slots=True)
class Diff:
    """`diff online fused`: what changed from `variant` to `other`."""

    variant: Word
    other: Word


@dataclass(frozen=True, slots=True)
class Block:
    """`result` alone on a line: a generated block."""

    name: BlockName


Citation = Value | Ratio | Versus | Claim | Predicted | Fact | Code | Diff | Block
Standing = Code | Diff | Block
"""Citations that make a block of the page and so stand alone on a line."""


class CitationError(WriteupError):
    """A citation that does not parse: the span from `at` to `end`, and a hint or ""."""

    def __init__(self, message: str, *, at: int, end: int, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.at = at
        self.end = end
        self.hint = hint


def nearest(word: str, among: Iterable[str]) -> str:
    """`did you mean 'fused'?` where something is near enough, else nothing."""
    if len(word) > _LONGEST_GUESS:
        return ""
    close = get_close_matches(word, sorted({str(name) for name in among}), n=1)
    return f"did you mean '{close[0]}'?" if close else ""


def parse(text: str) -> Citation:
    """The citation that `text` (what stands between the braces) is.

    Raises CitationError with the offsets into `text` of what is wrong.
    """
    words = _Words(text)
    first = words.next("a citation")
    citation = _citation(first, words)
    words.finish()
    return citation


class _Words:
    """The words of a citation, read from left to right."""

    def __init__(self, text: str) -> None:
        self._words = tuple(Word(m[0], m.start()) for m in _TOKEN.finditer(text))
        self._next = 0
        self._end = len(text.rstrip())

    def peek(self, ahead: int = 0) -> str:
        """The next word, or "" at the end."""
        index = self._next + ahead
        return self._words[index].text if index < len(self._words) else ""

    def next(self, expected: str) -> Word:
        """The next word; an error that asks for what was `expected` at the end."""
        if self._next == len(self._words):
            _fail(f"expected {expected}", Word("", self._end))
        word = self._words[self._next]
        self._next += 1
        if word.text in "@," and expected != "@":
            _fail(f"expected {expected}, not '{word}'", word)
        return word

    def keyword(self, *expected: str) -> str:
        """The next word, which must be one of `expected`."""
        wanted = " or ".join(f"'{name}'" for name in expected)
        word = self.next(wanted)
        if word.text not in expected:
            _fail(f"expected {wanted}, not '{word}'", word, nearest(word.text, expected))
        return word.text

    def skip(self, text: str) -> bool:
        """Whether the next word was `text`, which is then behind us."""
        found = self.peek() == text
        self._next += found
        return found

    def finish(self) -> None:
        """Refuse whatever is left."""
        if self._next < len(self._words):
            word = self._words[self._next]
            _fail(f"nothing may follow here, but '{word}' does", word)


def _fail(message: str, word: Word, hint: str = "") -> NoReturn:
    raise CitationError(message, at=word.at, end=max(word.end, word.at + 1), hint=hint)


def _citation(first: Word, words: _Words) -> Citation:
    keyword = _KEYWORDS.get(first.text)
    if keyword is not None:
        return keyword(words)
    if first.text in set(BlockName):
        return Block(BlockName(first.text))
    head, *path = _split(first)
    if head.text == PREDICTED:
        return _predicted(path, words)
    if head.text in set(Namespace):
        return _fact(Namespace(head.text), first, path, words)
    return _value(head, path, words) if path else _versus(head, words)


def _split(word: Word) -> list[Word]:
    """`a.b` as two words, each where it stands."""
    parts = []
    at = word.at
    for text in word.text.split("."):
        parts.append(Word(text, at))
        at += len(text) + 1
    return parts


def _id(word: Word, what: str = "variant") -> Word:
    if not ID.fullmatch(word.text):
        message = f"'{word}' is no id of a {what}"
        _fail(message, word, "an id is a small letter, then small letters, digits, - and _")
    if what == "variant" and word.text in RESERVED:
        _fail(f"'{word}' is a reserved word, where a variant is expected", word)
    return word


def _value(head: Word, path: list[Word], words: _Words) -> Value | Ratio:
    variant = _id(head)
    if path[0].text == "speedup" and len(path) == 1:
        if not words.peek() or words.peek() == "@":
            hint = f"write '{variant}.speedup over' and the baseline's id"
            _fail("a speed-up names its baseline", path[0], hint)
        words.keyword("over")
        return Ratio(variant, _id(words.next("the baseline")), _facets(words))
    return Value(variant, _measure(path, words), _facets(words))


def _measure(path: list[Word], words: _Words) -> Measure:
    """A measure that begins with the dotted words `path` and may go on in `words`."""
    first, *rest = path
    two = _TWO_WORDS.get((first.text, words.peek()))
    if two is not None and not rest:
        words.next("")
        return Measure(two, at=first.at)
    if first.text not in set(Field):
        _fail(f"'{first}' is no field of a variant", first, _field_hint(first.text))
    name = Field(first.text)
    if name in _NAMED:
        return Measure(name, name=_name_of(name, first, rest), at=first.at)
    if name is Field.CONFIG and rest:
        return Measure(name, name=_setting(rest), at=first.at)
    if rest:
        _fail(f"'{name}' has no parts", rest[0])
    return Measure(
        name,
        of=_denominator(words) if name is Field.FRACTION else None,
        implemented=name in COUNTED and _implemented(words),
        at=first.at,
    )


def _setting(path: list[Word]) -> Word:
    """The key of a setting, which may hold points of its own."""
    for word in path:
        if not _KEY.fullmatch(word.text):
            _fail(f"'{word}' is no name of a setting", word if word.text else path[0])
    return Word(".".join(word.text for word in path), path[0].at)


def _implemented(words: _Words) -> bool:
    if not words.skip("as"):
        return False
    words.keyword("implemented")
    return True


def _field_hint(word: str) -> str:
    spelt = [*Field, "speedup", *(" ".join(pair) for pair in _TWO_WORDS)]
    return nearest(word, spelt) or f"fields are {', '.join(sorted({*Field, 'speedup'}))}"


def _name_of(kind: Field, first: Word, rest: list[Word]) -> Word:
    if len(rest) != 1:
        _fail(f"a {kind} is cited by its name", first, f"write '{kind}.' and the {kind}'s id")
    return _id(rest[0], str(kind))


def _denominator(words: _Words) -> Denominator | None:
    if not words.skip("of"):
        return None
    return _DENOMINATORS[words.keyword(*_DENOMINATORS)]


def _versus(head: Word, words: _Words) -> Versus:
    following = words.peek()
    if following == "vs":
        variant = _id(head)
        words.next("'vs'")
        return Versus(variant, _id(words.next("a variant")), _facets(words))
    known = [*BlockName, *Namespace, PREDICTED, *_KEYWORDS]
    hint = nearest(head.text, known)
    if head.text in RESERVED or not ID.fullmatch(head.text):
        _fail(f"'{head}' begins no citation", head, hint)
    if not following or following == "@":
        _fail(f"'{head}' says not what to cite of it", head, hint or f"write '{head}.time'")
    word = words.next("'vs'")
    _fail(f"expected '.' and a field, or 'vs', after '{head}'", word, hint)


def _claim(words: _Words) -> Claim:
    variant = _id(words.next("a variant"))
    relation, measure = _relation(words)
    other = _id(words.next("a variant"))
    return Claim(variant, relation, other, measure, _facets(words))


def _relation(words: _Words) -> tuple[Relation, Measure]:
    word = words.next("a relation")
    for relation in (Relation.FASTER, Relation.SLOWER, Relation.SAME):
        adjective, conjunction = relation.split()
        if word.text == adjective:
            words.keyword(conjunction)
            return relation, Measure(Field.TIME, at=word.at)
    measure = _claimed(word, words)
    if measure.field not in ORDERED:
        _fail(f"'{measure}' has no order to claim", word)
    return Relation(words.keyword("below", "above")), measure


def _claimed(word: Word, words: _Words) -> Measure:
    known = [*ORDERED, *(relation.split()[0] for relation in Relation)]
    first = _split(word)
    is_field = first[0].text in set(Field) or (word.text, words.peek()) in _TWO_WORDS
    if not is_field:
        hint = nearest(word.text, known) or "say 'faster than', 'slower than', 'same as', "
        if not hint.startswith("did"):
            hint += "or a field with 'below' or 'above'"
        _fail(f"'{word}' is no relation", word, hint)
    return _measure(first, words)


def _fact(namespace: Namespace, whole: Word, path: list[Word], words: _Words) -> Fact:
    if not path:
        _fail(f"'{namespace}' says not which fact", whole, f"write '{namespace}.' and its name")
    for word in path:
        if not _NAME.fullmatch(word.text):
            _fail(f"'{word}' is no name of a fact", word if word.text else whole)
    return Fact(namespace, tuple(path), _facets(words))


def _predicted(path: list[Word], words: _Words) -> Predicted:
    variant, *rest = (*map(_id, path), None)
    if len(rest) > 1:
        _fail("a prediction is named by its variant alone", path[1])
    over = _id(words.next("the baseline")) if words.skip("over") else None
    measured = words.skip("vs")
    if measured:
        words.keyword("measured")
    return Predicted(variant, over, measured, _facets(words))


def _code(words: _Words) -> Code:
    word = words.next("a file")
    file, colon, symbol = word.text.partition(":")
    if not _FILE.fullmatch(file):
        _fail(f"'{file}' is no path of a file", word)
    if not colon:
        return Code(word)
    place = Word(symbol, word.at + len(file) + 1)
    if not _SYMBOL.fullmatch(symbol):
        _fail(f"'{symbol}' is no name in a program", place, "write a function's or class's name")
    return Code(Word(file, word.at), place)


def _diff(words: _Words) -> Diff:
    return Diff(_id(words.next("a variant")), _id(words.next("a variant")))


def _facets(words: _Words) -> Facets:
    if not words.skip("@"):
        return Facets()
    found: list[Word] = []
    everything = False
    while True:
        word = words.next("a facet: a case, mode, dtype, run or 'all cases'")
        if word.text == "all":
            words.keyword("cases")
            everything = True
        elif not _FACET.fullmatch(word.text):
            _fail(f"'{word}' is no facet", word)
        elif word in found:
            _fail(f"'{word}' is said before", word)
        else:
            found.append(word)
        if not words.skip(","):
            return Facets(tuple(found), everything)


_KEYWORDS: dict[str, Callable[[_Words], Citation]] = {
    "claim": _claim,
    "code": _code,
    "diff": _diff,
}
