"""What stands inside of an expression."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["inner_nodes"]


def inner_nodes(node: Node) -> list[Node]:
    """Its named children without comments, which the grammar puts among them wherever they stand."""
    return [child for child in node.named_children if child.type != "comment"]
