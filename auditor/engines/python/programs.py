"""Whether the program that a list of arguments starts is written down, whatever its other arguments are."""

from __future__ import annotations

import ast
from typing import Final

from skillkeep.auditor.engines.python.callers import arguments_for
from skillkeep.auditor.engines.python.scopes import Scope
from skillkeep.auditor.engines.python.site import Site
from skillkeep.auditor.engines.python.values import alternatives, is_whole
from skillkeep.auditor.engines.tables import table

__all__ = ["starts_named_program"]

_MOST: Final = 64

Place = tuple[ast.expr, Scope]


def starts_named_program(site: Site, argument: ast.expr | None, scope: Scope) -> bool:
    """True for ``["gh", *rest]``, also by a name, with more added, or as a parameter that every caller fills so."""
    firsts = _firsts(site, argument, scope, set()) if argument is not None else None
    return bool(firsts) and all(_is_named(site, first, home) for first, home in firsts or ())


def _firsts(site: Site, node: ast.expr, scope: Scope, seen: set[int]) -> list[Place] | None:
    """What may be the first element of the list `node`, or None when not all of that is seen."""
    if isinstance(node, ast.List | ast.Tuple):
        return [(node.elts[0], scope)] if node.elts and not isinstance(node.elts[0], ast.Starred) else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _firsts(site, node.left, scope, seen)
    bound = scope.lookup(node.id) if isinstance(node, ast.Name) else None
    if bound is None:
        return None
    found: list[Place] = []
    for item in bound[1]:
        if item.kind == "augment" or id(item) in seen:
            continue  # more arguments, or the same ones again
        seen.add(id(item))
        if item.kind == "param":
            given = arguments_for(site.names, item, bound[0])
        elif item.kind == "value" and isinstance(item.node, ast.expr):
            given = [(item.node, bound[0])]
        else:
            return None
        inner = [_firsts(site, each, home, seen) for each, home in given[:_MOST]]
        if not inner or len(given) > _MOST or len(seen) > _MOST or None in inner:
            return None
        found += [place for each in inner for place in each or ()]
    return found


def _is_named(site: Site, first: ast.expr, home: Scope) -> bool:
    """A program that the file names (``shutil.which("rg")`` does), and that runs no code given to it."""
    value = site.fold(first, home)
    names = list(alternatives(value)) if is_whole(value) else []
    interpreters = table("shell")["interpreters"]
    return bool(names) and all(isinstance(name, str) and name.rpartition("/")[2] not in interpreters for name in names)
