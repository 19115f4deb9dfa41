"""Puts the theme and the schema inside the `writeup` package of a wheel.

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


class Assets(BuildHookInterface):  # type: ignore[type-arg]
    """Hatchling's custom hook; it does nothing to an editable install."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        # From outside the tree: a file of the tree is taken from its place, not copied, and
        # the harness needs the schema where it is.
        self._scratch = tempfile.TemporaryDirectory()
        schema = Path(self._scratch.name) / "result.schema.json"
        shutil.copyfile(Path(self.root) / "harness" / schema.name, schema)
        build_data["force_include"] |= {
            "templates": "writeup/templates",
            str(schema): f"writeup/{schema.name}",
        }

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            self._scratch.cleanup()
