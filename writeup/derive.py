"""How each text of a page follows from raw samples: one function a form of evidence.

`verify` derives the same texts again on its own from the same definitions; the two share
`stats` and `quantity` and nothing else. Times are in seconds, rates in byte/s or flop/s.
`unit` is a symbol to show a quantity in (one unit a table column), else it is scaled.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import shlex
from collections.abc import Mapping, Sequence

from writeup import roofline, stats
from writeup.evidence import Evidence
from writeup.quantity import (
    LEAST_DIGITS,
    MOST_DIGITS,
    PLAIN_DIGITS,
    SPACE,
    Quantity,
    show,
    show_band,
    tick,
)
from writeup.result import Artifact, Case, Ceiling, Run, Variant, quantity
from writeup.selection import Row
from writeup.strict import Json, pointer

COMPULSORY = "compulsory"
IMPLEMENTED = "implemented"


# What one measurement says.


def time(row: Row, unit: str | None = None) -> Evidence:
    """The median of the block medians."""
    return _shown("time", (row.address,), (), seconds(row), unit, label=_of("time", row))


def band(row: Row, unit: str | None = None) -> Evidence:
    """The interval beside the median."""
    return _banded("band", (row.address,), (), seconds(row), unit, _of("band", row))


def minimum(row: Row, unit: str | None = None) -> Evidence:
    """The smallest sample; never a headline."""
    return _spread("min", (), row, stats.summary(row.samples).min, unit)


def maximum(row: Row, unit: str | None = None) -> Evidence:
    """The largest sample."""
    return _spread("max", (), row, stats.summary(row.samples).max, unit)


def quartile(row: Row, which: int, unit: str | None = None) -> Evidence:
    """The first or third quartile of the pooled samples; which is one or three."""
    summary = stats.summary(row.samples)
    value = {1: summary.q1, 3: summary.q3}[which]
    return _spread("quartile", (str(which),), row, value, unit)


def samples(row: Row) -> Evidence:
    """How many samples there are, over all blocks."""
    return _number("samples", row, stats.summary(row.samples).samples)


def blocks(row: Row) -> Evidence:
    """How many blocks, each a process of its own."""
    return _number("blocks", row, stats.summary(row.samples).blocks)


def outliers(row: Row) -> Evidence:
    """How many samples lie far off; they stay in."""
    return _number("outliers", row, stats.summary(row.samples).outliers)


def alone(row: Row, unit: str | None = None) -> Evidence:
    """The median of the samples taken with nobody else in turn, by the mode's own tool."""
    return _spread("alone", ("time",), row, stats.median(row.taken.alone), unit)


def alone_over(row: Row) -> Evidence:
    """That median over the estimate from the rounds; one where neighbours cost nothing."""
    found = Quantity(stats.median(row.taken.alone) / seconds(row).value, "×")
    label = f"time of {_name(row)} alone over its time in turns, {_where(row)}"
    return _shown("alone", (row.address,), ("over",), found, None, label=label)


def bandwidth(row: Row, count: str, unit: str | None = None) -> Evidence:
    """Bytes of the work over the time. Raises ValueError where no bytes were counted."""
    found = roofline.bandwidth(_work(row, count), row.taken)
    label = _of("bandwidth", row)
    return _shown("bandwidth", (row.address,), (count,), found, unit, label=label)


def throughput(row: Row, count: str, unit: str | None = None) -> Evidence:
    """Operations of the work over the time. Raises ValueError where none were counted."""
    found = roofline.throughput(_work(row, count), row.taken)
    label = _of("throughput", row)
    return _shown("throughput", (row.address,), (count,), found, unit, label=label)


def rate_band(row: Row, count: str) -> tuple[float | None, float | None]:
    """The ends of the band of a row's rate, in flop/s."""
    found = roofline.throughput(_work(row, count), row.taken)
    return found.low, found.high


def copy_rate(copy: Row) -> Evidence:
    """The rate in flop/s that the case's work would have at the speed of its matched copy."""
    return throughput(copy, COMPULSORY)


def seconds(row: Row) -> Quantity:
    """The estimate of a time with its band."""
    found = stats.estimate(row.samples)
    return Quantity(found.value, "s", found.low, found.high)


def metric(case: Case, variant: Variant, name: str) -> Evidence:
    """Any other metric of a variant: the median of its block medians, in its own unit."""
    recorded = variant.raw["metrics"][name]
    found = stats.estimate(recorded["samples"])
    value = Quantity(found.value, recorded["unit"], found.low, found.high)
    label = f"{name} of {variant.id}, {case.id}"
    return _shown("metric", (variant.address,), (name,), value, None, label=label)


# What two measurements say of each other.


def ratio(row: Row, baseline: Row) -> stats.Estimate:
    """Baseline time by time over paired blocks. Raises ValueError where none pair."""
    return stats.ratio(baseline.samples, row.samples)


def speedup(row: Row, baseline: Row) -> Evidence:
    """The ratio of the baseline's time to the variant's; above one is faster."""
    label = f"speed-up of {_name(row)} over {_name(baseline)}, {_where(row)}"
    at = (row.address, baseline.address)
    return _shown("speedup", at, (), _times(ratio(row, baseline)), None, label=label)


def speedup_band(row: Row, baseline: Row) -> Evidence:
    """The interval beside that ratio."""
    label = f"band of the speed-up of {_name(row)} over {_name(baseline)}, {_where(row)}"
    at = (row.address, baseline.address)
    return _banded("speedup-band", at, (), _times(ratio(row, baseline)), None, label)


def judgement(row: Row, baseline: Row) -> stats.Judgement:
    """The verdict on that ratio, by the case's margin and its A/A twins."""
    return stats.verdict(ratio(row, baseline), row.case.margin, twins(row))


def twins(row: Row) -> stats.Estimate | None:
    """The ratio of the two equal variants in the rounds of a row, where it had them."""
    pair = twin_rows(row)
    return ratio(pair[1], pair[0]) if pair else None


def twin_rows(row: Row) -> tuple[Row, Row] | None:
    """The A/A twins of a row's rounds, by id."""
    found = [row.beside(v) for v in sorted(row.case.twins, key=lambda v: v.id)]
    timed = [twin for twin in found if twin is not None]
    return (timed[0], timed[1]) if len(timed) > 1 else None


def verdict(row: Row, baseline: Row) -> Evidence:
    """Faster, slower, same or cannot tell; the A/A twins have their say in it."""
    word = str(judgement(row, baseline).verdict)
    label = f"verdict on {_name(row)} beside {_name(baseline)}, {_where(row)}"
    controls = [twin.address for twin in twin_rows(row) or ()]
    return Evidence("verdict", (row.address, baseline.address, *controls), word, label=label)


def geomean(pairs: Sequence[tuple[Row, Row]], which: str) -> Evidence:
    """Over (row, baseline) pairs, one a case: the geometric mean, the worst or the best."""
    ratios = {t.address: ratio(t, b).value for t, b in pairs}
    mean = stats.geometric_mean(ratios)
    value = {"mean": mean.value, "best": ratios[mean.best], "worst": ratios[mean.worst]}[which]
    at = tuple(address for t, b in pairs for address in (t.address, b.address))
    what = {"mean": "geometric mean", "best": "best", "worst": "worst"}[which]
    label = f"{what} of the speed-ups over all cases"
    return _shown("geomean", at, (which,), Quantity(value, "×"), None, label=label)


def agreement(first: Run, again: Run, subject: str, outcome: str, number: int) -> Evidence:
    """How many verdicts of a subject came out alike, moved or contrary in the second run."""
    label = f"verdicts on {subject} that came out {outcome} in run {again.id}"
    at = (first.address, again.address)
    return _shown("agreement", at, (subject, outcome), Quantity(number, "1"), None, label=label)


def tally(pairs: Sequence[tuple[Row, Row]], word: stats.Verdict) -> Evidence:
    """On how many (row, baseline) pairs the verdict is a certain one."""
    number = sum(judgement(t, b).verdict is word for t, b in pairs)
    at = tuple(address for t, b in pairs for address in (t.address, b.address))
    label = f"measurements on which the verdict is {word}"
    return _shown("tally", at, (str(word),), Quantity(number, "1"), None, label=label)


def of_copy(row: Row, copy: Row) -> Evidence:
    """The share of the speed of a copy of the case's own bytes, in the same rounds."""
    share = roofline.of_matched(row.case, row.variant, row.mode)
    found = Quantity(share.value, "%", share.low, share.high)
    label = f"share of a copy of the same bytes reached by {_name(row)}, {_where(row)}"
    at = (row.address, copy.address)
    return _shown("fraction", at, ("matched",), found, None, label=label)


def of_ceiling(row: Row, memory: Ceiling) -> Evidence:
    """The share of the measured memory ceiling, by compulsory bytes."""
    bound = roofline.rate(memory).value
    found = _over(roofline.bandwidth(row.case.work, row.taken), bound)
    label = f"share of the memory ceiling reached by {_name(row)}, {_where(row)}"
    return _shown("fraction", (row.address, memory.address), ("ceiling",), found, None, label=label)


def of_attainable(row: Row, compute: Ceiling, memory: Ceiling) -> Evidence:
    """The share of what both ceilings allow at the work's intensity."""
    bound = _allowed(row.case, compute, memory).value
    found = _over(roofline.throughput(row.case.work, row.taken), bound)
    label = f"share of the attainable rate reached by {_name(row)}, {_where(row)}"
    at = (row.address, compute.address, memory.address)
    return _shown("fraction", at, ("attainable",), found, None, label=label)


# Ceilings and counted work.


def ceiling(of: Ceiling, unit: str | None = None) -> Evidence:
    """The rate of the best probe."""
    label = f"measured ceiling {of.id}, best probe {of.best()[0]}"
    return _shown("ceiling", (of.address,), (), roofline.rate(of), unit, label=label)


def ceiling_band(of: Ceiling, unit: str | None = None) -> Evidence:
    """The interval beside it."""
    label = f"band of the measured ceiling {of.id}"
    return _banded("ceiling-band", (of.address,), (), roofline.rate(of), unit, label)


def probe(of: Ceiling, name: str) -> Evidence:
    """The rate of one probe of a ceiling."""
    found = of.probes[name].estimate
    shown = Quantity(found.value, of.unit, found.low, found.high)
    label = f"rate of the probe {name} of {of.id}"
    return _shown("probe", (of.address,), (name,), shown, None, label=label)


def ridge(compute: Ceiling, memory: Ceiling) -> Evidence:
    """The intensity at which both ceilings bind alike."""
    at = (compute.address, memory.address)
    found = roofline.ridge(compute, memory)
    return _shown("ridge", at, (), found, None, label="ridge point of both ceilings")


def intensity(case: Case, variant: Variant | None = None) -> Evidence:
    """Operations by bytes of the case's compulsory work, or of a variant as implemented."""
    own = _own_work(variant) if variant is not None else None
    if variant is None or own is None:
        at, count, work = case.address, COMPULSORY, case.work
    else:
        at, count, work = variant.address, IMPLEMENTED, own
    found = roofline.intensity(work)
    label = f"arithmetic intensity of {case.key} over {count} bytes"
    return _shown("intensity", (at,), (count,), found, None, label=label)


def attainable(case: Case, compute: Ceiling, memory: Ceiling) -> Evidence:
    """The rate that both ceilings allow at the case's intensity."""
    at = (case.address, compute.address, memory.address)
    found = _allowed(case, compute, memory)
    return _shown("attainable", at, (), found, None, label=f"attainable rate of {case.key}")


def floor(case: Case, compute: Ceiling, memory: Ceiling) -> Evidence:
    """The shortest time that both ceilings allow for the case's work."""
    at = (case.address, compute.address, memory.address)
    found = roofline.shortest(case.work, compute, memory)
    return _shown("floor", at, (), found, None, label=f"shortest attainable time of {case.key}")


# Facts of the record, as they stand there.


def fact(artifact: Artifact, where: str, label: str = "") -> Evidence:
    """The number, quantity, flag or word at a JSON pointer of the artifact."""
    found = artifact.at(where)
    at = (f"{artifact.commit}#{where}",)
    if isinstance(found, bool):
        return Evidence("fact", at, "yes" if found else "no", value=found, label=label)
    if isinstance(found, (int, float)):
        return _shown("fact", at, (), Quantity(found, "1"), None, label=label)
    if isinstance(found, Mapping):
        return _shown("fact", at, (), quantity(found), None, label=label)
    return Evidence("fact", at, str(found), value=str(found), label=label)


def of_variant(artifact: Artifact, variant: Variant, *keys: str) -> Evidence:
    """A fact of a variant. Raises KeyError where the record does not hold it."""
    what = " ".join(key.replace("_", " ") for key in keys if not key.isdigit())
    return fact(artifact, variant.pointer + pointer(*keys), f"{what} of {variant.id}")


def share(artifact: Artifact, where: str, label: str = "") -> Evidence:
    """A number of the record that is a share, as percent."""
    found = Quantity(artifact.at(where), "%")
    return _shown("share", (f"{artifact.commit}#{where}",), (), found, None, label=label)


def sampled(artifact: Artifact, where: str, label: str = "") -> Evidence:
    """The estimate of a control's samples: those at a pointer, by process, with their unit."""
    held = artifact.at(where)
    found = stats.estimate(held["samples"])
    shown = Quantity(found.value, held["unit"], found.low, found.high)
    return _shown("sampled", (f"{artifact.commit}#{where}",), (), shown, None, label=label)


def drift(artifact: Artifact, start: str, end: str, label: str = "") -> Evidence:
    """How far a calibration at the end of a run lies from that at its start, as percent."""
    first, last = (stats.estimate(artifact.at(where)["samples"]).value for where in (start, end))
    found = Quantity(abs(last / first - 1), "%")
    at = (f"{artifact.commit}#{start}", f"{artifact.commit}#{end}")
    return _shown("drift", at, (), found, None, label=label)


def shape(artifact: Artifact, where: str, label: str = "") -> Evidence:
    """The extents of a shape in order."""
    found = artifact.at(where)
    extents = found.values() if isinstance(found, Mapping) else found
    text = f"{SPACE}×{SPACE}".join(str(extent) for extent in extents)
    return Evidence("shape", (f"{artifact.commit}#{where}",), text, label=label)


def listed(artifact: Artifact, where: str, label: str = "") -> Evidence:
    """The items of a list."""
    text = ", ".join(str(item) for item in artifact.at(where))
    return Evidence("list", (f"{artifact.commit}#{where}",), text, label=label)


def date(artifact: Artifact, where: str, label: str = "") -> Evidence:
    """A moment, to the minute."""
    moment = dt.datetime.fromisoformat(artifact.at(where))
    text = moment.astimezone(dt.UTC).strftime("%Y-%m-%d %H:%M UTC")
    return Evidence("date", (f"{artifact.commit}#{where}",), text, label=label)


def command(artifact: Artifact, where: str, label: str = "") -> Evidence:
    """A command line as a shell would take it."""
    text = shlex.join(artifact.at(where))
    return Evidence("command", (f"{artifact.commit}#{where}",), text, label=label)


def prediction(artifact: Artifact, run: Run, subject: str, index: int) -> Evidence:
    """The ratio that was predicted."""
    where = run.pointer + pointer("experiments", subject, "predicted", index)
    predicted = Quantity(artifact.at(where)["ratio"], "×")
    at = (f"{artifact.commit}#{where}",)
    return _shown("prediction", at, (), predicted, None, label="predicted speed-up")


def foretold(artifact: Artifact, where: str, row: Row, baseline: Row) -> Evidence:
    """Where the prediction at a pointer lies: within, above or below the measured band.

    `cannot tell` where there is no band.
    """
    predicted = artifact.at(where)["ratio"]
    found = ratio(row, baseline)
    word = "within"
    if found.low is None or found.high is None:
        word = "cannot tell"
    elif not found.low <= predicted <= found.high:
        word = "above" if predicted > found.high else "below"
    at = (f"{artifact.commit}#{where}", row.address, baseline.address)
    label = f"the prediction of {_name(row)} over {_name(baseline)}, by the band, {_where(row)}"
    return Evidence("foretold", at, word, label=label)


def missed(artifact: Artifact, where: str, row: Row, baseline: Row) -> Evidence:
    """How far the prediction at a pointer lies from the measured ratio, as a share of it."""
    predicted, found = artifact.at(where)["ratio"], ratio(row, baseline)
    off = sorted(abs(predicted / end - 1) for end in (found.low, found.high) if end is not None)
    # Within the band the share reaches down to nothing, and has no band of its own.
    outside = off and not (found.low or 0) <= predicted <= (found.high or 0)
    ends = (off[0], off[1]) if outside else (None, None)
    shown = Quantity(abs(predicted / found.value - 1), "%", *ends)
    at = (f"{artifact.commit}#{where}", row.address, baseline.address)
    label = f"how far the prediction of {_name(row)} over {_name(baseline)} was off, {_where(row)}"
    return _shown("missed", at, (), shown, None, label=label)


def name(commit: str, text: str) -> Evidence:
    """A name that the record gives: an id, a dtype, a device."""
    return Evidence("name", (commit,), text, (text,))


def short(commit: str) -> Evidence:
    """The first digits of a commit."""
    return Evidence("short", (commit,), commit[:10], ("10",), label="commit")


def blob(digest: str) -> Evidence:
    """The first digits of a blob id."""
    return Evidence("short", (digest,), digest[:10], ("10", "blob"))


def count(addresses: Sequence[str], what: str) -> Evidence:
    """How many things there are."""
    found = Quantity(len(addresses), "1")
    return _shown("count", tuple(addresses), (what,), found, None, label=what)


def digest(path: str, content: bytes) -> Evidence:
    """The SHA-256 of a file of the site."""
    return Evidence("digest", (path,), hashlib.sha256(content).hexdigest(), label=f"sha of {path}")


def size(path: str, content: bytes) -> Evidence:
    """The size of a file of the site."""
    return _shown("size", (path,), (), Quantity(len(content), "byte"), None, label="size")


def constant(key: str) -> Evidence:
    """A constant of the program, or what follows from one, as the code that uses it has it.

    LEFT_OUT, COVERAGE and TAIL are of the band over BLOCKS blocks: how many it leaves out at
    either end, its exact coverage, and the chance that the truth lies beyond one of its ends.
    """
    label = key.lower().replace("_", " ")
    return _shown("constant", (), (key,), _CONSTANTS[key], None, label=label)


def _of_the_band() -> dict[str, Quantity]:
    band = stats.interval(range(stats.BLOCKS))
    if band is None:
        raise ValueError("a run of record has too few blocks for a band")
    return {
        "LEFT_OUT": Quantity(int(band.low), "1"),
        "COVERAGE": Quantity(band.coverage, "%"),
        "TAIL": Quantity((1 - band.coverage) / 2, "%"),
    }


_CONSTANTS = {
    "LEVEL": Quantity(stats.LEVEL, "%"),
    "MARGIN": Quantity(stats.MARGIN, "%"),
    "BLOCKS": Quantity(stats.BLOCKS, "1"),
    "MIN_BLOCKS": Quantity(stats.MIN_BLOCKS, "1"),
    "OUTLIER_MADS": Quantity(stats.OUTLIER_MADS, "1"),
    "LEAST_DIGITS": Quantity(LEAST_DIGITS, "1"),
    "MOST_DIGITS": Quantity(MOST_DIGITS, "1"),
    "PLAIN_DIGITS": Quantity(PLAIN_DIGITS, "1"),
    **_of_the_band(),
}


def axis(value: float, unit: str) -> Evidence:
    """A tick of an axis."""
    return Evidence("tick", (), tick(value, unit), (repr(value), unit), value=value, unit=unit)


def literal(place: str, text: str, reason: str) -> Evidence:
    """A digit that is no result, with its reason; place is where it stands in its source."""
    return Evidence("literal", (place,), text, (text, reason), label=reason)


def term(word: str) -> Evidence:
    """A word of the glossary."""
    return Evidence("glossary", (), word, (word,))


def listing(blob: str, first: int, last: int, text: str) -> Evidence:
    """Lines of a source as it was measured."""
    return Evidence("source", (blob,), text, (str(first), str(last)))


def _shown(
    form: str,
    at: tuple[str, ...],
    args: tuple[str, ...],
    quantity: Quantity,
    unit: str | None,
    *,
    label: str,
) -> Evidence:
    args = (*args, f"in:{unit}") if unit else args
    base = quantity.base
    return Evidence(form, at, show(quantity, unit), args, base.value, base.unit, label)


def _banded(
    form: str,
    at: tuple[str, ...],
    args: tuple[str, ...],
    quantity: Quantity,
    unit: str | None,
    label: str,
) -> Evidence:
    args = (*args, f"in:{unit}") if unit else args
    return Evidence(form, at, show_band(quantity, unit), args, quantity.value, quantity.unit, label)


def _spread(form: str, args: tuple[str, ...], row: Row, value: float, unit: str | None) -> Evidence:
    found = Quantity(value, "s")
    return _shown(form, (row.address,), args, found, unit, label=_of(form, row))


def _number(form: str, row: Row, value: int) -> Evidence:
    found = Quantity(value, "1")
    return _shown(form, (row.address,), (), found, None, label=_of(form, row))


def _times(found: stats.Estimate) -> Quantity:
    return Quantity(found.value, "×", found.low, found.high)


def _over(quantity: Quantity, bound: float) -> Quantity:
    low = None if quantity.low is None else quantity.low / bound
    high = None if quantity.high is None else quantity.high / bound
    return Quantity(quantity.value / bound, "%", low, high)


def _work(row: Row, count: str) -> Mapping[str, Json]:
    own = _own_work(row.variant) if count == IMPLEMENTED else None
    return own or row.case.work


def _own_work(variant: Variant) -> Mapping[str, Json] | None:
    """What a variant moves and computes as implemented, where that was counted apart."""
    return variant.raw.get("work")


def _allowed(case: Case, compute: Ceiling, memory: Ceiling) -> Quantity:
    """The rate in flop/s that both ceilings allow for a case's work."""
    return roofline.attainable(roofline.intensity(case.work).value, compute, memory)


def _name(row: Row) -> str:
    return row.variant.id


def _where(row: Row) -> str:
    return f"{row.case.id}, {row.mode}"


def _of(what: str, row: Row) -> str:
    return f"{what} of {_name(row)}, {_where(row)}"
