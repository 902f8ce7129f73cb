"""Data that Python's reader refuses and others may open: broken notebooks, and JSON that is nested too deep."""

from __future__ import annotations

import json
from typing import ClassVar, Final

from skillkeep.auditor.engines.interface import Emitter, Engine, SourceFile
from skillkeep.auditor.notebook import is_unread

__all__ = ["ENGINE", "NestedEngine"]

_DEEP: Final = 500  # brackets: with fewer, nothing is nested too deep


class NestedEngine(Engine):
    """See the module."""

    name: ClassVar[str] = "nested"
    order: ClassVar[int] = 31

    def scan_file(self, file: SourceFile, emit: Emitter) -> None:
        """Tell of one file that could not be read."""
        name = file.known_as.lower()
        if not name.endswith((".ipynb", ".json")) or file.text is None or not file.whole:
            return
        if name.endswith(".ipynb"):
            if is_unread(file.text):
                emit.incomplete(file.path, "the notebook cannot be read as one, so its cells were only searched for")
        elif file.text.count("[") + file.text.count("{") > _DEEP and _too_deep(file.text):
            emit.incomplete(file.path, "its JSON is nested too deep to be read")


def _too_deep(text: str) -> bool:
    try:
        json.loads(text)
    except RecursionError:
        return True
    except ValueError:
        return False
    return False


ENGINE = NestedEngine()
