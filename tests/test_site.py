"""The site of this repository's own stories and results."""

from pathlib import Path

from writeup import build, verify

ROOT = Path(__file__).resolve().parent.parent


def test_our_own_stories_build_and_every_number_of_the_site_follows(tmp_path):
    project = build.configuration(ROOT)
    site = build.build(project)
    assert not site.problems
    assert verify.verify(build.publish(site, project, tmp_path / "site")) == []
