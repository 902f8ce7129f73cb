"""A program that puts what it fetches in the place of its own code, which runs the next time, or on import."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from skillkeep.auditor.engines.python.flow import Flow
from skillkeep.auditor.engines.python.scopes import Scope
from skillkeep.auditor.engines.python.site import Site
from skillkeep.auditor.engines.python.values import texts_of

__all__ = ["judge_replaced"]

_FETCHING: Final = frozenset({"urllib.request.urlretrieve", "urllib.urlretrieve", "wget.download"})
_WRITING: Final = frozenset({"write", "writelines", "write_text", "write_bytes"})
_OPENING: Final = frozenset({"builtins.open", "io.open"})


def judge_replaced(site: Site, flow: Flow, call: ast.Call, scope: Scope, names: tuple[str, ...]) -> None:
    """Report `call`, a write of what comes from the network to a file of the program's own, or to one it imports."""
    if not _FETCHING.isdisjoint(names):
        target = site.argument(call, [1, "filename", "out"])
    elif _writes(call) and "download" in flow.labels(call.args[0], scope):
        target = call.func.value  # type: ignore[attr-defined]
    else:
        return
    own = {source.path.rpartition("/")[2] for source in site.names.program.sources}
    own |= {f"{name.partition('.')[0]}.py" for name in site.found.imports}
    for path, home in _paths(site, target, scope):
        for text in texts_of(site.fold(path, home)):
            if (name := text.replace("\\", "/").rpartition("/")[2]) in own and name.endswith(".py"):
                message = f"what is fetched takes the place of {name}, which is a part of this program"
                site.report("python-downloaded-execution", call, message)
                return


def _writes(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in _WRITING and bool(call.args)


def _paths(site: Site, target: ast.expr | None, scope: Scope) -> Iterator[tuple[ast.expr, Scope]]:
    """What names the file: the target itself, or what it was opened by."""
    if target is None:
        return
    yield target, scope
    made = [(target, scope)]
    if isinstance(target, ast.Name) and (bound := scope.lookup(target.id)):
        made += [(each.node, bound[0]) for each in bound[1] if isinstance(each.node, ast.expr)]
    for node, home in made:
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Attribute) and node.func.attr == "open":
            yield node.func.value, home
        elif node.args and not _OPENING.isdisjoint(site.names.resolve(node.func, home)):
            yield node.args[0], home
