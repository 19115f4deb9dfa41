"""A recorded result: parsed, validated, and seen through typed views.

`parse` turns the bytes of one artifact into an `Artifact`, or raises everything that is wrong
with them as `Problems` of the rule bad-artifact. It is pure: equal bytes, path and validator
give an equal answer, so a verdict may be kept by content. Nothing an artifact says, however
hostile, ends in another exception.

Two validators, one schema: jsonschema-rs decides, as it takes milliseconds where jsonschema
takes seconds; jsonschema explains what was refused, with the better messages. What the first
refuses is refused even where the second finds no words, and tests hold the two to agree.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from pathlib import PurePosixPath

import jsonschema
import jsonschema_rs

from writeup import evidence, resources, stats
from writeup.errors import Problem, Problems
from writeup.integrity import WORK_OF, references
from writeup.quantity import Quantity, to_base
from writeup.strict import Finding, Json, Place, at, decode, hygiene, pointer, raise_all

RULE = "bad-artifact"
SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True, eq=False)
class Timing:
    """One variant on one case in one mode: its samples, by process.

    unit is what the timer gave; rounds is the record of the rounds they were taken in, absent
    where the run has none.
    """

    address: str
    mode: str
    unit: str
    rounds: Mapping[str, Json] | None
    raw: Mapping[str, Json]

    @property
    def samples(self) -> dict[str, tuple[float, ...]]:
        """Seconds by process id, without blocks that were invalid (throttled, say).

        Converted at each call: keep the answer. samples[p][i] belongs to the i-th round of
        block p that the variant took part in.
        """
        return {
            process: tuple(to_base(value, self.unit)[0] for value in values)
            for process, values in self.raw["samples"].items()
            if process not in self.invalid
        }

    @property
    def alone(self) -> tuple[float, ...]:
        """Seconds of the calls timed with nobody else in turn; empty where none were."""
        solo = self.raw.get("solo")
        return tuple(to_base(v, solo["unit"])[0] for v in solo["samples"]) if solo else ()

    @property
    def invalid(self) -> dict[str, str]:
        """Why a block does not count, by process id."""
        blocks = self.rounds["blocks"] if self.rounds else {}
        return {name: block["invalid"] for name, block in blocks.items() if "invalid" in block}


@dataclass(frozen=True, slots=True, eq=False)
class Variant:
    """One implementation on one case, whether or not it could run."""

    address: str
    pointer: str
    id: str
    role: str
    control: str | None
    parent: str | None
    twin_of: str | None
    status: str
    reason: Mapping[str, Json] | None
    config: Mapping[str, Json]
    timings: Mapping[str, Timing]
    raw: Mapping[str, Json]


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One shape and dtype, with every variant that was tried on it.

    modes are the mode keys in which anything was timed, in the order of the record. margin is
    the case's own, else its experiment's, else the program's.
    """

    address: str
    pointer: str
    key: str
    subject: str
    id: str
    shape: Mapping[str, Json]
    dtype: str
    work: Mapping[str, Json]
    margin: float
    modes: tuple[str, ...]
    variants: Mapping[str, Variant]
    raw: Mapping[str, Json]

    @property
    def baseline(self) -> Variant | None:
        """The variant of that role, if there is exactly one."""
        found = [variant for variant in self.variants.values() if variant.role == "baseline"]
        return found[0] if len(found) == 1 else None

    @property
    def twins(self) -> tuple[Variant, ...]:
        """The A/A twins, in the order of the record."""
        return self._controls("twin")

    @property
    def matched_copy(self) -> Variant | None:
        """The copy of the case's own bytes, if there is exactly one."""
        found = self._controls("matched-copy")
        return found[0] if len(found) == 1 else None

    def _controls(self, kind: str) -> tuple[Variant, ...]:
        return tuple(variant for variant in self.variants.values() if variant.control == kind)


@dataclass(frozen=True, slots=True, eq=False)
class Probe:
    """One configuration that a ceiling was sought with.

    work is what one sample moves or computes, in byte or flop; absent for a launch. samples
    are seconds by process id.
    """

    id: str
    what: str
    config: Mapping[str, Json]
    work: float | None
    samples: Mapping[str, tuple[float, ...]]

    @property
    def estimate(self) -> stats.Estimate:
        """Its rate in byte/s or flop/s; without work its time in seconds."""
        time = stats.estimate(self.samples)
        return time if self.work is None else stats.rate(self.work, time)


@dataclass(frozen=True, slots=True, eq=False)
class Ceiling:
    """An upper bound of one resource, measured in the run. unit is that of `best`."""

    address: str
    pointer: str
    id: str
    resource: str
    level: str | None
    dtype: str | None
    regime: str
    mode: str | None
    unit: str
    probes: Mapping[str, Probe]
    raw: Mapping[str, Json]

    def best(self) -> tuple[str, stats.Estimate]:
        """The probe of the highest median rate (the shortest time for launches), and it.

        Of equal probes the first by id.
        """
        sign = 1 if self.resource == "launch" else -1
        found = ((name, self.probes[name].estimate) for name in sorted(self.probes))
        return min(found, key=lambda entry: sign * entry[1].value)


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """One session on one device."""

    address: str
    pointer: str
    commit: str
    id: str
    started: str
    ended: str
    command: tuple[str, ...]
    environment: Mapping[str, Json]
    experiments: Mapping[str, Mapping[str, Json]]
    cases: Mapping[str, Case]
    ceilings: Mapping[str, Ceiling]
    raw: Mapping[str, Json]

    @property
    def device(self) -> str:
        """The name the device gives itself."""
        return str(self.environment["device"]["name"])

    @property
    def files(self) -> Mapping[str, str]:
        """Blob ids of the project's files that the run loaded, by path."""
        found: Mapping[str, str] = self.raw.get("sources", {}).get("files", {})
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Artifact:
    """Everything measured at one commit. digest is the SHA-256 of the file."""

    commit: str
    path: str
    digest: str
    runs: Mapping[str, Run]
    raw: Mapping[str, Json]

    def at(self, pointer: str) -> Json:
        """The value at a JSON pointer (RFC 6901). Raises KeyError where there is none."""
        return at(self.raw, pointer)


def quantity(raw: Mapping[str, Json]) -> Quantity:
    """A quantity of the record, in base units."""
    return Quantity(raw["value"], raw["unit"]).base


def blob_id(content: bytes) -> str:
    """The id that git gives to a file with this content."""
    header = b"blob %d\0" % len(content)
    return hashlib.sha1(header + content, usedforsecurity=False).hexdigest()


class Validator:
    """A compiled schema, for documents that are free of what `strict.hygiene` finds."""

    def __init__(self, schema: dict[str, Json]) -> None:
        self._decide = jsonschema_rs.Draft202012Validator(schema)
        self._explain = jsonschema.Draft202012Validator(schema)

    def findings(self, document: Json) -> Iterator[Finding]:
        """What is wrong with a document by the schema."""
        if self._decide.is_valid(document):
            return
        explained = False
        for error in self._explain.iter_errors(document):
            explained = True
            yield Finding(tuple(error.absolute_path), _shortened(error.message))
        if not explained:
            for refusal in self._decide.iter_errors(document):
                yield Finding(tuple(refusal.instance_path), _shortened(refusal.message))


@cache
def validator() -> Validator:
    """The validator of this version's schema, compiled once."""
    return Validator(json.loads(resources.schema().read_bytes()))


def _shortened(message: str) -> str:
    """A message without the bulk of the value it quotes."""
    return message if len(message) <= 200 else f"{message[:80]} … {message[-110:]}"


def parse(content: bytes, path: str, schema: Validator | None = None) -> Artifact:
    """The artifact in the bytes of the file at `path` (relative, with forward slashes).

    Raises Problems with everything that is wrong at the first stage where anything is: text,
    numbers and strings, version, schema, references. The texts of sources are another
    matter: `check_objects`.
    """
    try:
        document = _document(content, path, schema or validator())
    except Problems as error:
        raise Problems(replace(p, hint=p.hint or _RESTORE) for p in error.problems) from None
    return _artifact(document, path, hashlib.sha256(content).hexdigest())


_RESTORE = "a record is never edited: restore the file from the history, or measure again"


def _document(content: bytes, path: str, schema: Validator) -> dict[str, Json]:
    document: dict[str, Json]
    text, document = decode(content, path, RULE)
    raise_all(hygiene(document), path, text, RULE)
    raise_all(_version(document), path, text, RULE)
    raise_all(schema.findings(document), path, text, RULE)
    raise_all(chain(_file_name(document, path), references(document)), path, text, RULE)
    return document


def _version(document: Mapping[str, Json]) -> Iterator[Finding]:
    """Another version than ours is told alone: its other differences are no faults."""
    version = document.get("schema", SCHEMA_VERSION)
    if type(version) is int and version != SCHEMA_VERSION:
        message = f"version {version} of the schema is unknown; this program reads {SCHEMA_VERSION}"
        hint = "a newer program wrote it: `pip install --upgrade writeup`"
        yield Finding(("schema",), message, hint)


def _file_name(document: Mapping[str, Json], path: str) -> Iterator[Finding]:
    name = PurePosixPath(path).name
    if name != f"{document['commit']}.json":
        hint = f"call it {document['commit']}.json, as it was recorded"
        yield Finding(("commit",), f"the file of this commit is not called {name}", hint)


def check_objects(
    artifact: Artifact, text_of: Callable[[str], bytes | None], *, told: Container[str] = ()
) -> tuple[Problem, ...]:
    """What is wrong with the texts of an artifact's sources.

    text_of gives the content of `objects/<blob id>`, None where there is none. A text must be
    there, be its id, and hold none of the characters that mark evidence. Blobs in `told` are
    passed over: their files were found wrong already.
    """
    problems = []
    for place, blob in _blobs(artifact.raw):
        message = None if blob in told else _object_fault(blob, text_of(blob))
        if message:
            hint = "commit what lies in the folder objects with the artifact, as it was written"
            where = pointer(*place)
            problems.append(Problem(artifact.path, 0, 0, RULE, f"{where}: {message}", hint))
    return tuple(problems)


def _blobs(document: Mapping[str, Json]) -> Iterator[tuple[Place, str]]:
    for run_id, run in document["runs"].items():
        base: Place = ("runs", run_id)
        for file, blob in run.get("sources", {}).get("files", {}).items():
            yield (*base, "sources", "files", file), blob
        for name, tree in run.get("trees", {}).items():
            for file, blob in tree["files"].items():
                yield (*base, "trees", name, "files", file), blob


def _object_fault(blob: str, content: bytes | None) -> str | None:
    if content is None:
        return f"the text of this file is missing: objects/{blob}"
    if blob_id(content) != blob:
        return f"objects/{blob} holds another text: its id is {blob_id(content)}"
    if any(mark.encode() in content for mark in (evidence.START, evidence.END)):
        return f"objects/{blob} holds U+E000 or U+E001, which mark evidence"
    return None


def _artifact(document: dict[str, Json], path: str, digest: str) -> Artifact:
    commit = document["commit"]
    runs = {run_id: _run(commit, run_id, raw) for run_id, raw in document["runs"].items()}
    return Artifact(commit=commit, path=path, digest=digest, runs=runs, raw=document)


def _run(commit: str, run_id: str, raw: Mapping[str, Json]) -> Run:
    address, where = f"{commit}/{run_id}", pointer("runs", run_id)
    experiments = raw.get("experiments", {})
    return Run(
        address=address,
        pointer=where,
        commit=commit,
        id=run_id,
        started=raw["started"],
        ended=raw["ended"],
        command=tuple(raw.get("command", ())),
        environment=raw["environment"],
        experiments=experiments,
        cases={
            key: _case(f"{address}/{key}", where + pointer("cases", key), key, case, experiments)
            for key, case in raw["cases"].items()
        },
        ceilings={
            name: _ceiling(
                f"{address}/ceilings/{name}", where + pointer("ceilings", name), name, ceiling
            )
            for name, ceiling in raw.get("ceilings", {}).items()
        },
        raw=raw,
    )


def _case(
    address: str,
    where: str,
    key: str,
    raw: Mapping[str, Json],
    experiments: Mapping[str, Mapping[str, Json]],
) -> Case:
    rounds = raw.get("rounds", {})
    variants = {
        name: _variant(
            f"{address}/{name}", where + pointer("variants", name), name, variant, rounds
        )
        for name, variant in raw["variants"].items()
    }
    timed = (mode for variant in variants.values() for mode in variant.timings)
    margin = experiments.get(raw["subject"], {}).get("margin", stats.MARGIN)
    return Case(
        address=address,
        pointer=where,
        key=key,
        subject=raw["subject"],
        id=raw["id"],
        shape=raw["shape"],
        dtype=raw["dtype"],
        work=raw.get("work", {}),
        margin=raw.get("margin", margin),
        modes=tuple(dict.fromkeys(timed)),
        variants=variants,
        raw=raw,
    )


def _variant(
    address: str, where: str, name: str, raw: Mapping[str, Json], rounds: Mapping[str, Json]
) -> Variant:
    return Variant(
        address=address,
        pointer=where,
        id=name,
        role=raw["role"],
        control=raw.get("control"),
        parent=raw.get("parent"),
        twin_of=raw.get("twin_of"),
        status=raw["status"],
        reason=raw.get("reason"),
        config=raw.get("config", {}),
        timings={
            mode: Timing(
                address=f"{address}/{mode}",
                mode=mode,
                unit=timing["unit"],
                rounds=rounds.get(mode),
                raw=timing,
            )
            for mode, timing in raw.get("timings", {}).items()
        },
        raw=raw,
    )


_RATE_UNITS = {"memory": "byte/s", "compute": "flop/s", "launch": "s"}


def _ceiling(address: str, where: str, name: str, raw: Mapping[str, Json]) -> Ceiling:
    needed = WORK_OF.get(raw["resource"])
    return Ceiling(
        address=address,
        pointer=where,
        id=name,
        resource=raw["resource"],
        level=raw.get("level"),
        dtype=raw.get("dtype"),
        regime=raw["regime"],
        mode=raw.get("mode"),
        unit=_RATE_UNITS[raw["resource"]],
        probes={
            probe_id: Probe(
                id=probe_id,
                what=probe["what"],
                config=probe.get("config", {}),
                work=probe["work"][needed]["value"] if needed else None,
                samples={
                    process: tuple(to_base(value, probe["unit"])[0] for value in values)
                    for process, values in probe["samples"].items()
                },
            )
            for probe_id, probe in raw["probes"].items()
        },
        raw=raw,
    )
