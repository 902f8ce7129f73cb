"""What a walk over one file leaves behind: scopes, what binds their names, and the places worth judging."""

from __future__ import annotations

import ast
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from skillkeep.auditor.engines.python.one_line import taken_lines

__all__ = ["CHOSEN", "RAISED", "Binding", "Collected", "Function", "Scope"]

CHOSEN: Final = "<chosen>"
"""Among a file's attributes: what is stored under names that are chosen at run time."""

RAISED: Final = "<raised>"
"""Among a file's attributes: exceptions that are raised with arguments."""

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(eq=False, slots=True)
class Binding:
    """One thing a name may hold.

    `kind`: ``value`` (the node's value), ``import`` (the module or member `name`), ``augment`` (the earlier value
    with `operator` and the node), ``element`` (an element of the node), ``item`` (item `index` of the node), ``part``
    (item `index` of an element of the node), ``param`` (argument `index` of the function `node`), ``rest`` (its
    arguments from `index` on), ``more`` (its keyword arguments), ``define`` (a function or class), ``fed`` (put into
    what is there), ``caught`` (an exception), ``opaque``.
    """

    kind: str
    line: int
    node: ast.AST | None = None
    name: str = ""
    index: int = 0
    operator: ast.operator | None = None


@dataclass(eq=False, slots=True)
class Scope:
    """A module, class or function body, and the names it binds."""

    kind: str
    parent: Scope | None
    owner: ast.AST
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    outer: set[str] = field(default_factory=set)  # names declared global or nonlocal
    loops: list[tuple[int, int]] = field(default_factory=list)
    returns: list[ast.expr] = field(default_factory=list)
    stars: list[str] = field(default_factory=list)  # modules of ``from x import *``
    fed: dict[str, list[tuple[str, ast.expr, Scope]]] = field(default_factory=dict)  # name -> part, what is put there
    root: Scope | None = None  # the file's own scope; None in itself, so that nothing refers to itself

    def bind(self, name: str, binding: Binding) -> None:
        """Add one possible value of `name`."""
        self.bindings.setdefault(name, []).append(binding)

    def lookup(self, name: str) -> tuple[Scope, list[Binding]] | None:
        """The scope that binds `name` as seen from here, and its bindings."""
        found = self.bindings.get(name)
        if found:
            return self, found
        scope = self.parent
        while scope is not None:
            if scope.kind != "class" and (found := scope.bindings.get(name)):
                return scope, found
            scope = scope.parent
        return None

    @property
    def module(self) -> Scope:
        """The scope of the whole file."""
        return self if self.root is None else self.root


@dataclass(eq=False)
class Collected:
    """What one walk found. `attributes` are the values stored under an attribute's name anywhere in the file."""

    module: Scope
    calls: list[tuple[ast.Call, Scope]] = field(default_factory=list)
    subscripts: list[tuple[ast.Subscript, Scope]] = field(default_factory=list)
    texts: list[ast.Constant] = field(default_factory=list)
    decorators: list[tuple[ast.expr, Scope]] = field(default_factory=list)
    attributes: dict[str, list[tuple[Binding, Scope]]] = field(default_factory=lambda: defaultdict(list))
    scopes: dict[int, Scope] = field(default_factory=dict)  # id of a function or class node -> its scope
    callers: dict[str, list[tuple[ast.Call, Scope]]] = field(default_factory=lambda: defaultdict(list))
    unused: set[int] = field(default_factory=set)  # ids of calls whose result nothing takes
    import_guards: list[tuple[int, int]] = field(default_factory=list)  # lines of ``try`` that expect ImportError
    imports: set[str] = field(default_factory=set)  # modules as they are written, and names taken from them
    stored: list[tuple[str, str, ast.expr, Scope]] = field(default_factory=list)  # name, part, what is put there
    plain: list[ast.Call] = field(default_factory=list)  # calls that were written in a roundabout way

    @cached_property
    def taken(self) -> dict[int, frozenset[str]]:
        """By the id of a call that reads a file of settings: the variables that alone are taken out of it."""
        return taken_lines(self.module.owner)
