"""Where a name is defined in a Python source."""

from __future__ import annotations

import ast


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
        found = [node for node in body if _defines(node, name)]
        body = [child for node in found for child in getattr(node, "body", [])]
    if len(found) != 1:
        raise LookupError(f"defines '{symbol}' {'nowhere' if not found else 'more than once'}")
    node = found[0]
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    return first, node.end_lineno or node.lineno


def _defines(node: ast.stmt, name: str) -> bool:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return node.name == name
        case ast.Assign(targets=[ast.Name(id=assigned)]):
            return assigned == name
        case ast.AnnAssign(target=ast.Name(id=assigned)):
            return assigned == name
    return False
