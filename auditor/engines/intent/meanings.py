"""The tables of meanings: ``intent.yaml`` and, of whole phrases, ``phrases.yaml``."""

from __future__ import annotations

from typing import Any, Final

from skillkeep.auditor.engines.tables import table

__all__ = ["meanings"]

_TABLES: Final = ("intent", "phrases")


def meanings(part: str) -> Any:
    """The `part` of both tables: the mapping ``classes`` or the list ``frames``."""
    first, second = (table(name)[part] for name in _TABLES)
    return {**first, **second} if isinstance(first, dict) else [*first, *second]
