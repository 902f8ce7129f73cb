"""Whether a pipeline lets through only the lines of settings that it names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from skillkeep.auditor.engines.shell.model import Command
from skillkeep.auditor.engines.tables import secrets

__all__ = ["narrows"]

_FIRST: Final = re.compile(r"tr|strings|cat|sort")
_NAMES: Final = re.compile(r"\^?\(?\^?[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?:\\?\|\^?[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)*\)?=?")
_NAME: Final = re.compile(r"[A-Z][A-Z0-9_]+")
_OPTIONS: Final = frozenset({"-E", "-e", "-a", "-i", "-w", "-aE", "-Ea", "--text"})


def narrows(commands: Sequence[Command]) -> bool:
    """True for ``… | tr '\\0' '\\n' | grep -E 'DD_ENV|DD_SERVICE'``: names written out, and none of a secret."""
    for command in commands:
        words = [word.literal for word in command.words]
        if not words or None in words or command.redirects:
            return False
        if words[0] in {"grep", "egrep"}:
            rest = [word for word in words[1:] if word not in _OPTIONS]
            return len(rest) == 1 and _is_plain(rest[0] or "")
        if not _FIRST.fullmatch(words[0] or ""):
            return False
    return False


def _is_plain(pattern: str) -> bool:
    return bool(_NAMES.fullmatch(pattern)) and not any(map(secrets().variable, _NAME.findall(pattern)))
