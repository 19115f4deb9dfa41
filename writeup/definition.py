"""Where a name is defined, or a text is written, in a Python source. Nothing of it is run."""

from __future__ import annotations

import ast
from functools import lru_cache

from writeup.language import nearest


def extent(text: str, symbol: str) -> tuple[int, int]:
    """First and last line of a definition, decorators included.

    symbol is a name, or a path of names (`Class.method`). Raises LookupError where the
    source is not Python, or defines it nowhere or more than once.
    """
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError):
        raise LookupError("is not Python that we can read") from None
    found: list[ast.stmt] = []
    for name in symbol.split("."):
        found = [node for node in body if name in _defined(node)]
        if not found:
            known = [each for node in body for each in _defined(node)]
            near = nearest(name, known) or f"it defines {', '.join(sorted(known)) or 'nothing'}"
            raise LookupError(f"defines '{symbol}' nowhere; {near}")
        body = [child for node in found for child in getattr(node, "body", [])]
    if len(found) > 1:
        raise LookupError(f"defines '{symbol}' more than once; give each a name of its own")
    node = found[0]
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    return first, node.end_lineno or node.lineno


def string(text: str, said: str) -> tuple[int, int] | None:
    """First and last line of the literal that says a text, however its blanks are set.

    Neighbouring literals that Python joins are one. None where there is none, or where the
    source is not Python.
    """
    wanted = said.split()
    for value, first, last in _strings(text):
        if value == wanted:
            return first, last
    return None


@lru_cache(maxsize=64)
def _strings(text: str) -> tuple[tuple[list[str], int, int], ...]:
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError):
        return ()
    return tuple(
        (node.value.split(), node.lineno, node.end_lineno or node.lineno)
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def _defined(node: ast.stmt) -> tuple[str, ...]:
    """The name that a statement defines, if any."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return (node.name,)
        case ast.Assign(targets=[ast.Name(id=assigned)]):
            return (assigned,)
        case ast.AnnAssign(target=ast.Name(id=assigned)):
            return (assigned,)
    return ()
