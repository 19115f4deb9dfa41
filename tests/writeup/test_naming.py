import json

import pytest

from tests.worlds import COMMIT, RUN, minimal_artifact
from writeup import naming, result
from writeup.document import parse_story


@pytest.fixture(scope="module")
def artifact():
    document, _ = minimal_artifact(kind="cuda", blocks=6, samples=2)
    return result.parse(json.dumps(document).encode(), f"{COMMIT}.json")


def covered(artifact, text):
    return [cover.name for cover in naming.of_record([artifact]).cover(text)]


@pytest.mark.parametrize(
    "name",
    [
        "NVIDIA H200",
        RUN,
        "chunked-small",
        "softmax.wide",
        "float32",
        "kernels/softmax/chunked.py",
        "memory-dram-copy",
        "gemm-1024",
        "torch 2.13.0",
        "triton 3.7.1",
        "num_warps",
        "do_bench",
        "glibc 2.36",
        "forgotten-rescale",
    ],
)
def test_names_of_the_record_may_be_typed(artifact, name):
    assert covered(artifact, f"It is {name}, as it says.") == [name]


@pytest.mark.parametrize("text", ["2.13.0", "3.7.1", "131072", "4096", "132", "torch 2.14", "H300"])
def test_a_figure_is_no_name_for_being_equal_to_one(artifact, text):
    assert not [name for name in covered(artifact, text) if any(c.isdigit() for c in name)]


def test_a_version_needs_what_it_is_the_version_of(artifact):
    assert "torch 2.13.0" in covered(artifact, "under torch 2.13.0.")
    assert "torch 2.13.0" not in covered(artifact, "under triton and 2.13.0")


def test_every_term_has_its_reason():
    assert all(reason.strip() for reason in naming.TERMS.values())


def test_a_project_adds_terms_and_may_reword_ours():
    found = naming.glossary({"ResNet-50": "a network", "L2": "the last level of cache"}, [])
    assert found["ResNet-50"] == "a network"
    assert found["L2"] == "the last level of cache"
    assert found["float32"] == naming.TERMS["float32"]


def test_ids_that_a_blank_story_cites_are_listed_until_a_record_names_them():
    text = '+++\ntitle = "t"\nstatus = "blank"\n+++\n\n{{ bn64.time @ w4096 }} and {{ a.time }}\n'
    blank = parse_story(text, "kernels/a/story.md")
    told = parse_story(text.replace('status = "blank"\n', ""), "kernels/a/story.md")
    planned = set(naming.glossary({}, [blank])) - set(naming.glossary({}, []))
    assert planned == {"bn64", "w4096"}
    assert naming.glossary({}, [told]) == naming.glossary({}, [])
