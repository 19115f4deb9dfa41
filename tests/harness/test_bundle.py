"""One file that carries results."""

import io
import tarfile

import pytest
from click.testing import CliRunner

from harness import bundle, record
from harness.bundle import BundleError
from harness.cli import main
from tests.worlds import minimal_artifact, write_results


@pytest.fixture
def results(tmp_path):
    artifact, objects = minimal_artifact()
    write_results(tmp_path / "there", artifact, objects)
    return tmp_path / "there", artifact["commit"]


def test_a_bundle_merges_like_the_folder_it_was_made_from(results, tmp_path):
    folder, commit = results
    bundle.write(folder / f"{commit}.json", tmp_path / "out" / "carried")
    merged = CliRunner().invoke(
        main, ["merge", str(tmp_path / "out" / "carried"), "--out", str(tmp_path / "here")]
    )
    assert merged.exit_code == 0, merged.output
    assert record.read(tmp_path / "here" / f"{commit}.json") == record.read(
        folder / f"{commit}.json"
    )
    there = {path.name: path.read_bytes() for path in (folder / "objects").iterdir()}
    here = {path.name: path.read_bytes() for path in (tmp_path / "here" / "objects").iterdir()}
    assert here == there


@pytest.mark.parametrize("name", ["../escaped.json", "/etc/absolute", "objects/../../x", "notes"])
def test_a_bundle_writes_nothing_that_is_no_result(tmp_path, name):
    path = tmp_path / "hostile"
    with tarfile.open(path, "w:gz") as archive:
        member = tarfile.TarInfo(name)
        member.size = 2
        archive.addfile(member, io.BytesIO(b"{}"))
    with pytest.raises(BundleError, match="is no result"), bundle.opened(path):
        pass


def test_a_link_in_a_bundle_is_refused(tmp_path):
    path = tmp_path / "hostile"
    with tarfile.open(path, "w:gz") as archive:
        member = tarfile.TarInfo("0" * 40 + ".json")
        member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(member)
    with pytest.raises(BundleError, match="is no result"), bundle.opened(path):
        pass


def test_a_file_that_was_cut_off_is_told(tmp_path, results):
    folder, commit = results
    bundle.write(folder / f"{commit}.json", tmp_path / "carried")
    whole = (tmp_path / "carried").read_bytes()
    (tmp_path / "carried").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BundleError, match="cannot be read"), bundle.opened(tmp_path / "carried"):
        pass
