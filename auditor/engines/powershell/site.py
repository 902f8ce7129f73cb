"""Where the judges of one PowerShell segment stand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from skillkeep.auditor.engines.tree_site import TreeSite
from skillkeep.auditor.engines.values import Value

if TYPE_CHECKING:
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["Site"]


@dataclass(eq=False)
class Site(TreeSite):
    """One parsed segment, and the other names that the script gives to commands.

    `unpacked` are folders with the content of a downloaded archive, and its address; `here` is the one that it is in.
    """

    aliases: dict[str, str] = field(default_factory=dict)
    unpacked: dict[str, str] = field(default_factory=dict)
    here: str = ""

    def file_name(self, file: Value, node: Node | None) -> str:
        """Windows knows no case, and either slash."""
        return super().file_name(file, node).lower().replace("/", "\\").removeprefix(".\\")
