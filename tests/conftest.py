"""What a test may need from the machine, and how a missing need is told.

A test says `@pytest.mark.gpu` or `@pytest.mark.browser`; it is skipped, with the reason,
where the machine has no such thing. `--allowed-skip REASON` (repeatable) makes any other
reason a failure, so that a run meant to be complete cannot pass by skipping.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests import effort

_CHROMIUMS = ("chromium", "chromium-browser", "google-chrome")


def _has_cuda() -> bool:
    if find_spec("torch") is None:
        return False
    import torch

    return torch.cuda.is_available()


def _chromium() -> str | None:
    return next(filter(None, map(shutil.which, _CHROMIUMS)), None)


_NEEDS: dict[str, tuple[Callable[[], object], str]] = {
    "gpu": (_has_cuda, "needs a CUDA device"),
    "browser": (_chromium, "needs Chromium"),
}


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's root."""
    return Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of the browser; for tests marked `browser`."""
    path = _chromium()
    assert path is not None, "a test that asks for Chromium is marked `browser`"
    return path


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--allowed-skip",
        action="append",
        metavar="REASON",
        help="fail if a test is skipped for any reason but this (repeatable)",
    )


def pytest_configure(config: pytest.Config) -> None:
    effort.load()
    if config.getoption("--allowed-skip"):
        config.pluginmanager.register(_Skips(config), "skips")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for marker, (found, reason) in _NEEDS.items():
        marked = [item for item in items if item.get_closest_marker(marker)]
        if marked and not found():
            for item in marked:
                item.add_marker(pytest.mark.skip(reason=reason))


class _Skips:
    """Counts skips by reason, and fails the session for a reason that is not allowed."""

    def __init__(self, config: pytest.Config) -> None:
        self.allowed = frozenset(config.getoption("--allowed-skip"))
        self.seen: dict[str, list[str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._note(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._note(report)

    def _note(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.skipped and isinstance(report.longrepr, tuple):
            reason = str(report.longrepr[2]).removeprefix("Skipped: ")
            self.seen.setdefault(reason, []).append(report.nodeid)

    @property
    def refused(self) -> list[str]:
        return sorted(set(self.seen) - self.allowed)

    # After the last report and before the exit status is told.
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.refused and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("skips by reason")
        for reason, tests in sorted(self.seen.items()):
            word = "allowed" if reason in self.allowed else "not allowed"
            terminalreporter.write_line(f"{len(tests)} × {reason} ({word})")
            if reason not in self.allowed:
                for test in tests:
                    terminalreporter.write_line(f"    {test}")
        if not self.seen:
            terminalreporter.write_line("none")
