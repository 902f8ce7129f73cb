"""C# that Add-Type compiles: whether it only declares functions of Windows that look at windows or place them."""

from __future__ import annotations

import re
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.tables import table

__all__ = ["only_declares"]

_LONGEST: Final = 4_000
_COMMENT: Final = compiled(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_ACCESS: Final = r"(?:public |internal |private )?"
_IMPORT: Final = (
    r"\[DllImport\(\"(?:user32|dwmapi|shcore)(?:\.dll)?\"(?:, ?\w+ ?= ?[\w.]+)*\)\] ?"
    r"(?:\[return: ?MarshalAs\([\w.]+\)\] ?)?"
    rf"{_ACCESS}static extern [\w.]+ (?P<name>\w+) ?\((?P<taken>[\w.,\[\] ]*)\) ?;"
)
_FUNCTION: Final = compiled(_IMPORT)
_DELEGATE: Final = compiled(rf"{_ACCESS}delegate [\w.]+ (?P<name>\w+) ?\([\w.,\[\] ]*\) ?;")
_CALLS_BACK: Final = {"EnumWindows": 0, "EnumChildWindows": 1}  # which argument Windows calls
_DECLARED: Final = (  # each leaves nothing of itself; what encloses others comes last
    _FUNCTION,
    _DELEGATE,
    compiled(r"using [\w.]+ ?;"),
    compiled(rf"{_ACCESS}const \w+ \w+ ?= ?[\w.-]+ ?;"),
    compiled(
        rf"(?:\[StructLayout\([\w.]+\)\] ?)?{_ACCESS}struct \w+ ?\{{ ?"
        rf"(?:{_ACCESS}[\w.]+ \w+(?: ?, ?\w+)* ?; ?)*\}}"
    ),
    compiled(rf"{_ACCESS}(?:static )?(?:partial )?class \w+ ?\{{[; ]*\}}"),
)


def only_declares(source: str) -> bool:
    """True for C# without a line that runs: structures, constants and imports of the table's functions."""
    rest = " ".join(_COMMENT.sub(" ", source).split())
    known = frozenset(table("powershell")["window_functions"])
    names = [found["name"] for found in _FUNCTION.finditer(rest)]
    if len(source) > _LONGEST or not names or not known.issuperset(names) or not _calls_back_to_code(rest):
        return False
    for declaration in _DECLARED:
        rest = declaration.sub("", rest)
    return not rest.strip("; ")


def _calls_back_to_code(source: str) -> bool:
    """True where whatever Windows calls back is of a type that the source declares: an address could be anything."""
    declared = {found["name"] for found in _DELEGATE.finditer(source)}
    for found in _FUNCTION.finditer(source):
        if (at := _CALLS_BACK.get(found["name"])) is not None:
            taken = found["taken"].split(",")
            if at >= len(taken) or declared.isdisjoint(taken[at].split()[:1]):
                return False
    return True
