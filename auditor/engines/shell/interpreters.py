"""Which interpreter a command starts, whatever name it goes by, and where its code stands among the arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.shell.model import Word
from skillkeep.auditor.engines.shell.site import Call, ShellSite

__all__ = ["LEADING", "code_option", "interpreter_of", "is_fed", "scripts_of"]

_COMMAND: Final = compiled(r"-c(?:o(?:m(?:m(?:a(?:nd?)?)?)?)?)?", re.IGNORECASE)  # PowerShell takes any beginning
_POWERSHELLS: Final = frozenset({"powershell", "pwsh"})
_VALUED: Final = compiled(
    r"-(?!f)\w+", re.IGNORECASE
)  # an option, but ``-File``, after which a script is given its own
_BEFORE_A_WORD: Final = frozenset({"-O", "+O", "-o", "+o", "--rcfile", "--init-file"})  # what follows is no script
LEADING: Final = frozenset({"run", "exec", "x", "test", "watch", "tsx"})
"""Words before a script's name: ``deno run script``."""

_ONE_LINERS: Final = frozenset({"perl", "ruby", "lua", "luajit", "raku"})
_FLAGS: Final = compiled(r"-(?![MmIrW])[A-Za-z0-9]{2,8}")  # ``-lane``, and no ``-Mmodule``
_SCRIPT: Final = compiled(r"(?![-+])[\w./~-]*\w\.(?:pl|py|rb|js|mjs|cjs|ts|sh|bash|lua|php)")
_SWITCHING: Final = frozenset({"su", "runuser", "script"})  # a user or file may stand before the code


def interpreter_of(call: Call, site: ShellSite, table: dict[str, Any]) -> dict[str, Any] | None:
    """What the shell's `table` says of the interpreter that `call` starts, also of a copy under another name."""
    known = _named(call.name, table)
    programs, first = site.files.programs, call.program
    if known is not None or not programs or first is None:
        return known
    return _named(programs.get(site.name(site.scope.text(first), first), ""), table)


def _named(name: str, table: dict[str, Any]) -> dict[str, Any] | None:
    known: dict[str, Any] | None = table["interpreters"].get(name)
    if known is None and name.startswith(("python3.", "python2.")):
        known = table["interpreters"]["python3"]
    return known


def code_option(call: Call, options: list[str]) -> int | None:
    """Index of the code among the arguments; ``-c`` may hide in ``-lc`` or ``-xec``."""
    for index, argument in enumerate(call.arguments[:-1]):
        if argument in options or (call.name in _POWERSHELLS and _COMMAND.fullmatch(argument)):
            return index + 1
        clustered = len(argument) > 2 and argument[0] == "-" and argument[1] != "-"
        if clustered and "-c" in options and argument[1:].isalpha() and argument.endswith("c"):
            return index + 1
        if clustered and call.name in _ONE_LINERS and _FLAGS.fullmatch(argument) and f"-{argument[-1]}" in options:
            return index + 1
        if call.name in _POWERSHELLS and index and _VALUED.fullmatch(call.arguments[index - 1]):
            continue
        if call.name in _SWITCHING or (index and call.arguments[index - 1] in _BEFORE_A_WORD):
            continue
        if not argument.startswith(("-", "+")) and argument not in {"pipefail"}:
            return None
    return None


def is_fed(call: Call) -> bool:
    """True where the interpreter's program is what it reads; a ``-`` after a script's name is given to that script."""
    operands = [item for item in call.operands if item != "-"]
    if operands and call.arguments[0] == operands[0] and _SCRIPT.fullmatch(operands[0]):
        return False
    return not operands or call.has("-s", "-") or "/dev/stdin" in operands


def scripts_of(call: Call) -> Iterator[Word]:
    """The arguments that may name the script: the first, and those that follow what may be an option's value."""
    before = ""
    for text, word in zip(call.arguments, call.words, strict=False):
        if not text.startswith(("-", "+")):
            yield word
            if not before.startswith("-") and text not in LEADING:
                return
        before = text
