"""Values of which a program asks no more than whether there is one: ``if os.environ.get("ACME_KEY"):``.

One bit, whether a variable is set, is no secret. Nobody else gets the value: it is the whole of a test, or of one side
of ``and`` and ``or`` in it. A comparison with a text tells more and is none of these.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

__all__ = ["asked_only"]

_TOLD: Final = frozenset({"bool", "all", "any"})
_BLANKS: Final = frozenset({"strip", "lstrip", "rstrip"})


def asked_only(tree: ast.AST) -> frozenset[int]:
    """The ids of the calls and subscripts of which `tree` asks no more than whether they give something."""
    nodes = list(ast.walk(tree))
    plain = _TOLD - set(_bound(nodes))
    found: set[int] = set()
    for node in nodes:
        for each in _tested(node, plain):
            _add(each, found)
    return frozenset(found)


def _tested(node: ast.AST, plain: frozenset[str]) -> Iterator[ast.expr]:
    """What `node` only asks for its truth."""
    if isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert):
        yield node.test
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.Compare):
        none = len(node.ops) == 1 and isinstance(node.ops[0], ast.Is | ast.IsNot)
        if none and isinstance(node.comparators[0], ast.Constant) and node.comparators[0].value is None:
            yield node.left
    elif isinstance(node, ast.comprehension):
        yield from node.ifs
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in plain:
        yield from _given(node)


def _given(call: ast.Call) -> Iterator[ast.expr]:
    """What ``bool(a)``, ``all([a, b])`` and ``any(a for …)`` look at."""
    given = call.args[0] if len(call.args) == 1 and not call.keywords else None
    if getattr(call.func, "id", "") == "bool" and given is not None:
        yield given
    elif isinstance(given, ast.List | ast.Tuple):
        yield from given.elts
    elif isinstance(given, ast.GeneratorExp | ast.ListComp):
        yield given.elt


def _add(node: ast.expr, into: set[int]) -> None:
    """Add what `node` reads: itself, without blanks around it, or each side of ``and`` and ``or``."""
    if isinstance(node, ast.BoolOp):
        for each in node.values:
            _add(each, into)
    elif isinstance(node, ast.Call | ast.Subscript):
        into.add(id(node))
        inner = node.func if isinstance(node, ast.Call) and not node.args and not node.keywords else None
        if isinstance(inner, ast.Attribute) and inner.attr in _BLANKS:
            _add(inner.value, into)


def _bound(nodes: list[ast.AST]) -> Iterator[str]:
    """Every name that the program gives to something of its own."""
    for node in nodes:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.alias):
            yield from _TOLD if node.name == "*" else (node.asname or node.name,)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            yield node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value  # ``setattr(builtins, "any", …)``
