"""Small, valid, deterministic artifacts for tests.

`minimal_artifact` makes what a session of the harness would have recorded: a baseline, two
steps, an attempt that lost, an attempt that could not run, two A/A twins and the matched
copy, in twelve blocks. Every effect is chosen by the caller, so a test knows the truth that
the samples were drawn from. It needs the standard library only and imports nothing of the
project: what it knows of the format, it knows by itself.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

COMMIT = "0123456789abcdef0123456789abcdef01234567"
RUN = "20261130T1812Z-epyc"

# Per mode: unit of the timer, state of the cache.
_MODES = {
    "host": ("ns", "cold"),
    "host_hot": ("ns", "hot"),
    "do_bench": ("ms", "cold"),
    "graph": ("ms", "cold"),
    "graph_hot": ("ms", "hot"),
    "events": ("ms", "hot"),
}
_PER_SECOND = {"ns": 1e9, "ms": 1e3}

# Bytes a second that a copy moves: what the matched copy and the ceilings are drawn from.
_COPY_RATE = {"cpu": {"cold": 12e9, "hot": 40e9}, "cuda": {"cold": 4.2e12, "hot": 9e12}}
# Floating-point operations a second.
_GEMM_RATE = {"cpu": 150e9, "cuda": 50e12}
# What the baseline reaches of the copy's rate.
_BASELINE_SHARE = 0.4

# id -> (role, parent, lever, what, expression)
_VARIANTS: Mapping[str, tuple[str, str | None, str, str, str]] = {
    "eager": ("baseline", None, "none", "torch's own softmax", "torch.softmax(x, dim=-1)"),
    "compiled": (
        "step",
        "eager",
        "memory access",
        "the same expression, compiled",
        "torch.compile(softmax)(x)",
    ),
    "chunked": (
        "step",
        "compiled",
        "memory access",
        "one pass over chunks that fit in cache",
        "chunked(x)",
    ),
    "chunked-small": (
        "attempt",
        "chunked",
        "memory access",
        "the same with chunks too small to pay",
        "chunked(x, chunk=small)",
    ),
    "fused": ("attempt", "chunked", "memory access", "one Triton kernel a row", "fused(x)"),
}
_EFFECTS: Mapping[str, float] = {
    "compiled": 1.25,
    "chunked": 1.6,
    "chunked-small": 0.8,
    "fused": 2.0,
}
_CONFIGS: Mapping[str, dict[str, Any]] = {
    "chunked": {"chunk": 4096},
    "chunked-small": {"chunk": 64},
    "fused": {"BLOCK": 8192, "num_warps": 8},
}
_SHAPES: Mapping[str, dict[str, int]] = {
    "small": {"rows": 64, "columns": 1024},
    "wide": {"rows": 64, "columns": 131072},
}
_REASONS: Mapping[str, dict[str, Any]] = {
    "incorrect": {"text": "differs from the oracle", "code": "tolerance"},
    "out_of_resources": {
        "text": "asks for more shared memory than a block may have",
        "code": "shared-memory",
        "required": {"value": 262144, "unit": "byte"},
        "limit": {"value": 232448, "unit": "byte"},
    },
    "compile_error": {
        "text": "the assembler refused it",
        "code": "ptxas",
        "log": "ptxas error: too few registers",
    },
    "runtime_error": {"text": "raised while it ran", "code": "raised"},
    "timeout": {
        "text": "did not end in time",
        "code": "timeout",
        "limit": {"value": 60, "unit": "s"},
    },
    "unsupported": {
        "text": "needs a CUDA device; checked in the interpreter",
        "code": "needs-device",
    },
}


def blob_id(content: bytes) -> str:
    """The id that git gives to a file of this content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def minimal_artifact(
    *,
    commit: str = COMMIT,
    run: str = RUN,
    subject: str = "softmax",
    kind: str = "cpu",
    cases: Sequence[str] = ("small", "wide"),
    modes: Sequence[str] | None = None,
    variants: Sequence[str] = tuple(_VARIANTS),
    effects: Mapping[str, float | Mapping[str, float]] | None = None,
    statuses: Mapping[str, str] | None = None,
    blocks: int = 12,
    samples: int = 4,
    noise: float = 0.002,
    seed: int = 20261130,
    margin: float = 0.01,
    sources: Mapping[str, str] | None = None,
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """A valid artifact of one run, and the objects (text by blob id) that belong to it.

    effects: true speed-up of a variant over the baseline, or a mapping from `case`, `mode`
    or `case/mode` (the most specific wins) to it; merged over defaults in which `compiled`
    and `chunked` win and `chunked-small` loses. Twins and unlisted variants have effect one.
    statuses: variant -> status; `fused` is `unsupported` unless said otherwise. A variant
    that is not `ok` has a reason and no timings.
    modes: mode ids; by default `host` and `host_hot` on a CPU, `do_bench` and `graph` on a
    GPU (kind "cuda"). Times of host modes are whole nanoseconds, others milliseconds.
    noise: relative standard deviation of one sample; blocks carry as much again, shared by
    all variants of the block, so that pairing matters. Zero makes every ratio exact up to
    the rounding of the timer.
    sources: path -> text, added to (or replacing) the stand-ins for the subject's files.

    The same arguments give the same artifact. Every part may be edited afterwards: the
    answer shares nothing with another call's.
    """
    chosen_modes = tuple(
        modes or (("host", "host_hot") if kind == "cpu" else ("do_bench", "graph"))
    )
    status = {"fused": "unsupported", **(statuses or {})}
    truth: dict[str, float | Mapping[str, float]] = {**_EFFECTS, **(effects or {})}
    texts = {**_sources(subject, variants), **(sources or {})}
    contents = {path: text.encode() for path, text in texts.items()}
    processes = [f"{subject}.{number:02d}" for number in range(1, blocks + 1)]
    draw = _Draw(kind=kind, processes=processes, samples=samples, noise=noise, seed=seed)
    record = {
        "started": "2026-11-30T18:12:03Z",
        "ended": "2026-11-30T18:19:44Z",
        "command": ["harness", "run", subject, "--device", kind],
        "seed": seed,
        "protocol": 1,
        "engine": {"name": "process", "workers": 1},
        "timer": _timer(kind),
        "environment": _environment(kind),
        "sources": {
            "files": {path: blob_id(content) for path, content in contents.items()},
            "distributions": {"numpy": "2.4.6", "torch": "2.13.0", "triton": "3.7.1"},
        },
        "documents": {
            "perf-counter": {
                "title": "time — Time access and conversions",
                "link": "https://docs.python.org/3.11/library/time.html#time.perf_counter_ns",
                "version": "3.11",
                "claim": "perf_counter_ns returns nanoseconds",
                "installed": "3.11.7",
            }
        },
        "processes": {
            process: {
                "subject": subject,
                "role": "block",
                "block": number,
                "started": f"2026-11-30T18:{12 + number // 2:02d}:{30 * (number % 2):02d}Z",
                "pid": 4700 + number,
            }
            for number, process in enumerate(processes, 1)
        },
        "controls": _controls(draw, chosen_modes),
        "ceilings": _ceilings(draw),
        "experiments": {subject: _experiment(subject, cases, variants, chosen_modes, margin)},
        "cases": {
            f"{subject}.{case}": _case(draw, subject, case, variants, chosen_modes, truth, status)
            for case in cases
        },
    }
    artifact = {"schema": 1, "commit": commit, "runs": {run: record}}
    objects = {blob_id(content): content for content in contents.values()}
    return json.loads(json.dumps(artifact)), objects


def write_results(
    results: Path, artifact: Mapping[str, Any], objects: Mapping[str, bytes] | None = None
) -> Path:
    """Lay an artifact and its objects down in a results folder; the path of the artifact.

    Nothing is checked: tests write bad artifacts with it, too.
    """
    folder = results / "objects"
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in (objects or {}).items():
        (folder / name).write_bytes(content)
    path = results / f"{artifact['commit']}.json"
    path.write_text(json.dumps(artifact, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return path


class _Draw:
    """Samples from a known truth, the same for the same seed and names."""

    def __init__(
        self, *, kind: str, processes: Sequence[str], samples: int, noise: float, seed: int
    ) -> None:
        self.kind = kind
        self.processes = tuple(processes)
        self.rounds = samples
        self.noise = noise
        self.seed = seed

    def random(self, *names: str) -> random.Random:
        return random.Random("/".join((str(self.seed), *names)))

    def times(self, seconds: float, unit: str, *names: str) -> dict[str, list[float]]:
        """Samples by process around `seconds`, in `unit`; the last of `names` is the variant."""
        return {
            process: self.block(seconds, unit, *names[:-1], process, names[-1])
            for process in self.processes
        }

    def block(self, seconds: float, unit: str, *names: str) -> list[float]:
        luck = 1 + self.noise * self.random(*names[:-1]).gauss(0, 1)
        source = self.random(*names)
        drawn = (
            seconds * luck * (1 + self.noise * source.gauss(0, 1)) * _PER_SECOND[unit]
            for _ in range(self.rounds)
        )
        return [round(value) if unit == "ns" else round(value, 7) for value in drawn]


def _bytes(case: str) -> int:
    shape = _SHAPES.get(case, {"rows": 256, "columns": 4096})
    return 2 * 4 * shape["rows"] * shape["columns"]  # float32, read once and written once


def _effect(
    truth: Mapping[str, float | Mapping[str, float]], variant: str, case: str, mode: str
) -> float:
    chosen = truth.get(variant, 1.0)
    if not isinstance(chosen, Mapping):
        return chosen
    for key in (f"{case}/{mode}", case, mode):
        if key in chosen:
            return chosen[key]
    return 1.0


def _case(
    draw: _Draw,
    subject: str,
    case: str,
    variants: Sequence[str],
    modes: Sequence[str],
    truth: Mapping[str, float | Mapping[str, float]],
    status: Mapping[str, str],
) -> dict[str, Any]:
    shape = _SHAPES.get(case, {"rows": 256, "columns": 4096})
    elements = shape["rows"] * shape["columns"]
    timed = [name for name in variants if status.get(name, "ok") == "ok"]
    participants = [*timed, "twin-a", "twin-b", "copy"]
    rows = {
        name: _variant(draw, subject, name, case, modes, truth, status.get(name, "ok"))
        for name in variants
    }
    for twin in ("twin-a", "twin-b"):
        rows[twin] = {
            "role": "control",
            "control": "twin",
            "twin_of": variants[0],
            "what": f"{variants[0]} once more",
            "status": "ok",
            "timings": _timings(draw, subject, twin, case, modes, truth),
        }
    rows["copy"] = {
        "role": "control",
        "control": "matched-copy",
        "what": "a copy of as many bytes as the case must move",
        "expression": "target.copy_(source)",
        "status": "ok",
        "work": {
            "bytes": {"value": _bytes(case), "unit": "byte", "method": "read once, written once"}
        },
        "timings": _timings(draw, subject, "copy", case, modes, truth),
    }
    return {
        "subject": subject,
        "id": case,
        "what": f"{case} rows",
        "shape": shape,
        "strides": {"x": [shape["columns"], 1]},
        "dtype": "float32",
        "layout": "row-major",
        "axes": {"columns": shape["columns"]},
        "inputs": {"distribution": "normal(0, 1)", "seed": 7},
        "tolerance": {"atol": 2e-7, "rtol": 3e-5},
        "work": {
            "flops": {
                "value": 5 * elements,
                "unit": "flop",
                "method": "maximum, difference, exponential, sum and quotient of each element",
            },
            "bytes": {
                "value": _bytes(case),
                "unit": "byte",
                "method": "each input once, each output once",
            },
            "convention": "an exponential counts as one operation",
        },
        "rounds": {mode: _rounds(draw, case, mode, participants) for mode in modes},
        "variants": rows,
    }


def _variant(
    draw: _Draw,
    subject: str,
    name: str,
    case: str,
    modes: Sequence[str],
    truth: Mapping[str, float | Mapping[str, float]],
    status: str,
) -> dict[str, Any]:
    role, parent, lever, what, expression = _VARIANTS.get(
        name, ("step", "eager", "none", f"another way: {name}", f"{name.replace('-', '_')}(x)")
    )
    row: dict[str, Any] = {
        "role": role,
        "lever": lever,
        "what": what,
        "expression": expression,
        "backend": "Triton" if name == "fused" else "ATen",
        "rounding": "float32 throughout",
        "idea": what,
        "file": f"kernels/{subject}/{_module(name)}.py",
        "function": "softmax",
        "status": status,
        "correctness": {
            "checked": "interpreter" if status == "unsupported" else "torch",
            "passed": status != "incorrect",
            "max_abs_error": 0.93 if status == "incorrect" else 6e-8,
            "max_rel_error": 0.93 if status == "incorrect" else 4e-7,
            "compared": _bytes(case) // 8,
            "inputs_unchanged": True,
            "prefilled_nan": True,
            "seeds": [7, 8],
        },
    }
    if parent is not None:
        row["parent"] = parent
    if name in _CONFIGS:
        row["config"] = dict(_CONFIGS[name])
    if name == "chunked-small":
        row["varied"] = {"chunk": [_CONFIGS["chunked"]["chunk"], _CONFIGS[name]["chunk"]]}
    if status == "ok":
        row["timings"] = _timings(draw, subject, name, case, modes, truth)
    else:
        row["reason"] = dict(_REASONS[status])
        if status in ("out_of_resources", "compile_error"):
            del row["correctness"]
    return row


def _module(variant: str) -> str:
    return "chunked" if variant == "chunked-small" else variant.replace("-", "_")


def _timings(
    draw: _Draw,
    subject: str,
    name: str,
    case: str,
    modes: Sequence[str],
    truth: Mapping[str, float | Mapping[str, float]],
) -> dict[str, Any]:
    timings: dict[str, Any] = {}
    for mode in modes:
        unit, cache = _MODES[mode]
        copy = _bytes(case) / _COPY_RATE[draw.kind][cache]
        share = 1.0 if name == "copy" else _BASELINE_SHARE * _effect(truth, name, case, mode)
        timings[mode] = {
            "unit": unit,
            "launches": 16 if mode.startswith("graph") else 1,
            "outputs": "pool" if name == "copy" else "allocated",
            "samples": draw.times(copy / share, unit, subject, case, mode, name),
        }
    return timings


def _rounds(draw: _Draw, case: str, mode: str, participants: Sequence[str]) -> dict[str, Any]:
    blocks: dict[str, Any] = {}
    for process in draw.processes:
        source = draw.random("order", case, mode, process)
        positions = range(len(participants))
        blocks[process] = {
            "order": [source.sample(positions, k=len(positions)) for _ in range(draw.rounds)],
            "before": {"load": {"value": 0.1, "unit": "1"}},
            "after": {"load": {"value": 0.4, "unit": "1"}},
        }
    return {
        "mode": mode,
        "regime": "interleaved",
        "cache": _MODES[mode][1],
        "participants": list(participants),
        "blocks": blocks,
    }


def _controls(draw: _Draw, modes: Sequence[str]) -> dict[str, Any]:
    calibration: dict[str, Any] = {}
    for when in ("start", "end"):
        process = f"calibration.{when}"
        calibration[f"copy-{when}"] = {
            "what": "copy",
            "when": when,
            "probe": {"bytes": 67108864},
            "unit": "ns",
            "samples": {process: draw.block(5.6e-3, "ns", "copy", process)},
        }
        calibration[f"gemm-{when}"] = {
            "what": "matrix product",
            "when": when,
            "probe": {"m": 512, "n": 512, "k": 512, "dtype": "float32"},
            "unit": "ns",
            "samples": {process: draw.block(1.8e-3, "ns", "gemm", process)},
        }
    return {
        "floor": {
            mode: {
                "what": "an empty call timed in the same way",
                "unit": _MODES[mode][0],
                "samples": draw.times(
                    3e-7 if mode.startswith("host") else 3.3e-6, _MODES[mode][0], "floor", mode
                ),
            }
            for mode in modes
        },
        "calibration": calibration,
        "load": {"before": {"value": 0.1, "unit": "1"}, "after": {"value": 0.9, "unit": "1"}},
    }


def _ceilings(draw: _Draw) -> dict[str, Any]:
    rate, hot = _COPY_RATE[draw.kind]["cold"], _COPY_RATE[draw.kind]["hot"]
    large, larger, cached = 268435456, 536870912, 4194304
    return {
        "memory-dram-copy": {
            "resource": "memory",
            "level": "dram",
            "regime": "interleaved",
            "probes": {
                f"copy-{size}": _probe(
                    draw, f"copy of {size} bytes", {"bytes": size}, 2 * size, share * rate
                )
                for size, share in ((large, 1.04), (larger, 1.02))
            },
        },
        "memory-l2-copy": {
            "resource": "memory",
            "level": "l2",
            "regime": "interleaved",
            "probes": {
                f"copy-{cached}": _probe(
                    draw, "copy inside the cache", {"bytes": cached}, 2 * cached, 1.05 * hot
                )
            },
        },
        "compute-float32": {
            "resource": "compute",
            "dtype": "float32",
            "regime": "interleaved",
            "probes": {
                "gemm-1024": {
                    "what": "torch.mm of two square matrices",
                    "config": {"m": 1024, "n": 1024, "k": 1024},
                    "work": {"flops": {"value": 2 * 1024**3, "unit": "flop"}},
                    "unit": "ns",
                    "samples": draw.times(
                        2 * 1024**3 / _GEMM_RATE[draw.kind], "ns", "ceiling", "gemm-1024"
                    ),
                }
            },
        },
    }


def _probe(
    draw: _Draw, name: str, config: Mapping[str, Any], moved: int, rate: float
) -> dict[str, Any]:
    return {
        "what": "torch copy_ from one buffer into another",
        "config": dict(config),
        "work": {"bytes": {"value": moved, "unit": "byte"}},
        "unit": "ns",
        "samples": draw.times(moved / rate, "ns", "ceiling", name),
    }


def _experiment(
    subject: str,
    cases: Sequence[str],
    variants: Sequence[str],
    modes: Sequence[str],
    margin: float,
) -> dict[str, Any]:
    experiment: dict[str, Any] = {
        "title": f"{subject.capitalize()} over rows",
        "audience": "whoever normalises long rows",
        "question": "Does one pass over the rows pay?",
        "hypothesis": "Long rows leave the cache between passes, so fewer passes are faster.",
        "predicted": [],
        "variable": "the number of passes over memory",
        "cannot_conclude": "what happens on another machine",
        "next": "the same in half precision",
        "contract": "softmax of each row, in the dtype of the input",
        "oracle": "torch.softmax in float64, cast to the dtype",
        "limiter": "memory: the fastest variant is the one closest to the matched copy",
        "margin": margin,
        "order": list(variants),
    }
    if "chunked" in variants:
        experiment["predicted"].append(
            {
                "variant": "chunked",
                "over": variants[0],
                "ratio": 1.4,
                "case": cases[-1],
                "mode": modes[0],
            }
        )
        experiment["mistakes"] = {
            "forgotten-rescale": {
                "variant": "chunked",
                "file": f"kernels/{subject}/chunked.py",
                "line": 5,
                "before": "    return torch.softmax(x, dim=-1)",
                "after": "    return torch.softmax(x, dim=0)",
                "passes": f"{subject}.{cases[0]}",
                "fails": f"{subject}.{cases[-1]}",
                "caught": True,
                "error": 0.93,
            }
        }
    return experiment


def _sources(subject: str, variants: Sequence[str]) -> dict[str, str]:
    """Stand-ins for the files that a run of this subject loads."""
    kernel = "import torch\n\ndef softmax(x):\n    return torch.softmax(x, dim=-1)\n"
    names = sorted({_module(name) for name in variants})
    return {
        **{
            f"kernels/{subject}/{name}.py": f'"""{name.capitalize()} softmax."""\n{kernel}'
            for name in names
        },
        f"kernels/{subject}/experiment.py": '"""What is measured."""\n',
        f"kernels/{subject}/reference.py": f'"""The plain truth."""\n{kernel}',
        "harness/sample.py": '"""The loop that measures."""\n',
    }


def _timer(kind: str) -> dict[str, Any]:
    if kind == "cpu":
        return {
            "name": "time.perf_counter_ns",
            "version": "3.11.7",
            "unit": "ns",
            "check": {
                "reference": "CLOCK_MONOTONIC_RAW over a sleep",
                "expected": {"value": 50.06, "unit": "ms"},
                "measured": {"value": 50.05, "unit": "ms"},
                "step": {"value": 30, "unit": "ns"},
            },
        }
    return {
        "name": "torch.cuda.Event.elapsed_time",
        "version": "2.13.0",
        "unit": "ms",
        "check": {
            "reference": "torch.cuda._sleep, timed by the host clock around a synchronise",
            "expected": {"value": 10.05, "unit": "ms"},
            "measured": {"value": 10.05, "unit": "ms"},
            "step": {"value": 0.032, "unit": "us"},
        },
    }


def _environment(kind: str) -> dict[str, Any]:
    gib = 1 << 30
    cpu = {
        "kind": "cpu",
        "name": "AMD EPYC",
        "key": "0f1e2d3c4b5a6978",
        "cores": 2,
        "threads": 2,
        "caches": {
            "l2": {"value": 1048576, "unit": "byte"},
            "l3": {"value": 33554432, "unit": "byte"},
        },
        "memory": {"value": 24 * gib, "unit": "byte"},
        "features": ["avx2", "avx512f"],
    }
    cuda = {
        "kind": "cuda",
        "name": "NVIDIA H200",
        "key": "8796a5b4c3d2e1f0",
        "compute_capability": "9.0",
        "sms": 132,
        "caches": {"l2": {"value": 62914560, "unit": "byte"}},
        "memory": {"value": 150754820096, "unit": "byte"},
        "power_limit": {"value": 700, "unit": "W"},
        "clocks": {
            "sm": {"value": 1980e6, "unit": "Hz"},
            "memory": {"value": 3201e6, "unit": "Hz"},
        },
        "ecc": True,
        "mig": False,
    }
    software = {"python": "3.11.7", "torch": "2.13.0", "triton": "3.7.1", "numpy": "2.4.6"}
    if kind == "cuda":
        software |= {"driver": "580.159.04", "cuda": "13.0", "cudnn": "9.15", "cublas": "13.1"}
    return {
        "device": cpu if kind == "cpu" else cuda,
        "host": {
            "cpu": "AMD EPYC",
            "cores": 2,
            "memory": {"value": 24 * gib, "unit": "byte"},
            "os": "Linux 6.1",
            "libc": "glibc 2.36",
            "compiler": "g++ 12.2.0",
        },
        "software": software,
        "flags": {
            "torch.num_threads": 2,
            "float32_matmul_precision": "highest",
            "triton_interpret": False,
        },
        "variables": {"OMP_NUM_THREADS": "2"},
    }
