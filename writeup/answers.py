"""What the record says of one thing: a field of a variant, a fact of a case or of a run.

Every function answers with words for the page, and raises LookupError, with a sentence for
the author, where the record does not hold what was asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from writeup import derive, roofs
from writeup.evidence import Evidence
from writeup.language import COUNTED, Denominator, Field, Measure, Word, nearest
from writeup.result import Artifact, Variant
from writeup.selection import Row
from writeup.strict import Json, pointer
from writeup.views import Code, Words

# Fields that need a timing; the others are facts of a variant, whatever the mode.
TIMED = frozenset(
    {
        Field.TIME,
        Field.BAND,
        Field.MIN,
        Field.MAX,
        Field.SAMPLES,
        Field.BLOCKS,
        Field.OUTLIERS,
        Field.THROUGHPUT,
        Field.BANDWIDTH,
        Field.FRACTION,
    }
)
# Facts of a variant: where they stand in its record.
_FACTS: Mapping[Field, tuple[str, ...]] = {
    Field.REGISTERS: ("resources", "registers"),
    Field.SPILLS: ("resources", "spills"),
    Field.STACK: ("resources", "stack"),
    Field.SHARED: ("resources", "shared"),
    Field.SHARED_LIMIT: ("resources", "shared_limit"),
    Field.WARPS: ("resources", "warps"),
    Field.ERROR: ("correctness", "max_abs_error"),
    Field.RELATIVE_ERROR: ("correctness", "max_rel_error"),
    Field.MISMATCHED: ("correctness", "mismatched"),
    Field.CHECKED: ("correctness", "checked"),
    Field.STATUS: ("status",),
    Field.REQUIRED: ("reason", "required"),
    Field.LIMIT: ("reason", "limit"),
    Field.ROLE: ("role",),
    Field.LEVER: ("lever",),
}
# Those that are set as code: names and expressions.
_CODE: Mapping[Field, tuple[str, ...]] = {
    Field.TARGET: ("resources", "target"),
    Field.EXPRESSION: ("expression",),
    Field.PARENT: ("parent",),
    Field.PRECISION: ("precision",),
    Field.FILE: ("file",),
    Field.FUNCTION: ("function",),
}
_PROSE = frozenset({Field.BACKEND, Field.ROUNDING, Field.IDEA, Field.WHAT})
_ENVIRONMENT = ("device", "software", "host", "flags", "variables")


def measured(row: Row, measure: Measure) -> Words:
    """The words for a field of a row. Raises LookupError or ValueError where it has none."""
    asked = measure.field
    if asked in _FACTS:
        return _recorded(row, asked, *_FACTS[asked])
    if asked in _CODE:
        return Code(_recorded(row, asked, *_CODE[asked]))
    if asked in _PROSE:
        return _prose(row, asked)
    if asked in (Field.METRIC, Field.COUNTER):
        return _named(row, measure)
    if asked is Field.FRACTION:
        return _fraction(row, measure)
    if asked in COUNTED:
        return _counted(row, measure)
    if asked is Field.CONFIG:
        return _config(row, measure.name)
    return _DERIVED[asked](row)


def known(row: Row) -> tuple[str, ...]:
    """What can be cited of a row, as it is spelt."""
    named = [
        *(f"metric.{name}" for name in row.variant.raw.get("metrics", {})),
        *(f"counter.{name}" for name in row.variant.raw.get("counters", {})),
    ]
    fields = (field for field in Field if field not in (Field.METRIC, Field.COUNTER))
    return (*(str(field) for field in fields if _has(row, field)), *named)


def _has(row: Row, field: Field) -> bool:
    if field in TIMED and row.timing is None:
        return False
    try:
        measured(row, Measure(field))
    except (LookupError, ValueError):
        return False
    return True


def _counted(row: Row, measure: Measure) -> Evidence:
    """What is computed from counted work: the case's own, or that of the variant."""
    own: Mapping[str, Json] | None = row.variant.raw.get("work")
    if measure.implemented and own is None:
        raise LookupError(
            f"'{row.variant.id}' counts no work of its own; leave out 'as implemented' for the "
            "compulsory work of the case"
        )
    count = derive.IMPLEMENTED if measure.implemented else derive.COMPULSORY
    match measure.field:
        case Field.BANDWIDTH:
            return derive.bandwidth(row, count)
        case Field.THROUGHPUT:
            return derive.throughput(row, count)
        case Field.INTENSITY:
            return derive.intensity(row.case, row.variant if measure.implemented else None)
    kind, work = str(measure.field), own if measure.implemented else row.case.work
    if kind not in (work or ()):
        raise LookupError(f"no {kind} of '{row.case.id}' were counted")
    if measure.implemented:
        return derive.of_variant(row.artifact, row.variant, "work", kind)
    where = row.case.pointer + pointer("work", kind)
    return derive.fact(row.artifact, where, f"{kind} of {row.case.id}")


def _dtype(row: Row) -> Code:
    if "dtype" in row.variant.raw:
        return Code(_recorded(row, "dtype", "dtype"))
    return Code(derive.fact(row.artifact, row.case.pointer + "/dtype", f"dtype of {row.case.id}"))


def _prose(row: Row, field: Field) -> str:
    text = row.variant.raw.get(str(field))
    if text is None:
        raise LookupError(f"the record names no {field} of '{row.variant.id}'")
    return str(text)


def _recorded(row: Row, what: str, *keys: str) -> Evidence:
    try:
        return derive.of_variant(row.artifact, row.variant, *keys)
    except KeyError:
        raise LookupError(f"the record holds no {what} of '{row.variant.id}'") from None


def _named(row: Row, measure: Measure) -> Evidence:
    kind = "counters" if measure.field is Field.COUNTER else "metrics"
    names = row.variant.raw.get(kind, {})
    name = str(measure.name)
    if name not in names:
        near = nearest(name, names)
        raise LookupError(
            f"the record holds no {measure} of '{row.variant.id}'{near and '; ' + near}"
        )
    if kind == "counters":
        return _recorded(row, name, kind, name)
    return derive.metric(row.case, row.variant, name)


def _fraction(row: Row, measure: Measure) -> Evidence:
    if measure.of is Denominator.COPY:
        copy = row.case.matched_copy
        beside = row.beside(copy) if copy else None
        if beside is None:
            raise LookupError(f"no copy was timed beside '{row.variant.id}'")
        return derive.of_copy(row, beside)
    above = roofs.over(row.run, row.case, row.mode)
    if above.memory is None:
        raise LookupError(f"the run measured no memory ceiling for '{row.case.id}'")
    if measure.of is Denominator.CEILING:
        return derive.of_ceiling(row, above.memory)
    if above.compute is None:
        raise LookupError(f"the run measured no compute ceiling for '{row.case.dtype}'")
    return derive.of_attainable(row, above.compute, above.memory)


def reason(row: Row) -> Words:
    """Why a variant is not ok. Raises LookupError where it gives no reason."""
    if row.variant.reason is None:
        raise LookupError(f"'{row.variant.id}' is {row.variant.status} and gives no reason")
    return why(row.artifact, row.variant)


def why(artifact: Artifact, variant: Variant) -> Words:
    """The reason of a status, with the numbers that explain it; "" where there is none."""
    if variant.reason is None:
        return ""
    words: list[str | Evidence] = [str(variant.reason["text"])]
    for key, joint in (("required", ": required "), ("limit", ", available ")):
        if key in variant.reason:
            words += [joint, derive.of_variant(artifact, variant, "reason", key)]
    return tuple(words)


def _config(row: Row, name: Word | None) -> Words:
    config = row.variant.config
    if not config:
        raise LookupError(f"'{row.variant.id}' has no configuration")
    if name is not None:
        return _configured(row, name.text)
    words: list[str | Evidence] = []
    for key in config:
        words += [", " if words else "", f"{key} ", _configured(row, key)]
    return tuple(words)


def _configured(row: Row, key: str) -> Evidence:
    config = row.variant.config
    if key not in config:
        near = nearest(key, config) or f"it has {', '.join(config)}"
        raise LookupError(f"the configuration of '{row.variant.id}' has no '{key}'; {near}")
    where = row.variant.pointer + pointer("config", key)
    label = f"{key} of {row.variant.id}"
    listed = isinstance(config[key], list)
    return (derive.listed if listed else derive.fact)(row.artifact, where, label)


# Facts of a run and a case.


def environment(row: Row, path: Sequence[Word]) -> Evidence:
    """`env.device`, `env.torch`, `env.cores`: a fact of the environment, by its short name."""
    held = row.run.environment
    names = [word.text for word in path] or ["device"]
    for keys in _spellings(names):
        where = row.run.pointer + pointer("environment", *keys)
        try:
            found = row.artifact.at(where)
        except KeyError:
            continue
        if isinstance(found, Mapping) and "value" not in found:
            continue
        told = derive.listed if isinstance(found, list) else derive.fact
        return told(row.artifact, where, f"{names[-1]} of the environment")
    known = sorted({"device", *(k for part in _ENVIRONMENT for k in held.get(part, {}))})
    near = nearest(names[-1], known) or f"it holds {', '.join(known)}"
    raise LookupError(f"the environment holds no '{'.'.join(names)}'; {near}")


def _spellings(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    if list(names) == ["device"]:
        yield ("device", "name")
    yield tuple(names)
    for part in _ENVIRONMENT:
        yield (part, *names)


RUN_FACTS = ("id", "commit", "date", "command", "device", "blocks", "seed", "protocol")


def of_run(row: Row, path: Sequence[Word]) -> Words:
    run, artifact = row.run, row.artifact
    name = path[0].text if path else "id"
    match name:
        case "id":
            return derive.name(artifact.commit, run.id)
        case "commit":
            return derive.short(artifact.commit)
        case "date":
            return derive.date(artifact, run.pointer + "/started", "start of the run")
        case "command":
            return Code(derive.command(artifact, run.pointer + "/command", "command"))
        case "device":
            return derive.fact(artifact, run.pointer + "/environment/device/name", "device")
        case "blocks":
            blocks = [
                run.pointer + pointer("processes", key)
                for key, process in run.raw.get("processes", {}).items()
                if process.get("role", "block") == "block"
            ]
            return derive.count([f"{artifact.commit}#{block}" for block in blocks], "blocks")
        case "seed" | "protocol":
            return derive.fact(artifact, run.pointer + pointer(name), name)
    near = nearest(name, RUN_FACTS) or f"it has {', '.join(RUN_FACTS)}"
    raise LookupError(f"a run has no '{name}'; {near}")


# Facts of a case: where they stand in its record.
_OF_CASE: Mapping[str, tuple[str, ...]] = {
    "dtype": ("dtype",),
    "layout": ("layout",),
    "bytes": ("work", "bytes"),
    "flops": ("work", "flops"),
    "distribution": ("inputs", "distribution"),
    "seed": ("inputs", "seed"),
    "atol": ("tolerance", "atol"),
    "rtol": ("tolerance", "rtol"),
}


CASE_FACTS = ("id", "shape", *_OF_CASE, "intensity", "what", "oracle")


def of_case(row: Row, path: Sequence[Word]) -> Words:
    """A fact of a case: `case.shape`, `case.bytes`, an extent by its own name."""
    case, artifact = row.case, row.artifact
    name = path[0].text if path else "id"
    if name == "id":
        return Code(derive.name(artifact.commit, case.id))
    if name == "shape":
        return derive.shape(artifact, case.pointer + "/shape", f"shape of {case.id}")
    if name == "intensity":
        return derive.intensity(case)
    if name == "what":
        return str(case.raw.get("what", ""))
    if name == "oracle":
        return str(row.run.experiments.get(case.subject, {}).get("oracle", ""))
    keys = ("shape", name) if name in case.shape else _OF_CASE.get(name)
    try:
        where = case.pointer + pointer(*(keys or (name,)))
        return derive.fact(artifact, where, f"{name} of {case.id}")
    except KeyError:
        known = [*case.shape, *CASE_FACTS]
        near = nearest(name, known) or f"it has {', '.join(sorted(known))}"
        raise LookupError(f"a case has no '{name}'; {near}") from None


CEILING_FACTS = ("memory", "compute", "ridge", "attainable", "floor")


def of_ceilings(row: Row, path: Sequence[Word]) -> Evidence:
    above = roofs.over(row.run, row.case, row.mode)
    name = path[0].text if path else "memory"
    if name == "ridge" and above.memory and above.compute:
        return derive.ridge(above.compute, above.memory)
    if name == "attainable" and above.memory and above.compute:
        return derive.attainable(row.case, above.compute, above.memory)
    if name == "floor" and above.memory and above.compute:
        return derive.floor(row.case, above.compute, above.memory)
    found = {"memory": above.memory, "compute": above.compute}.get(name, row.run.ceilings.get(name))
    if found is not None:
        return derive.ceiling(found)
    known = [*CEILING_FACTS, *row.run.ceilings]
    near = nearest(name, known) or f"it measured {', '.join(known)}"
    raise LookupError(f"the run measured no ceiling '{name}'; {near}")


_DERIVED: Mapping[Field, Callable[[Row], Words]] = {
    Field.TIME: derive.time,
    Field.BAND: derive.band,
    Field.MIN: derive.minimum,
    Field.MAX: derive.maximum,
    Field.SAMPLES: derive.samples,
    Field.BLOCKS: derive.blocks,
    Field.OUTLIERS: derive.outliers,
    Field.REASON: reason,
    Field.DTYPE: _dtype,
}
