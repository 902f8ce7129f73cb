"""The lines of a project's own ``.env`` made ready for the shell: ``source <(sed 's/^/export /' .env)``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

__all__ = ["prints_dotenv"]

_FILE: Final = re.compile(r"(?:\./)?\.env(?:\.[a-z][\w-]{0,30}){0,3}")  # beside the command: no other folder's
_LEFT_OUT: Final = re.compile(
    r"\^?\\?(?:\[\[:space:\]\]\*|\\s\*)?#|\^\$|\^(?:\\s|\[\[:space:\]\])\*(?:#|\$)|\^#\\\|\^\$|\^#\|\^\$"
)
_EDIT: Final = re.compile(r"s([/|#,])\^\1export \1g?|/\^#/d|/\^\$/d|/\^\\s\*#/d")
_OPTIONS: Final = frozenset({"-v", "-E", "-e", "-Ev", "-vE", "-ve"})


def prints_dotenv(commands: Sequence[Sequence[str]]) -> bool:
    """True when a pipeline of these commands prints the lines of one such file, none but ``export`` put before them."""
    files: list[str] = []
    for words in commands:
        files += [word for word in words[1:] if _FILE.fullmatch(word)]
        rest = [word for word in words[1:] if word not in _OPTIONS and not _FILE.fullmatch(word)]
        name = words[0] if words else ""
        if name == "cat":
            allowed = not rest
        elif name in {"grep", "egrep"}:
            allowed = bool(rest) and "v" in "".join(words[1:2]) and all(map(_LEFT_OUT.fullmatch, rest))
        else:
            allowed = name == "sed" and bool(rest) and all(map(_EDIT.fullmatch, rest))
        if not allowed:
            return False
    return len(files) == 1 and bool(_FILE.fullmatch(commands[0][-1]))
