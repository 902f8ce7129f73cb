"""Stores and services that JavaScript puts data into, and where these are when the file itself says so.

A client is the user's own when its place and its login come from outside of the file. One whose host, or the key of
whose account, stands in the file belongs to whoever wrote it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.javascript.inner import inner_nodes
from skillkeep.auditor.engines.javascript.resolve import Resolver
from skillkeep.auditor.engines.javascript.scopes import Scope
from skillkeep.auditor.engines.javascript.values import Value, union
from skillkeep.auditor.engines.network import Host, host_of
from skillkeep.auditor.engines.tables import table

if TYPE_CHECKING:
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["Stores"]

_DEEPEST: Final = 8
_MOST_GIVEN: Final = 3
_SHORTEST_LOGIN: Final = 6
_CALLS: Final = frozenset({"call_expression", "new_expression"})
_MEMBERS: Final = frozenset({"member_expression", "subscript_expression"})
_NAMES: Final = frozenset({"identifier", "shorthand_property_identifier"})

Made = tuple["Node", Scope]


class Stores:
    """The stores of one file, found by the calls that put something into them."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._words = resolver.words
        self._all: dict[str, list[Made]] = {}

    def places(self, node: Node, scope: Scope, path: str) -> tuple[Host, ...]:
        """The hosts that the file names for the store into which the call `node` of `path` puts something.

        Empty when the call puts nothing, or the store is this machine's or not named in the file.
        """
        if path.startswith("file:"):
            asked = path.rpartition(".")[2] in self._words.puts
            return self._resolver.surroundings.places(path) if asked else ()
        store = self._words.store_of(path)
        if store is None:
            return ()
        callee = node.child_by_field_name("function")
        made = [] if path.startswith(self._words.placed) else list(self._made(callee, scope, store, 0))
        return self._of(made or self._everywhere(store), store)

    def client(self, node: Node, scope: Scope) -> tuple[Host, ...]:
        """The hosts that the file names for the store whose client `node` is, or gives when it is called."""
        value = self._resolver.value(node, scope)
        stores = dict.fromkeys(filter(None, map(self._words.client_of, value.paths)))
        found = [
            host
            for store in stores
            for host in self._of(list(self._made(node, scope, store, 0)) or self._everywhere(store), store)
        ]
        for function in value.functions[:_DEEPEST]:
            found += [host for each in function.returns[:_DEEPEST] for host in self.client(each, function)]
        return tuple(dict.fromkeys(found))

    def _of(self, made: Sequence[Made], store: str) -> tuple[Host, ...]:
        return tuple(dict.fromkeys(host for call, home in made[:_DEEPEST] for host in self._named(call, home, store)))

    def _made(self, node: Node | None, scope: Scope, store: str, depth: int) -> Iterator[Made]:
        """The calls that made the client which `node` stands for or is a member of."""
        if node is None or depth > _DEEPEST or not self._resolver.spend(1):
            return
        if node.type in _CALLS:
            callee = node.child_by_field_name("function") or node.child_by_field_name("constructor")
            value = self._resolver.value(callee, scope)
            if store in value.paths:
                yield node, scope
                return
            for function in value.functions[:_DEEPEST]:
                for given in function.returns[:_DEEPEST]:
                    yield from self._made(given, function, store, depth + 1)
            awaited = self._resolver.arguments(node)[:1] if value.paths == ("await",) else [callee]
            yield from self._made(next(iter(awaited), None), scope, store, depth + 1)
        elif node.type in _MEMBERS:
            yield from self._member(node, scope, store, depth)
        elif node.type in _NAMES:
            bound = scope.lookup(self._resolver.program.name(node))
            for binding in bound[1][:_DEEPEST] if bound else ():
                if binding.kind == "value":
                    yield from self._made(binding.node, binding.scope, store, depth + 1)
        else:
            yield from self._made(next(iter(inner_nodes(node)), None), scope, store, depth + 1)

    def _member(self, node: Node, scope: Scope, store: str, depth: int) -> Iterator[Made]:
        target = node.child_by_field_name("object")
        if target is None or target.type != "this":
            yield from self._made(target, scope, store, depth + 1)
            return
        key = node.child_by_field_name("property")
        kept = self._resolver.program.properties.get(self._resolver.program.name(key), ()) if key is not None else ()
        for binding in kept[:_DEEPEST]:
            if binding.kind == "value":
                yield from self._made(binding.node, binding.scope, store, depth + 1)

    def _everywhere(self, store: str) -> list[Made]:
        """Every call of the file that makes such a client."""
        known = self._all.get(store)
        if known is None:
            known = self._all[store] = []
            for node, scope in self._resolver.program.calls:
                callee = node.child_by_field_name("function") or node.child_by_field_name("constructor")
                if store in self._resolver.value(callee, scope).paths:
                    known.append((node, scope))
        return known

    def _named(self, call: Node, scope: Scope, store: str) -> Iterator[Host]:
        """Where the client that `call` makes is, as far as its arguments say."""
        service = self._words.stores[store]
        values = [self._resolver.value(each, scope) for each in self._resolver.arguments(call)[:_MOST_GIVEN]]
        places = [text for value in values for text in _texts(value)]
        places += [text for value in values for key in self._words.place_keys for text in _texts(self._at(value, key))]
        hosts = [host for text in places if "." in (host := host_of(text)).name]
        if hosts:
            yield from (host for host in hosts if not host.local)
        elif service and any(map(_is_login, [*places, *self._logins(values)])):
            yield Host(service)

    def _logins(self, values: list[Value]) -> Iterator[str]:
        for value in values:
            for key in self._words.login_keys:
                yield from _texts(self._at(value, key))

    def _at(self, value: Value, key: str) -> Value:
        """What an object literal holds under ``credentials.accessKeyId``; no other object's member of that name."""
        for part in key.split("."):
            found = [
                self._resolver.value(child, home)
                for literal, home in value.objects[:_DEEPEST]
                for child in self._resolver.names.literal(literal, home).get(part, ())
            ]
            value = union(found) if found else Value()
        return value


def _texts(value: Value) -> list[str]:
    """What it is known to say: itself, or each item of a list."""
    listed = value.items if value.items is not None else (value,)
    return [text for item in listed[:_DEEPEST] for text in item.texts if not item.number]


def _is_login(text: str) -> bool:
    """True for a text that opens an account; a hole or a word that asks to be replaced opens none."""
    return len(text) >= _SHORTEST_LOGIN and " " not in text.strip() and not _placeholder().search(text)


@cache
def _placeholder() -> re.Pattern[str]:
    return compiled(table("javascript")["placeholder_login"])
