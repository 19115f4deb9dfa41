"""All that a build reads, in one place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from writeup.config import Config
from writeup.document import Story
from writeup.errors import Problem
from writeup.result import Artifact


@dataclass(frozen=True, slots=True)
class Sources:
    """All that a build reads. Paths are relative to the project's root.

    stories are by subject, artifacts by commit, objects (sources as they were measured)
    by blob id; inputs holds the SHA-256 of every file read.
    """

    config: Config
    stories: Mapping[str, Story]
    artifacts: Mapping[str, Artifact]
    objects: Mapping[str, bytes]
    inputs: Mapping[str, str]
    problems: tuple[Problem, ...]
