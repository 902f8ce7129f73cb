"""Stores and services that a Python program puts data into, and where these are when the program itself says so.

A client is the user's own when its place and its login come from outside of the program. One whose host, or the key of
whose account, stands in the program belongs to whoever wrote it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.leaving import client_in
from skillkeep.auditor.engines.network import Host, host_of
from skillkeep.auditor.engines.python.callers import arguments_for
from skillkeep.auditor.engines.python.scopes import Binding, Collected, Scope
from skillkeep.auditor.engines.python.site import Site
from skillkeep.auditor.engines.python.values import HOLE, texts_of
from skillkeep.auditor.engines.tables import table

__all__ = ["Stores", "puts", "store_of"]

_HOST_OF_STORE: Final = compiled(r"(?:^|[\s;])host(?:addr)?=([^\s;]+)")
_DEEPEST: Final = 8
_MOST: Final = 8
_SHORTEST_LOGIN: Final = 6


@dataclass(frozen=True)
class _Known:
    stores: dict[str, list[int | str]]
    services: dict[str, str]
    placed_by: dict[str, str]
    puts: frozenset[str]
    logins: frozenset[str]
    modules: frozenset[str]
    placeholder: re.Pattern[str]


@cache
def _known() -> _Known:
    sinks = table("python")
    modules = {name.partition(".")[0].partition("(")[0] for name in (*sinks["stores"], *sinks["placed_by"])}
    return _Known(
        sinks["stores"],
        sinks["services"],
        sinks["placed_by"],
        frozenset(sinks["puts"]),
        frozenset(sinks["login_keys"]),
        frozenset(modules),
        compiled(sinks["placeholder_login"]),
    )


@cache
def store_of(name: str) -> str | None:
    """The call that makes the client into which the call `name` puts something; None when it puts nothing."""
    known = _known()
    if name.rpartition(".")[2] not in known.puts:
        return None
    for start, told in known.placed_by.items():
        if name.startswith(start):
            return told
    return client_in(name, known.stores)


def puts(found: Collected) -> frozenset[str]:
    """The methods by which the file may put something into a store: none when it imports no library of such."""
    known = _known()
    return known.puts if any(name.partition(".")[0] in known.modules for name in found.imports) else frozenset()


class Stores:
    """The stores of one file, found by the calls that put something into them."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._names = site.names
        self._known = _known()

    def places(self, call: ast.Call, scope: Scope, name: str) -> list[Host]:
        """The hosts, other than this machine, that the program names for the store into which `call` puts something."""
        store = store_of(name)
        if store is None:
            return []
        if name.startswith(tuple(self._known.placed_by)):
            return [host for node, home in self._everywhere(store) for host in self._named(node, home, store)]
        return list(self._made(call.func, scope, 0))

    def _everywhere(self, store: str) -> Iterator[tuple[ast.Call, Scope]]:
        for call, scope in self._site.found.calls:
            if store in self._names.resolve(call.func, scope):
                yield call, scope

    def _made(self, node: ast.AST | None, scope: Scope, depth: int) -> Iterator[Host]:
        """Where the store is that `node` was made by."""
        if depth > _DEEPEST:
            return
        if isinstance(node, ast.Call):
            yield from self._called(node, scope, depth)
        elif isinstance(node, ast.Name):
            bound = scope.lookup(node.id)
            for binding in bound[1][:_MOST] if bound else ():
                yield from self._bound(binding, bound[0] if bound else scope, depth)
        elif isinstance(node, ast.Attribute | ast.Subscript | ast.Await):
            kept = self._names.found(scope).attributes.get(node.attr, ()) if isinstance(node, ast.Attribute) else ()
            for binding, home in kept[:_MOST]:
                yield from self._bound(binding, home, depth)
            yield from self._made(node.value, scope, depth + 1)

    def _called(self, call: ast.Call, scope: Scope, depth: int) -> Iterator[Host]:
        stores = [name for name in self._names.resolve(call.func, scope) if name in self._known.stores]
        found = [host for store in stores for host in self._named(call, scope, store, depth)]
        if not stores and isinstance(call.func, ast.Name) and (bound := scope.lookup(call.func.id)):
            functions = [self._names.inner(each.node, bound[0]) for each in bound[1][:_MOST] if each.kind == "define"]
            for function in filter(None, functions):
                for given in function.returns[:_MOST]:
                    found += self._made(given, function, depth + 1)
        yield from found or self._made(call.func, scope, depth + 1)

    def _bound(self, binding: Binding, home: Scope, depth: int) -> Iterator[Host]:
        """Where the store is that a name or an attribute is given: here, by a caller, or in another file."""
        if binding.kind == "import":
            for member in self._names.program.target(binding.name, home):
                for each in member.scope.bindings.get(member.name, ())[:_MOST]:
                    yield from self._made(each.node, member.scope, depth + 1)
        elif binding.kind == "param":
            for given, scope in arguments_for(self._names, binding, home)[:_MOST]:
                yield from self._made(given, scope, depth + 1)
        elif binding.kind != "define":
            yield from self._made(binding.node, home, depth + 1)

    def _named(self, call: ast.Call, scope: Scope, store: str, depth: int = 0) -> Iterator[Host]:
        """Where the client that `call` makes is, as far as its arguments say."""
        given = self._site.argument(call, self._known.stores[store])
        if isinstance(given, ast.Call) and (inner := list(self._made(given, scope, depth + 1))):
            yield from inner
            return
        texts = _texts(self._site, given, scope)
        hosts = [host_of(named[1] if (named := _HOST_OF_STORE.search(text)) else text, HOLE) for text in texts]
        if any("." in host.name or host.local for host in hosts):
            yield from (host for host in hosts if "." in host.name and not host.local)
        elif (service := self._known.services.get(store)) and any(
            map(self._is_login, [*texts, *self._logins(call, scope)])
        ):
            yield Host(service)

    def _logins(self, call: ast.Call, scope: Scope) -> Iterator[str]:
        for item in call.keywords:
            if item.arg in self._known.logins:
                yield from _texts(self._site, item.value, scope)

    def _is_login(self, text: str) -> bool:
        """True for a text that opens an account; a hole or a word that asks to be replaced opens none."""
        opens = len(text) >= _SHORTEST_LOGIN and HOLE not in text and " " not in text.strip()
        return opens and not self._known.placeholder.search(text)


def _texts(site: Site, node: ast.expr | None, scope: Scope) -> list[str]:
    """What it is known to say: itself, each item of a list, or an address of a mapping."""
    if node is None:
        return []
    value = site.fold(node, scope)
    if isinstance(value, dict):
        return [
            each
            for key, item in value.items()
            if str(key).lower().endswith(("url", "host", "servers"))
            for each in texts_of(item)
        ]
    return [text for item in value for text in texts_of(item)] if isinstance(value, tuple) else texts_of(value)
