"""Ruby's methods as values (``method(:system)``) are called out of sight; the commands that they may be given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from skillkeep.auditor.engines.whole_commands import is_whole_command
from skillkeep.auditor.syntax import walk

if TYPE_CHECKING:
    from skillkeep.auditor.engines.ruby.folding import Folder
    from skillkeep.auditor.engines.tree_site import TreeSite
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["loose_commands"]

_SHOWING: Final = frozenset({"puts", "print", "p", "pp", "warn", "raise", "abort", "printf", "say", "fail"})
_MOST_CLIMBED: Final = 12


def loose_commands(root: Node, folder: Folder, site: TreeSite) -> Iterator[tuple[Node, str]]:
    """Every text of the script that reads as a whole command and is not shown to somebody."""
    for node in walk(root):
        if node.type == "string" and not _is_shown(node, site):
            value = folder.value(node)
            if value.known and is_whole_command(value.text):
                yield node, value.text


def _is_shown(node: Node, site: TreeSite) -> bool:
    inner: Node | None = node.parent
    for _ in range(_MOST_CLIMBED):
        if inner is None:
            return False
        if inner.type == "call":
            method = inner.child_by_field_name("method")
            if method is not None and site.source(method) in _SHOWING:
                return True
        inner = inner.parent
    return False
