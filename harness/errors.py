"""What a person can mend; the message is all they need."""

from __future__ import annotations

from collections.abc import Iterable


class HarnessError(Exception):
    """A failure with a message for a person; anything else is a bug and keeps its traceback."""


class Refused(HarnessError):
    """Nothing was recorded, and why: one line a finding."""

    def __init__(self, findings: Iterable[str]) -> None:
        self.findings = tuple(findings)
        super().__init__("\n".join(self.findings))


class SubjectError(HarnessError):
    """Subjects that cannot be measured as they are written; one line a fault."""

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(self.faults))


class SelectionError(HarnessError):
    """Something was asked for by a name that nothing has."""


class CompanyError(HarnessError):
    """Another session of the harness is measuring on this machine."""
