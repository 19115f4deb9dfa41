"""What no schema can say of a record: names that lead nowhere, and counts that do not fit.

Every function yields findings about a document that holds by the schema. Fields that are
optional there are judged only where they stand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from writeup.quantity import to_base
from writeup.strict import Finding, Json, Place

# A sample in seconds: below a femtosecond no clock ticks, and nobody waits for thirty years.
SHORTEST, LONGEST = 1e-15, 1e9

# The work that a probe must name, by the resource whose ceiling it seeks.
WORK_OF = {"memory": "bytes", "compute": "flops"}


def references(document: Mapping[str, Json]) -> Iterator[Finding]:
    """What names something that is not there, or does not fit it. The schema holds already."""
    for run_id, run in document["runs"].items():
        place: Place = ("runs", run_id)
        yield from _processes(run, place)
        for key, case in run["cases"].items():
            yield from _case(run, key, case, (*place, "cases", key))
        for subject, experiment in run.get("experiments", {}).items():
            yield from _experiment(run, subject, experiment, (*place, "experiments", subject))


def _processes(run: Mapping[str, Json], place: Place) -> Iterator[Finding]:
    """Legs of processes, and processes of floors and ceilings."""
    legs = run.get("legs", {})
    for name, process in run.get("processes", {}).items():
        if "leg" in process and process["leg"] not in legs:
            yield Finding((*place, "processes", name, "leg"), _unknown("leg", process["leg"]))
    controls = run.get("controls", {})
    for mode, floor in controls.get("floor", {}).items():
        yield from _known(run, floor["samples"], (*place, "controls", "floor", mode, "samples"))
    for kind in ("floor", "calibration"):
        for name, control in controls.get(kind, {}).items():
            if not control["samples"]:
                where = (*place, "controls", kind, name, "samples")
                yield Finding(where, "a control without a sample")
    for name, ceiling in run.get("ceilings", {}).items():
        for probe_id, probe in ceiling["probes"].items():
            where = (*place, "ceilings", name, "probes", probe_id)
            yield from _known(run, probe["samples"], (*where, "samples"))
            yield from _times(probe["samples"], probe["unit"], (*where, "samples"))
            yield from _probe_work(ceiling["resource"], probe, where)


def _probe_work(resource: str, probe: Mapping[str, Json], place: Place) -> Iterator[Finding]:
    needed = WORK_OF.get(resource)
    if needed and not probe.get("work", {}).get(needed, {}).get("value"):
        yield Finding(place, f"a {resource} ceiling without the {needed} of its probe")


def _known(
    run: Mapping[str, Json], by_process: Mapping[str, Json], place: Place
) -> Iterator[Finding]:
    """Process ids that the run does not list; a run may list none at all."""
    if "processes" in run:
        for process in by_process:
            if process not in run["processes"]:
                yield Finding((*place, process), _unknown("process", process))


def _times(by_process: Mapping[str, list[float]], unit: str, place: Place) -> Iterator[Finding]:
    for process, values in by_process.items():
        shortest, longest = to_base(min(values), unit)[0], to_base(max(values), unit)[0]
        if shortest < SHORTEST or longest > LONGEST:
            yield Finding((*place, process), "a sample that is no duration")


def _unknown(what: str, name: str) -> str:
    return f"nothing here is the {what} {name!r}"


def _case(
    run: Mapping[str, Json], key: str, case: Mapping[str, Json], place: Place
) -> Iterator[Finding]:
    if key != f"{case['subject']}.{case['id']}":
        yield Finding(place, f"the key of this case should be {case['subject']}.{case['id']}")
    for mode, rounds in case.get("rounds", {}).items():
        yield from _rounds(run, case, mode, rounds, (*place, "rounds", mode))
    for name, variant in case["variants"].items():
        yield from _variant(run, case, name, variant, (*place, "variants", name))
    yield from _ancestry(case["variants"], place)


def _rounds(
    run: Mapping[str, Json],
    case: Mapping[str, Json],
    mode: str,
    rounds: Mapping[str, Json],
    place: Place,
) -> Iterator[Finding]:
    regime = rounds["regime"]
    if mode != rounds["mode"] + ("" if regime == "interleaved" else f"-{regime}"):
        yield Finding(place, f"the key of these rounds does not say {rounds['mode']}, {regime}")
    for index, name in enumerate(rounds["participants"]):
        if name not in case["variants"]:
            yield Finding((*place, "participants", index), _unknown("variant", name))
    yield from _known(run, rounds["blocks"], (*place, "blocks"))
    count = len(rounds["participants"])
    for process, block in rounds["blocks"].items():
        for index, order in enumerate(block["order"]):
            if max(order) >= count or len(set(order)) != len(order):
                yield Finding(
                    (*place, "blocks", process, "order", index),
                    f"a round names each of its {count} participants once at most",
                )


def _variant(
    run: Mapping[str, Json],
    case: Mapping[str, Json],
    name: str,
    variant: Mapping[str, Json],
    place: Place,
) -> Iterator[Finding]:
    for field in ("parent", "twin_of"):
        if field in variant and variant[field] not in case["variants"]:
            yield Finding((*place, field), _unknown("variant", variant[field]))
    beside = variant.get("correctness", {}).get("error_beside", {}).get("variant", name)
    if beside not in case["variants"]:
        yield Finding((*place, "correctness", "error_beside"), _unknown("variant", beside))
    yield from _source(run, variant, place)
    for mode, timing in variant.get("timings", {}).items():
        yield from _timing(run, case, name, mode, timing, (*place, "timings", mode))
    for metric, values in variant.get("metrics", {}).items():
        yield from _known(run, values["samples"], (*place, "metrics", metric, "samples"))


def _source(
    run: Mapping[str, Json], variant: Mapping[str, Json], place: Place
) -> Iterator[Finding]:
    tree = variant.get("tree")
    if tree is not None and tree not in run.get("trees", {}):
        yield Finding((*place, "tree"), _unknown("tree", tree))
        return
    files = run["trees"][tree]["files"] if tree else run.get("sources", {}).get("files")
    if files is not None and "file" in variant and variant["file"] not in files:
        yield Finding((*place, "file"), _unknown("source", variant["file"]))


def _timing(
    run: Mapping[str, Json],
    case: Mapping[str, Json],
    name: str,
    mode: str,
    timing: Mapping[str, Json],
    place: Place,
) -> Iterator[Finding]:
    samples = timing["samples"]
    yield from _known(run, samples, (*place, "samples"))
    yield from _times(samples, timing["unit"], (*place, "samples"))
    if "solo" in timing:
        solo = timing["solo"]
        yield from _times({"samples": solo["samples"]}, solo["unit"], (*place, "solo"))
    for process in timing.get("addresses", {}):
        if process not in samples:
            yield Finding((*place, "addresses", process), _unknown("block", process))
    rounds = case.get("rounds", {}).get(mode)
    if rounds is not None:
        yield from _pairing(rounds, name, samples, place)


def _pairing(
    rounds: Mapping[str, Json], name: str, samples: Mapping[str, list[float]], place: Place
) -> Iterator[Finding]:
    """One sample for each round that named the variant: none left out, none added."""
    if name not in rounds["participants"]:
        yield Finding(place, "timed, but not among the participants of these rounds")
        return
    index = rounds["participants"].index(name)
    for process, block in rounds["blocks"].items():
        turns = sum(index in order for order in block["order"])
        taken = len(samples.get(process, ()))
        if turns != taken:
            yield Finding(
                (*place, "samples", process) if taken else (*place, "samples"),
                f"block {process} has {taken} samples for {turns} rounds",
            )
    for process in samples:
        if process not in rounds["blocks"]:
            yield Finding((*place, "samples", process), _unknown("block", process))
    if all("invalid" in rounds["blocks"].get(process, ()) for process in samples):
        yield Finding((*place, "samples"), "every block is invalid: nothing was measured")


def _ancestry(variants: Mapping[str, Json], place: Place) -> Iterator[Finding]:
    """A chain of parents that comes back to where it began."""
    for name in variants:
        seen = {name}
        parent = variants[name].get("parent")
        while parent in variants and parent not in seen:
            seen.add(parent)
            parent = variants[parent].get("parent")
        if parent == name:
            yield Finding((*place, "variants", name, "parent"), "a variant that is its own origin")


def _experiment(
    run: Mapping[str, Json], subject: str, experiment: Mapping[str, Json], place: Place
) -> Iterator[Finding]:
    cases = {c["id"]: c for c in run["cases"].values() if c["subject"] == subject}
    variants = {name for case in cases.values() for name in case["variants"]}
    for index, name in enumerate(experiment.get("order", ())):
        if name not in variants:
            yield Finding((*place, "order", index), _unknown("variant", name))
    for index, predicted in enumerate(experiment.get("predicted", ())):
        where = (*place, "predicted", index)
        for field in ("variant", "over"):
            if predicted[field] not in variants:
                yield Finding((*where, field), _unknown("variant", predicted[field]))
        if predicted.get("case", next(iter(cases), None)) not in cases:
            yield Finding((*where, "case"), _unknown("case", predicted["case"]))
    for name, mistake in experiment.get("mistakes", {}).items():
        if mistake["variant"] not in variants:
            yield Finding(
                (*place, "mistakes", name, "variant"), _unknown("variant", mistake["variant"])
            )
