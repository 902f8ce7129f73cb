"""Where standard streams lead: to one object at a shell's both ends, as to a socket, or to nobody."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

from skillkeep.auditor.engines.python.scopes import CHOSEN, Scope
from skillkeep.auditor.engines.python.site import Site

__all__ = ["is_joined_shell", "is_silenced"]

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


def is_silenced(site: Site, call: ast.Call, scope: Scope) -> bool:
    """True for ``os.dup2(fd, 1)`` where all that `fd` can be is the null device: a daemon lets its streams go."""
    given = call.args[0] if call.args else None
    if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and given.func.attr == "fileno":
        given = given.func.value
    bound = scope.lookup(given.id) if isinstance(given, ast.Name) else None
    if not {"open", "devnull", CHOSEN}.isdisjoint(site.found.attributes) or _is_closed(site, given, call.lineno):
        return False
    opened = [each.node if each.kind == "value" else None for each in bound[1]] if bound else [given]
    return all(isinstance(each, ast.Call) and _opens_null(site, each, bound[0] if bound else scope) for each in opened)


def _is_closed(site: Site, given: ast.expr | None, line: int) -> bool:
    """True where its number is given back before that line, so that what is opened next gets it."""
    name = given.id if isinstance(given, ast.Name) else None
    closing = (each for each, _ in site.found.callers.get("close", ()) if each.lineno <= line)
    return any(isinstance(arg, ast.Name) and arg.id == name for each in closing for arg in each.args)


def _opens_null(site: Site, call: ast.Call, scope: Scope) -> bool:
    names = site.names.resolve(call.func, scope)
    if names not in {("os.open",), ("builtins.open",)} or not call.args:
        return False
    return site.names.resolve(call.args[0], scope) == ("os.devnull",) or site.fold(call.args[0], scope) == "/dev/null"
