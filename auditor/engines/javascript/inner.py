"""What stands inside of an expression."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["WRAPPERS", "copies_event", "inner_nodes", "saying"]

WRAPPERS: Final = frozenset({"parenthesized_expression", "non_null_expression", "as_expression"})
"""Nodes that have the very value of the expression in them."""

_NOTHING: Final = frozenset({"null", "undefined"})


def inner_nodes(node: Node) -> list[Node]:
    """Its named children without comments, which the grammar puts among them wherever they stand."""
    return [child for child in node.named_children if child.type != "comment"]


def saying(nodes: Iterable[Node | None]) -> list[Node]:
    """The alternatives that are a value: ``found ? "pbcopy" : null`` stands for one text, as null is never run."""
    return [node for node in nodes if node is not None and node.type not in _NOTHING]


def copies_event(node: Node, arguments: Sequence[Node], source: Callable[[Node], str]) -> bool:
    """True for ``new event.constructor(event.type, event)``: an event of the same kind, and no text that is run."""
    callee = node.child_by_field_name("constructor")
    if callee is None or len(arguments) != 2 or arguments[1].type != "identifier":
        return False
    event, members = source(arguments[1]), ((callee, "constructor"), (arguments[0], "type"))
    for each, name in members:
        holder, member = each.child_by_field_name("object"), each.child_by_field_name("property")
        if holder is None or member is None or source(holder) != event or source(member) != name:
            return False
    return True
