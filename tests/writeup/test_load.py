import hashlib

import pytest

from tests.cases import worlds
from tests.worlds import COMMIT
from writeup import config, load

ARTIFACT = f"results/{COMMIT}.json"


@pytest.fixture
def folder(tmp_path):
    return worlds.lay(tmp_path / "world", worlds.contents())


def loaded(folder):
    return load.load(config.find(folder))


def problems(folder):
    return [(p.place, p.rule, p.message) for p in loaded(folder).problems]


def test_everything_is_read_and_its_digest_kept(folder):
    sources = loaded(folder)
    assert sources.problems == ()
    assert list(sources.stories) == ["softmax"]
    assert list(sources.artifacts) == [COMMIT]
    assert sources.inputs == {
        path: hashlib.sha256(content).hexdigest() for path, content in worlds.contents().items()
    }


def test_stories_of_several_folders_are_one_collection(folder):
    (folder / "writeup.toml").write_text('kernels = ["kernels", "more"]\n')
    worlds.lay(folder, {"more/gelu/story.md": worlds.contents()[worlds.STORY]})
    assert list(loaded(folder).stories) == ["softmax", "gelu"]


def test_a_subject_is_told_once(folder):
    (folder / "writeup.toml").write_text('kernels = ["kernels", "more"]\n')
    worlds.lay(folder, {"more/softmax/story.md": b"+++\n"})
    assert problems(folder) == [
        ("more/softmax/story.md", "bad-story", f"'softmax' is told by {worlds.STORY} already")
    ]


def test_a_story_that_is_not_utf8_is_told_with_its_line(folder):
    story = folder / worlds.STORY
    story.write_bytes(story.read_bytes() + b"\xff\n")
    lines = worlds.contents()[worlds.STORY].count(b"\n")
    assert problems(folder) == [(f"{worlds.STORY}:{lines + 1}", "bad-story", "not UTF-8")]


def test_problems_of_several_files_come_together(folder):
    (folder / f"results/{'a' * 40}.json").write_text("[")
    (folder / f"results/{'b' * 40}.json").write_text("{}")
    (folder / worlds.STORY).write_text("no front matter\n")
    assert {place.partition(":")[0] for place, _, _ in problems(folder)} == {
        f"results/{'a' * 40}.json",
        f"results/{'b' * 40}.json",
        worlds.STORY,
    }


def test_an_object_is_its_id(folder):
    path = next((folder / "results/objects").iterdir())
    path.write_bytes(path.read_bytes() + b" ")
    ((place, rule, message),) = problems(folder)
    assert (place, rule) == (f"results/objects/{path.name}", "bad-artifact")
    assert message == "the file's name is not the git blob id of its content"


def test_an_object_that_nothing_names_must_be_its_id_too(folder):
    (folder / "results/objects" / ("0" * 40)).write_text("x")
    assert [place for place, _, _ in problems(folder)] == [f"results/objects/{'0' * 40}"]


def test_a_missing_object_is_told_with_what_names_it(folder):
    next((folder / "results/objects").iterdir()).unlink()
    found = problems(folder)
    assert found
    assert {place for place, _, _ in found} == {ARTIFACT}
    assert all("the text of this file is missing" in message for _, _, message in found)


def test_a_link_out_of_the_project_is_not_followed(folder, tmp_path):
    outside = tmp_path / "outside.json"
    (folder / ARTIFACT).rename(outside)
    (folder / ARTIFACT).symlink_to(outside)
    assert (ARTIFACT, "bad-artifact", "the file lies outside the project") in problems(folder)


def test_a_link_inside_the_project_is_followed(folder):
    (folder / ARTIFACT).rename(folder / "kept.json")
    (folder / ARTIFACT).symlink_to(folder / "kept.json")
    assert problems(folder) == []


def test_nothing_at_all_is_a_mistake_in_a_path(tmp_path):
    ((_, rule, message),) = problems(tmp_path)
    assert (rule, message) == ("bad-config", "no story in kernels and no result in results")


def test_a_measured_story_needs_results_and_a_blank_one_does_not(folder):
    (folder / ARTIFACT).unlink()
    assert problems(folder) == [
        (worlds.STORY, "bad-story", "nothing is measured: results is empty")
    ]
    story = (folder / worlds.STORY).read_text()
    (folder / worlds.STORY).write_text(story.replace("+++\n", '+++\nstatus = "blank"\n', 1))
    assert problems(folder) == []
