"""The first verb: read the project's stories and results, and collect what is wrong with them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from stat import S_ISREG
from types import MappingProxyType
from urllib.parse import unquote

from writeup import resources, result, staleness
from writeup.config import Config
from writeup.document import Story, parse_story
from writeup.errors import Problem, Problems
from writeup.result import Artifact
from writeup.sources import Sources
from writeup.staleness import Today

STORY = "story.md"
OBJECTS = "objects"
# Pixels only: a drawing could hold text that no gate has read, and scripts.
PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".avif")


class _Reader:
    """Reads files below the root, and remembers what it read."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.inputs: dict[str, str] = {}
        self.problems: list[Problem] = []

    def read(self, path: Path, rule: str) -> bytes | None:
        name = self.name(path)
        if not path.resolve().is_relative_to(self.root):
            hint = "copy it into the project; links that lead out of it are not followed"
            message = "the file lies outside the project"
            self.problems.append(Problem(name, 0, 0, rule, message, hint))
            return None
        if not path.is_file():
            hint = "a story and a record are files: move away what has their name"
            self.problems.append(Problem(name, 0, 0, rule, "this is no regular file", hint))
            return None
        try:
            content = path.read_bytes()
        except OSError as error:
            message = f"cannot be read: {error.strerror or 'unreadable'}"
            hint = "look at its permissions"
            self.problems.append(Problem(name, 0, 0, rule, message, hint))
            return None
        self.inputs[name] = hashlib.sha256(content).hexdigest()
        return content

    def name(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()


def load(config: Config) -> Sources:
    """Everything that the site is made of. Raises nothing: problems are in the answer."""
    reader = _Reader(config.root)
    objects, faulty = _objects(reader, config.root / config.results / OBJECTS)
    artifacts, contents = _artifacts(reader, config.root / config.results, objects, faulty)
    stories = _stories(reader, config)
    images = _images(reader, stories)
    today = _today(reader, config, artifacts)
    problems = [*reader.problems, *(p for s in stories.values() for p in s.problems)]
    if config.source:
        reader.read(config.root / config.source, "bad-config")
    problems += _missing(config, stories, artifacts, problems)
    return Sources(
        config=config,
        stories=MappingProxyType(stories),
        artifacts=MappingProxyType(artifacts),
        contents=MappingProxyType(contents),
        objects=MappingProxyType(objects),
        images=MappingProxyType(images),
        today=today,
        inputs=MappingProxyType(dict(sorted(reader.inputs.items()))),
        problems=tuple(sorted(set(problems))),
    )


def _stories(reader: _Reader, config: Config) -> dict[str, Story]:
    stories: dict[str, Story] = {}
    for folder in config.kernels:
        for path in sorted((config.root / folder).glob(f"*/{STORY}")):
            content = reader.read(path, "bad-story")
            if content is None:
                continue
            subject, name = path.parent.name, reader.name(path)
            if subject in stories:
                message = f"'{subject}' is told by {stories[subject].path} already"
                hint = "a subject has one story: give one of the folders another name"
                reader.problems.append(Problem(name, 0, 0, "bad-story", message, hint))
                continue
            text = _text(reader, name, content)
            if text is not None:
                stories[subject] = parse_story(text, name)
    return stories


def _images(reader: _Reader, stories: Mapping[str, Story]) -> dict[str, bytes]:
    """The pictures beside stories, by where they go on the site.

    What is missing, or no picture, is left out: the link to it will be found broken.
    """
    found: dict[str, bytes] = {}
    for subject, story in stories.items():
        folder = (reader.root / story.path).parent
        for link in story.links:
            name = unquote(link.destination)
            path = folder / name
            pictured = link.kind == "image" and path.suffix.lower() in PICTURES
            if pictured and ".." not in path.parts and path.is_file():
                content = reader.read(path, "bad-story")
                if content is not None:
                    found[f"stories/{subject}/{name}"] = content
    return found


def _text(reader: _Reader, name: str, content: bytes) -> str | None:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        reader.problems.append(
            Problem(name, line, 0, "bad-story", "not UTF-8", "save it in that encoding")
        )
        return None


def _artifacts(
    reader: _Reader, folder: Path, objects: Mapping[str, bytes], faulty: set[str]
) -> tuple[dict[str, Artifact], dict[str, bytes]]:
    """Artifacts by commit, and their files as they lie there."""
    artifacts: dict[str, Artifact] = {}
    contents: dict[str, bytes] = {}
    for path in sorted(folder.glob("*.json")):
        content = reader.read(path, "bad-artifact")
        if content is None:
            continue
        try:
            artifact = result.parse(content, reader.name(path))
        except Problems as error:
            reader.problems += error.problems
            continue
        reader.problems += result.check_objects(artifact, objects.get, told=faulty)
        artifacts[artifact.commit] = artifact
        contents[artifact.commit] = content
    return artifacts, contents


def _objects(reader: _Reader, folder: Path) -> tuple[dict[str, bytes], set[str]]:
    """Measured sources by the names of their files, and the names that are not their ids."""
    found: dict[str, bytes] = {}
    faulty: set[str] = set()
    for path in sorted(folder.glob("*")) if folder.is_dir() else ():
        content = reader.read(path, "bad-artifact")
        if content is None:
            continue
        # A checkout may have turned line ends around: what was measured is what the id says.
        unturned = content.replace(b"\r\n", b"\n")
        if result.blob_id(unturned) == path.name:
            content = unturned
        found[path.name] = content
        if result.blob_id(content) != path.name:
            faulty.add(path.name)
            message = "the file's name is not the git blob id of its content"
            hint = "take the file from the history again; measured sources are never edited"
            reader.problems.append(Problem(reader.name(path), 0, 0, "bad-artifact", message, hint))
    return found, faulty


def _today(reader: _Reader, config: Config, artifacts: Mapping[str, Artifact]) -> Today:
    """The kernel files that runs loaded as they lie here now, and today's ways of measuring."""
    runs = [run for artifact in artifacts.values() for run in artifact.runs.values()]
    loaded = {path for run in runs for path in run.files}
    files: dict[str, frozenset[str]] = {}
    for path in staleness.kernel_files(loaded, config.kernels):
        here = reader.root / path
        if not _is_within(here, reader.root):
            files[path] = staleness.GONE
            continue
        content = reader.read(here, "bad-story")
        if content is not None:
            files[path] = staleness.ids(content)
    numbered = staleness.protocols(resources.protocols().read_bytes())
    return Today(MappingProxyType(files), MappingProxyType(numbered))


def _is_within(path: Path, root: Path) -> bool:
    """Whether a path that a record names is a file of the project today.

    It may be any: one that no file can have (too long) is not there either.
    """
    try:
        return S_ISREG(path.stat().st_mode) and path.resolve().is_relative_to(root)
    except OSError:
        return False


def _missing(
    config: Config,
    stories: Mapping[str, Story],
    artifacts: Mapping[str, Artifact],
    problems: Iterable[Problem],
) -> list[Problem]:
    """A site of nothing is a mistake in a path far more often than a wish."""
    if any(True for _ in problems):
        return []
    place = config.source or "writeup.toml"
    if not stories and not artifacts:
        folders = ", ".join(config.kernels)
        message = f"no story in {folders} and no result in {config.results}"
        hint = "begin with `writeup new SUBJECT`, or correct the folders in the configuration"
        return [Problem(place, 0, 0, "bad-config", message, hint)]
    return [
        Problem(
            story.path,
            0,
            0,
            "bad-story",
            f"nothing is measured: {config.results} is empty",
            'measure it, or say status = "blank" in the front matter',
        )
        for story in stories.values()
        if not artifacts and story.front.status != "blank"
    ]
