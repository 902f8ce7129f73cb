"""``${name…}`` with an operator, worked out on a known value. Reference: POSIX.1-2024, 2.6.2; bash for the rest."""

from __future__ import annotations

import re
from typing import Final

from skillkeep.auditor.compiled import compiled

__all__ = ["expanded"]

_LONGEST: Final = 1024  # a pattern with one star costs its square
_MOST_STARS: Final = 1
_NUMBER: Final = compiled(r"\s*-?\d{1,6}\s*")


def expanded(value: str, operator: str, operands: list[str]) -> str | None:
    """The value after ``${value<operator><operands>}``, or None when it is not worked out."""
    if len(value) > _LONGEST or any(len(each) > _LONGEST for each in operands):
        return None
    if operator in {"^^", ",,", "^", ","}:
        return _cased(value, operator) if not operands or not operands[0] else None
    if operator == ":":
        return _part(value, operands)
    pattern = _pattern(operands[0]) if operands else None
    if pattern is None:
        return None
    if operator in {"/", "//", "/#", "/%"}:
        new = operands[1] if len(operands) > 1 else ""
        return _replaced(value, operator, pattern, new)
    if operator in {"#", "##"}:
        return _trimmed(value, range(len(value) + 1), pattern, longest=operator == "##")
    if operator in {"%", "%%"}:
        return _trimmed(value, range(len(value), -1, -1), pattern, longest=operator == "%%", end=True)
    return None


def _cased(value: str, operator: str) -> str:
    if len(operator) == 2:
        return value.upper() if operator == "^^" else value.lower()
    head = value[:1].upper() if operator == "^" else value[:1].lower()
    return head + value[1:]


def _part(value: str, operands: list[str]) -> str | None:
    if not operands or not all(_NUMBER.fullmatch(each) for each in operands):
        return None
    start = int(operands[0])
    start = max(len(value) + start, 0) if start < 0 else start
    if len(operands) == 1:
        return value[start:]
    length = int(operands[1])
    return value[start : start + length] if length >= 0 else value[start:length]


def _pattern(glob: str) -> re.Pattern[str] | None:
    if glob.count("*") > _MOST_STARS or "[" in glob:
        return None
    parts = [".*" if char == "*" else "." if char == "?" else re.escape(char) for char in glob]
    return re.compile("".join(parts), re.DOTALL)


def _replaced(value: str, operator: str, pattern: re.Pattern[str], new: str) -> str | None:
    if not pattern.pattern:
        return value
    if operator == "/#":
        found = pattern.match(value)
        return new + value[found.end() :] if found else value
    if operator == "/%":
        return None
    return pattern.sub(lambda _: new, value, count=0 if operator == "//" else 1)


def _trimmed(value: str, places: range, pattern: re.Pattern[str], *, longest: bool, end: bool = False) -> str:
    """`value` without its shortest or longest beginning (or end) that the pattern matches."""
    for place in reversed(places) if longest else places:
        part = value[place:] if end else value[:place]
        if pattern.fullmatch(part):
            return value[:place] if end else value[place:]
    return value
