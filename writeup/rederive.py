"""What each form of evidence must say, from the raw JSON of artifacts alone.

The second of two implementations: it knows the definitions and the addresses, and shares
`stats` and `quantity` with the build and nothing else. Times are in seconds inside, rates in
byte/s or flop/s.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import math
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from writeup import stats
from writeup.quantity import (
    LEAST_DIGITS,
    MOST_DIGITS,
    PLAIN_DIGITS,
    SPACE,
    Quantity,
    show,
    show_band,
    tick,
    to_base,
)


class UnderivableError(ValueError):
    """An entry that no artifact of the site bears out; the message says why."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Evidence as `citations.json` has it."""

    key: str
    form: str
    at: tuple[str, ...]
    args: tuple[str, ...]
    text: str
    value: Any = None
    unit: str | None = None
    href: str | None = None


@dataclass(frozen=True, slots=True)
class Derived:
    """What an entry must be: its text, and the figure behind it where the form has one."""

    text: str
    value: Any = None
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class Records:
    """The artifacts of a site by commit, its files by path, its measured sources by blob id."""

    artifacts: Mapping[str, Any]
    files: Mapping[str, bytes]
    sources: Mapping[str, str]

    def commit(self, commit: str) -> Any:
        """The raw artifact of a commit."""
        if commit not in self.artifacts:
            raise UnderivableError(f"the site holds no artifact of {commit}")
        return self.artifacts[commit]

    def pointed(self, address: str) -> Any:
        """The value at `<commit>#<JSON pointer>` (RFC 6901)."""
        commit, _, pointer = address.partition("#")
        found = self.commit(commit)
        for step in pointer.split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            found = found[int(name)] if isinstance(found, list) else found[name]
        return found

    def run(self, address: str) -> Any:
        """The run that an address lies in."""
        parts = address.split("/")
        return self.commit(parts[0])["runs"][parts[1]]

    def case(self, address: str) -> Any:
        """The case that an address names or lies in."""
        return self.run(address)["cases"][address.split("/")[2]]

    def variant(self, address: str) -> Any:
        """The variant that an address names or lies in."""
        return self.case(address)["variants"][address.split("/")[3]]

    def timing(self, address: str) -> dict[str, list[float]]:
        """Samples in seconds, by process, of a measurement; none of invalid blocks."""
        _, _, _, variant, mode = address.split("/")
        return _timing(self.case(address), variant, mode)

    def exists(self, address: str) -> None:
        """Raises if an address, of whatever kind, names nothing. Digests name themselves."""
        parts = address.split("/")
        if "#" in address:
            self.pointed(address)
        elif len(parts) == 4 and parts[2] == "ceilings":
            _ = self.run(address)["ceilings"][parts[3]]
        elif len(parts) == 5:
            self.timing(address)
        elif len(parts) == 4:
            self.variant(address)
        elif len(parts) == 3:
            self.case(address)
        elif len(parts) == 2:
            self.run(address)
        else:
            self.commit(address)


def _timing(case: Mapping[str, Any], variant: str, mode: str) -> dict[str, list[float]]:
    blocks = case.get("rounds", {}).get(mode, {}).get("blocks", {})
    samples = _seconds(case["variants"][variant]["timings"][mode])
    return {
        name: values for name, values in samples.items() if "invalid" not in blocks.get(name, {})
    }


def _seconds(timing: Mapping[str, Any]) -> dict[str, list[float]]:
    unit = timing["unit"]
    return {
        process: [to_base(sample, unit)[0] for sample in samples]
        for process, samples in timing["samples"].items()
    }


def derive(entry: Entry, records: Records) -> Derived:
    """What the entry must say. Raises UnderivableError if the artifacts do not bear it out."""
    rule = FORMS.get(entry.form)
    if rule is None:
        raise UnderivableError(f"nothing is known of the form '{entry.form}'")
    try:
        return rule(entry, records)
    except UnderivableError:
        raise
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        raise UnderivableError(f"its addresses do not lead to what it needs: {error}") from error


def _in(entry: Entry) -> str | None:
    """The unit that the entry asks to be shown in, by a parameter `in:UNIT`."""
    return next((each[3:] for each in entry.args if each.startswith("in:")), None)


def _value(quantity: Quantity, entry: Entry) -> Derived:
    base = quantity.base
    return Derived(show(quantity, _in(entry)), base.value, base.unit)


def _band(quantity: Quantity, entry: Entry) -> Derived:
    return Derived(show_band(quantity, _in(entry)), quantity.value, quantity.unit)


def _of_estimate(found: stats.Estimate, unit: str) -> Quantity:
    return Quantity(found.value, unit, found.low, found.high)


# One measurement.


def _time_of(entry: Entry, records: Records) -> Quantity:
    return _of_estimate(stats.estimate(records.timing(entry.at[0])), "s")


def _time(entry: Entry, records: Records) -> Derived:
    return _value(_time_of(entry, records), entry)


def _time_band(entry: Entry, records: Records) -> Derived:
    return _band(_time_of(entry, records), entry)


def _spread(pick: Callable[[stats.Summary], float]) -> Callable[[Entry, Records], Derived]:
    def of(entry: Entry, records: Records) -> Derived:
        return _value(Quantity(pick(stats.summary(records.timing(entry.at[0]))), "s"), entry)

    return of


def _number(pick: Callable[[stats.Summary], int]) -> Callable[[Entry, Records], Derived]:
    def of(entry: Entry, records: Records) -> Derived:
        return _value(Quantity(pick(stats.summary(records.timing(entry.at[0]))), "1"), entry)

    return of


def _quartile(entry: Entry, records: Records) -> Derived:
    summary = stats.summary(records.timing(entry.at[0]))
    return _value(Quantity({"1": summary.q1, "3": summary.q3}[entry.args[0]], "s"), entry)


def _alone(entry: Entry, records: Records) -> Derived:
    """The time of a variant with nobody else in turn, or that over its time in turns."""
    _, _, _, _, mode = entry.at[0].split("/")
    solo = records.variant(entry.at[0])["timings"][mode]["solo"]
    median = stats.median([to_base(sample, solo["unit"])[0] for sample in solo["samples"]])
    if entry.args[0] == "over":
        return _value(Quantity(median / _time_of(entry, records).value, "×"), entry)
    return _value(Quantity(median, "s"), entry)


def _amount(work: Any, kind: str) -> float:
    """Bytes or operations of counted work, in base units."""
    counted = work[kind]
    return float(to_base(counted["value"], counted["unit"])[0])


def _rate(amount: float, spent: Quantity, unit: str) -> Quantity:
    """Amount by time; the ends of the band change places."""
    if spent.low is None or spent.high is None:
        return Quantity(amount / spent.value, unit)
    return Quantity(amount / spent.value, unit, amount / spent.high, amount / spent.low)


def _performed(kind: str, unit: str) -> Callable[[Entry, Records], Derived]:
    def of(entry: Entry, records: Records) -> Derived:
        address = entry.at[0]
        work = records.case(address).get("work")
        if entry.args[0] == "implemented":
            work = records.variant(address).get("work") or work
        spent = _time_of(entry, records)
        return _value(_rate(_amount(work, kind), spent, unit), entry)

    return of


# Two measurements beside each other.


def _ratio_of(entry: Entry, records: Records) -> stats.Estimate:
    variant, baseline = entry.at[:2]
    if variant.split("/")[:2] != baseline.split("/")[:2]:
        raise UnderivableError("its sides are of different runs")
    return stats.ratio(records.timing(baseline), records.timing(variant))


def _speedup(entry: Entry, records: Records) -> Derived:
    return _value(_of_estimate(_ratio_of(entry, records), "×"), entry)


def _speedup_band(entry: Entry, records: Records) -> Derived:
    return _band(_of_estimate(_ratio_of(entry, records), "×"), entry)


def _twins_at(address: str, records: Records) -> stats.Estimate | None:
    """The ratio of the first of two equal variants to the second, in the same rounds."""
    pair = [records.timing(twin) for twin in _twin_addresses(address, records)]
    return stats.ratio(pair[0], pair[1]) if pair else None


def _twin_addresses(address: str, records: Records) -> tuple[str, ...]:
    """The two equal variants of a measurement's rounds, by id; none where it had no two."""
    commit, run, case, _, mode = address.split("/")
    equals = [
        f"{commit}/{run}/{case}/{name}/{mode}"
        for name, variant in sorted(records.case(address)["variants"].items())
        if variant.get("control") == "twin" and mode in variant.get("timings", {})
    ]
    return tuple(equals[:2]) if len(equals) > 1 else ()


def _twins_of(entry: Entry, records: Records) -> Quantity:
    found = _twins_at(entry.at[0], records)
    if found is None:
        raise UnderivableError("its rounds hold no twins")
    return _of_estimate(found, "×")


def _twins(entry: Entry, records: Records) -> Derived:
    return _value(_twins_of(entry, records), entry)


def _twins_band(entry: Entry, records: Records) -> Derived:
    return _band(_twins_of(entry, records), entry)


def _margin_at(address: str, records: Records) -> float:
    """The case's own margin, else its experiment's, else the general one."""
    case = records.case(address)
    experiment = records.run(address).get("experiments", {}).get(case["subject"], {})
    return float(case.get("margin", experiment.get("margin", stats.MARGIN)))


def _margin(entry: Entry, records: Records) -> Derived:
    return _value(Quantity(_margin_at(entry.at[0], records), "%"), entry)


def _judged(ratio: stats.Estimate, address: str, records: Records) -> str:
    """The verdict on a ratio of the rounds of a measurement, by their margin and twins."""
    margin, twins = _margin_at(address, records), _twins_at(address, records)
    return str(stats.verdict(ratio, margin, twins).verdict)


def _verdict(entry: Entry, records: Records) -> Derived:
    address = entry.at[0]
    if set(entry.at[2:]) != set(_twin_addresses(address, records)):
        raise UnderivableError("it names other twins than those of its rounds")
    return Derived(_judged(_ratio_of(entry, records), address, records))


def _tally(entry: Entry, records: Records) -> Derived:
    """How many of some pairs of measurements have a verdict; no pair counts again."""
    pairs = list(zip(entry.at[::2], entry.at[1::2], strict=True))
    if len(set(pairs)) != len(pairs):
        raise UnderivableError("it counts something repeatedly")
    if any(one.split("/")[:2] != two.split("/")[:2] for one, two in pairs):
        raise UnderivableError("its sides are of different runs")
    found = [
        _judged(stats.ratio(records.timing(two), records.timing(one)), one, records)
        for one, two in pairs
    ]
    return _value(Quantity(found.count(entry.args[0]), "1"), entry)


def _agreement(entry: Entry, records: Records) -> Derived:
    """Verdicts on a subject's variants that two runs give alike, that moved, or that differ."""
    subject, outcome = entry.args
    first, again = (_verdicts(run, subject, records) for run in entry.at)
    unclear = str(stats.Verdict.UNCLEAR)
    found = dict.fromkeys(("alike", "moved", "contrary"), 0)
    for place in first.keys() & again.keys():
        both = {first[place], again[place]}
        found["alike" if len(both) == 1 else "moved" if unclear in both else "contrary"] += 1
    return _value(Quantity(found[outcome], "1"), entry)


def _verdicts(run: str, subject: str, records: Records) -> dict[tuple[str, str, str], str]:
    """The verdict on each variant of a run beside its baseline, by case, variant and mode."""
    found = {}
    for key, case in records.run(run)["cases"].items():
        if case["subject"] != subject:
            continue
        roles = {name: variant["role"] for name, variant in case["variants"].items()}
        baseline = next((name for name, role in roles.items() if role == "baseline"), None)
        for name, role in roles.items():
            if baseline is None or role in ("baseline", "control"):
                continue
            shared = case["variants"][name].get("timings", {}).keys()
            for mode in shared & case["variants"][baseline].get("timings", {}).keys():
                at = f"{run}/{key}/{name}/{mode}"
                ratio = stats.ratio(
                    records.timing(f"{run}/{key}/{baseline}/{mode}"), records.timing(at)
                )
                found[key, name, mode] = _judged(ratio, at, records)
    return found


def _geomean(entry: Entry, records: Records) -> Derived:
    pairs = list(zip(entry.at[::2], entry.at[1::2], strict=True))
    ratios = {
        variant: stats.ratio(records.timing(baseline), records.timing(variant)).value
        for variant, baseline in pairs
    }
    mean = stats.geometric_mean(ratios)
    chosen = {"mean": mean.value, "best": ratios[mean.best], "worst": ratios[mean.worst]}
    return _value(Quantity(chosen[entry.args[0]], "×"), entry)


# Ceilings and counted work.


_COUNTED = {"memory": ("bytes", "byte/s"), "compute": ("flops", "flop/s")}


def _probes_at(address: str, records: Records) -> dict[str, Quantity]:
    """The rates of a ceiling's probes by id, with their bands; of launches the times."""
    _, _, what, name = address.split("/")
    if what != "ceilings":
        raise UnderivableError(f"{address} is no ceiling")
    ceiling = records.run(address)["ceilings"][name]
    found: dict[str, Quantity] = {}
    for probe_id, probe in sorted(ceiling["probes"].items()):
        found[probe_id] = _of_estimate(stats.estimate(_seconds(probe)), "s")
        if ceiling["resource"] != "launch":
            kind, unit = _COUNTED[ceiling["resource"]]
            found[probe_id] = _rate(_amount(probe["work"], kind), found[probe_id], unit)
    return found


def _ceiling_at(address: str, records: Records) -> Quantity:
    """The highest median rate of the probes; of launches the shortest median time."""
    found = _probes_at(address, records).values()
    best = min if all(each.unit == "s" for each in found) else max
    return best(found, key=lambda each: each.value)


def _ceiling(entry: Entry, records: Records) -> Derived:
    return _value(_ceiling_at(entry.at[0], records), entry)


def _ceiling_band(entry: Entry, records: Records) -> Derived:
    return _band(_ceiling_at(entry.at[0], records), entry)


def _probe(entry: Entry, records: Records) -> Derived:
    return _value(_probes_at(entry.at[0], records)[entry.args[0]], entry)


def _intensity_of(work: Any) -> float:
    return _amount(work, "flops") / _amount(work, "bytes")


def _intensity(entry: Entry, records: Records) -> Derived:
    address = entry.at[0]
    holder = records.variant if entry.args[0] == "implemented" else records.case
    return _value(Quantity(_intensity_of(holder(address)["work"]), "flop/byte"), entry)


def _both(compute: str, memory: str, records: Records) -> tuple[Quantity, Quantity]:
    """A compute and a memory ceiling; they meet only in one run and one regime."""
    held = [records.run(each)["ceilings"][each.split("/")[3]] for each in (compute, memory)]
    if [each["resource"] for each in held] != ["compute", "memory"]:
        raise UnderivableError("it needs a compute ceiling and a memory ceiling, in this order")
    if compute.split("/")[:2] != memory.split("/")[:2]:
        raise UnderivableError("its ceilings are of different runs")
    if held[0].get("regime") != held[1].get("regime"):
        raise UnderivableError("its ceilings are of different regimes")
    return _ceiling_at(compute, records), _ceiling_at(memory, records)


def _corners(
    compute: Quantity, memory: Quantity, unit: str, figure: Callable[[float, float], float]
) -> Quantity:
    """A figure of two rates, its band over every pair of their ends; none where one has none.

    Each figure here rises or falls with each of the rates, so its extremes lie at the ends.
    """
    value = figure(compute.value, memory.value)
    ends = [(each.low, each.high) for each in (compute, memory)]
    figures = [
        figure(over, under)
        for over in ends[0]
        for under in ends[1]
        if over is not None and under is not None
    ]
    if len(figures) < len(ends[0]) * len(ends[1]):
        return Quantity(value, unit)
    return Quantity(value, unit, min(figures), max(figures))


def _ridge(entry: Entry, records: Records) -> Derived:
    over, under = entry.at
    compute, memory = _both(over, under, records)
    return _value(_corners(compute, memory, "flop/byte", lambda c, m: c / m), entry)


def _attainable_at(case: str, compute: str, memory: str, records: Records) -> Quantity:
    """The lower of the compute ceiling and intensity by memory ceiling, in flop/s."""
    slope = _intensity_of(records.case(case)["work"])
    over, under = _both(compute, memory, records)
    return _corners(over, under, "flop/s", lambda c, m: min(c, slope * m))


def _attainable(entry: Entry, records: Records) -> Derived:
    case, compute, memory = entry.at
    return _value(_attainable_at(case, compute, memory, records), entry)


def _floor(entry: Entry, records: Records) -> Derived:
    """The longer of the times that the compute and the memory ceiling ask for."""
    case, compute, memory = entry.at
    work = records.case(case)["work"]
    flops, moved = _amount(work, "flops"), _amount(work, "bytes")
    over, under = _both(compute, memory, records)
    return _value(_corners(over, under, "s", lambda c, m: max(flops / c, moved / m)), entry)


def _scaled(quantity: Quantity, factor: float) -> Quantity:
    if quantity.low is None or quantity.high is None:
        return Quantity(quantity.value * factor, "%")
    return Quantity(quantity.value * factor, "%", quantity.low * factor, quantity.high * factor)


def _metric(entry: Entry, records: Records) -> Derived:
    """Any other metric of a variant, in the unit in which it was recorded."""
    recorded = records.variant(entry.at[0])["metrics"][entry.args[0]]
    found = stats.estimate(recorded["samples"])
    return _value(_of_estimate(found, recorded["unit"]), entry)


def _fraction(entry: Entry, records: Records) -> Derived:
    address = entry.at[0]
    work = records.case(address)["work"]
    of = entry.args[0]
    if of == "matched":
        found = _of_estimate(_ratio_of(entry, records), "×")
        copied = records.variant(entry.at[1]).get("work") or work
        return _value(_scaled(found, _amount(work, "bytes") / _amount(copied, "bytes")), entry)
    spent = _time_of(entry, records)
    if of == "ceiling":
        bound = _ceiling_at(entry.at[1], records).value
        return _value(_scaled(_rate(_amount(work, "bytes"), spent, "byte/s"), 1 / bound), entry)
    if of == "attainable":
        bound = _attainable_at(address, entry.at[1], entry.at[2], records).value
        return _value(_scaled(_rate(_amount(work, "flops"), spent, "flop/s"), 1 / bound), entry)
    raise UnderivableError(f"nothing is known of a fraction of '{of}'")


# Facts of a record.


def _fact(entry: Entry, records: Records) -> Derived:
    found = records.pointed(entry.at[0])
    if isinstance(found, bool):
        return Derived("yes" if found else "no", found)
    if isinstance(found, (int, float)):
        return _value(Quantity(found, "1"), entry)
    if isinstance(found, dict):
        return _value(Quantity(found["value"], found["unit"]), entry)
    if isinstance(found, str):
        return Derived(found, found)
    raise UnderivableError("its address leads to no number, quantity, flag or word")


def _share(entry: Entry, records: Records) -> Derived:
    return _value(Quantity(records.pointed(entry.at[0]), "%"), entry)


def _sampled(entry: Entry, records: Records) -> Derived:
    """The estimate of samples by process that stand beside their unit."""
    held = records.pointed(entry.at[0])
    return _value(_of_estimate(stats.estimate(held["samples"]), held["unit"]), entry)


def _drift(entry: Entry, records: Records) -> Derived:
    """How far the device moved between the calibrations before and after a run."""
    start, end = entry.at
    if not start.endswith("-start") or end != start.removesuffix("-start") + "-end":
        raise UnderivableError("it needs a calibration at the start and the same at the end")
    before, after = records.pointed(start), records.pointed(end)
    if before["unit"] != after["unit"]:
        raise UnderivableError("its calibrations are in different units")
    medians = [stats.estimate(each["samples"]).value for each in (before, after)]
    return _value(Quantity(abs(medians[1] / medians[0] - 1), "%"), entry)


def _shape(entry: Entry, records: Records) -> Derived:
    found = records.pointed(entry.at[0])
    extents = found.values() if isinstance(found, dict) else found
    return Derived(f"{SPACE}×{SPACE}".join(map(str, extents)))


def _list(entry: Entry, records: Records) -> Derived:
    return Derived(", ".join(map(str, records.pointed(entry.at[0]))))


def _date(entry: Entry, records: Records) -> Derived:
    moment = dt.datetime.fromisoformat(records.pointed(entry.at[0]))
    return Derived(f"{moment.astimezone(dt.UTC):%Y-%m-%d %H:%M} UTC")


def _command(entry: Entry, records: Records) -> Derived:
    return Derived(shlex.join(records.pointed(entry.at[0])))


def _prediction(entry: Entry, records: Records) -> Derived:
    return _value(Quantity(records.pointed(entry.at[0])["ratio"], "×"), entry)


def _forecast(entry: Entry, records: Records) -> tuple[float, stats.Estimate]:
    """A predicted ratio, and the measured one of the same two variants in the same run."""
    pointer, variant, baseline = entry.at
    said = records.pointed(pointer)
    commit, run, case, name, mode = variant.split("/")
    _, _, other_case, over, other_mode = baseline.split("/")
    steps = [commit, *pointer.partition("#")[2].split("/")[1:]]
    own = records.case(variant)
    if steps[:6] != [commit, "runs", run, "experiments", own["subject"], "predicted"]:
        raise UnderivableError("it sets a prediction beside another run or subject")
    if (said["variant"], said["over"]) != (name, over):
        raise UnderivableError("it sets a prediction beside other variants than it names")
    if (case, mode) != (other_case, other_mode) or case.split(".")[-1] != own["id"]:
        raise UnderivableError("its sides are of different rounds")
    if said.get("case", own["id"]) != own["id"] or said.get("mode", mode) != mode:
        raise UnderivableError("it sets a prediction beside another case or mode")
    found = stats.ratio(records.timing(baseline), records.timing(variant))
    return float(said["ratio"]), found


def _foretold(entry: Entry, records: Records) -> Derived:
    """On which side of the measured band a prediction lies."""
    predicted, found = _forecast(entry, records)
    if found.low is None or found.high is None:
        return Derived("cannot tell")
    if predicted > found.high:
        return Derived("above")
    return Derived("below" if predicted < found.low else "within")


def _missed(entry: Entry, records: Records) -> Derived:
    """By what share of the measured ratio a prediction was off; banded outside the band."""
    predicted, found = _forecast(entry, records)
    value = abs(predicted - found.value) / found.value
    low, high = found.low, found.high
    if low is None or high is None or low <= predicted <= high:
        return _value(Quantity(value, "%"), entry)
    ends = [abs(predicted - each) / each for each in (low, high)]
    return _value(Quantity(value, "%", min(ends), max(ends)), entry)


def _count(entry: Entry, records: Records) -> Derived:
    for address in entry.at:
        records.exists(address)
    if len(set(entry.at)) != len(entry.at):
        raise UnderivableError("it counts something repeatedly")
    return _value(Quantity(len(entry.at), "1"), entry)


def _keys(value: Any) -> Iterator[str]:
    """Every key of raw JSON, at whatever depth."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from _keys(item)
    elif isinstance(value, list):
        for item in value:
            yield from _keys(item)


# By the part of a record that holds them: the strings there that name a thing. All others
# are prose, and what prose says is no name because it was written down once.
_NAMING = {
    "environment/device": ("kind", "name", "compute_capability"),
    "environment/host": ("cpu", "os", "libc", "compiler"),
    "timer": ("name",),
    "ceilings/*": ("resource", "level", "dtype", "regime"),
    "cases/*": ("subject", "id", "dtype", "layout"),
    "cases/*/rounds/*": ("mode", "regime", "cache"),
    "cases/*/variants/*": ("control", "parent", "twin_of", "file", "function"),
    "cases/*/variants/*/reason": ("code",),
    "cases/*/variants/*/resources": ("target",),
    "experiments/*/mistakes/*": ("file", "passes", "fails"),
}


def _held(value: Any, path: str) -> Iterator[Any]:
    """What lies at a path below raw JSON; a step `*` is every member."""
    step, _, rest = path.partition("/")
    if not isinstance(value, dict):
        return
    for each in value.values() if step == "*" else [value[step]] if step in value else []:
        yield from _held(each, rest) if rest else [each]


def _names(raw: Any) -> Iterator[str]:
    """What a record names: its keys, its ids, its devices, files, and versions of software."""
    yield raw["commit"]
    yield from _keys(raw["runs"])
    for run in raw["runs"].values():
        for path, fields in _NAMING.items():
            for holder in _held(run, path):
                yield from (str(holder[name]) for name in fields if name in holder)
        for files in _held(run, "sources/files"):
            yield from (path.rpartition("/")[2] for path in files)
        for path in ("environment/software", "sources/distributions"):
            for versions in _held(run, path):
                yield from (f"{name} {version}" for name, version in versions.items())
        for file in _held(run, "cases/*/variants/*/file"):
            yield file.rpartition("/")[2]


def _name(entry: Entry, records: Records) -> Derived:
    """A name of the record, as it is written there; one without digits in capitals too."""
    name = entry.args[0]
    spelt = " ".join(name.split())
    numbered = any(each.isnumeric() for each in name)
    if not any(each.isalpha() for each in name):
        raise UnderivableError(f"'{name}' is a number, not a name")
    for commit in [entry.at[0]] if entry.at else sorted(records.artifacts):
        for found in _names(records.commit(commit)):
            same = found == spelt or (not numbered and found.casefold() == spelt.casefold())
            if same or found == name:
                return Derived(name)
    raise UnderivableError(f"no record of the site names '{name}'")


def measured_as(path: str, records: Records) -> set[str]:
    """The blob ids under which runs measured a file of the project; none if none loaded it."""
    return {
        str(files[path])
        for raw in records.artifacts.values()
        for files in _held(raw, "runs/*/sources/files")
        if isinstance(files, dict) and path in files
    }


# Fewer digits of an id may be read as a figure.
_SHORTEST = 7


def _short(entry: Entry, records: Records) -> Derived:
    """The first digits of a commit, or of the id of a file as it was measured."""
    digest, length = entry.at[0], int(entry.args[0])
    blobs = (
        blob
        for raw in records.artifacts.values()
        for files in _held(raw, "runs/*/sources/files")
        for blob in files.values()
    )
    if digest not in records.artifacts and digest not in blobs:
        raise UnderivableError(f"no record of the site holds {digest}")
    if length < _SHORTEST:
        raise UnderivableError(f"{length} digits of an id are too few to know it by")
    return Derived(digest[:length])


# Things of the site itself.


def _file(entry: Entry, records: Records) -> bytes:
    if entry.at[0] not in records.files:
        raise UnderivableError(f"the site has no file {entry.at[0]}")
    return records.files[entry.at[0]]


def _digest(entry: Entry, records: Records) -> Derived:
    return Derived(hashlib.sha256(_file(entry, records)).hexdigest())


def _size(entry: Entry, records: Records) -> Derived:
    return _value(Quantity(len(_file(entry, records)), "byte"), entry)


def _beyond(out: int, count: int) -> float:
    """The chance that the median lies beyond an end of a band that leaves `out` of `count` out."""
    return float(sum(math.comb(count, each) for each in range(out + 1)) / 2**count)


def _left_out(count: int) -> int:
    """How many values the band leaves out at either end, at most, to cover the level."""
    outs = (out for out in range(count) if 1 - 2 * _beyond(out, count) >= stats.LEVEL)
    return max(outs)


_CONSTANTS = {
    "LEVEL": Quantity(stats.LEVEL, "%"),
    "MARGIN": Quantity(stats.MARGIN, "%"),
    "BLOCKS": Quantity(stats.BLOCKS, "1"),
    "MIN_BLOCKS": Quantity(stats.MIN_BLOCKS, "1"),
    "OUTLIER_MADS": Quantity(stats.OUTLIER_MADS, "1"),
    # Of the band over a run of record, from the binomial itself.
    "LEFT_OUT": Quantity(_left_out(stats.BLOCKS), "1"),
    "COVERAGE": Quantity(1 - 2 * _beyond(_left_out(stats.BLOCKS), stats.BLOCKS), "%"),
    "TAIL": Quantity(_beyond(_left_out(stats.BLOCKS), stats.BLOCKS), "%"),
    "LEAST_DIGITS": Quantity(LEAST_DIGITS, "1"),
    "MOST_DIGITS": Quantity(MOST_DIGITS, "1"),
    "PLAIN_DIGITS": Quantity(PLAIN_DIGITS, "1"),
}


def _constant(entry: Entry, _: Records) -> Derived:
    return _value(_CONSTANTS[entry.args[0]], entry)


def _tick(entry: Entry, _: Records) -> Derived:
    value, unit = float(entry.args[0]), entry.args[1]
    return Derived(tick(value, unit), value, unit)


def _listed(entry: Entry, _: Records) -> Derived:
    """A literal or a word of the glossary: that it is listed is asked where pages are read."""
    return Derived(entry.args[0])


def _source(entry: Entry, records: Records) -> Derived:
    """Lines of a measured source."""
    blob = entry.at[0]
    if blob not in records.sources:
        raise UnderivableError(f"the site holds no text of which {blob} is the blob id")
    first, last = (int(each) for each in entry.args[:2])
    lines = records.sources[blob].split("\n")
    if not 1 <= first <= last <= len(lines):
        raise UnderivableError(f"{blob} has no lines {first} to {last}")
    return Derived("\n".join(lines[first - 1 : last]))


def sources(files: Mapping[str, bytes], entries: Mapping[str, Entry]) -> dict[str, str]:
    """The texts of measured sources by blob id, each proven by its hash.

    From raw copies below `sources/<blob id>/` where the site has them, else put together
    from the lines that its pages show.
    """
    found: dict[str, str] = {}
    shown: dict[str, dict[int, str]] = {}
    for path, content in files.items():
        folder, _, rest = path.removeprefix("sources/").partition("/")
        if path.startswith("sources/") and rest and blob_id(content) == folder:
            found[folder] = content.decode(errors="replace")
    for entry in entries.values():
        if entry.form == "source" and entry.at and entry.at[0] not in found and entry.args:
            lines = dict(enumerate(entry.text.split("\n"), int(entry.args[0])))
            shown.setdefault(entry.at[0], {}).update(lines)
    for blob, lines in shown.items():
        whole = "\n".join(lines[number] for number in sorted(lines))
        for text in (whole, whole + "\n"):
            if blob_id(text.encode()) == blob:
                found[blob] = text
    return found


def blob_id(content: bytes) -> str:
    """The id that git gives to this content."""
    header = b"blob %d\0" % len(content)
    return hashlib.sha1(header + content, usedforsecurity=False).hexdigest()


FORMS: Mapping[str, Callable[[Entry, Records], Derived]] = {
    "time": _time,
    "band": _time_band,
    "min": _spread(lambda summary: summary.min),
    "max": _spread(lambda summary: summary.max),
    "quartile": _quartile,
    "samples": _number(lambda summary: summary.samples),
    "blocks": _number(lambda summary: summary.blocks),
    "outliers": _number(lambda summary: summary.outliers),
    "alone": _alone,
    "bandwidth": _performed("bytes", "byte/s"),
    "throughput": _performed("flops", "flop/s"),
    "speedup": _speedup,
    "speedup-band": _speedup_band,
    "twins": _twins,
    "twins-band": _twins_band,
    "margin": _margin,
    "verdict": _verdict,
    "agreement": _agreement,
    "tally": _tally,
    "geomean": _geomean,
    "ceiling": _ceiling,
    "ceiling-band": _ceiling_band,
    "probe": _probe,
    "intensity": _intensity,
    "ridge": _ridge,
    "attainable": _attainable,
    "floor": _floor,
    "fraction": _fraction,
    "metric": _metric,
    "fact": _fact,
    "share": _share,
    "sampled": _sampled,
    "drift": _drift,
    "shape": _shape,
    "list": _list,
    "date": _date,
    "command": _command,
    "prediction": _prediction,
    "foretold": _foretold,
    "missed": _missed,
    "count": _count,
    "name": _name,
    "short": _short,
    "digest": _digest,
    "size": _size,
    "constant": _constant,
    "tick": _tick,
    "literal": _listed,
    "glossary": _listed,
    "source": _source,
}


def enclosing(address: str) -> Sequence[str]:
    """The anchors that may stand for an address on its result page, the nearest first.

    A measurement has an anchor of its own. A fact has its pointer as the anchor if a row
    shows it, else lies in the nearest thing around it that has one.
    """
    named, sign, pointer = address.partition("#")
    if not sign:
        parts = named.split("/")[1:]
        return ["/".join(parts[:depth]) for depth in range(len(parts), 0, -1)]
    steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
    anchors: list[str] = []
    for depth in range(len(steps), 0, -1):
        anchors.append("/" + "/".join(pointer.split("/")[1 : depth + 1]))
        anchors += _named(steps[:depth])
    return anchors


def _named(steps: list[str]) -> list[str]:
    """The anchor of a run, of a case, variant or measurement, or of another part of a run."""
    if len(steps) < 2 or steps[0] != "runs":
        return []
    if steps[2:3] != ["cases"]:
        return ["/".join(steps[1:])]
    collections = ("runs", "cases", "variants", "timings")
    whole = len(steps) % 2 == 0 and tuple(steps[::2]) == collections[: len(steps) // 2]
    return ["/".join(steps[1::2])] if whole else []
