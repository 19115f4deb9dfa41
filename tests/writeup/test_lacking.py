"""Records that lack a field: a site or problems in words, and never a traceback."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.cases import worlds
from writeup import build
from writeup.errors import WriteupError

FULL = worlds.contents(worlds.CASES / "full")
[ARTIFACT] = [path for path in FULL if path.startswith("results/") and path.endswith(".json")]
DOCUMENT = json.loads(FULL[ARTIFACT])
# Whose keys are ids: one of each stands for all.
MAPS = {"runs", "cases", "variants", "samples", "blocks", "processes", "ceilings", "probes"}
MAPS |= {"timings", "files", "rounds", "experiments", "mistakes", "floor", "calibration"}


def fields(value, path=()) -> Iterator[tuple]:
    """A path to each kind of field."""
    if isinstance(value, list):
        yield from fields(value[0], (*path, 0)) if value else ()
    if isinstance(value, dict):
        for key in value:
            yield (*path, key)
            yield from fields(value[key], (*path, key))


def kind(path) -> tuple:
    return tuple("*" if at and path[at - 1] in MAPS else key for at, key in enumerate(path))


KINDS = {kind(path): path for path in fields(DOCUMENT)}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return worlds.lay(tmp_path_factory.mktemp("world"), FULL)


def test_the_record_is_whole_and_has_fields_of_every_part(root):
    assert not build.build(build.configuration(root)).problems
    assert len(KINDS) > 250


@pytest.mark.parametrize("path", KINDS.values(), ids=["/".join(map(str, k)) for k in KINDS])
def test_a_record_without_a_field_ends_in_a_site_or_in_words(root, path):
    """In relaxed mode, which goes on where a strict build stops with its problems."""
    document = copy.deepcopy(DOCUMENT)
    *above, last = path
    holder = document
    for key in above:
        holder = holder[key]
    del holder[last]
    (root / ARTIFACT).write_text(json.dumps(document))
    # Whatever else is raised fails the test with its traceback.
    with suppress(WriteupError):
        build.build(build.configuration(root, relaxed=True))
