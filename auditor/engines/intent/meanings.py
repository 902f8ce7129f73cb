"""The tables of meanings: ``intent.yaml``, whole phrases in ``phrases.yaml``, other languages in ``languages.yaml``."""

from __future__ import annotations

from itertools import chain
from typing import Any, Final

from skillkeep.auditor.engines.tables import table

__all__ = ["meanings"]

_TABLES: Final = ("intent", "phrases", "languages")


def meanings(part: str) -> Any:
    """The `part` of all tables: the mapping ``classes`` or the list ``frames``."""
    tables = [table(name)[part] for name in _TABLES]
    return list(chain(*tables)) if isinstance(tables[0], list) else {k: v for each in tables for k, v in each.items()}
