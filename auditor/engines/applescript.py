"""AppleScript that is written down but for texts it shows or stores, as ``set name of found to "…"``.

A quote in such a text still breaks out (CWE-94), as one in a shell command does: a weakness of an honest script, and no
way to hide another. It holds for the system's own applications of notes, mail and the like, by their written names, in
a script that runs no text: what types, presses, opens, loads or hands code to another program is left to be refused.
"""

from __future__ import annotations

import re
from typing import Final

from skillkeep.auditor.engines.values import HOLE

__all__ = ["fills_texts", "script_given"]

_PIECE: Final = re.compile(r'(?P<text>"(?:[^"\\]|\\.)*")|(?:--|#)[^\n]*|\(\*.*?\*\)', re.DOTALL)
_SHELL: Final = re.compile(r"\bdo\s+shell\s+script\b", re.IGNORECASE)
_WRITTEN_COMMAND: Final = re.compile(r'\s*("(?:[^"\\]|\\.)*")[ \t]*\)?[ \t]*(?=\n|\Z)', re.DOTALL)
_RUNS: Final = re.compile(  # runs, types, presses or opens something, or reaches what can
    r"\b(?:script|javascript|run|load|store|execute|eval\w*|keystroke|key\s+(?:code|down)|open|click|press|perform"
    r"|write|url|location|framework|library|current\s+application|system\s+attribute|alias|file|shortcut|using)\b"
    r"|[«»¬|]",
    re.IGNORECASE,
)
_APPLICATION: Final = re.compile(r"\b(?:application|app|process)\b(?:\s+id)?\s*(\"(?:[^\"\\]|\\.)*\")?", re.IGNORECASE)
_OWN: Final = frozenset({"notes", "reminders", "calendar", "contacts", "mail", "messages", "music", "photos"})
_HERE: Final = re.compile(
    r"\s*(?:/usr/bin/)?osascript[ \t]*(?:-[ \t]*)?<<[ \t]*(?P<mark>['\"])(?P<end>\w+)(?P=mark)[ \t]*\n"
    r"(?P<script>.*\n)(?P=end)\s*",
    re.DOTALL,
)


def script_given(command: str) -> str | None:
    """The script of ``osascript << 'END' …`` where a shell leaves it alone and the command is nothing else."""
    found = _HERE.fullmatch(command)
    return found["script"] if found is not None else None


def fills_texts(script: str) -> bool:
    """True where all that is unknown in `script` stands between its quotes, and none of these texts is run."""
    code = _PIECE.sub(lambda piece: '""' if piece["text"] else _left_of(piece[0]), script)
    if '"' in code.replace('""', "") or HOLE in code:
        return False
    for found in _SHELL.finditer(script):
        command = _WRITTEN_COMMAND.match(script, found.end())
        if command is None or HOLE in command[1]:
            return False
    if _RUNS.search(_SHELL.sub("", code)):
        return False
    names = [(found[1] or "").strip('"').lower() for found in _APPLICATION.finditer(script)]
    return _OWN.issuperset(names)


def _left_of(comment: str) -> str:
    """A comment that holds something unknown, or a quote that others may read as one, is left where it is."""
    return comment if HOLE in comment or '"' in comment else " "
