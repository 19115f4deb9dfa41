import pytest

from tests.worlds import COMMIT, RUN
from writeup import addresses
from writeup.evidence import Evidence

RESULT = f"results/{COMMIT}/index.html"
BLOB = "ab" * 20


def target(form, at=(), args=()):
    return addresses.target(Evidence(form, tuple(at), "x", tuple(args)))


@pytest.mark.parametrize(
    "rest",
    [
        f"{RUN}/softmax.wide/eager/host",
        f"{RUN}/softmax.wide/eager",
        f"{RUN}/softmax.wide",
        f"{RUN}/ceilings/memory-dram-copy",
        RUN,
    ],
)
def test_an_anchor_is_the_address_without_its_commit(rest):
    assert target("time", [f"{COMMIT}/{rest}"]) == (RESULT, rest)


@pytest.mark.parametrize(
    ("pointer", "anchor"),
    [
        ("", ""),
        ("/commit", ""),
        (f"/runs/{RUN}", RUN),
        (f"/runs/{RUN}/started", RUN),
        (f"/runs/{RUN}/environment/device/name", f"{RUN}/environment/device"),
        (f"/runs/{RUN}/experiments/softmax/margin", f"{RUN}/experiments/softmax"),
        (f"/runs/{RUN}/controls/floor/host", f"{RUN}/controls/floor"),
        (f"/runs/{RUN}/documents/perf-counter/version", f"{RUN}/documents/perf-counter"),
        (f"/runs/{RUN}/ceilings/c/probes/p", f"{RUN}/ceilings/c"),
        (f"/runs/{RUN}/timer/check/step", f"{RUN}/timer"),
        (f"/runs/{RUN}/cases/softmax.wide/shape", f"{RUN}/softmax.wide"),
        (f"/runs/{RUN}/cases/softmax.wide/variants/a/config/x", f"{RUN}/softmax.wide/a"),
        (
            f"/runs/{RUN}/cases/softmax.wide/variants/a/timings/host/launches",
            f"{RUN}/softmax.wide/a/host",
        ),
        (f"/runs/{RUN}/documents/a~1b/link", f"{RUN}/documents/a/b"),
    ],
)
def test_a_fact_leads_to_the_nearest_part_that_shows_it(pointer, anchor):
    assert target("fact", [f"{COMMIT}#{pointer}"]) == (RESULT, anchor)


def test_other_forms_have_pages_of_their_own():
    assert target("source", [BLOB], ["4", "9"]) == (f"sources/{BLOB}/index.html", "L4")
    assert target("diff", [BLOB, "cd" * 20]) == (f"sources/{BLOB}/index.html", "")
    assert target("short", [BLOB], ["10", "blob"]) == (f"sources/{BLOB}/index.html", "")
    assert target("short", [COMMIT], ["10"]) == (RESULT, "")
    assert target("literal", ["story.md:1:1"], ["5", "why"]) == ("literals/index.html", "")
    assert target("constant", (), ["LEVEL"]) == ("method/index.html", "level")


@pytest.mark.parametrize("form", ["tick", "glossary", "digest", "size"])
def test_what_stands_for_itself_leads_nowhere(form):
    assert target(form, ["results/x.json"]) is None
    assert addresses.href("index.html", Evidence(form, ("a",), "5")) == ""


def test_an_imported_record_has_a_page_like_any_other():
    commit = f"imported-{'0' * 64}"
    assert target("time", [f"{commit}/{RUN}"]) == (f"results/{commit}/index.html", RUN)


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("index.html", f"{RESULT}#{RUN}"),
        ("stories/softmax/index.html", f"../../{RESULT}#{RUN}"),
        (RESULT, f"#{RUN}"),
    ],
)
def test_links_are_relative_to_their_page(page, expected):
    assert addresses.href(page, Evidence("time", (f"{COMMIT}/{RUN}",), "5")) == expected


def test_a_link_to_its_own_page_without_an_anchor_names_the_file():
    evidence = Evidence("short", (COMMIT,), "0", ("10",))
    assert addresses.href(RESULT, evidence) == "index.html"


def test_an_anchor_is_percent_encoded_and_cannot_end_its_attribute():
    evidence = Evidence("time", (f'{COMMIT}/a"b c#d',), "5")
    assert addresses.href("index.html", evidence) == f"{RESULT}#a%22b%20c%23d"
