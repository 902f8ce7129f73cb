"""Texts that by themselves read as a whole command line, wherever a program keeps them.

Where a program hands what runs commands to something that no engine follows, nothing tells any more which text is run.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.tables import table

__all__ = ["is_whole_command"]

_LONGEST: Final = 4_000
_OPERATOR: Final = compiled(r"\||&&|;|\$\(|`|<\(|>\(|/dev/(?:tcp|udp)/")
_PATTERN: Final = compiled(r"\\[sSbwWdD.*|()\[]|\.\*|\[\^|\(\?[:i=!]|\.\+")  # a pattern that searches for commands
_ASSIGNED: Final = compiled(r"[A-Za-z_]\w*=")
_PLACE: Final = compiled(r"[/@]|\.[a-z]")  # what a command reaches for, as against a sentence about one


@cache
def _programs() -> frozenset[str]:
    known = table("shell")
    named = (*known["network"], *known["interpreters"], *known["decoders"], *known["whole_commands"])
    return frozenset(name for name in named if name.islower())


@cache
def _prefixes() -> frozenset[str]:
    return frozenset(table("shell")["prefixes"])


def is_whole_command(text: str) -> bool:
    """True for a text that begins with a program which fetches, decodes or interprets, and goes on to another one."""
    if len(text) > _LONGEST or not _OPERATOR.search(text) or not _PLACE.search(text) or _PATTERN.search(text):
        return False
    for word in text.lstrip(" \t\n({").split(None, 12)[:12]:
        name = word.rpartition("/")[2].removesuffix(".exe").strip("\"'").lower()
        if name in _prefixes() or word.startswith("-") or _ASSIGNED.match(word):
            continue
        return name in _programs()
    return False
