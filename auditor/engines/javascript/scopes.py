"""Scopes of a JavaScript file and what their names are bound to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["ANY", "FUNCTIONS", "INSIDE", "THROWN", "Binding", "Scope", "is_getter"]

THROWN: Final = "<thrown>"
"""Among a program's properties: what it throws."""

ANY: Final = "<any>"
"""Among a program's properties: what is merged into ``this``. The path of a part under a name that is not written."""

INSIDE: Final = "<inside>"
"""The path of a part that is put into a member of what a name holds."""

FUNCTIONS: Final = frozenset(
    {
        "function_declaration", "function_expression", "arrow_function", "method_definition", "generator_function",
        "generator_function_declaration",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Binding:
    """One value of a name: an expression read in `scope`, then the `members` of it that a pattern took.

    `kind`: ``value``; ``append`` (``+=``); ``element`` of a value; ``part`` that was put into it; ``getter``;
    ``import`` of `path`; ``parameter`` number `index` of `scope`, or the ``rest`` from there; ``class``; ``caught`` for
    what is thrown somewhere; ``none`` for a name without a value. A property's binding has the path ``=`` when it was
    assigned; a part's has `ANY` where it may replace any member.
    """

    kind: str
    node: Node | None
    scope: Scope
    members: tuple[str, ...] = ()
    path: str = ""
    index: int = -1

    def of(self, member: str) -> Binding:
        """The same value, taken apart by one more step of a pattern."""
        return Binding(self.kind, self.node, self.scope, (*self.members, member), self.path, self.index)


@dataclass(eq=False)
class Scope:
    """The names of one function, or of the file. Blocks share their function's scope.

    `node` is the function, `call` the call that it is written into, as an argument or as what is called.
    """

    parent: Scope | None
    node: Node | None = None
    call: Node | None = None
    depth: int = 0
    names: dict[str, list[Binding]] = field(default_factory=dict)
    returns: list[Node] = field(default_factory=list)

    def bind(self, name: str, binding: Binding) -> None:
        """Add one possible value of `name`."""
        self.names.setdefault(name, []).append(binding)

    def lookup(self, name: str) -> tuple[Scope, list[Binding]] | None:
        """The scope that binds `name` as seen from here, and its values there."""
        scope: Scope | None = self
        while scope is not None:
            found = scope.names.get(name)
            if found is not None:
                return scope, found
            scope = scope.parent
        return None


def is_getter(node: Node) -> bool:
    """True for ``get name() {…}``."""
    return node.type == "method_definition" and node.children[0].type == "get"
