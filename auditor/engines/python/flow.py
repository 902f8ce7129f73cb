"""A small taint inside one file: which secrets, downloads and decoders an expression depends on.

Each name is summarised once: the labels its values carry themselves, and the names they mention. A question then
walks that graph, so its cost is the number of names in reach. It is followed through assignments, calls of the
file's own functions and their parameters. Labels: ``secret:<what>``, ``environment`` (all of it), ``download``,
``decoded``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from skillkeep.auditor.engines.python.collect import Binding, Scope
from skillkeep.auditor.engines.python.functions import DECODERS
from skillkeep.auditor.engines.python.site import Site
from skillkeep.auditor.engines.python.values import alternatives
from skillkeep.auditor.engines.tables import secrets

__all__ = ["Flow", "secret_labels"]

_NODES: Final = 200_000
_REACH: Final = 5_000
_RETURNS: Final = "<returns>"

Key = tuple[int, str]  # id of a scope, and a name in it or `_RETURNS`


@dataclass
class _Summary:
    """What some expressions carry themselves, and the names they mention."""

    labels: set[str] = field(default_factory=set)
    mentions: dict[Key, Scope] = field(default_factory=dict)


def secret_labels(labels: frozenset[str]) -> list[str]:
    """What secrets the labels name, in words."""
    return sorted(label.partition(":")[2] for label in labels if label.startswith("secret:"))


class Flow:
    """Labels of expressions in one file."""

    def __init__(self, site: Site, table: dict[str, Any]) -> None:
        self._site = site
        self._table = table
        self._environment = frozenset(table["environment"])
        self._downloads = tuple(table["download_suffixes"])
        self._memo: dict[Key, _Summary] = {}
        self._left = _NODES

    @property
    def exhausted(self) -> bool:
        """True when the budget of nodes ran out, so that later answers lack labels."""
        return self._left <= 0

    def labels(self, node: ast.AST | None, scope: Scope) -> frozenset[str]:
        """The labels of the value of `node`."""
        if node is None:
            return frozenset()
        start = _Summary()
        self._read(node, scope, start)
        found = set(start.labels)
        seen: set[Key] = set(start.mentions)
        queue = list(start.mentions.items())
        while queue and len(seen) < _REACH:
            key, home = queue.pop()
            summary = self._summary(key, home)
            found |= summary.labels
            fresh = summary.mentions.keys() - seen
            seen |= fresh
            queue.extend((each, summary.mentions[each]) for each in fresh)
        return frozenset(found)

    def _summary(self, key: Key, home: Scope) -> _Summary:
        known = self._memo.get(key)
        if known is not None:
            return known
        summary = self._memo[key] = _Summary()
        if key[1] == _RETURNS:
            for value in home.returns[:256]:
                self._read(value, home, summary)
            return summary
        for binding in home.bindings.get(key[1], ())[:4096]:
            for node, scope in self._sources(binding, home):
                self._read(node, scope, summary)
        return summary

    def _sources(self, binding: Binding, home: Scope) -> Iterator[tuple[ast.AST, Scope]]:
        if binding.kind == "param":
            yield from self._site.names.arguments_for(binding)
        elif binding.node is not None and binding.kind != "define":
            yield binding.node, home

    def _read(self, root: ast.AST, scope: Scope, into: _Summary) -> None:
        """Add what the expression `root` carries and mentions; names are not followed here."""
        stack: list[ast.AST] = [root]
        while stack and self._left > 0:
            node = stack.pop()
            self._left -= 1
            if isinstance(node, ast.Name):
                self._mention(node.id, scope, into)
            elif isinstance(node, ast.Call) and not self._one_variable(node, scope, into):
                self._called(node, scope, into)
                stack.extend((node.func, *node.args, *(item.value for item in node.keywords)))
            elif isinstance(node, ast.Subscript) and not self._one_variable(node, scope, into):
                stack.extend((node.value, node.slice))
            elif isinstance(node, ast.Attribute):
                if node.attr in {"environ", "environb"} and "os.environ" in self._site.names.resolve(node, scope):
                    into.labels.add("environment")
                stack.append(node.value)
            elif not isinstance(node, ast.Constant | ast.Lambda | ast.Call | ast.Subscript):
                stack.extend(ast.iter_child_nodes(node))

    def _mention(self, name: str, scope: Scope, into: _Summary) -> None:
        bound = scope.lookup(name)
        if bound is not None:
            into.mentions[id(bound[0]), name] = bound[0]

    def _one_variable(self, node: ast.Call | ast.Subscript, scope: Scope, into: _Summary) -> bool:
        """True when `node` reads exactly one variable of the environment."""
        if isinstance(node, ast.Subscript):
            chooser = node.slice if "os.environ" in self._site.names.resolve(node.value, scope) else None
        else:
            callee = self._site.names.resolve(node.func, scope)
            chooser = node.args[0] if node.args and not self._environment.isdisjoint(callee) else None
        if chooser is None:
            return False
        names = [text for text in alternatives(self._site.fold(chooser, scope)) if isinstance(text, str)]
        into.labels.update(f"secret:{name}" for name in names if secrets().variable(name))
        return True

    def _called(self, node: ast.Call, scope: Scope, into: _Summary) -> None:
        for name in self._site.names.resolve(node.func, scope):
            if name.startswith(self._downloads):
                into.labels.add("download")
            if name in DECODERS:
                into.labels.add("decoded")
            if (where := self._table["read"].get(name)) is not None:
                self._path(self._site.argument(node, where), scope, into)
            if name in self._table["credential_calls"]:
                into.labels.add(f"secret:{self._table['credential_calls'][name]}")
        if isinstance(node.func, ast.Attribute):
            if node.func.attr in self._table["read_methods"]:
                self._path(node.func.value, scope, into)
        elif isinstance(node.func, ast.Name):
            self._returned(node.func.id, scope, into)

    def _path(self, node: ast.AST | None, scope: Scope, into: _Summary) -> None:
        texts = [text for text in alternatives(self._site.fold(node, scope)) if isinstance(text, str)]
        into.labels.update(f"secret:{what}" for text in texts if (what := secrets().path(text)))

    def _returned(self, function: str, scope: Scope, into: _Summary) -> None:
        bound = scope.lookup(function)
        for binding in bound[1] if bound else ():
            inner = self._site.found.scopes.get(id(binding.node)) if binding.kind == "define" else None
            if inner is not None:
                into.mentions[id(inner), _RETURNS] = inner
