import copy
import errno
import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import record
from harness.record import RecordError, RunExistsError, add_run, dumps, merge, parse, run_id
from tests.worlds import COMMIT, RUN, minimal_artifact, write_results

OTHER_RUN = "20261201T0900Z-epyc"


@pytest.fixture(scope="module")
def world():
    return minimal_artifact(cases=("small",), modes=("host",), blocks=2, samples=2)


@pytest.fixture
def run(world):
    return copy.deepcopy(world[0]["runs"][RUN])


@pytest.fixture
def objects(world):
    return dict(world[1])


def test_a_recorded_run_is_read_back_as_it_was(tmp_path, run, objects):
    path = add_run(tmp_path / "results", COMMIT, RUN, run, objects)
    assert path == tmp_path / "results" / f"{COMMIT}.json"
    assert json.loads(path.read_text()) == {"schema": 1, "commit": COMMIT, "runs": {RUN: run}}
    stored = {file.name: file.read_bytes() for file in (path.parent / "objects").iterdir()}
    assert stored == objects


def test_only_results_objects_and_the_lock_are_left_behind(tmp_path, run, objects):
    add_run(tmp_path, COMMIT, RUN, run, objects)
    assert {file.name for file in tmp_path.iterdir()} == {".lock", "objects", f"{COMMIT}.json"}


def test_tuples_are_recorded_as_lists(tmp_path, run, objects):
    run["command"] = tuple(run["command"])
    path = add_run(tmp_path, COMMIT, RUN, run, objects)
    assert json.loads(path.read_text())["runs"][RUN]["command"] == list(run["command"])


def test_a_second_run_joins_the_first(tmp_path, run, objects):
    add_run(tmp_path, COMMIT, RUN, run, objects)
    path = add_run(tmp_path, COMMIT, OTHER_RUN, run, {})
    assert list(json.loads(path.read_text())["runs"]) == [RUN, OTHER_RUN]
    assert record.existing_runs(tmp_path, COMMIT) == (RUN, OTHER_RUN)


def test_a_commit_without_results_has_no_runs(tmp_path):
    assert record.existing_runs(tmp_path, COMMIT) == ()


def test_recording_the_same_run_again_changes_nothing(tmp_path, run, objects):
    path = add_run(tmp_path, COMMIT, RUN, run, objects)
    # In another layout, so that a rewrite would show.
    path.write_text(json.dumps(json.loads(path.read_text())))
    before = path.read_bytes()
    add_run(tmp_path, COMMIT, RUN, run, objects)
    assert path.read_bytes() == before


def test_a_recorded_run_cannot_be_changed(tmp_path, run, objects):
    path = add_run(tmp_path, COMMIT, RUN, run, objects)
    before = path.read_bytes()
    run["seed"] += 1
    with pytest.raises(RunExistsError, match=f"run {RUN} exists with other content"):
        add_run(tmp_path, COMMIT, RUN, run, objects)
    assert path.read_bytes() == before


def test_a_whole_number_and_its_decimal_are_different_content(tmp_path, run, objects):
    run["controls"]["load"]["before"]["value"] = 1
    add_run(tmp_path, COMMIT, RUN, run, objects)
    run["controls"]["load"]["before"]["value"] = 1.0
    with pytest.raises(RunExistsError):
        add_run(tmp_path, COMMIT, RUN, run, objects)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_a_number_that_is_none_is_refused_before_anything_is_written(tmp_path, run, objects, value):
    run["cases"]["softmax.small"]["tolerance"]["atol"] = value
    with pytest.raises(RecordError, match="cannot be written as JSON"):
        add_run(tmp_path / "results", COMMIT, RUN, run, objects)
    assert not (tmp_path / "results").exists()


def test_half_a_character_is_refused(tmp_path, run, objects):
    run["cases"]["softmax.small"]["what"] = "broken \ud800"
    with pytest.raises(RecordError, match="surrogates not allowed"):
        add_run(tmp_path, COMMIT, RUN, run, objects)


def test_an_invalid_run_is_refused_with_the_place_of_the_error(tmp_path, run, objects):
    run["cases"]["softmax.small"]["variants"]["eager"]["status"] = "fine"
    with pytest.raises(RecordError, match=r"variants\.eager\.status: 'fine' is not one of"):
        add_run(tmp_path, COMMIT, RUN, run, objects)
    assert not (tmp_path / f"{COMMIT}.json").exists()


@pytest.mark.parametrize(
    "commit", ["HEAD", "abc123", COMMIT.upper(), f"{COMMIT}\n", f"../{COMMIT}"]
)
def test_a_commit_is_forty_hexadecimal_digits(tmp_path, run, objects, commit):
    with pytest.raises(RecordError, match=r"\$\.commit"):
        add_run(tmp_path / "results", commit, RUN, run, objects)


def test_a_source_whose_text_is_missing_is_refused(tmp_path, run, objects):
    missing = run["sources"]["files"]["harness/sample.py"]
    del objects[missing]
    with pytest.raises(RecordError, match=r"the text of harness/sample\.py is neither here"):
        add_run(tmp_path, COMMIT, RUN, run, objects)
    assert not (tmp_path / f"{COMMIT}.json").exists()


def test_a_text_that_is_not_its_blob_is_refused(tmp_path, run, objects):
    objects[run["sources"]["files"]["harness/sample.py"]] += b"changed"
    with pytest.raises(RecordError, match=r"given for harness/sample\.py is not the one of blob"):
        add_run(tmp_path, COMMIT, RUN, run, objects)
    assert not (tmp_path / f"{COMMIT}.json").exists()


def test_a_torn_object_is_written_anew(tmp_path, run, objects):
    name = run["sources"]["files"]["harness/sample.py"]
    add_run(tmp_path, COMMIT, RUN, run, objects)
    (tmp_path / "objects" / name).write_bytes(b"")
    add_run(tmp_path, COMMIT, OTHER_RUN, run, objects)
    assert (tmp_path / "objects" / name).read_bytes() == objects[name]


def test_texts_that_no_run_names_are_not_stored(tmp_path, run, objects):
    stray = {record.blob_id(b"stray"): b"stray"}
    add_run(tmp_path, COMMIT, RUN, run, {**objects, **stray})
    assert not (tmp_path / "objects" / next(iter(stray))).exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "is not valid JSON"),
        (b"\xff{}", "is not UTF-8"),
        (b'{"schema": 1, "schema": 1}', "the key 'schema' is given more than once"),
        (b'{"schema": NaN}', "NaN is not a number"),
        (b'{"schema": 1e999}', "1e999 is too large"),
        (b'{"schema": ' + b"9" * 5000 + b"}", "is not valid JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"schema": "\\ud800"}', "is not UTF-8"),
        (b'{"schema": 2}', "needs a newer harness"),
        (b"[]", "is not a valid result"),
        (b"{}", "is not a valid result"),
    ],
)
def test_an_unreadable_artifact_is_never_overwritten(tmp_path, run, objects, content, message):
    path = tmp_path / f"{COMMIT}.json"
    path.write_bytes(content)
    with pytest.raises(RecordError, match=message):
        add_run(tmp_path, COMMIT, RUN, run, objects)
    assert path.read_bytes() == content


def test_an_artifact_under_another_commits_name_is_refused(tmp_path, world):
    path = write_results(tmp_path, *world)
    path.rename(tmp_path / f"{'f' * 40}.json")
    with pytest.raises(RecordError, match="which its name is not"):
        record.read(tmp_path / f"{'f' * 40}.json")


def test_a_full_disk_leaves_the_old_artifact(tmp_path, run, objects, monkeypatch):
    path = add_run(tmp_path, COMMIT, RUN, run, objects)
    before = path.read_bytes()

    def full(_descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RecordError, match="the disk is full; free some space"):
        add_run(tmp_path, COMMIT, OTHER_RUN, run, objects)
    assert path.read_bytes() == before
    assert not (tmp_path / ".writing.tmp").exists()


def test_a_read_only_folder_is_named(tmp_path, run, objects, monkeypatch):
    def refuse(self, *_arguments, **_options):
        raise PermissionError(errno.EACCES, "Permission denied", str(self))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(RecordError, match=r"\.lock: cannot be written: you may not write there"):
        add_run(tmp_path, COMMIT, RUN, run, objects)


def test_a_file_in_the_place_of_the_folder_is_an_error_for_people(tmp_path, run, objects):
    (tmp_path / "results").write_text("")
    with pytest.raises(RecordError, match="cannot be written: File exists"):
        add_run(tmp_path / "results", COMMIT, RUN, run, objects)


def test_the_leftover_of_a_killed_session_is_no_obstacle(tmp_path, run, objects):
    (tmp_path / ".writing.tmp").write_text("half")
    path = add_run(tmp_path, COMMIT, RUN, run, objects)
    assert record.existing_runs(tmp_path, COMMIT) == (RUN,)
    assert not (path.parent / ".writing.tmp").exists()


def test_sessions_that_end_together_lose_no_run(tmp_path, world):
    given = write_results(tmp_path / "given", *world)
    program = (
        "import json, sys; from pathlib import Path; from harness import record\n"
        "given, out, name = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]\n"
        "artifact = json.loads(given.read_text()); run = artifact['runs'].popitem()[1]\n"
        "objects = {p.name: p.read_bytes() for p in (given.parent / 'objects').iterdir()}\n"
        "record.add_run(out, artifact['commit'], name, run, objects)\n"
    )
    names = [f"2026120{day}T0900Z-epyc" for day in range(1, 5)]
    out = tmp_path / "results"
    sessions = [
        subprocess.Popen([sys.executable, "-c", program, str(given), str(out), name])
        for name in names
    ]
    assert [session.wait() for session in sessions] == [0] * len(names)
    assert record.existing_runs(out, COMMIT) == tuple(names)


def test_merging_unites_runs_and_objects_of_two_folders(tmp_path, world):
    artifact, objects = world
    write_results(tmp_path / "one", artifact, objects)
    other = {**artifact, "runs": {OTHER_RUN: artifact["runs"][RUN]}}
    second = write_results(tmp_path / "two", other, objects)
    assert merge([tmp_path / "one", second], tmp_path / "out") == (tmp_path / "out" / second.name,)
    assert record.existing_runs(tmp_path / "out", COMMIT) == (RUN, OTHER_RUN)
    assert {file.name for file in (tmp_path / "out" / "objects").iterdir()} == set(objects)


def test_merging_keeps_commits_apart(tmp_path, world):
    artifact, objects = world
    write_results(tmp_path / "one", artifact, objects)
    write_results(tmp_path / "one", {**artifact, "commit": "f" * 40}, objects)
    merged = merge([tmp_path / "one"], tmp_path / "out")
    assert [path.stem for path in merged] == [COMMIT, "f" * 40]


def test_merging_two_contents_of_one_run_names_both_files(tmp_path, world):
    artifact, objects = world
    write_results(tmp_path / "one", artifact, objects)
    changed = copy.deepcopy(artifact)
    changed["runs"][RUN]["seed"] += 1
    write_results(tmp_path / "two", changed, objects)
    with pytest.raises(RunExistsError, match=r"one/.*two/"):
        merge([tmp_path / "one", tmp_path / "two"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_merging_names_an_object_that_is_missing(tmp_path, world):
    write_results(tmp_path / "one", world[0], {})
    with pytest.raises(RecordError, match=r"cannot be read from .*No such file"):
        merge([tmp_path / "one"], tmp_path / "out")


def test_merging_an_empty_folder_says_so(tmp_path):
    with pytest.raises(RecordError, match="holds no results"):
        merge([tmp_path], tmp_path / "out")


def test_a_merge_of_a_missing_file_says_so(tmp_path):
    with pytest.raises(RecordError, match="cannot be read: No such file"):
        merge([tmp_path / "absent.json"], tmp_path / "out")


@pytest.mark.parametrize(
    ("device", "slug"),
    [
        ("NVIDIA H200", "h200"),
        ("NVIDIA A100-SXM4-80GB", "a100-sxm4-80gb"),
        ("AMD EPYC", "epyc"),
        ("AMD EPYC 9R14 96-Core Processor", "epyc-9r14"),
        ("Intel(R) Xeon(R) Platinum 8480C CPU @ 2.00GHz", "xeon-platinum-8480c"),
        ("13th Gen Intel(R) Core(TM) i7-1370P", "core-i7-1370p"),
        ("AMD Ryzen 7 5800U with Radeon Graphics", "ryzen-7-5800u"),
        ("…", "device"),
    ],
)
def test_a_run_is_named_by_its_start_and_device(device, slug):
    started = datetime(2026, 11, 30, 18, 12, 3, tzinfo=UTC)
    assert run_id(started, device, ()) == f"20261130T1812Z-{slug}"


def test_a_run_id_is_in_universal_time():
    started = datetime(2026, 12, 1, 1, 12, tzinfo=timezone(timedelta(hours=7)))
    assert run_id(started, "H200", ()) == "20261130T1812Z-h200"


def test_a_start_without_a_time_zone_is_a_mistake_of_the_caller():
    with pytest.raises(ValueError, match="time zone"):
        run_id(datetime(2026, 11, 30, 18, 12), "H200", ())  # noqa: DTZ001


def test_runs_that_start_in_the_same_minute_are_numbered():
    started = datetime(2026, 11, 30, 18, 12, tzinfo=UTC)
    taken: list[str] = []
    for _ in range(3):
        taken.append(run_id(started, "H200", taken))
    assert taken == [f"20261130T1812Z-h200{tail}" for tail in ("", "-2", "-3")]


def test_samples_stand_on_one_line_objects_are_indented_and_keys_keep_their_order():
    value = {
        "b": {"samples": {"p.01": [3, 1.5], "p.02": []}},
        "a": {"value": 1, "unit": "ns"},
        "order": [[1, 0], [0, 1]],
        "list": [{"x": [1]}],
        "empty": {},
        "words": "é \u2028",
    }
    assert dumps(value) == (
        "{\n"
        ' "b": {\n'
        '  "samples": {\n'
        '   "p.01": [3,1.5],\n'
        '   "p.02": []\n'
        "  }\n"
        " },\n"
        ' "a": {"value": 1, "unit": "ns"},\n'
        ' "order": [[1,0],[0,1]],\n'
        ' "list": [\n'
        "  {\n"
        '   "x": [1]\n'
        "  }\n"
        " ],\n"
        ' "empty": {},\n'
        ' "words": "é \u2028"\n'
        "}\n"
    )


def test_a_long_flat_object_is_broken():
    assert dumps({"a": "x" * 90}) == '{\n "a": "' + "x" * 90 + '"\n}\n'


_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text('ab\n"é'), inner),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(_json)
def test_what_is_written_is_read_back_and_written_alike(value):
    text = dumps(value)
    again = parse(text.encode(), "text")
    assert again == value
    assert dumps(again) == text


def test_keys_that_are_not_text_are_refused():
    with pytest.raises(TypeError, match="strings"):
        dumps({1: 2})


def test_a_kill_between_objects_and_artifact_keeps_the_old_artifact(tmp_path, run, objects):
    """The artifact is replaced last: whoever reads meanwhile sees a whole one."""
    add_run(tmp_path, COMMIT, RUN, run, objects)
    program = (
        "import os, sys, signal; from pathlib import Path; from harness import record\n"
        "import json; out = Path(sys.argv[1]); path = next(out.glob('*.json'))\n"
        "run = next(iter(json.loads(path.read_text())['runs'].values()))\n"
        "Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"record.add_run(out, path.stem, {OTHER_RUN!r}, run, {{}})\n"
    )
    killed = subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False)
    assert killed.returncode == -9
    assert record.existing_runs(tmp_path, COMMIT) == (RUN,)
    add_run(tmp_path, COMMIT, OTHER_RUN, run, {})
    assert record.existing_runs(tmp_path, COMMIT) == (RUN, OTHER_RUN)
