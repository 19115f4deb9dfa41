"""A sentence of its own: load, find what a pasted link names, and say it."""

from __future__ import annotations

from writeup import load, pasted, quoting
from writeup.build import readable
from writeup.config import Config
from writeup.errors import Problems, WriteupError
from writeup.selection import Row
from writeup.sources import Sources


def quoted(project: Config, link: str, beside: str | None, form: quoting.Format) -> str:
    """A sentence about what a link leads to, with its link.

    beside is another link, or the id of a variant of the same case. Raises WriteupError where
    a link leads nowhere, and Problems where the results cannot be read.
    """
    sources = load.load(project)
    if not readable(sources):
        raise Problems(sources.problems)
    found = pasted.find(sources.artifacts, link)
    other = None if beside is None else _other(sources, found, beside)
    said = quoting.words(found, other)
    return quoting.written(found, said, form, project.base_url)


def _other(sources: Sources, found: pasted.Found, beside: str) -> Row:
    if not isinstance(found, Row) or found.timing is None:
        raise WriteupError("only a time can be set beside another")
    same_rounds = f"{found.case.address}/{beside}/{found.mode}"
    other = pasted.find(sources.artifacts, beside if "/" in beside else same_rounds)
    if not isinstance(other, Row):
        raise WriteupError(f"'{beside}' is no measurement of a variant")
    return other
