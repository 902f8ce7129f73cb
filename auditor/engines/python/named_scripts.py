"""``python3 -c "exec(open('/srv/work/fill.py').read())"``, which is ``python3 /srv/work/fill.py`` in other words."""

from __future__ import annotations

import ast
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.python.scopes import Scope
from skillkeep.auditor.engines.python.site import Site

__all__ = ["is_named_script"]

_PROGRAM: Final = compiled(r"python\d?")
_SCRIPT: Final = compiled(r"(?!/tmp/|/var/tmp/|/dev/shm/)(?:[\w.~-]*/)*[\w-]+\.py")
_MOST_OPENED: Final = 3  # arguments: the name, the mode, the buffering


def is_named_script(site: Site, argument: ast.expr | None, scope: Scope) -> bool:
    """True where the code on a Python's command line reads, for it to be run, a script of a written name.

    Whoever starts that Python is asked where the script comes from.
    """
    if not site.segment.provenance or not _PROGRAM.fullmatch(site.segment.provenance[-1]):
        return False
    read = argument.func if isinstance(argument, ast.Call) and not argument.args else None
    opened = read.value if isinstance(read, ast.Attribute) and read.attr == "read" else None
    if not isinstance(opened, ast.Call) or not 0 < len(opened.args) <= _MOST_OPENED:
        return False
    if "builtins.open" not in site.names.resolve(opened.func, scope):
        return False
    name = site.fold(opened.args[0], scope)
    return isinstance(name, str) and isinstance(opened.args[0], ast.Constant) and _SCRIPT.fullmatch(name) is not None
