"""What the harness takes from documentation, beside what is installed."""

from urllib.parse import urlsplit

import pytest

from harness.documents import DOCUMENTS, relied_upon
from harness.modes import DEVICES


def test_each_document_names_a_place_a_version_and_the_claim_that_rests_on_it():
    for document in DOCUMENTS.values():
        assert urlsplit(document.link).scheme == "https"
        assert document.version
        assert document.claim
        assert set(document.devices) <= set(DEVICES)


def test_a_version_that_is_not_known_is_absent():
    told = relied_upon("cuda", {"torch": "2.11.0"})
    assert told["elapsed-time"]["installed"] == "2.11.0"
    assert "installed" not in told["do-bench"]


@pytest.mark.parametrize("device", DEVICES)
def test_only_what_a_device_relies_upon_is_told(device):
    told = relied_upon(device, {})
    assert told.keys() == {name for name, one in DOCUMENTS.items() if device in one.devices}
    assert "perf-counter" in told
