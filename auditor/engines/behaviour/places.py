"""Files that run later, written by a tool whose documents do not say so (rules/tables/secrets.yaml, `persistence`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.behaviour.acts import code_of
from skillkeep.auditor.engines.behaviour.documents import Documents
from skillkeep.auditor.engines.interface import SourceFile, SourceTree
from skillkeep.auditor.engines.tables import secrets
from skillkeep.auditor.interface import Capability, Location

__all__ = ["unnamed_places"]

_MOST: Final = 200
_CLOSES: Final = compiled(r"os\.chmod\([\w.]+, *0o?[64]00\)")  # to others; it writes nothing and lets nothing run


def unnamed_places(
    tree: SourceTree, documents: Documents, starters: dict[str, str]
) -> Iterator[tuple[Capability, str]]:
    """Writes of code to places that run later: of files that start unasked (`starters`), and those nobody announced."""
    written = [each for each in tree.capabilities if each.kind == "write"]
    for each in written[:_MOST]:
        meaning = secrets().persistence(each.value)
        if meaning is None or not meaning.named:
            continue
        path = each.evidence.path
        if path in starters:
            yield each, f"{starters[path]} starts it, and it writes {meaning.what}: {each.value[:120]}"
        elif not documents.silent and not documents.says(meaning.named):
            file = tree.get(path)
            if file is not None and code_of(file) and not _CLOSES.fullmatch(_shown(file, each.evidence)):
                yield each, f"writes {meaning.what}, {each.value[:120]}, which no document mentions"


def _shown(file: SourceFile, at: Location) -> str:
    """What stands at a place of one line."""
    lines = (file.text or "").split("\n")
    if at.line != at.end_line or not 0 < at.line <= len(lines):
        return ""
    return lines[at.line - 1][(at.column or 1) - 1 : (at.end_column or 1) - 1]
