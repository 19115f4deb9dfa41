"""Writing artifacts: one file per commit that only ever gains runs.

A run is added under a lock, validated as part of the whole file, and put in place by one
atomic replacement, so that a kill, a full disk or a second session loses nothing that was
finished. What cannot be read is never overwritten.

`.lock` and `.writing.tmp` in the results folder belong to this module; neither is a result,
and both are to be ignored by git.
"""

from __future__ import annotations

import errno
import fcntl
import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from harness.provenance import blob_id

SCHEMA_VERSION = 1

# How many schema errors are quoted: the first ones explain the rest.
_QUOTED = 5
# An object of plain values up to this long stands on one line.
_LINE = 88

_ADVICE = {
    errno.ENOSPC: "the disk is full; free some space and run the same command again",
    errno.EDQUOT: "your disk quota is used up; free some space and run the same command again",
    errno.EROFS: "the file system is read-only; name another folder with --out",
    errno.EACCES: "you may not write there; name another folder with --out",
    errno.EPERM: "you may not write there; name another folder with --out",
    errno.ENOLCK: "the file system cannot lock files; name a local folder with --out",
}


class RecordError(Exception):
    """A record that could not be read or written; the message is for a person."""


class RunExistsError(RecordError):
    """A run of that id is recorded already, with other content."""


def add_run(
    results_dir: Path,
    commit: str,
    run_id: str,
    run: Mapping[str, Any],
    objects: Mapping[str, bytes],
) -> Path:
    """Record one run of a commit; the path of its artifact.

    objects holds the text of every source file by blob id; those that the run names and
    that are not in the folder yet are written before the artifact is. Recording an equal
    run again changes nothing. Raises RunExistsError if the id is taken by another run, and
    RecordError if anything is invalid, missing, unreadable or cannot be written; the
    folder then holds what it held before, at most with more objects.
    """
    added = {"schema": SCHEMA_VERSION, "commit": commit, "runs": {run_id: run}}
    return _unite(results_dir, commit, [(f"run {run_id}", _plain(added))], objects)


def merge(paths: Iterable[Path], out: Path) -> tuple[Path, ...]:
    """Unite artifacts, and the objects beside them, in the folder `out`, by commit and run.

    Each path is an artifact or a results folder. Everything is read and compared before
    anything is written. Raises RecordError, naming both sides, if one run has two contents.
    """
    artifacts = [path for given in paths for path in _artifacts(given)]
    parts: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    objects: dict[str, bytes] = {}
    for path in artifacts:
        artifact = read(path)
        parts.setdefault(path.stem, []).append((str(path), artifact))
        objects.update(_objects_beside(path, artifact))
    for commit, given in parts.items():
        _united(out, commit, given)
    return tuple(_unite(out, commit, parts[commit], objects) for commit in sorted(parts))


def existing_runs(results_dir: Path, commit: str) -> tuple[str, ...]:
    """Ids of the runs that are recorded for a commit. Raises RecordError as `read` does."""
    path = results_dir / f"{commit}.json"
    return tuple(read(path)["runs"]) if path.exists() else ()


def run_id(started: datetime, device_name: str, existing: Iterable[str]) -> str:
    """`20261130T1812Z-h200`: UTC start and device, and a number where that is taken.

    started must know its time zone; raises ValueError otherwise.
    """
    if started.tzinfo is None:
        raise ValueError("the start of a run needs a time zone")
    name = f"{started.astimezone(UTC):%Y%m%dT%H%MZ}-{_slug(device_name)}"
    taken = set(existing)
    number, candidate = 1, name
    while candidate in taken:
        number += 1
        candidate = f"{name}-{number}"
    return candidate


def read(path: Path) -> dict[str, Any]:
    """An artifact, parsed strictly and validated. Raises RecordError, never changes a file."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise RecordError(f"{path}: cannot be read: {error.strerror}") from error
    artifact = parse(content, str(path))
    validate(artifact, str(path))
    valid: dict[str, Any] = artifact
    if valid["commit"] != path.stem:
        raise RecordError(f"{path}: is of commit {valid['commit']}, which its name is not")
    return valid


def parse(content: bytes, source: str) -> Any:
    """JSON without NaN, Infinity, duplicate keys, or text that is not Unicode.

    source names the content in messages. Raises RecordError.
    """
    try:
        parsed = json.loads(
            content.decode("utf-8"),
            parse_constant=_refuse_constant,
            parse_float=_finite,
            object_pairs_hook=_unique,
        )
        # An escaped half of a surrogate pair parses, but is no text that can be written.
        json.dumps(parsed, ensure_ascii=False).encode("utf-8")
    except RecursionError as error:
        raise RecordError(f"{source}: is nested too deeply to be a result") from error
    except UnicodeError as error:
        raise RecordError(f"{source}: is not UTF-8 text: {error}") from error
    except ValueError as error:
        raise RecordError(f"{source}: is not valid JSON: {error}") from error
    return parsed


def validate(artifact: Any, source: str) -> None:
    """Compare with the schema. Raises RecordError that quotes the first errors."""
    version = artifact.get("schema") if isinstance(artifact, dict) else None
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise RecordError(f"{source}: has schema {version}, which needs a newer harness")
    errors = sorted(_validator().iter_errors(artifact), key=lambda error: error.json_path)
    if errors:
        quoted = "\n".join(f"  {_quote(error)}" for error in errors[:_QUOTED])
        more = f"\n  and {len(errors) - _QUOTED} more" if len(errors) > _QUOTED else ""
        raise RecordError(f"{source}: is not a valid result:\n{quoted}{more}")


def dumps(value: Any) -> str:
    """JSON that a person can read and compare, and that is the same for the same value.

    Keys stand as they were given: rows before columns, variants in story order. A list without
    objects stands on one line, and so does a short object of plain values, such as a quantity.
    Raises ValueError for NaN and Infinity, TypeError for what JSON has no word for.
    """
    return "".join(_pieces(value, "\n")) + "\n"


def _pieces(value: Any, newline: str) -> Iterator[str]:
    """The text of a value, in pieces; newline is the line break and the current indent."""
    if isinstance(value, Mapping):
        yield from _object(value, newline)
    elif isinstance(value, list | tuple) and _holds_objects(value):
        yield "["
        for index, item in enumerate(value):
            yield ("," if index else "") + newline + " "
            yield from _pieces(item, newline + " ")
        yield newline + "]"
    else:
        yield json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _object(value: Mapping[str, Any], newline: str) -> Iterator[str]:
    if not all(isinstance(key, str) for key in value):
        raise TypeError("keys of JSON objects are strings")
    if not any(isinstance(item, Mapping | list | tuple) for item in value.values()):
        line = json.dumps(dict(value), ensure_ascii=False, allow_nan=False)
        if len(line) <= _LINE:
            yield line
            return
    yield "{"
    for index, key in enumerate(value):
        yield ("," if index else "") + newline + " "
        yield json.dumps(key, ensure_ascii=False) + ": "
        yield from _pieces(value[key], newline + " ")
    yield newline + "}"


def _holds_objects(items: Sequence[Any]) -> bool:
    return any(
        isinstance(item, Mapping) or (isinstance(item, list | tuple) and _holds_objects(item))
        for item in items
    )


def _plain(value: Mapping[str, Any]) -> dict[str, Any]:
    """The value as a reader of the file will have it: lists for tuples, strict throughout."""
    try:
        content = dumps(value).encode("utf-8")
    except ValueError as error:
        raise RecordError(f"the new run cannot be written as JSON: {error}") from error
    plain: dict[str, Any] = parse(content, "the new run")
    return plain


def _unite(
    results_dir: Path,
    commit: str,
    parts: Sequence[tuple[str, Mapping[str, Any]]],
    objects: Mapping[str, bytes],
) -> Path:
    """Add the runs of each part to the commit's artifact, under the folder's lock."""
    path = results_dir / f"{commit}.json"
    try:
        with _locked(results_dir):
            artifact, added = _united(results_dir, commit, parts)
            _write_objects(results_dir, artifact, objects)
            if added:
                _replace(path, dumps(artifact).encode("utf-8"), results_dir)
    except OSError as error:
        advice = _ADVICE.get(error.errno or 0, error.strerror or str(error))
        raise RecordError(f"{error.filename or path}: cannot be written: {advice}") from error
    return path


def _united(
    results_dir: Path, commit: str, parts: Sequence[tuple[str, Mapping[str, Any]]]
) -> tuple[dict[str, Any], bool]:
    """The commit's artifact with every run of the parts, and whether any of them is new.

    It is validated as a whole.
    """
    path = results_dir / f"{commit}.json"
    runs: dict[str, Any] = read(path)["runs"] if path.exists() else {}
    origin = dict.fromkeys(runs, str(path))
    recorded = len(runs)
    for source, part in parts:
        for name, run in part["runs"].items():
            # Texts are compared, because to Python 1, 1.0 and True are equal.
            if name in runs and _canonical(runs[name]) != _canonical(run):
                raise RunExistsError(
                    f"{path}: run {name} exists with other content ({origin[name]} and {source}); "
                    "a recorded run is never changed"
                )
            if name not in runs:
                runs[name], origin[name] = run, source
    artifact = {"schema": SCHEMA_VERSION, "commit": commit, "runs": dict(sorted(runs.items()))}
    validate(artifact, f"{path} with {parts[0][0]}")
    return artifact, len(runs) > recorded


def _canonical(value: Any) -> str:
    """The same text for equal values, in whatever order their keys stand."""
    return json.dumps(value, allow_nan=False, sort_keys=True)


def _write_objects(
    results_dir: Path, artifact: Mapping[str, Any], objects: Mapping[str, bytes]
) -> None:
    """Store each source that the artifact names. Raises RecordError if one is not to be had."""
    folder = results_dir / "objects"
    folder.mkdir(exist_ok=True)
    for name, path in sorted(_named_sources(artifact).items()):
        target = folder / name
        if target.is_file() and blob_id(target.read_bytes()) == name:
            continue
        if name not in objects:
            raise RecordError(f"{target}: the text of {path} is neither here nor given")
        if blob_id(objects[name]) != name:
            raise RecordError(f"the text given for {path} is not the one of blob {name}")
        _replace(target, objects[name], results_dir)


def _named_sources(artifact: Mapping[str, Any]) -> dict[str, str]:
    """Blob id -> a path that has it, over all runs and the other trees in them."""
    named: dict[str, str] = {}
    for run in artifact["runs"].values():
        trees = (run.get("sources", {}), *run.get("trees", {}).values())
        for tree in trees:
            named.update({blob: path for path, blob in tree.get("files", {}).items()})
    return named


@contextmanager
def _locked(results_dir: Path) -> Iterator[None]:
    """Hold the folder, made if need be, against other sessions."""
    results_dir.mkdir(parents=True, exist_ok=True)
    with (results_dir / ".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _replace(path: Path, content: bytes, results_dir: Path) -> None:
    """Put content at path, durably, in one step. Only under the lock: the temporary is shared."""
    temporary = results_dir / ".writing.tmp"
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _artifacts(given: Path) -> list[Path]:
    if not given.is_dir():
        return [given]
    found = sorted(given.glob("*.json"))
    if not found:
        raise RecordError(f"{given}: holds no results")
    return found


def _objects_beside(path: Path, artifact: Mapping[str, Any]) -> dict[str, bytes]:
    folder = path.parent / "objects"
    found: dict[str, bytes] = {}
    for name, source in _named_sources(artifact).items():
        try:
            found[name] = (folder / name).read_bytes()
        except OSError as error:
            raise RecordError(
                f"{path}: the text of {source} cannot be read from {folder / name}: "
                f"{error.strerror}"
            ) from error
    return found


@cache
def _validator() -> Draft202012Validator:
    text = resources.files("harness").joinpath("result.schema.json").read_text(encoding="utf-8")
    return Draft202012Validator(json.loads(text))


def _quote(error: ValidationError) -> str:
    message = error.message if len(error.message) <= 160 else f"{error.message[:160]} …"
    return f"{error.json_path}: {message}"


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number that JSON knows")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is too large")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {repeated!r} is given more than once")
    return found


# Words that do not tell one device from another.
_NOISE = re.compile(
    r"\((?:r|tm|c)\)|@.*|\b(?:nvidia|amd|intel|cpu|gpu|processor|with radeon graphics"
    r"|\d+(?:st|nd|rd|th) gen|\d+-core)\b",
    re.IGNORECASE,
)


def _slug(device_name: str) -> str:
    words = re.findall(r"[a-z0-9]+", _NOISE.sub(" ", device_name).lower())
    return "-".join(words)[:40].strip("-") or "device"
