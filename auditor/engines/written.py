"""Programs that a program writes: a text that is put into a file whose name says what will run it."""

from __future__ import annotations

import re
from typing import Final

from skillkeep.auditor.engines.interface import Context

__all__ = ["written_as"]

_ENDINGS: Final = {
    "js": Context.JAVASCRIPT, "mjs": Context.JAVASCRIPT, "cjs": Context.JAVASCRIPT, "ts": Context.TYPESCRIPT,
    "py": Context.PYTHON, "sh": Context.SHELL, "bash": Context.SHELL, "command": Context.SHELL, "zsh": Context.SHELL,
    "ps1": Context.POWERSHELL, "rb": Context.RUBY,
}  # fmt: skip
_NAME: Final = re.compile(r"\.(\w{2,7})$")
_SHORTEST: Final = 40  # characters


def written_as(name: str, text: str) -> Context | None:
    """The language that `text`, written to the file `name`, will be read as; None for what is no program."""
    found = _NAME.search(name)
    return _ENDINGS.get(found[1].lower()) if found is not None and len(text) >= _SHORTEST else None
