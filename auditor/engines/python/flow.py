"""A small taint inside one file: which secrets, downloads and decoders an expression depends on.

Backwards and on demand: only the arguments of sinks are followed, through assignments, calls of the file's own
functions and their parameters. Labels: ``secret:<what>``, ``environment`` (all of it), ``download``, ``decoded``.
"""

from __future__ import annotations

import ast
from typing import Any, Final

from skillkeep.auditor.engines.python.collect import Binding, Scope
from skillkeep.auditor.engines.python.functions import DECODERS
from skillkeep.auditor.engines.python.site import Site
from skillkeep.auditor.engines.python.values import alternatives
from skillkeep.auditor.engines.tables import secrets

__all__ = ["Flow", "secret_labels"]

_STEPS: Final = 100_000
_DEPTH: Final = 40
_NOTHING: Final[frozenset[str]] = frozenset()


def secret_labels(labels: frozenset[str]) -> list[str]:
    """What secrets the labels name, in words."""
    return sorted(label.partition(":")[2] for label in labels if label.startswith("secret:"))


class Flow:
    """Labels of expressions in one file. Memoised per name; bounded in steps and depth."""

    def __init__(self, site: Site, table: dict[str, Any]) -> None:
        self._site = site
        self._table = table
        self._environment = frozenset(table["environment"])
        self._downloads = tuple(table["download_suffixes"])
        self._memo: dict[tuple[int, str], frozenset[str]] = {}
        self._open: set[int] = set()
        self._left = _STEPS
        self._depth = 0

    def labels(self, node: ast.AST | None, scope: Scope) -> frozenset[str]:
        """The labels of the value of `node`."""
        if node is None or self._left <= 0 or self._depth > _DEPTH:
            return _NOTHING
        self._left -= 1
        self._depth += 1
        try:
            return self._labels(node, scope)
        finally:
            self._depth -= 1

    def _labels(self, node: ast.AST, scope: Scope) -> frozenset[str]:
        if isinstance(node, ast.Constant):
            return _NOTHING
        if isinstance(node, ast.Name):
            return self._name(node.id, scope)
        if isinstance(node, ast.Lambda):
            return _NOTHING
        if (chosen := self._chosen_variable(node, scope)) is not None:
            return self._variable(chosen, scope)
        found = self._own(node, scope)
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.expr_context | ast.operator):
                found |= self.labels(child, scope)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found |= self._returned(node.func.id, scope)
        return found

    def _chosen_variable(self, node: ast.AST, scope: Scope) -> ast.AST | None:
        """The expression that names one variable of the environment, when `node` reads exactly one."""
        if isinstance(node, ast.Subscript) and "os.environ" in self._site.names.resolve(node.value, scope):
            return node.slice
        if isinstance(node, ast.Call) and node.args:
            callee = self._site.names.resolve(node.func, scope)
            return node.args[0] if any(name in self._environment for name in callee) else None
        return None

    def _own(self, node: ast.AST, scope: Scope) -> frozenset[str]:
        if isinstance(node, ast.Call):
            return self._called(node, scope)
        if isinstance(node, ast.Attribute) and node.attr in {"environ", "environb"}:
            return frozenset({"environment"}) if "os.environ" in self._site.names.resolve(node, scope) else _NOTHING
        return _NOTHING

    def _called(self, node: ast.Call, scope: Scope) -> frozenset[str]:
        found = _NOTHING
        for name in self._site.names.resolve(node.func, scope):
            if name.startswith(self._downloads):
                found |= {"download"}
            if name in DECODERS:
                found |= {"decoded"}
            if (where := self._table["read"].get(name)) is not None:
                found |= self._path(self._site.argument(node, where), scope)
            if name in self._table["credential_calls"]:
                found |= {f"secret:{self._table['credential_calls'][name]}"}
        if isinstance(node.func, ast.Attribute) and node.func.attr in self._table["read_methods"]:
            found |= self._path(node.func.value, scope)
        return found

    def _variable(self, chooser: ast.AST, scope: Scope) -> frozenset[str]:
        names = [text for text in alternatives(self._site.fold(chooser, scope)) if isinstance(text, str)]
        return frozenset(f"secret:{name}" for name in names if secrets().variable(name))

    def _path(self, node: ast.AST | None, scope: Scope) -> frozenset[str]:
        texts = [text for text in alternatives(self._site.fold(node, scope)) if isinstance(text, str)]
        return frozenset(f"secret:{what}" for text in texts if (what := secrets().path(text)))

    def _name(self, name: str, scope: Scope) -> frozenset[str]:
        bound = scope.lookup(name)
        if bound is None:
            return _NOTHING
        home, bindings = bound
        key = (id(home), name)
        if key in self._memo:
            return self._memo[key]
        if id(bindings) in self._open:
            return _NOTHING
        self._open.add(id(bindings))
        found = _NOTHING
        for binding in bindings[:256]:
            found |= self._parameter(binding) if binding.kind == "param" else self.labels(binding.node, home)
        self._open.discard(id(bindings))
        if not self._open:
            self._memo[key] = found
        return found

    def _parameter(self, binding: Binding) -> frozenset[str]:
        found = _NOTHING
        for argument, scope in self._site.names.arguments_for(binding):
            found |= self.labels(argument, scope)
        return found

    def _returned(self, function: str, scope: Scope) -> frozenset[str]:
        bound = scope.lookup(function)
        found = _NOTHING
        for binding in bound[1] if bound else ():
            inner = self._site.found.scopes.get(id(binding.node)) if binding.kind == "define" else None
            if inner is not None and id(inner) not in self._open:
                self._open.add(id(inner))
                for value in inner.returns[:64]:
                    found |= self.labels(value, inner)
                self._open.discard(id(inner))
        return found
