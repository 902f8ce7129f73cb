"""Judges reads of secrets: environment variables by name, credential files by path, stores by call."""

from __future__ import annotations

import ast
from typing import Any, Final

from skillkeep.auditor.engines.python.scopes import Scope
from skillkeep.auditor.engines.python.site import Site
from skillkeep.auditor.engines.python.values import HOLE, alternatives
from skillkeep.auditor.engines.tables import secrets

__all__ = ["Credentials"]

_WHOLE: Final = ("os.environ.items", "os.environ.values", "os.environ.keys")
_SHORTEST_PATH: Final = 4
_LONGEST_MENTION: Final = 400
_FOLDED: Final = frozenset(
    {ast.Constant, ast.Name, ast.Call, ast.BinOp, ast.JoinedStr, ast.Attribute, ast.Subscript, ast.IfExp}
)
_AT_ONCE: Final = 64
_COPIERS: Final = frozenset(
    {"builtins.dict", "builtins.str", "builtins.repr", "json.dumps", "builtins.print", "pprint.pprint"}
)


class Credentials:
    """Judges calls and subscripts of one file, then the secret paths that nothing was seen to read."""

    def __init__(self, site: Site, table: dict[str, Any]) -> None:
        self._site = site
        self._table = table
        self._environment = frozenset(table["environment"])
        self._harmless = frozenset(table["harmless"])
        self._harmless_methods = frozenset(table["harmless_methods"])
        self._covered: set[int] = set()  # ids of the nodes whose text a judged read names
        self._known: dict[str, str | None] = {}

    def call(self, call: ast.Call, scope: Scope, names: tuple[str, ...]) -> None:
        """Judge `call`, whose callee may be any of `names`."""
        for name in names:
            if name in self._environment and call.args:
                self._variable(call, call.args[0], scope)
            elif name in self._table["credential_calls"]:
                what = self._table["credential_calls"][name]
                self._site.report("code-credential-store", call, f"{name} reads {what}")
            elif name in _WHOLE or (name in _COPIERS and self._takes_environment(call, scope)):
                self._site.report("code-environment-read", call, "every variable of the environment is read")
        self._paths(call, scope, names)

    def subscript(self, node: ast.Subscript, scope: Scope) -> None:
        """Judge ``os.environ["NAME"]`` where it is read."""
        if isinstance(node.ctx, ast.Load) and "os.environ" in self._site.names.resolve(node.value, scope):
            self._variable(node, node.slice, scope)

    def mentions(self) -> None:
        """Report secret paths in the code's texts that no judged read covers."""
        texts = [
            (node, node.value if isinstance(node.value, str) else node.value.decode("latin-1"))
            for node in self._site.found.texts
            if isinstance(node.value, str | bytes) and len(node.value) < _LONGEST_MENTION
        ]
        for first in range(0, len(texts), _AT_ONCE):
            some = texts[first : first + _AT_ONCE]
            if not secrets().near("\n".join(text for _, text in some)):
                continue
            for node, text in some:
                if (what := secrets().path(text)) is not None and id(node) not in self._covered:
                    self._site.report("code-credential-mention", node, f"names the place of {what}")

    def _variable(self, node: ast.Call | ast.Subscript, chooser: ast.AST, scope: Scope) -> None:
        value = self._site.fold(chooser, scope)
        names = [item for item in alternatives(value) if isinstance(item, str) and HOLE not in item]
        if not names:
            self._site.capability("env", "*", node)
        for name in names:
            if secrets().plain(name):
                continue
            self._site.capability("env", name, node)
            if secrets().variable(name):
                self._site.report("code-credential-env", node, f"reads the secret {name}", subject=name)

    def _takes_environment(self, call: ast.Call, scope: Scope) -> bool:
        return any("os.environ" in self._site.names.resolve(item, scope) for item in call.args)

    def _paths(self, call: ast.Call, scope: Scope, names: tuple[str, ...]) -> None:
        receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
        method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if receiver is not None and method in self._table["read_methods"] and self._path(call, receiver, scope):
            return
        if names and self._harmless.issuperset(names):
            return
        if (receiver is not None and method in self._harmless_methods) or self._is_local(call, scope):
            return
        for item in call.args:
            if item.__class__ in _FOLDED:
                self._path(call, item, scope)
        for keyword in call.keywords:
            if keyword.value.__class__ in _FOLDED:
                self._path(call, keyword.value, scope)

    def _is_local(self, call: ast.Call, scope: Scope) -> bool:
        """True for a call of a function or class that this file defines: its body is judged with what it is given."""
        if not isinstance(call.func, ast.Name):
            return False
        bound = scope.lookup(call.func.id)
        return bound is not None and all(item.kind == "define" for item in bound[1])

    def _path(self, call: ast.Call, item: ast.expr, scope: Scope) -> bool:
        if isinstance(item, ast.Constant) and not isinstance(item.value, str):
            return False
        for text in alternatives(self._site.fold(item, scope)):
            if not isinstance(text, str) or len(text) < _SHORTEST_PATH:
                continue
            what = self._known[text] if text in self._known else self._known.setdefault(text, secrets().path(text))
            if what is not None:
                self._covered.update(map(id, ast.walk(item)))
                shown = str(text).replace(HOLE, "…")[:120]
                self._site.report("code-credential-file", call, f"reaches for {what}: {shown}")
                return True
        return False
