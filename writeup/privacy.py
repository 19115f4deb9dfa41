"""What a record must not say of the person, the machine or the network it was made on.

Results are published, so every text of an artifact is looked at, field by field: a version
may look like an address and code may look like an e-mail, so what a text is suspected of
depends on where it stands. A finding names the field and the suspicion and does not repeat
the text, as build logs are public too.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import lru_cache

from writeup.errors import Problem
from writeup.result import Artifact
from writeup.strict import Json, Place, pointer

RULE = "private-data"
HINT = "results are public: keep it out where it is recorded, and measure again"


class Kind(Enum):
    """What a field is for, as far as suspicion goes."""

    PROSE = "prose"
    VERSION = "version"
    CODE = "code"
    PERSONAL = "personal"


_VERSION_KEYS = {"version", "installed", "tool", "compiler", "libc", "os", "target", "driver"}
_VERSION_MAPS = {"software", "distributions"}
_CODE_KEYS = {"expression", "before", "after", "function"}
_PERSONAL_KEYS = {"host", "hostname", "nodename", "user", "username", "login", "home", "cwd"}
_SERIAL_KEYS = re.compile(r"(?:^|[_.-])(?:serial|uuid|mac)(?:$|[_.-])", re.IGNORECASE)


def private_data(artifact: Artifact) -> tuple[Problem, ...]:
    """Every text of the artifact, keys included, that looks private; sorted, one a suspicion."""
    problems = {
        Problem(artifact.path, 0, 0, RULE, f"{pointer(*place)}: looks like {what}", HINT)
        for place, text, kind in _texts(artifact.raw)
        for what in suspicions(text, kind)
    }
    return tuple(sorted(problems))


def _texts(document: Mapping[str, Json]) -> Iterator[tuple[Place, str, Kind]]:
    """Every text with its place and kind. Lists of samples are passed over as a whole."""
    waiting: list[tuple[Place, Json]] = [((), document)]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, str):
            yield place, value, _kind(place)
        elif isinstance(value, dict):
            for key, item in value.items():
                yield (*place, key), key, Kind.PROSE
                waiting.append(((*place, key), item))
        elif isinstance(value, list) and not set(map(type, value)) <= {int, float}:
            waiting.extend(((*place, index), item) for index, item in enumerate(value))


def _kind(place: Place) -> Kind:
    names = [key for key in place if isinstance(key, str)]
    last, parent = names[-1], names[-2] if len(names) > 1 else ""
    if last.lower() in _PERSONAL_KEYS or _SERIAL_KEYS.search(last):
        return Kind.PERSONAL
    if last in _VERSION_KEYS or parent in _VERSION_MAPS or "version" in last.lower():
        return Kind.VERSION
    return Kind.CODE if last in _CODE_KEYS else Kind.PROSE


# Records repeat themselves: units, ids and modes stand in every one of them.
@lru_cache(maxsize=1 << 16)
def suspicions(text: str, kind: Kind = Kind.PROSE) -> tuple[str, ...]:
    """What a text looks like that should not be published; nothing for most."""
    if kind is Kind.PERSONAL:
        return ("the name of a machine or person, or a serial number",) if text else ()
    plain = _LINK.sub(" ", text)
    found = [
        ("an absolute path", _is_path(plain)),
        ("an e-mail address", _is_email(text, kind)),
        ("a user at a host", kind is not Kind.CODE and _is_account(text)),
        ("the name of a machine", _HOST.search(text) is not None),
        ("a network address", _is_ipv4(text, kind) or _is_ipv6(plain, kind)),
        ("a hardware address", _MAC.search(text) is not None),
        ("a serial number", _SERIAL.search(text) is not None),
    ]
    return tuple(what for what, is_so in found if is_so)


_LINK = re.compile(r"\bhttps?://[^\s\"'<>]+", re.IGNORECASE)

# Folders that hold people's files, even when named alone; and any path of two steps or more.
_ROOTS = "home|root|Users|tmp|var|usr|opt|mnt|srv|etc|proc|private|scratch|lustre|workspace"
_PATH = re.compile(
    rf"(?<![\w.)\]/~-])/+(?:{_ROOTS})(?![\w.-])"
    r"|(?<![\w.)\]/:~-])/[\w.+@-]+/[\w.+@-]"
    r"|^/[\w.+-]+/?$"
    r"|\bfile:/"
    r"|(?<![\w/.)\]])~[\w-]*/"
    r"|(?<![A-Za-z0-9])[A-Za-z]:(?:\\|/(?:Users|Windows|Program)\b)"
    r"|(?<!\S)\\\\[\w.-]+\\",
)
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]*\w@(?:[\w-]+\.)+([A-Za-z]{2,})(?![\w-])")
_COMMON_ENDS = {"com", "org", "net", "edu", "gov", "io", "dev", "ai", "de", "uk", "fr", "cn"}
_ACCOUNT = re.compile(r"(?<![\w.+-])[A-Za-z_][\w.-]*@[A-Za-z][\w-]*(?:\.[\w-]+)*(?![\w(@])")
_HOST = re.compile(
    r"(?<![\w.-])(?:ip(?:-\d{1,3}){4}(?!\w)"
    r"|[A-Za-z0-9][\w-]*(?:\.[\w-]+)*\.(?:local|localdomain|internal|intranet|lan|corp)(?![\w(-]|\.\w))"
)
_IPV4 = re.compile(r"(?<![\w.-])(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})(?![\w-]|\.\d)")
_IPV6 = re.compile(r"(?<![\w:.])[0-9A-Fa-f:]*:[0-9A-Fa-f:]*:[0-9A-Fa-f:]*(?![\w:])")
_ROUTED = re.compile(r"(?:fe[89ab]|f[cd][0-9a-f]|[23][0-9a-f]{2})[0-9a-f]:", re.IGNORECASE)
_MAC = re.compile(
    r"(?<![\w:-])[0-9A-Fa-f]{2}(?:([:-])[0-9A-Fa-f]{2})(?:\1[0-9A-Fa-f]{2}){4}(?![\w:-])"
)
_SERIAL = re.compile(
    r"(?<![\w-])(?:(?:GPU|MIG)-)?[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}(?![\w-])"
    r"|\b(?:GPU|MIG)-[0-9a-f]{8}\b"
    r"|\bserial(?:\s+(?:number|no\.?))?\s*[:=#]\s*\w*\d"
    r"|\bS/N\s*[:=#]?\s*\w*\d",
    re.IGNORECASE,
)


def _is_path(text: str) -> bool:
    return _PATH.search(text) is not None


def _is_email(text: str, kind: Kind) -> bool:
    """In code, `q@k.mT` is a product: only ends that no attribute has count there."""
    ends = (found[1].lower() for found in _EMAIL.finditer(text))
    return any(kind is not Kind.CODE or end in _COMMON_ENDS for end in ends)


def _is_account(text: str) -> bool:
    return any(not _EMAIL.fullmatch(found[0]) for found in _ACCOUNT.finditer(text))


def _is_ipv4(text: str, kind: Kind) -> bool:
    if kind is Kind.VERSION:
        return False
    return any(all(int(part) < 256 for part in found.groups()) for found in _IPV4.finditer(text))


def _is_ipv6(text: str, kind: Kind) -> bool:
    """Whether an IPv6 address stands there.

    A slice, `x[1::2]`, would be a valid one: short ones count only outside of code, and only
    in ranges that are in use.
    """
    if kind is Kind.VERSION:
        return False
    for found in _IPV6.finditer(text):
        groups = [group for group in found[0].split(":") if group]
        long = len(groups) > 3
        if (long or (kind is not Kind.CODE and _ROUTED.match(found[0]))) and _parses(found[0]):
            return True
    return False


def _parses(address: str) -> bool:
    try:
        ipaddress.IPv6Address(address)
    except ValueError:
        return False
    return True
