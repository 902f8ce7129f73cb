"""Copies of the environment: what keeps each variable under its own name, and what else may be put under one.

``{**os.environ}["NAME"]`` is that variable and no other, as long as nothing that holds more is put there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from skillkeep.auditor.engines.python.names import Names
from skillkeep.auditor.engines.python.scopes import Scope

__all__ = ["GETTERS", "Put", "Puts", "are_of_copies", "copied", "is_environment", "key_of"]

GETTERS: Final = frozenset({"get", "pop", "setdefault", "__getitem__"})
_COPIERS: Final = frozenset({"builtins.dict", "copy.copy", "copy.deepcopy", "collections.OrderedDict"})
_COPIES: Final = frozenset({"os.environ.copy()", *(f"{name}()" for name in _COPIERS)})
_SETTERS: Final = frozenset({"__setitem__", "__ior__", "setitem", "ior", "__setattr__"})
_FILLERS: Final = frozenset({"update", "setdefault"})

Put = tuple[str | None, ast.AST, Scope]  # the key when it is written down, what is put there, where


def key_of(part: str) -> str | None:
    """The text that a part of a thing is kept under; see `part_of`."""
    key = ast.literal_eval(part[1:-1]) if part.startswith(("['", '["')) else None
    return key if isinstance(key, str) else None


def are_of_copies(names: tuple[str, ...]) -> bool:
    """True for names of methods that are at most those of a copy of the environment, or of a dictionary."""
    return all(name.rpartition(".")[0] in _COPIES for name in names)


def is_environment(names: Names, node: ast.AST, scope: Scope) -> bool:
    """True for ``os.environ`` as it is written."""
    return isinstance(node, ast.Attribute) and names.resolve(node, scope) == ("os.environ",)


def copied(names: Names, node: ast.AST, scope: Scope) -> tuple[list[ast.expr], list[ast.AST]] | None:
    """What `node` keeps under the same names, and what else is in it; None for anything but a copy."""
    if isinstance(node, ast.Call):
        return _called(names, node, scope)
    if isinstance(node, ast.Dict):
        spread = [value for key, value in zip(node.keys, node.values, strict=True) if key is None]
        own = [value for key, value in zip(node.keys, node.values, strict=True) if key is not None]
        return (spread, [*own, *filter(None, node.keys)]) if spread else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return [node.left, node.right], []
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse], []
    if isinstance(node, ast.BoolOp):
        return node.values, []
    return _chosen(node)


def _called(names: Names, node: ast.Call, scope: Scope) -> tuple[list[ast.expr], list[ast.AST]] | None:
    callee = names.resolve(node.func, scope)
    if isinstance(node.func, ast.Attribute) and node.func.attr == "copy" and not node.args and not node.keywords:
        return ([node.func.value], []) if not callee or callee == ("os.environ.copy",) else None
    if not callee or not _COPIERS.issuperset(callee) or len(node.args) > 1:
        return None
    spread = [item.value for item in node.keywords if item.arg is None]
    return [*node.args, *spread], [item.value for item in node.keywords if item.arg is not None]


def _chosen(node: ast.AST) -> tuple[list[ast.expr], list[ast.AST]] | None:
    """``{name: value for name, value in environment.items() if …}``."""
    if not isinstance(node, ast.DictComp) or len(node.generators) != 1:
        return None
    loop, each = node.generators[0], node.generators[0].iter
    pair = loop.target.elts if isinstance(loop.target, ast.Tuple) else []
    plain = [item.id for item in (*pair, node.key, node.value) if isinstance(item, ast.Name)]
    listed = isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.func.attr == "items"
    if not listed or len(pair) != 2 or plain[:2] != plain[2:] or len(set(plain)) != 2:
        return None
    return [each.func.value], []  # type: ignore[attr-defined]


class Puts:
    """Everything that a program puts under a name, however it comes by what it puts it into."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self.lost = False
        """True when a function that puts something goes where it is not followed."""
        self.all: list[Put] = []
        for source in names.program.sources:
            self._walk(source.found.module.owner, source.found.module)

    def under(self, key: str) -> Iterator[Put]:
        """What may be put under `key`."""
        return (put for put in self.all if put[0] is None or put[0] == key)

    def _walk(self, tree: ast.AST, module: Scope) -> None:
        scopes = self._names.found(module).scopes
        queue: list[tuple[ast.AST, Scope]] = [(tree, module)]
        called: set[int] = set()
        while queue:
            node, scope = queue.pop()
            inner = scopes.get(id(node), scope)
            if isinstance(node, ast.Call):
                called.add(id(node.func))
                self._call(node, scope)
            elif isinstance(node, ast.Attribute):
                self.lost = self.lost or node.attr in _SETTERS or (node.attr in _FILLERS and id(node) not in called)
            elif isinstance(node, ast.Constant):
                self.lost = self.lost or (isinstance(node.value, str) and node.value in _SETTERS | _FILLERS)
            elif isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.For | ast.AsyncFor | ast.withitem):
                self._stored(node, scope)
            elif isinstance(node, ast.alias):
                self.lost = self.lost or node.name in _SETTERS
            queue.extend((child, inner) for child in ast.iter_child_nodes(node))

    def _call(self, node: ast.Call, scope: Scope) -> None:
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if method == "setdefault" and len(node.args) > 1:
            self.all.append((_text(node.args[0]), node.args[1], scope))
        elif method == "update":
            self.all.extend((item.arg, item.value, scope) for item in node.keywords)
            for item in node.args:
                self._taken_over(item, scope)

    def _taken_over(self, node: ast.expr, scope: Scope) -> None:
        if isinstance(node, ast.Dict):
            pairs = zip(node.keys, node.values, strict=True)
            self.all.extend((_text(key), value, scope) for key, value in pairs if key is not None)
            for key, value in zip(node.keys, node.values, strict=True):
                if key is None:
                    self._taken_over(value, scope)
        elif not is_environment(self._names, node, scope):
            self.all.append((None, node, scope))

    def _stored(self, node: ast.AST, scope: Scope) -> None:
        value = getattr(node, "value", None) or getattr(node, "iter", None) or getattr(node, "context_expr", None)
        if value is None:
            return
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.BitOr):
            self._taken_over(value, scope)
        single = getattr(node, "target", None) or getattr(node, "optional_vars", None)
        for target in filter(None, getattr(node, "targets", None) or [single]):
            for each in ast.walk(target):
                if isinstance(each, ast.Subscript) and isinstance(each.ctx, ast.Store):
                    self.all.append((_text(each.slice), value, scope))


def _text(node: ast.AST | None) -> str | None:
    """The text of a key that is written down."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
