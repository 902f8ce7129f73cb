"""What stands inside of an expression."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["WRAPPERS", "inner_nodes", "saying"]

WRAPPERS: Final = frozenset({"parenthesized_expression", "non_null_expression", "as_expression"})
"""Nodes that have the very value of the expression in them."""

_NOTHING: Final = frozenset({"null", "undefined"})


def inner_nodes(node: Node) -> list[Node]:
    """Its named children without comments, which the grammar puts among them wherever they stand."""
    return [child for child in node.named_children if child.type != "comment"]


def saying(nodes: Iterable[Node | None]) -> list[Node]:
    """The alternatives that are a value: ``found ? "pbcopy" : null`` stands for one text, as null is never run."""
    return [node for node in nodes if node is not None and node.type not in _NOTHING]
