"""The programs that callers of a wrapper have it start: ``const run = (name, ...rest) => spawnSync(name, rest)``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from skillkeep.auditor.engines.javascript.inner import inner_nodes
from skillkeep.auditor.engines.javascript.values import Value

if TYPE_CHECKING:
    from skillkeep.auditor.engines.javascript.resolve import Resolver
    from skillkeep.auditor.engines.javascript.scopes import Binding, Scope
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["passed_on"]

_MOST_CALLS: Final = 32
_DEEPEST: Final = 3
_PASSED: Final = frozenset({"parameter", "rest"})


@dataclass(frozen=True)
class _Given:
    """An argument, where it is read, and the members of it that are meant; `items`: the list of these instead."""

    node: Node | None
    scope: Scope
    members: tuple[str, ...] = ()
    items: tuple[_Given, ...] | None = None

    def value(self, resolver: Resolver) -> Value:
        if self.items is not None:
            return Value(items=tuple(each.value(resolver) for each in self.items))
        value = resolver.value(self.node, self.scope)
        for member in self.members:
            value = resolver.names.member(value, member)
        return value


def passed_on(resolver: Resolver, arguments: Sequence[Node], scope: Scope) -> Iterator[list[Value]]:
    """The values of `arguments` by each call of the function around them that passes them on; nothing without one."""
    given = [_taken_apart(each, scope) for each in arguments]
    if _first_bound(resolver, given) is not None:
        found = _each(resolver, given, _DEEPEST)
        yield from ([each.value(resolver) for each in values] for values in found if values)


def _taken_apart(node: Node, scope: Scope) -> _Given:
    if node.type != "array":
        return _Given(node, scope)
    return _Given(None, scope, items=tuple(_Given(each, scope) for each in inner_nodes(node)))


def _each(resolver: Resolver, given: Sequence[_Given], depth: int) -> Iterator[Sequence[_Given]]:
    bound = _first_bound(resolver, given)
    if bound is None:
        yield given
        return
    calls = (resolver.names.callers(bound.scope) or ([], False))[0] if depth else []
    for call, home in calls[:_MOST_CALLS]:
        if not resolver.spend(1):
            return
        passed = [_taken_apart(each, home) for each in resolver.arguments(call)]
        yield from _each(resolver, _all_replaced(resolver, given, bound.scope, passed), depth - 1)


def _all_replaced(
    resolver: Resolver, given: Sequence[_Given], function: Scope, passed: list[_Given]
) -> tuple[_Given, ...]:
    """`given` when `function` is called with `passed`."""
    return tuple(new for each in given for new in _replaced(resolver, each, function, passed))


def _replaced(resolver: Resolver, given: _Given, function: Scope, passed: list[_Given]) -> Iterator[_Given]:
    if given.items is not None:
        yield replace(given, items=_all_replaced(resolver, given.items, function, passed))
        return
    bound = _bound(resolver, given)
    if bound is None or bound.scope is not function:
        yield given
        return
    spread = given.node is not None and given.node.type == "spread_element"
    rest = tuple(passed[bound.index :])
    if bound.kind == "rest" and not spread:
        yield _Given(None, given.scope, items=rest)
    elif bound.kind == "rest":
        yield from rest
    elif not rest:
        yield _Given(None, given.scope)
    elif spread:
        yield from rest[0].items if rest[0].items is not None else rest[:1]
    else:
        yield replace(rest[0], members=(*rest[0].members, *bound.members)) if rest[0].items is None else rest[0]


def _first_bound(resolver: Resolver, given: Sequence[_Given]) -> Binding | None:
    """The first parameter among the arguments, also inside of a list."""
    for each in given:
        found = _bound(resolver, each) if each.items is None else _first_bound(resolver, each.items)
        if found is not None:
            return found
    return None


def _bound(resolver: Resolver, given: _Given) -> Binding | None:
    """The parameter that an argument is: by its bare name, or ``...rest``."""
    node = given.node
    if node is not None and node.type == "spread_element":
        node = next(iter(inner_nodes(node)), None)
    if node is None or node.type != "identifier" or given.members:
        return None
    found = given.scope.lookup(resolver.program.name(node))
    passed = [each for each in found[1] if each.kind in _PASSED] if found is not None else []
    return passed[0] if len(passed) == 1 else None
