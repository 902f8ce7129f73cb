"""The lines of a project's own ``.env`` made ready for the shell: ``source <(sed 's/^/export /' .env)``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.tables import secrets

__all__ = ["prints_dotenv"]

_FILE: Final = compiled(r"(?:\./)?\.env(?:\.[a-z][\w-]{0,30}){0,3}")  # beside the command: no other folder's
_OWN: Final = compiled(r"~/\.(?:config/)?[a-z][\w-]{2,40}/(?:config|settings|\.?env)")  # as `source` itself reads in
_NAMED: Final = compiled(r"\^(?:export )?[A-Z][A-Z0-9]+_(?:[A-Z0-9_]+|\([A-Z0-9_]+(?:\|[A-Z0-9_]+)+\))=")
_LEFT_OUT: Final = compiled(
    r"\^?\\?(?:\[\[:space:\]\]\*|\\s\*)?#|\^\$|\^(?:\\s|\[\[:space:\]\])\*(?:#|\$)|\^#\\\|\^\$|\^#\|\^\$"
)
_EDIT: Final = compiled(r"s([/|#,])\^\1export \1g?|/\^#/d|/\^\$/d|/\^\\s\*#/d")
_OPTIONS: Final = frozenset({"-v", "-E", "-e", "-Ev", "-vE", "-ve"})


def prints_dotenv(commands: Sequence[Sequence[str]]) -> bool:
    """True when a pipeline of these commands prints the lines of one such file, none but ``export`` put before them.

    Or lines of named variables, out of a file in a folder of the user's that no known program keeps a secret in.
    """
    files: list[str] = []
    for words in commands:
        dropped = any("v" in word for word in words if word.startswith("-"))
        named = words is commands[0] and not dropped and any(map(_NAMED.fullmatch, words))
        here = [word for word in words[1:] if _FILE.fullmatch(word) or (named and _is_own(word))]
        files += here
        rest = [word for word in words[1:] if word not in _OPTIONS and word not in here]
        name = words[0] if words else ""
        if name == "cat":
            allowed = not rest
        elif name in {"grep", "egrep"}:
            leaves = bool(rest) and "v" in "".join(words[1:2]) and all(map(_LEFT_OUT.fullmatch, rest))
            allowed = leaves or (named and all(map(_NAMED.fullmatch, rest)))
        else:
            allowed = name == "sed" and bool(rest) and all(map(_EDIT.fullmatch, rest))
        if not allowed:
            return False
    return files == [commands[0][-1]]


def _is_own(path: str) -> bool:
    return _OWN.fullmatch(path) is not None and secrets().path(path) is None
