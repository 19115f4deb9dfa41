"""From what a session found to a run as the artifact has it.

Raw samples and raw facts only; whatever can be derived is derived on reading. What is not
known is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from harness import ceilings
from harness.ceilings import Ceiling, Probe
from harness.child import Event
from harness.documents import relied_upon
from harness.experiment import Case, Experiment, Variant, Work
from harness.mistakes import Planted, source_file, symbol
from harness.modes import BURST, INTERLEAVED, SUSTAINED, parse
from harness.plan import SubjectPlan, interpreted_cases
from harness.supervise import Block, Process
from harness.validate import COPY, TWINS

Json = dict[str, Any]

# Statuses of the gate; a variant that failed later keeps the samples it gave until then.
_WITHOUT_SAMPLES = frozenset({"incorrect", "out_of_resources", "compile_error", "unsupported"})


@dataclass(slots=True)
class SubjectFindings:
    """All that a session found about one subject.

    outcomes are the gate's by (variant, case), changed when a variant fails later; strides
    by case; planted mistakes with whether each was caught and what its gate said.
    """

    plan: SubjectPlan
    outcomes: dict[tuple[str, str], Event] = field(default_factory=dict)
    case_facts: dict[str, Event] = field(default_factory=dict)
    mistakes: list[tuple[Planted, bool, Event]] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.plan.subject.name


@dataclass(slots=True)
class Findings:
    """All that a session found; calibrations by "start" and "end"."""

    subjects: list[SubjectFindings] = field(default_factory=list)
    processes: list[Process] = field(default_factory=list)
    calibrations: dict[str, tuple[Process, Event]] = field(default_factory=dict)
    files: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the device beforehand: its kind, and its last-level cache.

    shapes are the probes that were asked for, None for all.
    """

    device: str
    llc: int | None
    level: str
    shapes: Mapping[str, Sequence[str]] | None = None

    def ceilings(self) -> tuple[Ceiling, ...]:
        """Every ceiling that a block may have sampled."""
        if self.device == "cpu":
            return ceilings.cpu_ceilings(self.llc, self.level)
        found = [
            one
            for regime in (INTERLEAVED, BURST, SUSTAINED)
            for one in ceilings.cuda_ceilings(regime)
        ]
        return ceilings.limited(found, self.shapes)

    def calibration(self) -> Sequence[tuple[str, Probe, int]]:
        """What was timed at both ends."""
        if self.device == "cpu":
            return ceilings.cpu_calibration(self.llc)
        return ceilings.cuda_calibration()


def measured(findings: Findings, known: Known, root: Path, *, software: Mapping[str, str]) -> Json:
    """The parts of a run that come from its processes; run.py adds who, when and where.

    software is the version of each piece that took part, as the environment has it.
    """
    return {
        "timer": timer(findings),
        "documents": relied_upon(known.device, software),
        "processes": {process.id: process.facts for process in findings.processes},
        "controls": controls(findings, known),
        "ceilings": ceilings_of(findings, known),
        "experiments": {one.name: experiment(one, root) for one in findings.subjects},
        "cases": {
            f"{one.name}.{case.id}": case_of(one, case, root)
            for one in findings.subjects
            for case in one.plan.gated
            if one.plan.rows(case)
        },
    }


def timer(findings: Findings) -> Json:
    _, found = findings.calibrations["start"]
    check = found["check"]
    return {
        **found["timer"],
        "check": {
            "reference": check["reference"],
            "expected": {"value": check["expected_ms"], "unit": "ms"},
            "measured": {"value": check["measured_ms"], "unit": "ms"},
            "step": {"value": check["step"], "unit": found["timer"]["unit"]},
        },
    }


def controls(findings: Findings, known: Known) -> Json:
    """The floor of each mode, and the calibration at both ends."""
    unit = findings.calibrations["start"][1]["timer"]["unit"]
    floors: dict[str, Json] = {}
    for block in _blocks(findings):
        for mode, found in block.floors.items():
            facts: Json = {"what": "a call that does nothing, timed in the same way", "samples": {}}
            if found["launches"] > 1:
                facts["launches"] = found["launches"]
            floor = floors.setdefault(mode, {**facts, "unit": found["unit"]})
            floor["samples"][block.process.id] = found["samples"]
    calibration = {}
    for when, (process, found) in findings.calibrations.items():
        for kind, probe, _ in known.calibration():
            calibration[f"{kind}-{when}"] = {
                "what": probe.what,
                "when": when,
                "probe": probe.config,
                "unit": unit,
                "samples": {process.id: found["samples"][kind]},
                "state": found["state"],
            }
    return {"floor": floors, "calibration": calibration}


def ceilings_of(findings: Findings, known: Known) -> Json:
    """Every ceiling that was sampled, with its probes' readings by process."""
    unit = findings.calibrations["start"][1]["timer"]["unit"]
    found: Json = {}
    for ceiling in known.ceilings():
        sampled = {
            block.process.id: block.ceilings[ceiling.id]
            for block in _blocks(findings)
            if ceiling.id in block.ceilings
        }
        if not sampled:
            continue
        probes = {
            probe.id: {
                "what": probe.what,
                "config": probe.config,
                "work": probe.work,
                "unit": unit,
                "samples": {process: readings[probe.id] for process, readings in sampled.items()},
            }
            for probe in ceiling.probes
        }
        found[ceiling.id] = {**ceiling.facts, "probes": probes}
    return found


def _blocks(findings: Findings) -> list[Block]:
    return [block for one in findings.subjects for block in one.blocks]


def experiment(findings: SubjectFindings, root: Path) -> Json:
    """What the author wrote down before the run, and the planted mistakes."""
    written = findings.plan.experiment
    names = ("title", "question", "audience", "hypothesis", "variable", "cannot_conclude")
    more = ("next", "contract", "independent_check", "limiter")
    texts = {name: getattr(written, name) for name in (*names, *more)}
    kept = {variant.id for variant in findings.plan.variants}
    gated = {case.id for case in findings.plan.gated}
    return {
        **{name: text for name, text in texts.items() if text},
        "oracle": written.oracle_name,
        "varies": list(written.varies),
        "margin": written.margin,
        "order": [variant.id for variant in findings.plan.variants],
        "predicted": [
            asdict(one)
            for one in written.predicted
            if {one.variant, one.over} <= kept and one.case in gated
        ],
        "mistakes": {
            planted.mistake.id: mistake(findings, planted, root, caught=caught, outcome=outcome)
            for planted, caught, outcome in findings.mistakes
        },
    }


def mistake(
    findings: SubjectFindings, planted: Planted, root: Path, *, caught: bool, outcome: Event
) -> Json:
    """A planted mistake; outcome is the gate's on the case that must see it."""
    name, told = findings.name, planted.mistake
    seen = outcome.get("correctness", {})
    facts = {
        "variant": told.variant,
        "file": _relative(findings, planted.file, root),
        "line": planted.line,
        "before": planted.before,
        "after": planted.after,
        "passes": f"{name}.{told.passes}",
        "fails": f"{name}.{told.fails}",
        "caught": caught,
    }
    if "max_abs_error" in seen:
        facts["error"] = seen["max_abs_error"]
        facts["nonfinite"] = seen["nonfinite"]
    return facts


def _relative(findings: SubjectFindings, file: str, root: Path) -> str:
    return (findings.plan.subject.folder / file).relative_to(root).as_posix()


def case_of(findings: SubjectFindings, case: Case, root: Path) -> Json:
    """A case with its rounds and every row, controls included."""
    facts: Json = {
        "subject": findings.name,
        "id": case.id,
        "what": case.what,
        "shape": dict(case.shape),
        "dtype": case.dtype,
        "layout": case.layout,
        "axes": dict(case.shape if case.axes is None else case.axes),
        "tags": list(case.tags),
        "inputs": {
            "distribution": case.distribution,
            "seed": case.seed,
            "parameters": dict(case.parameters),
        },
        "tolerance": {"atol": case.tolerance.atol, "rtol": case.tolerance.rtol},
        "work": work(case.work),
        **findings.case_facts.get(case.id, {}),
    }
    rows = {v.id: row(findings, v, case, root) for v in findings.plan.rows(case)}
    modes = {
        mode: rounds(findings, case, mode)
        for mode in findings.plan.modes
        if _groups(findings, case, mode)
    }
    if modes:
        facts["rounds"] = modes
        rows |= control_rows(findings, case)
    return {**facts, "variants": rows}


def work(counted: Work) -> Json:
    flops = {"value": counted.flops, "unit": "flop", "method": counted.flops_method}
    moved = {"value": counted.bytes, "unit": "byte", "method": counted.bytes_method}
    facts: Json = {"flops": flops, "bytes": moved}
    if counted.convention:
        facts["convention"] = counted.convention
    return facts


def _groups(findings: SubjectFindings, case: Case, mode: str) -> list[tuple[str, Event]]:
    """What each block measured of a case in a mode, with the block's process."""
    return [
        (block.process.id, group)
        for block in findings.blocks
        for group in block.groups
        if group["case"] == case.id and group["mode"] == mode
    ]


def rounds(findings: SubjectFindings, case: Case, mode: str) -> Json:
    """In which order participants took turns, block by block.

    A block from which a failed variant is missing still counts places in the one list of
    all participants.
    """
    groups = _groups(findings, case, mode)
    everyone = max((group["participants"] for _, group in groups), key=len)
    blocks: Json = {}
    for process, group in groups:
        place = [everyone.index(name) for name in group["participants"]]
        order = [[place[position] for position in one] for one in group["order"]]
        seen = {key: group[key] for key in ("between", "invalid") if key in group}
        ends = {"before": group["before"], "after": group["after"]}
        blocks[process] = {"order": order, **ends, **seen}
    kind = parse(mode)
    settings = groups[0][1].get("settings")
    return {
        "mode": kind.id,
        "regime": kind.regime,
        "cache": kind.cache,
        "participants": everyone,
        **({"settings": settings} if settings else {}),
        "blocks": blocks,
    }


def row(findings: SubjectFindings, variant: Variant, case: Case, root: Path) -> Json:
    """One variant on one case: what it is, how it fared, and its samples if it has any."""
    written = findings.plan.experiment
    outcome = outcome_of(findings, variant, case)
    facts = {**described(findings, variant, case, root), **outcome}
    seen = outcome.get("correctness")
    base = findings.outcomes.get((written.baseline.id, case.id), {}).get("correctness", {})
    if seen and variant.role != "baseline" and "max_abs_error" in base:
        keys = ("max_abs_error", "max_rel_error")
        beside = {"variant": written.baseline.id, **{key: base[key] for key in keys}}
        facts["correctness"] = {**seen, "error_beside": beside}
    if outcome["status"] not in _WITHOUT_SAMPLES:
        facts |= timings(findings, case, variant.id)
    return facts


def outcome_of(findings: SubjectFindings, variant: Variant, case: Case) -> Event:
    """The gate's outcome, or, for what cannot be timed here, that it needs a device."""
    found = findings.outcomes.get((variant.id, case.id))
    needed = findings.plan.lacks(variant)
    if needed is None or (found and found["status"] != "ok"):
        return found or _untried(variant, case)
    if needed == "cpu":
        return _lacking("needs a CPU")
    checked = case.id in interpreted_cases(variant, findings.plan.experiment)
    text = "needs a CUDA device"
    if variant.interpreted and checked:
        text += "; checked in Triton's interpreter"
    return {**(found or {}), **_lacking(text)}


def _lacking(text: str) -> Event:
    return {"status": "unsupported", "reason": {"text": text, "code": "needs-device"}}


def _untried(variant: Variant, case: Case) -> Event:
    raise LookupError(f"the gate has no outcome for {variant.id} on {case.id}")


def described(findings: SubjectFindings, variant: Variant, case: Case, root: Path) -> Json:
    """What a variant is, as its author wrote it and its source tells."""
    names = ("parent", "lever", "expression", "backend", "rounding", "idea")
    facts: Json = {"role": variant.role, "what": variant.what}
    facts |= {name: getattr(variant, name) for name in names if getattr(variant, name)}
    if facts.get("parent") not in {row.id for row in findings.plan.rows(case)}:
        # A step may go on where its parent cannot follow; there it departs from nothing.
        facts.pop("parent", None)
    if (file := source_file(variant, findings.plan.subject.folder)) is not None:
        facts["file"] = _relative(findings, file, root)
        if (name := symbol(variant)) is not None:
            facts["function"] = name
    if variant.config:
        facts["config"] = config(variant.config)
    if varied := varied_settings(findings.plan.experiment, variant):
        facts["varied"] = varied
    if variant.work is not None and (counted := variant.work(case)) is not None:
        facts["work"] = work(counted)
    return facts


def config(settings: Mapping[str, Any]) -> Json:
    """Settings as JSON has them."""
    return {k: list(v) if isinstance(v, tuple) else v for k, v in settings.items()}


def varied_settings(written: Experiment, variant: Variant) -> Json:
    """For an attempt: the settings that differ from its parent's, the parent's value first."""
    if variant.role != "attempt" or variant.parent is None:
        return {}
    parent = config(written.variant(variant.parent).config)
    own = config(variant.config)
    return {k: [parent[k], own[k]] for k in own if k in parent and parent[k] != own[k]}


def timings(findings: SubjectFindings, case: Case, name: str) -> Json:
    """The readings of a participant in each mode, by process; nothing where there are none."""
    modes: Json = {}
    for mode in findings.plan.modes:
        groups = [g for g in _groups(findings, case, mode) if name in g[1]["samples"]]
        if not groups:
            continue
        _, first = groups[0]
        places = {p: g["addresses"][name] for p, g in groups if name in g["addresses"]}
        modes[mode] = {
            "unit": first["unit"],
            "launches": first["launches"],
            "outputs": first["outputs"][name],
            "samples": {process: group["samples"][name] for process, group in groups},
            **({"addresses": places} if places else {}),
            **solo(findings, case, mode, name),
        }
    return {"timings": modes} if modes else {}


def solo(findings: SubjectFindings, case: Case, mode: str, name: str) -> Json:
    """What another's timer said of a participant alone, where it was asked."""
    for block in findings.blocks:
        for event in block.solos:
            if (event["case"], event["mode"]) == (case.id, mode) and name in event["solo"]:
                return {"solo": event["solo"][name]}
    return {}


def control_rows(findings: SubjectFindings, case: Case) -> Json:
    """The two twins of the baseline, and the copy of the case's own bytes."""
    base = findings.plan.experiment.baseline
    facts = ("expression", "backend", "rounding")
    shared = {name: getattr(base, name) for name in facts if getattr(base, name)}
    # A twin is the baseline: where that failed in a late block, so did this.
    fared = findings.outcomes[base.id, case.id]
    status = {key: fared[key] for key in ("status", "reason") if key in fared}
    rows: Json = {
        twin: {
            "role": "control",
            "control": "twin",
            "twin_of": base.id,
            "what": f"{base.what}, once more",
            **shared,
            **status,
            **timings(findings, case, twin),
        }
        for twin in TWINS
    }
    moved = {
        "value": ceilings.copied_bytes(case.work.bytes),
        "unit": "byte",
        "method": "every byte read once, written once",
    }
    pooled = findings.plan.device == "cuda"
    where = "another buffer" if pooled else "fresh memory"
    rows[COPY] = {
        "role": "control",
        "control": "matched-copy",
        "what": f"a copy into {where} that reads and writes the case's own bytes",
        "expression": "out.copy_(x)" if pooled else "x.clone()",
        "work": {"bytes": moved},
        "status": "ok",
        **timings(findings, case, COPY),
    }
    return rows


def scrubbed(value: Any, scrub: Callable[[str], str]) -> Any:
    """The same outcome with the texts of its reason cleaned of private data."""
    if not isinstance(value, dict) or "reason" not in value:
        return value
    reason = {k: scrub(v) if k in {"text", "log"} else v for k, v in value["reason"].items()}
    return {**value, "reason": reason}
