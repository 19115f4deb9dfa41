"""Puts the theme, the schema and the protocols inside the `writeup` package of a wheel.

In a checkout they lie beside it (`writeup/resources.py` knows both places), and an editable
install must not carry copies: they would go stale, and a folder `writeup` that holds nothing
else would hide the package from the import that the editable install arranges.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# What the harness writes by and the generator reads by.
_SHARED = ("result.schema.json", "protocols.json")


class Assets(BuildHookInterface):  # type: ignore[type-arg]
    """Hatchling's custom hook; it does nothing to an editable install."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        # From outside the tree: a file of the tree is taken from its place, not copied, and
        # the harness needs its own where they are.
        self._scratch = tempfile.TemporaryDirectory()
        build_data["force_include"]["templates"] = "writeup/templates"
        for name in _SHARED:
            copied = Path(self._scratch.name) / name
            shutil.copyfile(Path(self.root) / "harness" / name, copied)
            build_data["force_include"][str(copied)] = f"writeup/{name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            self._scratch.cleanup()
