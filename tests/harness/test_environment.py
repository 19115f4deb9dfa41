import json
import subprocess
import sys
from importlib import resources
from pathlib import Path
from types import SimpleNamespace

import pytest
from jsonschema import Draft202012Validator

from harness import environment, privacy

SCHEMA = json.loads(resources.files("harness").joinpath("result.schema.json").read_text("utf-8"))
VALIDATOR = Draft202012Validator({**SCHEMA["$defs"]["environment"], "$defs": SCHEMA["$defs"]})
UUID = "8f6d3a10-1b2c-4d5e-8f90-0123456789ab"

CPU_INFO = """\
processor\t: 0
model name\t: AMD EPYC  9R14   96-Core Processor
physical id\t: 0
core id\t\t: 0
flags\t\t: fpu avx2 avx512f hypervisor

processor\t: 1
model name\t: AMD EPYC  9R14   96-Core Processor
physical id\t: 0
core id\t\t: 0
flags\t\t: fpu avx2 avx512f hypervisor

processor\t: 2
model name\t: AMD EPYC  9R14   96-Core Processor
physical id\t: 1
core id\t\t: 0
flags\t\t: fpu avx2 avx512f hypervisor
"""


class NotSupported(Exception):
    pass


class Recorded:
    """Answers of one H200's driver, as `pynvml` gives them."""

    NVMLError = NotSupported
    NVML_CLOCK_SM, NVML_CLOCK_MEM = 1, 2

    def __init__(self, *silent):
        self.silent = silent
        self.asked = []

    def __getattr__(self, question):
        answers = {
            "nvmlDeviceGetHandleByUUID": lambda _uuid: "handle",
            "nvmlDeviceGetEnforcedPowerLimit": lambda _handle: 700_000,
            "nvmlDeviceGetMaxClockInfo": lambda _handle, domain: {1: 1980, 2: 3201}[domain],
            "nvmlDeviceGetEccMode": lambda _handle: [1, 0],
            "nvmlDeviceGetMigMode": lambda _handle: [0, 1],
        }

        def answer(*given):
            self.asked.append((question, *given))
            if question in self.silent:
                raise NotSupported
            return answers[question](*given)

        return answer


def recorded_cuda(**changed):
    facts = {
        "major": 9,
        "minor": 0,
        "multi_processor_count": 132,
        "L2_cache_size": 62914560,
        "total_memory": 150754820096,
        "uuid": UUID,
    }
    properties = SimpleNamespace(**{**facts, **changed})
    return SimpleNamespace(
        is_available=lambda: True,
        current_device=lambda: 0,
        get_device_name=lambda _index: "NVIDIA H200",
        get_device_properties=lambda _index: properties,
    )


def test_this_machine_is_described_as_the_schema_asks():
    described = environment.describe("cpu")
    assert [error.message for error in VALIDATOR.iter_errors(described)] == []
    assert described["device"]["kind"] == "cpu"
    assert described["software"]["python"] == ".".join(map(str, sys.version_info[:3]))
    assert {"torch", "numpy"} <= set(described["software"])
    assert described["flags"]["torch.num_threads"] >= 1
    text = json.dumps(described)
    assert privacy.scrub(text, Path.cwd()) == text


def test_importing_it_loads_no_torch():
    program = "import sys, harness.environment; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_gpu_that_is_not_there_is_an_error():
    absent = SimpleNamespace(is_available=lambda: False)
    with pytest.raises(RuntimeError, match="no CUDA device"):
        environment.cuda_device(absent, None)


def test_a_gpu_is_described_from_torch_and_the_driver():
    driver = Recorded()
    described = environment.cuda_device(recorded_cuda(), driver)
    key = described.pop("key")
    assert described == {
        "kind": "cuda",
        "name": "NVIDIA H200",
        "compute_capability": "9.0",
        "sms": 132,
        "caches": {"l2": {"value": 62914560, "unit": "byte"}},
        "memory": {"value": 150754820096, "unit": "byte"},
        "power_limit": {"value": 700, "unit": "W"},
        "clocks": {
            "sm": {"value": 1_980_000_000, "unit": "Hz"},
            "memory": {"value": 3_201_000_000, "unit": "Hz"},
        },
        "ecc": True,
        "mig": False,
    }
    assert key == environment.device_key(UUID)
    assert driver.asked[0] == ("nvmlDeviceGetHandleByUUID", f"GPU-{UUID}")
    described["key"] = key
    assert list(VALIDATOR.iter_errors({"device": described})) == []


def test_what_a_driver_does_not_tell_is_absent():
    driver = Recorded("nvmlDeviceGetEccMode", "nvmlDeviceGetMigMode", "nvmlDeviceGetMaxClockInfo")
    described = environment.cuda_device(recorded_cuda(), driver)
    assert {"ecc", "mig", "clocks"}.isdisjoint(described)
    assert described["power_limit"] == {"value": 700, "unit": "W"}


def test_a_gpu_that_the_driver_does_not_find_keeps_what_torch_says():
    described = environment.cuda_device(recorded_cuda(), Recorded("nvmlDeviceGetHandleByUUID"))
    assert described["name"] == "NVIDIA H200"
    assert "power_limit" not in described


def test_an_older_torch_knows_no_uuid_and_no_cache():
    described = environment.cuda_device(recorded_cuda(uuid=None, L2_cache_size=0), Recorded())
    assert {"key", "caches", "power_limit"}.isdisjoint(described)


def test_a_device_key_is_equal_for_a_device_and_different_for_another():
    assert environment.device_key(UUID) == environment.device_key(UUID)
    assert environment.device_key(UUID) != environment.device_key(UUID[::-1])
    assert len(environment.device_key(UUID)) == 16


def test_a_device_key_is_the_same_in_every_release():
    r"""Computed apart, with `printf 'writeup device key 1\\0a' | sha256sum`."""
    assert environment.device_key("a") == "071b32ca8c426e71"


def test_cores_are_counted_once_and_names_have_single_spaces(monkeypatch):
    info = environment.parse_cpu_info(CPU_INFO)
    monkeypatch.setattr(environment, "cpu_info", lambda: info)
    described = environment.cpu_device()
    assert described["name"] == "AMD EPYC 9R14 96-Core Processor"
    assert described["cores"] == 2
    assert described["features"] == ["avx2", "avx512f"]


def test_a_processor_that_says_little_has_little_recorded(monkeypatch):
    monkeypatch.setattr(
        environment, "cpu_info", lambda: environment.parse_cpu_info("processor : 0")
    )
    monkeypatch.setattr(environment, "machine_id", lambda: None)
    described = environment.cpu_device()
    assert {"cores", "features", "key"}.isdisjoint(described)
    assert described["name"]


def cache_table(folder, *rows):
    for index, (level, kind, size) in enumerate(rows):
        place = folder / f"index{index}"
        place.mkdir(parents=True)
        for name, value in (("level", level), ("type", kind), ("size", size)):
            (place / name).write_text(f"{value}\n")
    return folder


def test_caches_are_read_from_the_kernels_table(tmp_path):
    table = cache_table(
        tmp_path,
        (1, "Data", "32K"),
        (1, "Instruction", "48K"),
        (2, "Unified", "1024K"),
        (3, "Unified", "32M"),
    )
    assert environment.cpu_caches(table) == {
        "l1d": 32 << 10,
        "l1i": 48 << 10,
        "l2": 1 << 20,
        "l3": 32 << 20,
    }


def test_without_a_table_the_c_library_is_asked(tmp_path, monkeypatch):
    listed = (
        "PAGE_SIZE                          4096\n"
        "LEVEL1_DCACHE_SIZE                 32768\n"
        "LEVEL1_DCACHE_ASSOC                8\n"
        "LEVEL2_CACHE_SIZE                  1048576\n"
        "LEVEL3_CACHE_SIZE                  0\n"
        "LEVEL4_CACHE_SIZE                  \n"
    )
    monkeypatch.setattr(environment, "_output", lambda *_command: listed)
    assert environment.cpu_caches(tmp_path) == {"l1d": 32768, "l2": 1 << 20}


@pytest.mark.parametrize(
    ("caches", "size"),
    [
        ({"l2": 1, "l3": 3}, 3),
        ({"l1d": 9, "l2": 1}, 1),
        ({"l3": 3, "l4": 4}, 4),
        ({"l1d": 9}, None),
    ],
)
def test_the_last_level_is_the_one_to_flush(monkeypatch, caches, size):
    monkeypatch.setattr(environment, "cpu_caches", lambda: caches)
    assert environment.llc_bytes() == size


def test_only_listed_variables_are_told_and_none_with_a_place_or_a_secret():
    told = environment.variables(
        {
            "OMP_NUM_THREADS": "2",
            "KMP_AFFINITY": "compact",
            "TRITON_INTERPRET": "1",
            "TRITON_CACHE_DIR": "/home/bob",
            "TORCH_HOME": "/home/bob",
            "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": "1",
            "CUDA_VISIBLE_DEVICES": f"GPU-{UUID}",
            "PYTORCH_API_KEY": "secret",
            "MKL_SERVICE": "see /home/bob/x",
            "HOME": "/home/bob",
            "USER": "bob",
        }
    )
    assert told == {
        "OMP_NUM_THREADS": "2",
        "KMP_AFFINITY": "compact",
        "TRITON_INTERPRET": "1",
        "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": "1",
        "CUDA_VISIBLE_DEVICES": "<serial>",
        "MKL_SERVICE": "see <path>",
    }
    assert (
        list(VALIDATOR.iter_errors({"device": {"kind": "cpu", "name": "x"}, "variables": told}))
        == []
    )


@pytest.mark.parametrize(
    ("says", "recorded"),
    [
        ("g++ (Debian 12.2.0-14+deb12u1) 12.2.0\nCopyright", "c++ 12.2.0"),
        ("Debian clang version 14.0.6\nTarget", "c++ 14.0.6"),
        ("no version", None),
        (None, None),
    ],
)
def test_the_compiler_is_named_with_its_version(monkeypatch, says, recorded):
    monkeypatch.setenv("CXX", "/usr/local/bin/c++ -O2")
    monkeypatch.setattr(environment, "_output", lambda *_command: says)
    assert environment.compiler() == recorded


def test_a_tool_that_is_absent_says_nothing(tmp_path):
    assert environment._output(str(tmp_path / "absent")) is None
    assert environment._output(sys.executable, "-c", "raise SystemExit(1)") is None


@pytest.mark.parametrize(
    ("number", "version"), [(91002, "9.10.2"), (90100, "9.1.0"), (8902, "8.9.2")]
)
def test_cudnn_numbers_are_told_as_versions(number, version):
    assert environment._cudnn_version(number) == version


def test_the_kernels_own_suffix_is_not_told(monkeypatch):
    monkeypatch.setattr("platform.release", lambda: "6.1.0-alices-machine")
    assert environment._operating_system().startswith("Linux 6.1.0,")


def recorded_torch():
    """What torch 2.11.0+cu130 answers on one H200."""
    yes, no = (lambda: True), (lambda: False)
    return SimpleNamespace(
        __version__="2.11.0+cu130",
        __config__=SimpleNamespace(
            show=lambda: "Build settings: BLAS_INFO=mkl, BUILD_TYPE=Release",
            parallel_info=lambda: "threads : 16\nATen parallel backend: OpenMP\n",
        ),
        version=SimpleNamespace(cuda="13.0"),
        cuda=SimpleNamespace(get_device_capability=lambda: (9, 0)),
        get_num_threads=lambda: 16,
        get_num_interop_threads=lambda: 16,
        get_float32_matmul_precision=lambda: "highest",
        are_deterministic_algorithms_enabled=no,
        backends=SimpleNamespace(
            cpu=SimpleNamespace(get_cpu_capability=lambda: "AVX512"),
            mkldnn=SimpleNamespace(is_available=yes, enabled=True),
            openmp=SimpleNamespace(is_available=yes),
            cudnn=SimpleNamespace(version=lambda: 91900, allow_tf32=True, benchmark=False),
            cuda=SimpleNamespace(
                matmul=SimpleNamespace(allow_tf32=False),
                flash_sdp_enabled=yes,
                mem_efficient_sdp_enabled=yes,
                math_sdp_enabled=yes,
                cudnn_sdp_enabled=no,
            ),
        ),
    )


def test_software_of_a_gpu_names_its_libraries(monkeypatch):
    listed = {"nvidia-cublas": "13.1.0.3"}
    monkeypatch.setattr(environment, "_distribution_version", lambda *names: listed[names[0]])
    found = environment.software(recorded_torch(), "cuda")
    expected = {"torch": "2.11.0+cu130", "cuda": "13.0", "cudnn": "9.19.0", "cublas": "13.1.0.3"}
    assert expected.items() <= found.items()
    assert "cuda" not in environment.software(recorded_torch(), "cpu")


def test_flags_of_a_gpu_name_precision_and_attention_backends():
    found = environment.flags(recorded_torch(), "cuda")
    assert found["cuda.matmul.allow_tf32"] is False
    assert found["cudnn.allow_tf32"] is True
    assert (found["sdp.flash"], found["sdp.cudnn"]) == (True, False)
    assert (found["blas"], found["parallel"]) == ("mkl", "OpenMP")
    described = {"device": {"kind": "cuda", "name": "x"}, "flags": found}
    assert list(VALIDATOR.iter_errors(described)) == []


def test_flags_of_a_cpu_say_nothing_of_a_gpu():
    assert not any(
        name.startswith(("cuda", "cudnn", "sdp"))
        for name in environment.flags(recorded_torch(), "cpu")
    )


@pytest.mark.gpu
def test_the_gpu_of_this_machine_is_described_as_the_schema_asks():
    described = environment.describe("cuda")
    assert [error.message for error in VALIDATOR.iter_errors(described)] == []
    assert {"key", "sms", "memory", "caches"} <= set(described["device"])
    assert "cuda" in described["software"]
