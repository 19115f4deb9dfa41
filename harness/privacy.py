"""Text that may be recorded: without paths, names and numbers that lead to a person or machine.

A log of a compiler or a traceback is evidence, but it names home folders, hosts and users.
`scrub` keeps what explains a failure (file names, paths inside the project or a package,
versions) and puts a placeholder where private data was. Where a number could be a version
or an address, what stands before it decides.
"""

from __future__ import annotations

import getpass
import ipaddress
import os
import platform
import re
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

# Names that tell nothing about who or where, and that are words of their own.
_COMMON = frozenset(
    "admin build builder centos container debian docker ec2-user gpu host jenkins linux "
    "localhost localdomain node nobody root runner server test ubuntu user vagrant worker".split()
)
_SHORTEST_NAME = 3
_PASSES = 4


@dataclass(frozen=True, slots=True)
class Identity:
    """What this machine and its user are called, and where their folders are."""

    names: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    serials: tuple[str, ...] = ()


@cache
def identity() -> Identity:
    """The identity of this process's machine and user, as far as it can be asked offline."""
    host = platform.node()
    hosts = {host, host.partition(".")[0], os.environ.get("HOSTNAME", "")}
    return Identity(
        names=_telling({*_user_names(), *map(os.environ.get, ("USER", "LOGNAME", "SUDO_USER"))}),
        hosts=_telling(hosts),
        folders=(str(Path.home()), tempfile.gettempdir()),
        serials=_telling({machine_id() or ""}),
    )


def machine_id() -> str | None:
    """The operating system's identity of this installation; absent where there is none.

    Source: machine-id(5). It is secret: only a salted hash of it may be recorded.
    """
    try:
        text = Path("/etc/machine-id").read_text(encoding="ascii").strip()
    except (OSError, UnicodeError):
        return None
    return text if re.fullmatch(r"[0-9a-f]{32}", text) else None


def scrub(text: str, root: Path, who: Identity | None = None) -> str:
    """The text without private data, control characters and private-use marks.

    Paths inside root become relative to it, paths inside an installed package relative to
    that; other absolute paths keep at most the name of a source file. User and host names,
    e-mail and network addresses, UUIDs and serial numbers become `<user>`, `<host>`,
    `<e-mail>`, `<address>` and `<serial>`. Web links and versions stay. Scrubbing twice
    changes nothing more. who is this machine's identity unless given.
    """
    known = who or identity()
    # A replacement can lay bare what was part of a longer word before.
    for _ in range(_PASSES):
        once = _scrub_once(text, root, known)
        if once == text:
            break
        text = once
    return text


def _scrub_once(text: str, root: Path, known: Identity) -> str:
    text = _CONTROL.sub("", _ANSI.sub("", text.replace("\r\n", "\n")))
    for top in dict.fromkeys((str(root.resolve()), str(root.absolute()))):
        if top != os.sep:
            inside = re.compile(rf"{_START}{re.escape(top)}(?:/|(?![\w.-]))", re.MULTILINE)
            text = inside.sub(_relative, text)
    for folder in known.folders:  # whose names may hold spaces, which end any other path
        if folder != os.sep:
            text = text.replace(f"{folder}/", "/elsewhere/")
    text = _PATH.sub(_shorten, text)
    text = _UUID.sub("<serial>", text)
    text = _SERIAL.sub(r"\1<serial>", text)
    text = _words(text, known.serials, "<serial>")
    text = _EMAIL.sub("<e-mail>", text)
    text = _words(text, known.hosts, "<host>")
    text = _words(text, known.names, "<user>")
    text = re.sub(r"<user>@[\w.-]+", "<user>@<host>", text)
    text = _HEXADECIMAL.sub(_address, text)
    return _QUAD.sub(_quad, text)


_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ue000\ue001]")

# Before an absolute path stands nothing that makes it relative or a quotient (`./a`, `a/b`,
# `(a)/b`), but for the letter of an option (`-I/usr/include`).
_START = r"(?:(?<![\w./~)\]}>-])|(?<=\s-[A-Z])|(?<=^-[A-Z]))"
# A link, which stays; a path from a home folder; or an absolute path.
_NAME = r"[\w.+@,%=~-]"
_PATH = re.compile(
    r"(?P<link>https?://[^\s\"']+)"
    rf"|(?:file:/{{1,3}}|(?<![\w/~)\]}}>])~(?:[a-z_][\w-]*)?/)(?P<home>{_NAME}*(?:/{_NAME}*)*)"
    rf"|{_START}/(?P<path>{_NAME}{_NAME}+(?:/{_NAME}*)*|{_NAME}/{_NAME}+(?:/{_NAME}*)*)",
    re.MULTILINE,
)
_CODE = re.compile(
    r"[\w.+-]+\.(?:py|pyx|c|cc|cpp|cxx|cu|cuh|h|hpp|inl|o|so|ptx|cubin|ttir|ttgir|llir|mlir|json"
    r"|toml|md)(?:\.\d+)*"
)
_PACKAGE = re.compile(r"(?:.*/)?(?:site|dist)-packages/([\w.+-]+(?:/[\w.+-]+)*)/?")

_UUID = re.compile(
    r"\b(?:GPU-|MIG-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.IGNORECASE
)
_SERIAL = re.compile(
    r"(\bserial[ _-]?(?:number|no)\b\.?\s*[:=#]?\s*|\b(?:serial|s/n)\s*[:=#]\s*)"
    r"(?=[\w-]*\d)[\w-]{5,}\b",
    re.IGNORECASE,
)
_EMAIL = re.compile(r"\b[\w.+-]+@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}\b")
_HEXADECIMAL = re.compile(
    r"(?<![\w:.])[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}(?:%\w+)?(?![\w:])", re.IGNORECASE
)
_HARDWARE = re.compile(r"[0-9a-f]{2}(?::[0-9a-f]{2}){5}", re.IGNORECASE)
_QUAD = re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?P<port>:\d+)?(?!\w|\.\d)")
# What announces a version rather than an address.
_VERSION = re.compile(
    r"(?:\b(?:version|ver|release|build|driver|toolkit|runtime|cuda|cudnn|cublas\w*|nccl|cutlass"
    r"|tensorrt|ptxas|nvcc|ncu|nsight|torch|triton|mkl|onednn|openblas|python|g?cc|g\+\+|clang"
    r"|glibc|libc|numpy|linux|kernel)[\s:=(\"']*v?|==|>=|<=|~=|!=|\b[A-Za-z]\w*-)$",
    re.IGNORECASE,
)


def _relative(match: re.Match[str]) -> str:
    return "" if match.group().endswith("/") else "."


def _shorten(match: re.Match[str]) -> str:
    """What may stay of an absolute path; a link stays, without a name to log in with."""
    if match["link"]:
        return re.sub(r"^(https?://)[^/@]*@", r"\1", match["link"])
    path = match["path"] or match["home"]
    package = _PACKAGE.fullmatch(path)
    if package:
        return package[1]
    name = path.rstrip("/").rpartition("/")[2].rstrip(".,")
    tail = path[len(path.rstrip(".,")) :]  # the full stop of a sentence
    return (f"<path>/{name}" if _CODE.fullmatch(name) else "<path>") + tail


def _words(text: str, names: Iterable[str], placeholder: str) -> str:
    for name in sorted(names, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", placeholder, text, flags=re.IGNORECASE)
    return text


def _address(match: re.Match[str]) -> str:
    """A hardware or version-6 address; clock times and C++ names are neither."""
    text = match.group()
    if _HARDWARE.fullmatch(text):
        return "<address>"
    if text.startswith(":") or not any(character.isdigit() for character in text):
        return text
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return text
    return "<address>"


def _quad(match: re.Match[str]) -> str:
    """A version-4 address; a version keeps its four numbers."""
    number, port = match.group().partition(":")[0], match["port"]
    before = match.string[: match.start()]
    if not port and _VERSION.search(before[-40:]):
        return match.group()
    try:
        ipaddress.IPv4Address(number)
    except ValueError:
        return match.group()
    return f"<address>{port or ''}"


def _telling(names: Iterable[str | None]) -> tuple[str, ...]:
    kept = {name for name in names if name and len(name) >= _SHORTEST_NAME}
    return tuple(sorted(name for name in kept if name.lower() not in _COMMON))


def _user_names() -> tuple[str, ...]:
    try:
        return (getpass.getuser(),)
    except (KeyError, OSError):  # no entry for this user id, as in many containers
        return ()
