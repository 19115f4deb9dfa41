"""What the harness takes from documentation, and the version it was checked against.

A record shows each beside the version that is installed, so that a reader sees where the two
part. `doctor` asks the tools themselves for the flags.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_CUDA = ("cuda",)
_ANY = ("cpu", "cuda")


@dataclass(frozen=True, slots=True)
class Document:
    """One claim that something here rests on.

    software names the entry of the environment that tells the installed version, devices the
    kinds of device on which it is relied upon.
    """

    title: str
    link: str
    version: str
    claim: str
    software: str
    devices: tuple[str, ...] = _CUDA


DOCUMENTS: Mapping[str, Document] = {
    "perf-counter": Document(
        title="time: Time access and conversions",
        link="https://docs.python.org/3/library/time.html#time.perf_counter_ns",
        version="3.11",
        claim="perf_counter_ns is perf_counter with time as nanoseconds; only the difference "
        "between the results of two calls is valid",
        software="python",
        devices=_ANY,
    ),
    "elapsed-time": Document(
        title="torch.cuda.Event",
        link="https://docs.pytorch.org/docs/2.11/generated/torch.cuda.Event.html",
        version="2.11",
        claim="elapsed_time returns the time in milliseconds between two recorded events",
        software="torch",
    ),
    "do-bench": Document(
        title="triton.testing.do_bench",
        link="https://github.com/triton-lang/triton/blob/v3.6.0/python/triton/testing.py",
        version="3.6.0",
        claim="do_bench clears a buffer larger than the cache before each call, records an "
        "event before and after it, and with return_mode all answers every time in milliseconds; "
        "warmup and rep are milliseconds too",
        software="triton",
    ),
    "persisting-lines": Document(
        title="CUDA driver API: cuCtxResetPersistingL2Cache",
        link="https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__CTX.html",
        version="13.0",
        claim="cuCtxResetPersistingL2Cache resets all persisting lines in cache to normal status "
        "and takes effect on function return",
        software="cuda",
    ),
    "event-reasons": Document(
        title="NVML API: clocks event reasons",
        link="https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html",
        version="580",
        claim="the bits of the mask say why clocks are lower than asked for: a cap of power, a "
        "slowdown by software for heat, or one by hardware for heat, power or another cause",
        software="driver",
    ),
    "assembler": Document(
        title="ptxas --help",
        link="https://docs.nvidia.com/cuda/cuda-compiler-driver-nvcc/",
        version="12.8",
        claim="with --verbose the assembler tells registers used, and bytes of spill stores and "
        "spill loads, of each kernel",
        software="ptxas",
    ),
}


def relied_upon(device: str, software: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The documents behind a run on `cpu` or `cuda`, each with the version installed.

    software is the environment's; what it does not name has no installed version.
    """
    return {
        name: _facts(document, software.get(document.software))
        for name, document in DOCUMENTS.items()
        if device in document.devices
    }


def _facts(document: Document, installed: str | None) -> dict[str, str]:
    facts = {
        "title": document.title,
        "link": document.link,
        "version": document.version,
        "claim": document.claim,
    }
    return facts if installed is None else {**facts, "installed": installed}
