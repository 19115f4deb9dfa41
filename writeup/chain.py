"""The chain of a number: from the pages that show it, over its derivation, to the samples.

What is printed is read from the artifact anew: the pointer, what stands there, the median of
each block, and the estimate that follows.
"""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from writeup import stats
from writeup.errors import WriteupError
from writeup.quantity import Quantity, show, show_band
from writeup.result import Artifact, Case, Timing, Variant, quantity
from writeup.strict import Json, pointer

# Of many numbers that match, and of many places of one, this many are told.
_MOST = 5
_LONGEST_VALUE = 160

HOW: Mapping[str, str] = {
    "time": "the median of the block medians",
    "band": "the order-statistic interval of the block medians",
    "min": "the smallest sample",
    "max": "the largest sample",
    "quartile": "a quartile of all samples together",
    "samples": "the count of all samples",
    "blocks": "the count of blocks",
    "outliers": "the count of samples far from the median; they stay in",
    "alone": "the median of the calls timed with nobody else in turn, or that by the time in turns",
    "bandwidth": "bytes of the counted work by the time",
    "throughput": "operations of the counted work by the time",
    "speedup": "the median over paired blocks of baseline time by variant time",
    "speedup-band": "the order-statistic interval of the paired ratios",
    "twins": "the ratio of two equal variants in the same rounds",
    "twins-band": "the interval of that ratio",
    "margin": "the difference that matters, by the experiment or the program",
    "verdict": "the ratio's band against the margin, and against the twins",
    "tally": "on how many of these pairs the verdict is this one",
    "agreement": "how many verdicts of both runs are alike, moved or contradict each other",
    "geomean": "the geometric mean of the ratios of these pairs, or the worst or best of them",
    "ceiling": "the best rate among the probes",
    "ceiling-band": "the interval of the best probe's rate",
    "probe": "the work of one probe by its time",
    "intensity": "operations by bytes of the counted work",
    "ridge": "the compute ceiling by the memory ceiling",
    "attainable": "the lower of the compute ceiling and intensity by memory ceiling",
    "floor": "the longest time that a ceiling asks for the counted work",
    "fraction": "the rate reached, by the copy's or the ceiling's",
    "metric": "the median of the block medians of another metric",
    "fact": "what stands at the pointer",
    "share": "what stands at the pointer, as a share",
    "sampled": "the median of the block medians of a control",
    "drift": "the calibration at the end of the run by that at its start",
    "shape": "the extents at the pointer",
    "list": "the items at the pointer",
    "date": "the moment at the pointer",
    "command": "the arguments at the pointer, as a shell takes them",
    "prediction": "the ratio at the pointer, as it was predicted",
    "foretold": "on which side of the measured band the prediction lies",
    "missed": "how far the prediction lies from the measured ratio, as a share of it",
    "count": "how many things these are",
    "name": "a name of the record",
    "short": "the first digits of an id",
    "digest": "the SHA-256 of a file of the site",
    "size": "the size of a file of the site",
    "constant": "a constant of the program, from the code that uses it",
    "tick": "a tick of an axis, set by the figure",
    "literal": "a digit that is no result, with its author's reason",
    "glossary": "a term that holds a digit, listed with its reason",
    "source": "lines of a file as it was measured",
}
"""What each form of evidence is, in words: the derivation of a chain."""

# Forms that set a measurement beside another: where in `at` the two stand.
_PAIRED = {
    "speedup": (0, 1),
    "speedup-band": (0, 1),
    "verdict": (0, 1),
    "twins": (0, 1),
    "twins-band": (0, 1),
    "foretold": (1, 2),
    "missed": (1, 2),
}
_OVER_PAIRS = ("geomean", "tally")
_PART = re.compile(r"(?:^|/)((?:results|sources|method|literals)/.*)$")
_PLACE = re.compile(r"(.+?):(\d+)(?::(\d+))?")


@dataclass(frozen=True, slots=True)
class Chains:
    """A site's citations, what they rest on, and where its pages have them."""

    record: Mapping[str, Any]
    artifacts: Mapping[str, Artifact]
    files: Mapping[str, bytes]

    def told(self, what: str) -> str:
        """The chains of every number that `what` names, as text.

        what is a key, an address or its end, a link, or `path:line:column` of a citation or
        of a page. Raises WriteupError where no number is meant.
        """
        keys = sorted(set(self._matches(what.strip())), key=self._rank)
        if not keys:
            raise WriteupError(
                f"neither a rule nor a number is called '{what}'; copy a number's link or its key "
                "from citations.json, or give the place of a citation as path:line:column"
            )
        told = ["\n".join(self._chain(key)) for key in keys[:_MOST]]
        if len(keys) > _MOST:
            told.append(f"and {len(keys) - _MOST} more that rest on it")
        return "\n\n".join(told)

    # Which numbers are meant.

    def _matches(self, what: str) -> Iterator[str]:
        target = _target(what)
        wanted = {what.removeprefix("#"), _address(target)} - {""}
        for key, each in self.record["evidence"].items():
            addresses = {*each["at"], *(a.partition("/")[2] for a in each["at"]), key}
            if wanted & addresses or (target and each.get("href") == target):
                yield key
        place = _PLACE.fullmatch(what)
        if place is not None:
            column = int(place[3]) if place[3] else None
            yield from self._at(place[1], int(place[2]), column)

    def _rank(self, key: str) -> tuple[bool, int, int, str]:
        """What rests on the address itself before what compares it, in the order of `HOW`."""
        each = self.record["evidence"][key]
        return len(each["at"]) != 1, list(HOW).index(each["form"]), len(each["args"]), key

    def _at(self, path: str, line: int, column: int | None) -> Iterator[str]:
        """What is cited, or shown, at a place: the whole line where no column is given."""
        cited: list[tuple[int, str]] = []
        for each in self.record["occurrences"]:
            source = _PLACE.fullmatch(each.get("source", ""))
            if source is not None and (source[1], int(source[2])) == (path, line):
                cited.append((int(source[3]), each["key"]))
            if each["page"] == path:
                first, start = self._place(each["page"], each["offset"])
                if first == line and (column is None or 0 <= column - start < each["length"]):
                    yield each["key"]
        begun = [at for at, _ in cited if column is None or at <= column]
        if begun:
            yield from (key for at, key in cited if column is None or at == max(begun))

    def _place(self, page: str, offset: int) -> tuple[int, int]:
        text = self.files[page].decode("utf-8")
        return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)

    # What is said of one.

    def _chain(self, key: str) -> Iterator[str]:
        each = self.record["evidence"][key]
        occurrences = [o for o in self.record["occurrences"] if o["key"] == key]
        text = each["text"].partition("\n")[0]
        yield f"{text}  [{key}]"
        if each.get("label"):
            yield _line("what", each["label"])
        first_of = {o["page"]: o for o in reversed(occurrences)}
        pages = sorted(first_of, key=lambda page: (not page.startswith("stories/"), page))
        yield from _lines("shown on", [self._shown(first_of[page]) for page in pages])
        yield from _lines("cited at", sorted({o["source"] for o in occurrences if "source" in o}))
        yield _line("form", f"{' '.join([each['form'], *each['args']])}: {HOW[each['form']]}")
        yield from _lines("from", each["at"])
        commits = [c for c in self.artifacts if any(a.startswith(c) for a in each["at"])]
        yield from _lines("artifact", [self.artifacts[c].path for c in commits])
        yield from self._evidence(each["form"], each["at"])

    def _shown(self, occurrence: Mapping[str, Any]) -> str:
        line, column = self._place(occurrence["page"], occurrence["offset"])
        return f"{occurrence['page']}:{line}:{column}"

    def _evidence(self, form: str, at: Sequence[str]) -> Iterator[str]:
        """The samples, or facts, that a form reads at its addresses, and what follows of them."""
        if form in _OVER_PAIRS:
            yield from self._pairs(at)
        elif form in _PAIRED:
            first, second = _PAIRED[form]
            yield from (self._pointed(a) for a in at if "#" in a)
            yield from self._pair(at[first], at[second])
            if len(at) > 3:
                yield from _lines("twins", [_ratio(self._timing(at[3]), self._timing(at[2]))])
        else:
            for address in dict.fromkeys(at):
                yield from self._of(form, address)

    def _of(self, form: str, address: str) -> Iterator[str]:
        commit, _, rest = address.partition("/")
        if "#" in address:
            if address.partition("#")[0] in self.artifacts:
                yield self._pointed(address)
                yield from self._sampled(address)
            return
        if commit not in self.artifacts or form == "count":
            return
        match rest.split("/"):
            case [run, "ceilings", name]:
                yield from self._ceiling(commit, run, name)
            case [_, _, _, _]:
                yield from self._blocks(self._timing(address))
            case [run, case, variant]:
                found = self.artifacts[commit].runs[run].cases[case].variants[variant]
                yield from _variant(found)
            case [run, case]:
                yield from _work(self.artifacts[commit].runs[run].cases[case])

    def _timing(self, address: str) -> Timing:
        commit, run, case, variant, mode = address.split("/")
        return self.artifacts[commit].runs[run].cases[case].variants[variant].timings[mode]

    def _blocks(self, timing: Timing) -> Iterator[str]:
        yield _line("pointer", _samples_at(timing))
        for process, values in timing.samples.items():
            median = show(Quantity(statistics.median(values), "s"))
            yield _line("block", f"{process}  {_count(values)}, median {median}")
        yield _line("estimate", _estimate(stats.estimate(timing.samples), "s"))

    def _pair(self, address: str, other: str) -> Iterator[str]:
        timing, baseline = self._timing(address), self._timing(other)
        yield from _lines("pointer", [_samples_at(timing), _samples_at(baseline)])
        ours, theirs = timing.samples, baseline.samples
        for process in (name for name in ours if name in theirs):
            over, under = statistics.median(theirs[process]), statistics.median(ours[process])
            shown = f"{show(Quantity(over, 's'))} by {show(Quantity(under, 's'))}"
            yield _line("block", f"{process}  {shown}: {show(Quantity(over / under, '×'))}")
        yield _line("estimate", _ratio(timing, baseline))

    def _pairs(self, at: Sequence[str]) -> Iterator[str]:
        for address, other in zip(at[::2], at[1::2], strict=True):
            names = f"{address.partition('/')[2]} over {other.split('/')[3]}"
            yield _line("pair", f"{names}  {_ratio(self._timing(address), self._timing(other))}")

    def _ceiling(self, commit: str, run: str, name: str) -> Iterator[str]:
        ceiling = self.artifacts[commit].runs[run].ceilings[name]
        yield _line("pointer", ceiling.pointer)
        best = ceiling.best()[0]
        for probe_id, probe in ceiling.probes.items():
            mark = "  (the best)" if probe_id == best else ""
            yield _line("probe", f"{probe_id}  {_estimate(probe.estimate, ceiling.unit)}{mark}")

    def _pointed(self, address: str) -> str:
        commit, _, where = address.partition("#")
        return _line("pointer", f"{where}  {_short(self.artifacts[commit].at(where))}")

    def _sampled(self, address: str) -> Iterator[str]:
        """Samples by process that stand at a pointer, as those of a control do."""
        commit, _, where = address.partition("#")
        held = self.artifacts[commit].at(where)
        if isinstance(held, Mapping) and {"samples", "unit"} <= held.keys():
            yield from _by_process(held["samples"], held["unit"])


def chains(
    citations: bytes, artifacts: Mapping[str, Artifact], files: Mapping[str, bytes], what: str
) -> str:
    """The chains of every number that `what` names, as text.

    citations is the content of citations.json, artifacts are by commit, files the site's by
    path. Raises WriteupError where no number is meant.
    """
    return Chains(json.loads(citations), artifacts, files).told(what)


def _target(what: str) -> str:
    """The page and anchor of a site that a link leads to, as citations.json has it; or ""."""
    found = _PART.search(unquote(what))
    if found is None:
        return ""
    page, sign, anchor = found[1].partition("#")
    page = page if page.endswith(".html") else f"{page.rstrip('/')}/index.html"
    return f"{page}{sign}{anchor}"


def _address(target: str) -> str:
    """The address of the record that a place on a result page stands for; "" for another."""
    folder, _, rest = target.partition("/")
    commit, _, anchor = rest.partition("/index.html#")
    return f"{commit}/{anchor}" if folder == "results" and anchor else ""


def _line(name: str, text: str) -> str:
    return f"  {name:9} {text}"


def _lines(name: str, texts: Iterable[str]) -> Iterator[str]:
    """A line for each text, named once; of very many the first, and how many more."""
    every = list(texts)
    for index, text in enumerate(every[:_MOST]):
        yield _line(name if index == 0 else "", text)
    if len(every) > _MOST:
        yield _line("", f"and {len(every) - _MOST} more")


def _estimate(found: stats.Estimate, unit: str) -> str:
    whole = Quantity(found.value, unit, found.low, found.high)
    if found.low is None:
        return f"{show(whole)}, without a band: {found.blocks} blocks are too few"
    return f"{show(whole)} ({show_band(whole)}), of {found.blocks} blocks"


def _ratio(timing: Timing, baseline: Timing) -> str:
    return _estimate(stats.ratio(baseline.samples, timing.samples), "×")


def _count(values: Sequence[float]) -> str:
    return f"{len(values)} sample{'s' * (len(values) != 1)}"


def _by_process(samples: Mapping[str, Sequence[float]], unit: str) -> Iterator[str]:
    for process, values in samples.items():
        median = show(Quantity(statistics.median(values), unit))
        yield _line("block", f"{process}  {_count(values)}, median {median}")
    yield _line("estimate", _estimate(stats.estimate(samples), unit))


def _samples_at(timing: Timing) -> str:
    _, run, case, variant, mode = timing.address.split("/")
    keys = ("runs", run, "cases", case, "variants", variant, "timings", mode, "samples")
    return pointer(*keys)


def _variant(variant: Variant) -> Iterator[str]:
    yield _line("pointer", variant.pointer)
    for name, metric in variant.raw.get("metrics", {}).items():
        yield _line("metric", name)
        yield from _by_process(metric["samples"], metric["unit"])
    yield from _counted(variant.raw.get("work", {}))


def _work(case: Case) -> Iterator[str]:
    yield _line("pointer", f"{case.pointer}/work")
    yield from _counted(case.work)


def _counted(work: Mapping[str, Json]) -> Iterator[str]:
    for kind in ("flops", "bytes"):
        if kind in work:
            method = work[kind].get("method", "")
            yield _line(kind, show(quantity(work[kind])) + (f"  {method}" if method else ""))


def _short(value: Json) -> str:
    """A value as JSON, cut where it is long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]} …"
