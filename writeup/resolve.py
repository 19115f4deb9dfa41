"""The second verb: give each citation of a story its evidence.

Exactly one measurement must match a value; a claim speaks of every one that matches. What
two measurements say of each other is kept with the citation for the rules to judge: a
ratio is said only where it can be formed, and `check` says why it may not be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from writeup import answers, definition, derive, predictions, recorded, sentences, source
from writeup.document import BLANK, Placed, Story
from writeup.errors import Problem
from writeup.language import (
    Block,
    Citation,
    Claim,
    Code,
    Diff,
    Facets,
    Fact,
    Field,
    Namespace,
    Predicted,
    Ratio,
    Relation,
    Value,
    Versus,
    Word,
    nearest,
)
from writeup.predictions import Foreseen
from writeup.selection import Miss, Row, Wanted, choices, classify, is_, narrowed, one, rows
from writeup.sentences import Comparison
from writeup.sources import Sources
from writeup.told import AMBIGUOUS, UNKNOWN, Resolved, Scene, Told, scene
from writeup.views import Code as CodeWords
from writeup.views import CodeBlock, DiffBlock, Listing

# A commit is known by fewer digits, and a name is read no further.
_SHOWN = 16
_OF_TIMING = ("case", "mode", "dtype", "run", "commit", "device")
_OF_VARIANT = ("case", "dtype", "run", "commit", "device")
_OF_RUN = ("run", "commit", "device")


def resolve(sources: Sources) -> Mapping[str, Told]:
    """Every story with its record and the evidence of its citations, by subject.

    A subject that was measured and has no story, or a blank one, is told by its record.
    """
    told = {
        subject: _Telling(sources, subject, story).told()
        for subject, story in sources.stories.items()
    }
    for subject, each in told.items():
        if each.blank and each.record:
            told[subject] = recorded.tell(subject, each.record, each.story)
    for subject in sorted(_subjects(sources) - told.keys()):
        told[subject] = recorded.tell(subject, rows(sources.artifacts.values(), subject))
    return told


def _subjects(sources: Sources) -> set[str]:
    """Every subject that a variant was recorded of."""
    return {
        case.subject
        for artifact in sources.artifacts.values()
        for run in artifact.runs.values()
        for case in run.cases.values()
        if case.variants
    }


@dataclass(slots=True)
class _Telling:
    """One story while its citations are resolved.

    settled says that the record knows every default: where it does not, that is said once,
    and not again of all that the default would have decided.
    """

    sources: Sources
    subject: str
    story: Story
    record: tuple[Row, ...] = ()
    defaults: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    settled: bool = True

    def told(self) -> Told:
        self.record = rows(self.sources.artifacts.values(), self.subject)
        self._read_defaults()
        resolved = {}
        if self.story.front.status != BLANK:
            for placed in self.story.citations:
                found = self._resolved(placed)
                if found is not None:
                    resolved[placed] = found
        focus = self._focus()
        return Told(
            self.subject,
            self.story,
            self.record,
            focus,
            self._scene(focus),
            resolved,
            tuple(sorted(set(self.problems))),
        )

    def _read_defaults(self) -> None:
        """The front matter's defaults, each known to the record."""
        front = self.story.front
        given = {
            "commit": front.results,
            "run": front.run,
            "device": front.device,
            "case": front.case,
            "mode": front.mode,
        }
        if front.status == BLANK:
            return
        for dimension, value in given.items():
            known = {row.of(dimension) for row in self.record} - {""}
            key = "results" if dimension == "commit" else dimension
            if self._is_known(key, value, known):
                self.defaults[dimension] = str(value)
        self._is_known("baseline", front.baseline, {row.variant.id for row in self.record})

    def _is_known(self, key: str, value: str | None, among: set[str]) -> bool:
        """Whether a default was given that the record knows; a problem where it does not."""
        if value is None:
            return False
        known = sorted(among)
        if any(k == value or (key == "results" and k.startswith(value)) for k in known):
            return True
        self.settled = False
        line, column = self.story.front.place(key)
        shown = ", ".join(k[:12] for k in known) or "nothing"
        hint = nearest(value, known) or f"the record knows {shown}"
        what = "commit" if key == "results" else key
        message = f"nothing measured of '{self.subject}' has the {what} '{value}'"
        self.problems.append(self._problem(line, column, UNKNOWN, message, hint))
        return False

    def _focus(self) -> tuple[Row, ...]:
        kept = {d: v for d, v in self.defaults.items() if d in _OF_RUN}
        return narrowed(self.record, Wanted(defaults=kept), self.record)

    def _scene(self, focus: tuple[Row, ...]) -> Scene | None:
        """The scene that blocks play in; None, and a problem each, where it is left open."""
        if self.story.front.status == BLANK or not self.settled:
            return None
        try:
            return scene(focus, self.story.front)
        except Miss as miss:
            blocks = [p for p in self.story.citations if isinstance(p.citation, Block)]
            for placed in blocks:
                self.problems.append(
                    self._problem(placed.line, placed.column, miss.rule, miss.message, miss.hint)
                )
            if not blocks:
                self.problems.append(self._problem(1, 1, miss.rule, miss.message, miss.hint))
            return None

    def _resolved(self, placed: Placed) -> Resolved | None:
        try:
            return self._answer(placed, placed.citation)
        except Miss as miss:
            if miss.rule == AMBIGUOUS and not self.settled:
                return None
            words = getattr(placed.citation, "facets", Facets()).words
            at = words[miss.facet].at if miss.facet is not None else _first(placed.citation)
            column = placed.column_of(at)
            end = placed.column_of(words[miss.facet].end) if miss.facet is not None else 0
            self.problems.append(
                self._problem(placed.line, column, miss.rule, miss.message, miss.hint, end)
            )
            return None

    def _answer(self, placed: Placed, citation: Citation) -> Resolved:
        match citation:
            case Value():
                return self._value(placed, citation)
            case Ratio():
                return self._ratio(placed, citation)
            case Versus():
                return self._versus(placed, citation)
            case Claim():
                return self._claim(placed, citation)
            case Predicted():
                return self._predicted(placed, citation)
            case Fact():
                return self._fact(placed, citation)
            case Code():
                return self._code(placed, citation)
            case Diff():
                return self._diff(placed, citation)
            case Block():
                return Resolved(placed, "", self._focus())

    # Which rows.

    def _of(self, variant: Word, facets: Facets) -> tuple[Row, ...]:
        """The rows of a variant that facets and defaults leave, perhaps none."""
        return narrowed(self._own(variant), self._wanted(facets), self.record)

    def _own(self, variant: Word) -> tuple[Row, ...]:
        """All that was recorded of a variant. Raises Miss where that is nothing."""
        own = tuple(row for row in self.record if row.variant.id == variant.text)
        if not own:
            known = sorted({row.variant.id for row in self.record})
            if not known:
                raise Miss(UNKNOWN, f"nothing is measured of '{self.subject}'")
            hint = nearest(variant.text, known) or f"measured are {', '.join(known)}"
            raise Miss(UNKNOWN, f"nothing measured is called '{variant}'", hint)
        return own

    def _wanted(self, facets: Facets) -> Wanted:
        words = tuple(word.text for word in facets.words)
        return Wanted(words, self.defaults, facets.all_cases)

    def _one(self, variant: Word, facets: Facets, *, timed: bool) -> Row:
        key = _OF_TIMING if timed else _OF_VARIANT
        among = self._of(variant, facets)
        if not among:
            raise self._elsewhere(variant, facets, key)
        if timed:
            among = _timed(among, variant.text)
        what = f"'{variant}'" if not facets.words else f"'{variant}' {_spelt(facets)}"
        return one(among, what, key)

    def _elsewhere(self, variant: Word, facets: Facets, key: Sequence[str]) -> Miss:
        """Nothing is measured of a variant where it was sought; what sought, and where else."""
        own, spoken = self._own(variant), self._places(facets)
        kept = {d: v for d, v in self.defaults.items() if d not in spoken and d in key}
        sought = [_spelt(facets)] if facets.words else []
        if kept:
            named = ", ".join(f"{d} {v[:_SHOWN]}" for d, v in kept.items())
            sought.append(f"the front matter's {named}")
        message = f"nothing is measured of '{variant}' with {' and '.join(sought)}"
        wanted = {**kept, **spoken}
        lacking = [d for d, v in wanted.items() if not any(is_(row.of(d), v, d) for row in own)]
        near = [
            row
            for row in own
            if all(is_(row.of(d), v, d) for d, v in wanted.items() if d not in lacking)
        ]
        return Miss(UNKNOWN, message, f"it is measured {choices(near or own, key, lacking)}")

    def _pairs(self, variant: Word, other: Word, facets: Facets) -> tuple[Comparison, ...]:
        """A comparison for each row of the variant, beside the other of the same rounds.

        Where the other has no row in those rounds, the row nearest to them stands in: the
        rules will say in what the two differ.
        """
        others = self._of(other, facets) or self._own(other)
        return tuple(
            Comparison(row, max(others, key=partial(_agreement, row)))
            for row in self._of(variant, facets)
            # A case that nothing was timed on is there for the gate alone.
            if row.case.modes
        )

    # What they say.

    def _value(self, placed: Placed, citation: Value) -> Resolved:
        measure = citation.measure
        if citation.facets.all_cases:
            message = f"a {measure.field} over all cases has no meaning"
            raise Miss(UNKNOWN, message, "a speed-up has: `a.speedup over b @ all cases`")
        row = self._one(citation.variant, citation.facets, timed=measure.field in answers.TIMED)
        try:
            return Resolved(placed, answers.measured(row, measure), (row,))
        except (LookupError, ValueError) as error:
            hint = f"the record has its {', '.join(answers.known(row))}"
            raise Miss(UNKNOWN, str(error.args[0]), hint) from None

    def _ratio(self, placed: Placed, citation: Ratio) -> Resolved:
        pairs = self._pairs(citation.variant, citation.over, citation.facets)
        what = f"'{citation.variant}' and '{citation.over}'"
        if citation.facets.all_cases:
            words = sentences.over_cases(pairs, what)
            read = tuple(row for pair in pairs for row in (pair.row, pair.other))
            return Resolved(placed, words, read, pairs)
        self._only(pairs, what)
        pair = pairs[0]
        words = sentences.figures(pair.row, pair.other) if pair.formed else ""
        return Resolved(placed, words, (pair.row, pair.other), (pair,))

    def _versus(self, placed: Placed, citation: Versus) -> Resolved:
        pairs = self._pairs(citation.variant, citation.other, citation.facets)
        what = f"'{citation.variant}' and '{citation.other}'"
        if citation.facets.all_cases:
            words = sentences.verdicts_over(pairs, what)
            read = tuple(row for pair in pairs for row in (pair.row, pair.other))
            return Resolved(placed, words, read, pairs)
        self._only(pairs, what)
        pair = pairs[0]
        words = sentences.told_verdict(pair.row, pair.other) if pair.formed else ""
        return Resolved(placed, words, (pair.row, pair.other), (pair,))

    def _claim(self, placed: Placed, citation: Claim) -> Resolved:
        ordering = citation.relation in (Relation.BELOW, Relation.ABOVE)
        if ordering and citation.measure.field is Field.TIME:
            hint = "say `faster than` or `slower than`: they know the margin and the twins"
            raise Miss(UNKNOWN, "times are not claimed to be below or above others", hint)
        pairs = self._pairs(citation.variant, citation.other, citation.facets)
        if ordering and citation.measure.field not in answers.TIMED:
            pairs = _of_facts(pairs)
        if not pairs:
            raise Miss(UNKNOWN, f"nothing measured bears on '{citation.variant}' in this claim")
        read = tuple(row for pair in pairs for row in (pair.row, pair.other))
        told = sentences.told_order if ordering else sentences.told_claim
        return Resolved(placed, told(citation, pairs), read, pairs)

    def _only(self, pairs: Sequence[Comparison], what: str) -> None:
        """Exactly one comparison. Raises Miss with the facets that would choose."""
        one([pair.row for pair in pairs], what, _OF_TIMING)

    def _fact(self, placed: Placed, citation: Fact) -> Resolved:
        among = narrowed(self.record, self._wanted(citation.facets), self.record)
        try:
            match citation.namespace:
                case Namespace.ENV:
                    row = one(among, "run", _OF_RUN, "runs")
                    return Resolved(placed, answers.environment(row, citation.path), (row,))
                case Namespace.RUN:
                    row = one(among, "run", _OF_RUN, "runs")
                    return Resolved(placed, answers.of_run(row, citation.path), (row,))
                case Namespace.CASE:
                    row = one(among, "case", _OF_VARIANT, "cases")
                    return Resolved(placed, answers.of_case(row, citation.path), (row,))
                case Namespace.CEILING:
                    timed = [r for r in among if r.timing]
                    row = one(timed, "case and mode", _OF_TIMING, "cases and modes")
                    return Resolved(placed, answers.of_ceilings(row, citation.path), (row,))
        except LookupError as error:
            raise _lacking(str(error.args[0])) from None

    def _predicted(self, placed: Placed, citation: Predicted) -> Resolved:
        """A prediction by its variants and the facets, or what became of it."""
        among = narrowed(self.record, self._wanted(citation.facets), self.record)
        row = one(among, "run", _OF_RUN, "runs")
        said = row.run.experiments.get(self.subject, {}).get("predicted", ())
        places = self._places(citation.facets)
        chosen = [n for n, each in enumerate(said) if _means(citation, each, places)]
        if not chosen:
            raise Miss(UNKNOWN, "nothing of the kind was predicted", _predictions(said))
        if len(chosen) > 1:
            message = f"{len(chosen)} predictions match"
            raise Miss(AMBIGUOUS, message, f"choose one: {_list(said[n] for n in chosen)}")
        facets = {**self.defaults, **places}
        found = predictions.foreseen(
            row.artifact,
            row.run,
            self.subject,
            chosen[0],
            case=facets.get("case"),
            mode=facets.get("mode"),
        )
        if not citation.measured:
            return Resolved(placed, found.predicted, (row,))
        if found.pair is None:
            raise Miss(UNKNOWN, _unmeasured(found), "cite the prediction alone, without 'vs'")
        pair = found.pair
        return Resolved(placed, predictions.told(found), (pair.row, pair.other), (pair,))

    def _places(self, facets: Facets) -> dict[str, str]:
        """The words of facets by what they name."""
        return {classify(word.text, self.record): word.text for word in facets.words}

    def _code(self, placed: Placed, citation: Code) -> Resolved:
        row = one(self._focus(), "run", _OF_RUN, "runs")
        path, blob = _file(row, self.subject, citation.file.text)
        listing = self._listing(path, blob, citation.symbol.text if citation.symbol else None)
        caption = (CodeWords(derive.name(row.artifact.commit, path)), " as it was measured")
        return Resolved(placed, CodeBlock(_id(placed), caption, listing), (row,))

    def _diff(self, placed: Placed, citation: Diff) -> Resolved:
        listings = []
        for word in (citation.variant, citation.other):
            among = self._of(word, Facets())
            row = one(among, f"'{word}'", _OF_RUN)
            file = row.variant.raw.get("file")
            if file is None:
                raise Miss(UNKNOWN, f"the record names no file of '{word}'")
            blob = row.run.raw["sources"]["files"][file]
            listings.append(self._listing(file, blob, None))
        caption = (
            "from ",
            CodeWords(citation.variant.text),
            " to ",
            CodeWords(citation.other.text),
        )
        return Resolved(placed, DiffBlock(_id(placed), caption, listings[0], listings[1]), among)

    def _listing(self, path: str, blob: str, symbol: str | None) -> Listing:
        text = self.sources.objects[blob].decode("utf-8", "replace")
        lines = source.lines_of(text)
        first, last = 1, len(lines)
        if symbol is not None:
            try:
                first, last = definition.extent(text, symbol)
            except LookupError as error:
                raise _lacking(f"{path}: {error.args[0]}") from None
        shown = "\n".join(lines[first - 1 : last])
        return Listing(
            derive.listing(blob, first, last, shown),
            path,
            source.language_of(path),
            first,
            f"sources/{blob}/index.html",
        )

    def _problem(
        self, line: int, column: int, rule: str, message: str, hint: str = "", end: int = 0
    ) -> Problem:
        lines = self.story.text.split("\n")
        source = lines[line - 1] if 0 < line <= len(lines) else ""
        return Problem(self.story.path, line, column, rule, message, hint, source, end)


def _lacking(said: str) -> Miss:
    """What could not be looked up, with what is said behind its semicolon as a hint."""
    message, _, hint = said.partition("; ")
    return Miss(UNKNOWN, message, hint or "cite what the record holds, or measure it")


def _first(citation: Citation) -> int:
    """The offset of the word that a citation is about."""
    for name in ("variant", "file"):
        word = getattr(citation, name, None)
        if isinstance(word, Word):
            return word.at
    path = getattr(citation, "path", ())
    return path[0].at if path else 1


def _id(placed: Placed) -> str:
    return "-".join(placed.text.replace("/", " ").replace(":", " ").replace(".", " ").split())


def _spelt(facets: Facets) -> str:
    return "@ " + ", ".join(word.text for word in facets.words)


def _means(citation: Predicted, said: Mapping[str, object], places: Mapping[str, str]) -> bool:
    """Whether a citation means a prediction: what either leaves open, the other may choose."""
    wanted = {
        **{key: word.text for key in ("variant", "over") if (word := getattr(citation, key))},
        **{key: places[key] for key in ("case", "mode") if key in places},
    }
    return all(said.get(key, value) == value for key, value in wanted.items())


def _list(said: Iterable[Mapping[str, object]]) -> str:
    """Predictions as they are cited."""
    return "; ".join(sorted({_spelt_prediction(each) for each in said}))


def _spelt_prediction(said: Mapping[str, object]) -> str:
    where = ", ".join(str(said[key]) for key in ("case", "mode") if key in said)
    return f"predicted.{said['variant']} over {said['over']}" + (f" @ {where}" if where else "")


def _predictions(said: Sequence[Mapping[str, object]]) -> str:
    return f"predicted were {_list(said)}" if said else "the experiment predicted nothing"


def _unmeasured(found: Foreseen) -> str:
    """Why a prediction has nothing measured beside it."""
    where = f"on {found.case.id}, {found.mode}" if found.mode else f"on {found.case.id}"
    for name in (found.variant, found.over):
        variant = found.case.variants.get(name)
        if variant is None or found.mode not in variant.timings:
            status = f" ({variant.status})" if variant else ""
            return f"'{name}' was not timed {where}{status}"
    return f"'{found.variant}' and '{found.over}' cannot be compared {where}"


def _timed(among: Sequence[Row], name: str) -> tuple[Row, ...]:
    """Those with samples; says why where a variant has none."""
    timed = tuple(row for row in among if row.timing is not None)
    if among and not timed:
        status, known = among[0].variant.status, ", ".join(answers.known(among[0]))
        raise Miss(
            UNKNOWN,
            f"'{name}' was not timed: {status}",
            f"cite {{{{ {name}.reason }}}}: the record has its {known}",
        )
    return timed


def _of_facts(pairs: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """One comparison for each case: a fact of a variant is the same in every mode."""
    found: dict[str, Comparison] = {}
    for pair in pairs:
        found.setdefault(pair.row.variant.address, replace(pair, of_times=False))
    return tuple(found.values())


def _agreement(row: Row, other: Row) -> tuple[bool, ...]:
    """In what two rows agree, what divides them most first; all of it within the same rounds."""
    dimensions = ("commit", "run", "device", "case", "dtype", "mode")
    return tuple(row.of(dimension) == other.of(dimension) for dimension in dimensions)


def _file(row: Row, subject: str, name: str) -> tuple[str, str]:
    """A measured source by its name in the subject's folder, or its path."""
    files = row.run.raw.get("sources", {}).get("files", {})
    matches = [
        path for path in files if path == name or path.endswith((f"/{subject}/{name}", f"/{name}"))
    ]
    own = [path for path in matches if path.endswith(f"/{subject}/{name}")] or matches
    if len(own) == 1:
        return own[0], files[own[0]]
    if own:
        raise Miss(AMBIGUOUS, f"several sources are called '{name}'", ", ".join(own))
    hint = nearest(name, [path.rsplit("/", 1)[-1] for path in files])
    raise Miss(UNKNOWN, f"the run loaded no source '{name}'", hint)
