"""Whether the other files of a program do nothing with a function but call it: then all its callers are seen."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Sequence

from skillkeep.auditor.engines.python.program import Program, Source
from skillkeep.auditor.engines.python.scopes import Scope

__all__ = ["is_only_called"]


def is_only_called(program: Program, source: Source, name: str, calls: Sequence[tuple[ast.Call, Scope]]) -> bool:
    """True when each mention of the function `name` of `source` in another file is the callee of one of `calls`."""
    for other in program.sources:
        mine = {id(call): call for call, scope in calls if program.source(scope) is other}
        if other is not source and not _is_called(other.found.module.owner, source.parts[-1], name, mine.values()):
            return False
    return True


def _is_called(tree: ast.AST, module: str, name: str, calls: Collection[ast.Call]) -> bool:
    """The same for one file, in which neither the function nor its module has another name or goes elsewhere."""
    nodes = list(ast.walk(tree))
    aliases = [each for node in nodes if isinstance(node, ast.Import | ast.ImportFrom) for each in node.names]
    if any(each.name == name and each.asname for each in aliases):
        return False
    modules = {each.asname or each.name for each in aliases if each.name.rpartition(".")[2] == module}
    bases = [node.value for node in nodes if isinstance(node, ast.Attribute)]
    found = Counter(node.id for node in nodes if isinstance(node, ast.Name))
    held = Counter(node.id for node in bases if isinstance(node, ast.Name))
    if any(found[each] != held[each] for each in modules):
        return False
    imported = any(each.name in {name, "*"} for each in aliases)
    mentioned = found[name] if imported else 0
    mentioned += sum(
        isinstance(node, ast.Attribute) and node.attr == name and ast.unparse(node.value) in modules for node in nodes
    )
    plain = [call for call in calls if _last(call.func) == name]
    return len(plain) == len(calls) == mentioned


def _last(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""
