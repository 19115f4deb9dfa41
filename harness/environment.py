"""Where something is measured: device, host, software, flags and variables.

Unknown is absent. Nothing that leads to a person or a machine is recorded: the device is
told apart by a salted hash, variables come from a fixed list and are scrubbed. torch is
imported when a question needs it, never by importing this module.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import importlib.util
import os
import platform
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from harness import assembler
from harness.privacy import machine_id, scrub

_SALT = "writeup device key 1"

# Instruction-set extensions that decide which kernels a library chooses.
_FEATURES = frozenset(
    "sse4_2 avx avx2 fma f16c avx_vnni avx512f avx512bw avx512cd avx512dq avx512vl avx512_bf16 "
    "avx512_fp16 avx512_vnni amx_tile amx_bf16 amx_int8 asimd asimdhp asimddp sve sve2 bf16 "
    "i8mm".split()
)
# What `getconf -a` calls the caches; Python's own sysconf knows none of these names.
_CACHES = {
    "LEVEL1_DCACHE_SIZE": "l1d",
    "LEVEL1_ICACHE_SIZE": "l1i",
    "LEVEL2_CACHE_SIZE": "l2",
    "LEVEL3_CACHE_SIZE": "l3",
    "LEVEL4_CACHE_SIZE": "l4",
}
_SUFFIX = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}

# Variables that change how the measured libraries behave.
_VARIABLES = re.compile(
    r"(?:ATEN_CPU_CAPABILITY|(?:OMP|KMP|GOMP|MKL|OPENBLAS|ONEDNN|DNNL|BLIS|MALLOC|TORCH"
    r"|TORCHINDUCTOR|PYTORCH|TRITON|CUBLAS|CUBLASLT|CUDNN)_[A-Z0-9_]+"
    r"|CUDA_(?:VISIBLE_DEVICES|LAUNCH_BLOCKING|DEVICE_MAX_CONNECTIONS|MODULE_LOADING|DEVICE_ORDER"
    r"|CACHE_DISABLE)|NVIDIA_TF32_OVERRIDE)"
)
# Those among them that hold a place or a secret instead.
_UNTOLD = re.compile(
    r"(?:^|_)(?:DIR|PATH|HOME|HOST|ADDR|FILE|KEY|TOKEN|SECRET|PASSWORD|URL)(?:_|$)"
)


def describe(device: str) -> dict[str, Any]:
    """The environment of a run on `cpu` or `cuda`, as the artifact holds it.

    On a GPU the current device of this process is described. Raises RuntimeError if torch
    has no such device, ImportError without torch.
    """
    torch = importlib.import_module("torch")
    with _nvml() as nvml:
        answers = cuda_device(torch.cuda, nvml) if device == "cuda" else cpu_device()
    return {
        "device": answers,
        "host": _known(
            cpu=_cpu_name(cpu_info()),
            cores=_cores(cpu_info()),
            memory=_memory(),
            os=_operating_system(),
            libc=_libc(),
            compiler=compiler(),
            governor=_line(Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
            virtualised="hypervisor" in _flags(cpu_info()) or None,
        ),
        "software": software(torch, device),
        "flags": flags(torch, device),
        "variables": variables(os.environ),
    }


def llc_bytes() -> int | None:
    """Size in bytes of the last-level cache of the CPU; None where it cannot be read."""
    sizes = cpu_caches()
    levels = [level for level in ("l4", "l3", "l2") if level in sizes]
    return sizes[levels[0]] if levels else None


def device_key(identity: str) -> str:
    """Sixteen hexadecimal digits that are equal for the same device and tell nothing else.

    identity must be of high entropy (a GPU's UUID, a machine id, both drawn from more than
    a hundred random bits): the salt is public, so a short serial number could be guessed.
    The salt keeps the key from matching any other list of hashed identities.
    """
    return hashlib.sha256(f"{_SALT}\0{identity}".encode()).hexdigest()[:16]


def cpu_device() -> dict[str, Any]:
    """The CPU as a measured device."""
    info = cpu_info()
    name = _cpu_name(info)
    machine = machine_id()
    return _known(
        kind="cpu",
        name=name,
        # Cloned images share a machine id; the processor's name at least sets kinds apart.
        key=device_key(f"{machine}\0{name}") if machine else None,
        cores=_cores(info),
        threads=len(os.sched_getaffinity(0)),
        caches={level: _byte(size) for level, size in cpu_caches().items()} or None,
        memory=_memory(),
        features=sorted(_flags(info) & _FEATURES) or None,
    )


def cuda_device(cuda: Any, nvml: Any | None) -> dict[str, Any]:
    """The current GPU, asked through `torch.cuda` and, where it is given, `pynvml`."""
    if not cuda.is_available():
        raise RuntimeError("torch finds no CUDA device")
    index = cuda.current_device()
    properties = cuda.get_device_properties(index)
    identity = getattr(properties, "uuid", None)
    l2 = getattr(properties, "L2_cache_size", None)
    return _known(
        kind="cuda",
        name=cuda.get_device_name(index),
        key=device_key(str(identity)) if identity else None,
        compute_capability=f"{properties.major}.{properties.minor}",
        sms=properties.multi_processor_count,
        caches={"l2": _byte(l2)} if l2 else None,
        memory=_byte(properties.total_memory),
        **(_nvml_facts(nvml, str(identity)) if nvml and identity else {}),
    )


def software(torch: Any, device: str) -> dict[str, str]:
    """Version of each piece of software that takes part; what is imported, not what is listed."""
    found = _known(
        python=platform.python_version(),
        torch=str(torch.__version__),
        triton=_imported_version("triton"),
        numpy=_imported_version("numpy"),
        ptxas=_ptxas(_capability(torch) if device == "cuda" else None),
    )
    if device == "cuda":
        cudnn = torch.backends.cudnn.version()
        found |= _known(
            cuda=torch.version.cuda,
            cudnn=_cudnn_version(cudnn) if cudnn else None,
            cublas=_distribution_version(
                "nvidia-cublas", "nvidia-cublas-cu13", "nvidia-cublas-cu12"
            ),
        )
        with _nvml() as nvml:
            driver = _ask(nvml, "nvmlSystemGetDriverVersion") if nvml else None
        found |= _known(driver=_text(driver))
    return found


def flags(torch: Any, device: str) -> dict[str, Any]:
    """Precision, threading and backend flags that are in force in this process."""
    built = torch.__config__.show()
    found = {
        "torch.num_threads": torch.get_num_threads(),
        "torch.num_interop_threads": torch.get_num_interop_threads(),
        "float32_matmul_precision": torch.get_float32_matmul_precision(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "mkldnn": torch.backends.mkldnn.is_available() and bool(torch.backends.mkldnn.enabled),
        "openmp": torch.backends.openmp.is_available(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "triton_interpret": os.environ.get("TRITON_INTERPRET", "0").lower() in ("1", "true", "on"),
        **_known(
            blas=_found(r"BLAS_INFO=(\w+)", built),
            parallel=_found(r"parallel backend: (.+)", torch.__config__.parallel_info()),
        ),
    }
    if device == "cuda":
        found |= {
            "cuda.matmul.allow_tf32": bool(torch.backends.cuda.matmul.allow_tf32),
            "cudnn.allow_tf32": bool(torch.backends.cudnn.allow_tf32),
            "cudnn.benchmark": bool(torch.backends.cudnn.benchmark),
            "sdp.flash": torch.backends.cuda.flash_sdp_enabled(),
            "sdp.mem_efficient": torch.backends.cuda.mem_efficient_sdp_enabled(),
            "sdp.math": torch.backends.cuda.math_sdp_enabled(),
            "sdp.cudnn": torch.backends.cuda.cudnn_sdp_enabled(),
        }
    return found


def variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Variables that change how the measured libraries behave, without private data."""
    return {
        name: scrub(value, Path.cwd())
        for name, value in sorted(environ.items())
        if _VARIABLES.fullmatch(name) and not _UNTOLD.search(name)
    }


def compiler() -> str | None:
    """Name and version of the C++ compiler that `torch.compile` uses for the CPU."""
    command = os.environ.get("CXX", "g++").split() or ["g++"]
    answer = _output(command[0], "--version")
    version = re.findall(r"\b\d+\.\d+(?:\.\d+)?\b", (answer or "").partition("\n")[0])
    return f"{Path(command[0]).name} {version[-1]}" if version else None


def cpu_info() -> dict[str, list[str]]:
    """Values of /proc/cpuinfo by field, one a logical processor; empty where there is none."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    return parse_cpu_info(text)


def parse_cpu_info(text: str) -> dict[str, list[str]]:
    """Values by field, in the order of the processors."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon:
            found.setdefault(name.strip(), []).append(value.strip())
    return found


def cpu_caches(system: Path = Path("/sys/devices/system/cpu/cpu0/cache")) -> dict[str, int]:
    """Size in bytes of each cache that the first processor sees, by level.

    The kernel's own table; the C library's where that is absent. The two differ where a
    processor has several last-level caches: the kernel tells the one that is shared by this
    processor, which is the one that a flush must fill at least.
    """
    found = {}
    for index in sorted(system.glob("index*")):
        level, kind, size = (_line(index / name) for name in ("level", "type", "size"))
        parsed = re.fullmatch(r"(\d+)([KMG]?)", size or "")
        if level and kind and parsed:
            letter = {"Data": "d", "Instruction": "i"}.get(kind, "") if level == "1" else ""
            found[f"l{level}{letter}"] = int(parsed[1]) * _SUFFIX[parsed[2]]
    return found or _library_caches()


def _library_caches() -> dict[str, int]:
    listed = re.findall(r"^(LEVEL\w+)\s+(\d+)$", _output("getconf", "-a") or "", re.MULTILINE)
    return {_CACHES[name]: int(size) for name, size in listed if name in _CACHES and int(size)}


def _cpu_name(info: Mapping[str, list[str]]) -> str:
    for field in ("model name", "Model", "cpu model", "Processor"):
        if info.get(field):
            return " ".join(info[field][0].split())
    return platform.machine()


def _cores(info: Mapping[str, list[str]]) -> int | None:
    """Physical cores: distinct pairs of package and core."""
    packages, cores = info.get("physical id", []), info.get("core id", [])
    return len(set(zip(packages, cores, strict=False))) or None


def _flags(info: Mapping[str, list[str]]) -> set[str]:
    listed = info.get("flags") or info.get("Features") or [""]
    return set(listed[0].split())


def _memory() -> dict[str, Any]:
    return _byte(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def _operating_system() -> str:
    """Distribution and kernel version; a kernel's own suffix may be anyone's, so it is cut."""
    kernel = _found(r"(\d+(?:\.\d+)*)", platform.release())
    parts = [f"{platform.system()} {kernel}" if kernel else platform.system()]
    with suppress(OSError):  # no os-release file: the kernel is all that is known
        parts.append(platform.freedesktop_os_release()["PRETTY_NAME"])
    return ", ".join(parts)


def _libc() -> str | None:
    try:
        return os.confstr("CS_GNU_LIBC_VERSION")
    except (OSError, ValueError):  # another C library, which has no such question
        return None


def _imported_version(module: str) -> str | None:
    """`__version__` of what importing gives; the listed version may be another."""
    if importlib.util.find_spec(module) is None:
        return None
    return str(importlib.import_module(module).__version__)


def _distribution_version(*names: str) -> str | None:
    for name in names:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return None


def _capability(torch: Any) -> int:
    """The device's compute capability as one number: 9.0 is 90."""
    major, minor = torch.cuda.get_device_capability()
    return int(10 * major + minor)


def _ptxas(capability: int | None) -> str | None:
    """Version of the assembler that Triton uses."""
    tool = assembler.used(capability)
    said = _output(str(tool), "--version") if tool else None
    return _found(r"\bV(\d+(?:\.\d+)+)", said or "")


def _cudnn_version(number: int) -> str:
    """cuDNN's number as a version: 91002 is 9.10.2, 8902 is 8.9.2 (CUDNN_VERSION in its header)."""
    major, rest = divmod(number, 10000) if number >= 90000 else divmod(number, 1000)
    return f"{major}.{rest // 100}.{rest % 100}"


def _nvml_facts(nvml: Any, identity: str) -> dict[str, Any]:
    """What only the driver knows of the GPU; a question it does not support is left out."""
    handle = _ask(nvml, "nvmlDeviceGetHandleByUUID", f"GPU-{identity.removeprefix('GPU-')}")
    if handle is None:
        return {}
    limit = _ask(nvml, "nvmlDeviceGetEnforcedPowerLimit", handle)
    sm = _ask(nvml, "nvmlDeviceGetMaxClockInfo", handle, nvml.NVML_CLOCK_SM)
    memory = _ask(nvml, "nvmlDeviceGetMaxClockInfo", handle, nvml.NVML_CLOCK_MEM)
    clocks = {
        name: {"value": clock * 1_000_000, "unit": "Hz"}
        for name, clock in (("sm", sm), ("memory", memory))
        if clock is not None
    }
    ecc = _ask(nvml, "nvmlDeviceGetEccMode", handle)
    mig = _ask(nvml, "nvmlDeviceGetMigMode", handle)
    return _known(
        power_limit=None if limit is None else {"value": limit / 1000, "unit": "W"},
        clocks=clocks or None,
        ecc=None if ecc is None else bool(ecc[0]),  # (current, pending)
        mig=None if mig is None else bool(mig[0]),
    )


@contextmanager
def _nvml() -> Iterator[Any | None]:
    """The driver's management library, open; None where it or the driver is missing."""
    if importlib.util.find_spec("pynvml") is None:
        yield None
        return
    nvml = importlib.import_module("pynvml")
    try:
        nvml.nvmlInit()
    except nvml.NVMLError:
        yield None
        return
    try:
        yield nvml
    finally:
        nvml.nvmlShutdown()


def _ask(nvml: Any, question: str, *given: Any) -> Any | None:
    function: Callable[..., Any] = getattr(nvml, question)
    try:
        return function(*given)
    except nvml.NVMLError:
        return None


def _text(value: Any) -> str | None:
    """Older bindings answer in bytes."""
    return value.decode() if isinstance(value, bytes) else value


def _output(*command: str) -> str | None:
    """What a tool prints; None where there is no such tool or it fails."""
    try:
        answer = subprocess.run(command, capture_output=True, check=False, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.decode(errors="replace") if answer.returncode == 0 else None


def _found(pattern: str, text: str) -> str | None:
    match = re.search(pattern, text)
    return match[1].strip() if match else None


def _line(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8").strip() or None
    except (OSError, UnicodeError):
        return None


def _byte(value: int) -> dict[str, Any]:
    return {"value": value, "unit": "byte"}


def _known(**facts: Any) -> dict[str, Any]:
    """The facts without those that are not known."""
    return {name: fact for name, fact in facts.items() if fact is not None}
