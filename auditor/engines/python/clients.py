"""Clients that are made for one server, of whose requests each names a path: ``httpx.Client(base_url=…).get("/x")``."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.network import Host, host_of
from skillkeep.auditor.engines.python.scopes import CHOSEN, Binding, Scope
from skillkeep.auditor.engines.python.site import Site
from skillkeep.auditor.engines.python.sources import argument, known
from skillkeep.auditor.engines.python.values import HOLE, is_whole, texts_of

__all__ = ["based_on", "service_of"]

_PATH: Final = compiled(r"/[\w.~-]")  # ``//host`` and what a hole may begin with name another server
_PLAIN: Final = frozenset({"token", "timeout"})
_MOVED: Final = ("base_url", "_base_url")

Found = list[tuple[Binding, Scope]]


def based_on(site: Site, call: ast.Call, scope: Scope, paths: Sequence[str]) -> list[Host]:
    """The servers that a request for `paths` goes to; none unless each client that it may be made on names one."""
    if not isinstance(call.func, ast.Attribute) or not paths or not all(map(_PATH.match, paths)):
        return []
    stored = site.names.found(scope).attributes
    bases = [_base(site, node, home) for node, home in _made(call.func.value, scope, stored)]
    moved = [(each.node, home) for name in _MOVED for each, home in stored.get(name, ()) if each.kind != "define"]
    folded = [site.fold(node, home) for node, home in bases + moved if node is not None]
    if not bases or CHOSEN in stored or len(folded) < len(bases + moved) or not all(map(is_whole, folded)):
        return []
    hosts = [host_of(text, HOLE) for value in folded for text in texts_of(value)]
    return hosts if hosts and all(host.name != "*" for host in hosts) else []


def service_of(site: Site, call: ast.Call, scope: Scope, name: str) -> str:
    """The host of the service whose own client `call` of `name` is made on, when that is told no other; or nothing."""
    maker = name.partition("()")[0]
    host = known().services.get(maker, "")
    if not host or not isinstance(call.func, ast.Attribute):
        return ""
    stored = site.names.found(scope).attributes
    moved = CHOSEN in stored or any(each in stored for each in _MOVED)
    receiver = call.func.value
    made = [(receiver, scope)] if isinstance(receiver, ast.Call) else _made(receiver, scope, stored)
    plain = all(
        isinstance(node, ast.Call)
        and not node.args
        and all(each.arg in _PLAIN for each in node.keywords)
        and site.names.resolve(node.func, home) == (maker,)
        for node, home in made
    )
    return host if made and plain and not moved else ""


def _made(receiver: ast.expr, scope: Scope, stored: dict[str, Found]) -> list[tuple[ast.AST | None, Scope]]:
    """Everything that `receiver` may be; a None stands for what cannot be told."""
    if isinstance(receiver, ast.Name):
        bound = scope.lookup(receiver.id)
        found: Found = [(each, bound[0]) for each in bound[1]] if bound else []
    else:
        found = stored.get(receiver.attr, []) if isinstance(receiver, ast.Attribute) else []
    return [(each.node if each.kind == "value" else None, home) for each, home in found]


def _base(site: Site, made: ast.AST | None, scope: Scope) -> tuple[ast.expr | None, Scope]:
    """The address that a client is made with."""
    if not isinstance(made, ast.Call):
        return None, scope
    names = site.names.resolve(made.func, scope)
    return (argument(made, ["base_url"]) if names and known().based.issuperset(names) else None), scope
