"""Where the files that travel with the program lie: theme, scaffold, schema and protocols.

In a wheel they stand inside this package; in a checkout (and so in an editable install)
beside it. Nothing is ever looked for in the project that is being built.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def templates() -> Path:
    """The folder of the theme; its subfolder `scaffold` holds what `writeup new` writes."""
    return _either(_PACKAGE / "templates", _PACKAGE.parent / "templates")


def schema() -> Path:
    """The JSON schema of an artifact."""
    return _either(
        _PACKAGE / "result.schema.json", _PACKAGE.parent / "harness" / "result.schema.json"
    )


def protocols() -> Path:
    """The numbered ways of measuring, by kind of device."""
    return _either(_PACKAGE / "protocols.json", _PACKAGE.parent / "harness" / "protocols.json")


def _either(packed: Path, checkout: Path) -> Path:
    return packed if packed.exists() else checkout
