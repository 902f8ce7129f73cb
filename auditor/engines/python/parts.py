"""Parts of things: how a constant key is spelled, and what is put into a thing beside the names that hold it."""

from __future__ import annotations

import ast
from typing import Final

from skillkeep.auditor.engines.python.scopes import CHOSEN, Binding, Collected, Scope

__all__ = ["bind_captures", "feed", "fill", "is_table", "is_written_down", "part_of", "put_into", "set_attribute"]

_SET: Final = 3  # arguments of `setattr`


def feed(found: Collected) -> None:
    """Note what is put into a thing with the scope that binds its name. Scopes then refer to each other in circles."""
    for name, part, node, scope in found.stored:
        bound = scope.lookup(name)
        if bound is not None:
            bound[0].fed.setdefault(name, []).append((part, node, scope))


def part_of(node: ast.Subscript) -> str:
    """How a constant key of a subscript is spelled among the parts of a thing; ``[`` for one that is not constant."""
    key = node.slice
    return f"[{key.value!r}]" if isinstance(key, ast.Constant) and isinstance(key.value, str | int) else "["


def set_attribute(found: Collected, scope: Scope, node: ast.Call) -> None:
    """``setattr(thing, "name", x)``; with a name chosen at run time, `x` may become any attribute."""
    if len(node.args) != _SET:
        return
    name = node.args[1]
    known = isinstance(name, ast.Constant) and isinstance(name.value, str)
    key = str(name.value) if known and isinstance(name, ast.Constant) else CHOSEN
    found.attributes[key].append((Binding("value" if known else "fed", node.lineno, node.args[2]), scope))


def is_table(node: ast.expr) -> bool:
    """``vars(thing)``, ``thing.__dict__``."""
    called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "vars"
    return called or (isinstance(node, ast.Attribute) and node.attr == "__dict__")


def is_written_down(node: ast.expr) -> bool:
    """True for constants, and for tables and lists of them."""
    if isinstance(node, ast.Dict):
        return all(map(is_written_down, node.values)) and None not in node.keys
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return all(map(is_written_down, node.elts))
    return isinstance(node, ast.Constant)


def fill(found: Collected, scope: Scope, node: ast.Call, feeders: frozenset[str]) -> None:
    """``get(name, box.append)`` fills the box with what the call brings."""
    for item in (*node.args, *(each.value for each in node.keywords)):
        if isinstance(item, ast.Attribute) and item.attr in feeders and isinstance(item.value, ast.Name):
            found.stored.append((item.value.id, "", node, scope))


def bind_captures(_walk: object, scope: Scope, node: ast.Match, _stack: list[ast.AST]) -> bool:
    """``case name:`` binds the subject; what deeper patterns capture is some part of it."""
    for case in node.cases:
        for pattern in ast.walk(case.pattern):
            if isinstance(pattern, ast.MatchAs | ast.MatchStar) and pattern.name:
                kind = "value" if pattern is case.pattern else "fed"
                scope.bind(pattern.name, Binding(kind, case.pattern.lineno, node.subject))
    return False


def put_into(found: Collected, scope: Scope, holder: ast.expr, call: ast.Call) -> None:
    """``box.append(x)`` puts `x` into the box, ``session.headers.update(x)`` into the session's headers."""
    given = (*call.args, *(item.value for item in call.keywords))
    if isinstance(holder, ast.Name):
        told = getattr(call.func, "attr", "") != "update" or all(map(is_written_down, given))
        spread = {id(item) for item in (*call.args, *(each.value for each in call.keywords if each.arg is None))}
        found.stored.extend(
            (holder.id, "" if told else "[*" if id(item) in spread else "[", item, scope) for item in given
        )
    elif isinstance(holder, ast.Attribute):
        found.attributes[holder.attr].extend((Binding("fed", item.lineno, item), scope) for item in given)
        if getattr(call.func, "attr", "") == "update" and not all(map(is_written_down, given)):
            found.attributes[holder.attr].append((Binding("opaque", call.lineno), scope))
        if isinstance(holder.value, ast.Name):
            found.stored.extend((holder.value.id, holder.attr, item, scope) for item in given)
