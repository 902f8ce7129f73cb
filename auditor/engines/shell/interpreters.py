"""Which interpreter a command starts, whatever name it goes by, and where its code stands among the arguments."""

from __future__ import annotations

from typing import Any, Final

from skillkeep.auditor.engines.shell.site import Call, ShellSite

__all__ = ["code_option", "interpreter_of"]

_BEFORE_A_WORD: Final = frozenset({"-O", "+O", "-o", "+o", "--rcfile", "--init-file"})  # what follows is no script
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
        if argument in options:
            return index + 1
        if call.name in _SWITCHING or (index and call.arguments[index - 1] in _BEFORE_A_WORD):
            continue
        clustered = len(argument) > 2 and argument[0] == "-" and argument[1] != "-"
        if clustered and "-c" in options and argument[1:].isalpha() and argument.endswith("c"):
            return index + 1
        if not argument.startswith(("-", "+")) and argument not in {"pipefail"}:
            return None
    return None
