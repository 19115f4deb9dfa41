"""All that a build reads, in one place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from writeup.config import Config
from writeup.document import Story
from writeup.errors import Problem
from writeup.result import Artifact
from writeup.staleness import Today


@dataclass(frozen=True, slots=True)
class Sources:
    """All that a build reads. Paths are relative to the project's root.

    stories are by subject, artifacts by commit with their files in contents, objects (sources
    as they were measured) by blob id. images are those that stories show, by their place on
    the site. today is what runs are held against to be told stale. inputs holds the SHA-256
    of every file read.
    """

    config: Config
    stories: Mapping[str, Story]
    artifacts: Mapping[str, Artifact]
    contents: Mapping[str, bytes]
    objects: Mapping[str, bytes]
    images: Mapping[str, bytes]
    today: Today
    inputs: Mapping[str, str]
    problems: tuple[Problem, ...]
