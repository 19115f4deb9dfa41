"""What a record must not say, and what only looks like it."""

import json

import pytest

from tests.worlds import COMMIT, RUN, minimal_artifact
from writeup import privacy, result
from writeup.privacy import Kind


def problems_of(document):
    return privacy.private_data(result.parse(json.dumps(document).encode(), f"{COMMIT}.json"))


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
def test_an_ordinary_record_is_not_private(kind):
    document, _ = minimal_artifact(kind=kind)
    assert problems_of(document) == ()


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("/home/ada/kernels", "an absolute path"),
        ("found in /root of the image", "an absolute path"),
        ("/tmp/torchinductor_ada/x.so", "an absolute path"),  # noqa: S108 — only looked at
        ("error at /opt/conda/lib/libc.so:3", "an absolute path"),
        ("PATH=bin:/home/ada", "an absolute path"),
        ("--out=/scratch", "an absolute path"),
        ("/somewhere", "an absolute path"),
        ("(/nas7/user3/x)", "an absolute path"),
        ("file:///etc/passwd", "an absolute path"),
        ("~/kernels", "an absolute path"),
        ("~ada/kernels", "an absolute path"),
        (r"C:\Users\ada", "an absolute path"),
        ("D:/Users/ada", "an absolute path"),
        (r"\\server\share", "an absolute path"),
        ("ada@example.org", "an e-mail address"),
        ("<ada.l+k@mail.example.co.uk>", "an e-mail address"),
        ("ada@gpu01", "a user at a host"),
        ("scp x ada@login.cluster: y", "an e-mail address"),
        ("node17.local", "the name of a machine"),
        ("ip-10-0-3-17", "the name of a machine"),
        ("db.eu.internal", "the name of a machine"),
        ("10.0.3.17", "a network address"),
        ("tcp://192.168.1.2:8786", "a network address"),
        ("fe80::1ff:fe23:4567:890a", "a network address"),
        ("2001:db8::1", "a network address"),
        ("1:2:3:4:5:6:7:8", "a network address"),
        ("00:1b:44:11:3a:b7", "a hardware address"),
        ("00-1B-44-11-3A-B7", "a hardware address"),
        ("GPU-6f2d8a31-1c2b-4d5e-8f90-0123456789ab", "a serial number"),
        ("6F2D8A31-1C2B-4D5E-8F90-0123456789AB", "a serial number"),
        ("MIG-6f2d8a31", "a serial number"),
        ("serial number: 1654921003417", "a serial number"),
        ("S/N 0324218", "a serial number"),
    ],
)
def test_what_looks_private_is_suspected(text, what):
    assert what in privacy.suspicions(text)


@pytest.mark.parametrize(
    "text",
    [
        "kernels/softmax/eager.py",
        "--out=results/x.json",
        "read/write, and/or, flop/s, 1/2/3",
        "https://docs.python.org/3.11/library/time.html#time.perf_counter_ns",
        "at 18:12:10 UTC",
        "2026-11-30T18:12:03Z",
        "std::vector and c10::cuda::device",
        "torch.softmax(x, dim=-1)",
        "x[::2] + x[1::2]",
        "a ratio of 1:2",
        "~ 3 times",
        "a/b/c",
        "580.159.04",
        "0f1e2d3c4b5a6978",
        "H200 (141 GB), 1.5.2",
        "999.1.1.1",
        "a @ b",
        "@triton.jit",
        "",
    ],
)
def test_what_is_ordinary_is_not_suspected(text):
    assert privacy.suspicions(text) == ()


@pytest.mark.parametrize(
    ("text", "kind", "suspected"),
    [
        ("9.15.0.48", Kind.VERSION, False),
        ("9.15.0.48", Kind.PROSE, True),
        ("ada@example.org", Kind.VERSION, True),
        ("/usr/bin/g++ 12.2.0", Kind.VERSION, True),
        ("softmax(q@k.mT)@v", Kind.CODE, False),
        ("q@k", Kind.CODE, False),
        ("q@k", Kind.PROSE, True),
        ("# by ada@example.org", Kind.CODE, True),
        ("open('/home/ada/x')", Kind.CODE, True),
        ("x[2048::2]", Kind.CODE, False),
        ("anything", Kind.PERSONAL, True),
        ("", Kind.PERSONAL, False),
    ],
)
def test_suspicion_depends_on_the_field(text, kind, suspected):
    assert bool(privacy.suspicions(text, kind)) is suspected


def edited(*path_and_value):
    *path, last, value = path_and_value
    document, _ = minimal_artifact(cases=("small",), blocks=1, samples=1)
    target = document["runs"][RUN]
    for key in path:
        target = target.setdefault(key, {})
    target[last] = value
    return document


@pytest.mark.parametrize(
    ("path", "value", "what"),
    [
        (("environment", "device", "name"), "gpu 10.1.2.3", "a network address"),
        (("environment", "variables", "TRITON_CACHE_DIR"), "/home/ada", "an absolute path"),
        (("environment", "flags", "hostname"), "orion", "the name of a machine or person"),
        (("environment", "flags", "gpu_uuid"), "x1", "a serial number"),
        (("environment", "host", "cpu"), "ada@orion", "a user at a host"),
        (("cases", "softmax.small", "what"), "as mailed to ada@example.org", "an e-mail address"),
    ],
)
def test_a_suspicion_names_the_field_and_never_repeats_the_text(path, value, what):
    (problem,) = problems_of(edited(*path, value))
    assert problem.rule == "private-data"
    assert problem.path == f"{COMMIT}.json"
    assert problem.message.startswith(f"/runs/{RUN}/" + "/".join(path) + ": looks like ")
    assert what in problem.message
    assert value not in problem.message
    assert problem.hint


@pytest.mark.parametrize(
    "path",
    [
        ("environment", "software", "cudnn"),
        ("sources", "distributions", "nvidia-cudnn"),
        ("timer", "version"),
        ("environment", "host", "os"),
        ("environment", "flags", "nccl_version"),
    ],
)
def test_versions_may_look_like_addresses(path):
    assert problems_of(edited(*path, "9.15.0.48")) == ()


def test_a_private_key_is_found_too():
    document = edited("environment", "flags", "orion.local", True)
    (problem,) = problems_of(document)
    assert "the name of a machine" in problem.message


def test_several_suspicions_of_one_text_are_all_told():
    document = edited("environment", "device", "name", "ada@example.org at 10.1.2.3")
    assert len(problems_of(document)) == 2
