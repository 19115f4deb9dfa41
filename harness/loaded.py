"""Which files of the project this process has loaded."""

from __future__ import annotations

import sys
from pathlib import Path

# Installed packages may live inside the project; they are recorded as distributions.
_INSTALLED = frozenset({"site-packages", "dist-packages"})


def project_files(root: Path) -> list[str]:
    """Source files of imported modules under `root`, relative to it, sorted."""
    found = set()
    for module in list(sys.modules.values()):
        name = getattr(module, "__file__", None)
        # torch.classes calls itself a relative file that is nowhere.
        if not name or not Path(name).is_absolute():
            continue
        path = Path(name).resolve()
        if path.suffix == ".py" and path.is_relative_to(root):
            relative = path.relative_to(root)
            if not _INSTALLED & set(relative.parts):
                found.add(relative.as_posix())
    return sorted(found)
