"""What names are given in a program of any language, and the lines that belong to a statement: by spelling alone."""

from __future__ import annotations

import re
from typing import Final

from skillkeep.auditor.compiled import compiled

__all__ = ["body_below", "names_given", "with_given"]

_GIVEN: Final = compiled(
    r"^[ \t]*(?:(?:export|const|let|mut|var|val|final|static|local|my|for"
    r"|await)[ \t(]{1,4}){0,3}\$?(?P<name>[A-Za-z_]\w{0,40})"
    r"(?:[ \t]*:[ \t]*[^=\n]{1,40})?(?:[ \t]*:?=[ \t]*|[ \t](?:in|of)[ \t]+)(?P<value>[^=\n][^\n]{0,300})",
    re.MULTILINE,
)
_WORD: Final = compiled(r"[A-Za-z_]\w{0,40}")
_MOST: Final = 40
_MOST_LINES: Final = 60


def names_given(text: str) -> dict[str, str]:
    """What each name is set to, or goes through, in the last such line of `text`."""
    return {found["name"]: found["value"] for found in _GIVEN.finditer(text)}


def with_given(expression: str, given: dict[str, str]) -> str:
    """An expression, what the names in it are given, and the names in that; at most some forty."""
    told, waiting, known = [expression], [expression], set[str]()
    while waiting and len(known) < _MOST:
        for name in _WORD.findall(waiting.pop()):
            if name not in known and name in given:
                known.add(name)
                told.append(given[name])
                waiting.append(given[name])
    return "\n".join(told)


def body_below(text: str, start: int, end: int) -> str:
    """The lines of a statement that begins at `start` and whose head ends at `end`, and those below that stand in."""
    begin = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", end)
    first = text[begin : stop if stop >= 0 else len(text)]
    own, kept = len(first) - len(first.lstrip()), [first]
    for line in text[begin + len(first) + 1 :].split("\n", _MOST_LINES)[:_MOST_LINES]:
        if line.strip() and len(line) - len(line.lstrip()) <= own and line.strip() not in {"do", "{"}:
            break
        kept.append(line)
    return "\n".join(kept)
