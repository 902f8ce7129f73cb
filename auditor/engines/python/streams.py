"""Whether a program that a call starts has one object as its input and its output, as a shell on a socket has."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

__all__ = ["is_joined_shell"]

_SHELLS: Final = frozenset(
    {"sh", "bash", "dash", "zsh", "ksh", "cmd", "cmd.exe", "powershell", "powershell.exe", "pwsh"}
)


def is_joined_shell(call: ast.Call, words: Sequence[str] | None) -> bool:
    """True when `call` starts a shell, by the command `words`, whose streams are one object, no module's constant."""
    if not words or words[0].rpartition("/")[2] not in _SHELLS:
        return False
    streams = {ast.dump(each.value) for each in call.keywords if each.arg in {"stdin", "stdout"}}
    both = {"stdin", "stdout"} <= {each.arg for each in call.keywords}
    return both and len(streams) == 1 and not streams.pop().startswith(("Constant", "Attribute"))
