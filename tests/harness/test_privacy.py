from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import privacy
from harness.privacy import Identity, scrub

ROOT = Path("/srv/code/project")
WHO = Identity(
    names=("alice",),
    hosts=("gpu-node-07", "gpu-node-07.example.org"),
    folders=("/home/alice b",),
    serials=("0123456789abcdef0123456789abcdef",),
)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        # Inside the project: relative.
        ('File "/srv/code/project/kernels/a.py", line 3', 'File "kernels/a.py", line 3'),
        ("in /srv/code/project", "in ."),
        ("--out=/srv/code/project/results", "--out=results"),
        ("/srv/code/project-old/x.py", "<path>/x.py"),
        # Inside a package: relative to it.
        ("/opt/venv/lib/python3.11/site-packages/torch/_inductor/x.py:7", "torch/_inductor/x.py:7"),
        ("/opt/site-packages/x,/home/bob/y", "<path>"),
        # Elsewhere: the name of a source file at most.
        ("/home/bob/secret/kernel.cu(12): error", "<path>/kernel.cu(12): error"),
        ("/home/bob", "<path>"),
        ("/home/j.doe is missing.", "<path> is missing."),
        ("see /home/bob/notes.", "see <path>."),
        ("~/x/y.py and ~bob/z", "<path>/y.py and <path>"),
        ("g++ -I/usr/include -L/opt/lib -o /tmp/ab12/x.so", "g++ -I<path> -L<path> -o <path>/x.so"),
        ("file:///home/bob/k.py", "<path>/k.py"),
        ("'/home/alice b/my data/k.py'", "'<path> data/k.py'"),
        ("PATH=/usr/bin:/home/bob/bin", "PATH=<path>:<path>"),
        # Names.
        ("user alice on gpu-node-07", "user <user> on <host>"),
        ("ssh alice@gpu-node-07.example.org", "ssh <e-mail>"),
        ("ssh alice@gpu-node-07:", "ssh <user>@<host>:"),
        ("malice and alice2", "malice and alice2"),
        ("by bob.b+x@mail.example.org", "by <e-mail>"),
        # Addresses.
        ("connect to 10.1.2.3:8080", "connect to <address>:8080"),
        ("host=192.168.0.17", "host=<address>"),
        ("from 10.0.0.1-10.0.0.9", "from <address>-<address>"),
        ("inet6 fe80::1ff:fe23:4567:890a", "inet6 <address>"),
        ("2001:db8:0:0:0:0:2:1 is up", "<address> is up"),
        ("ether 02:42:ac:11:00:02", "ether <address>"),
        # Serials.
        ("GPU-8f6d3a10-1b2c-4d5e-8f90-0123456789ab", "<serial>"),
        ("Serial Number: 1652921012345", "Serial Number: <serial>"),
        ("machine 0123456789abcdef0123456789abcdef", "machine <serial>"),
        # Characters that a record may not hold.
        ("\x1b[31merror\x1b[0m\r\nnext\x00\ue000", "error\nnext"),
        ("https://bob:pass@host.example.org/x", "https://host.example.org/x"),
    ],
)
def test_private_data_is_replaced(text, kept):
    assert scrub(text, ROOT, WHO) == kept


@pytest.mark.parametrize(
    "text",
    [
        "cuDNN 9.1.0.70",
        "CUDA Version: 12.8.0.1",
        "nvidia-cublas-cu12-12.8.4.1",
        "nvidia-cublas==12.8.4.1",
        "driver 580.159.04.1",
        "libcudnn.so.9.1.0.70",
        "v1.2.3.4 and version 1.2.3.4",
        "1.2.3.4.5",
        "999.1.2.3",
        "torch 2.13.0",
        "3.1 TFLOP/s, 12 GB/s and/or 1/2",
        "x / y, (a)/b, a[0]/n, ./run.sh, ../up.py",
        "at::native::softmax and std::vector<c10::BFloat16>",
        "started 18:12:03 on 2026-11-30T18:12:03Z, x.py:12:5",
        "https://github.com/pytorch/pytorch/issues/1",
        "q @ k.T, a@b",
        "0x7f00dead and deadbeefdeadbeef",
        "serial execution of 10000 launches",
        "out of resource: shared memory, Required: 262144, Hardware limit: 232448",
        "tabs\tand\nlines",
        "",
    ],
)
def test_what_is_not_private_stays(text):
    assert scrub(text, ROOT, WHO) == text


_fragments = st.sampled_from(
    "/home/bob/x.py alice gpu-node-07 10.0.0.1 1.2.3.4 v1.2.3.4 fe80::1 a@b.org / : @ - = < > ~/x "
    "-I/usr/lib https://a.b/c GPU- serial:12345 /srv/code/project/ site-packages/ \x1b[0m".split(
        " "
    )
)


@settings(max_examples=300, deadline=None)
@given(st.lists(_fragments | st.text(max_size=4), max_size=8), st.sampled_from(["", " ", "/"]))
def test_a_scrubbed_text_can_be_recorded_and_is_not_scrubbed_further(parts, joint):
    once = scrub(joint.join(parts), ROOT, WHO)
    assert not privacy._CONTROL.search(once)
    assert "alice" not in once.replace("malice", "").split()
    assert "/home/bob" not in once.split()
    assert scrub(once, ROOT, WHO) == once


def test_names_that_tell_nothing_are_left_alone():
    assert privacy._telling(["root", "localhost", "vm", "Ubuntu", "", None, "alice"]) == ("alice",)


def test_the_identity_of_this_machine_is_found_without_a_network():
    known = privacy.identity()
    assert known.folders
    for name in (*known.names, *known.hosts):
        assert scrub(f"x {name} y", ROOT, known) in ("x <user> y", "x <host> y")


def test_a_user_without_an_entry_has_no_name(monkeypatch):
    def unknown():
        raise KeyError("getpwuid(): uid not found: 4711")

    monkeypatch.setattr("getpass.getuser", unknown)
    assert privacy._user_names() == ()


@pytest.mark.parametrize("text", ["", "uninitialized\n", "0" * 31])
def test_a_machine_id_that_is_none_is_absent(tmp_path, monkeypatch, text):
    (tmp_path / "id").write_text(text)
    real = Path.read_text
    monkeypatch.setattr(Path, "read_text", lambda _self, **given: real(tmp_path / "id", **given))
    assert privacy.machine_id() is None
