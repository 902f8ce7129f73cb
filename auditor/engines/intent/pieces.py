"""Letters that a text must hold for a pattern to match: what lets most text be passed over without a search.

Reads the part of the regular expression syntax that the tables use. In doubt it answers None: search everything.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["alternatives_of", "pieces_of"]

_SHORTEST: Final = 3
_LETTERS: Final = re.compile(r"[a-z]+")
_REPEAT: Final = re.compile(r"\{(\d+)(?:,\d*)?\}")
_REPEATS: Final = frozenset("?*+{")
_GROUP: Final = re.compile(r"\((?:\?(?:P<\w+>|:))?")
_ENOUGH: Final = 5

Pieces = frozenset[str] | None


def pieces_of(pattern: str) -> Pieces:
    """Texts of at least three letters, one of which is in every ASCII match of `pattern`; None when none is known."""
    found, at = _either(pattern, 0)
    return found if at == len(pattern) else None


def alternatives_of(pattern: str) -> list[str]:
    """`pattern` cut at the bars outside of groups and classes."""
    cut, depth, start, at = [], 0, 0, 0
    while at < len(pattern):
        char = pattern[at]
        if char in "\\[":
            at = _item(pattern, at)[2]
            continue
        depth += (char == "(") - (char == ")")
        if char == "|" and not depth:
            cut.append(pattern[start:at])
            start = at + 1
        at += 1
    return [*cut, pattern[start:]]


def _either(text: str, at: int) -> tuple[Pieces, int]:
    """Alternatives: the union of what each needs."""
    union: frozenset[str] = frozenset()
    known = True
    while True:
        found, at = _sequence(text, at)
        known = known and found is not None
        union |= found or frozenset()
        if at >= len(text) or text[at] != "|":
            return (union if known else None), at
        at += 1


def _sequence(text: str, at: int) -> tuple[Pieces, int]:
    """Things that follow each other: the best of what any of them needs."""
    best: Pieces = None
    run = ""
    while at < len(text) and text[at] not in "|)":
        start = at
        if letters := _LETTERS.match(text, at):
            end = letters.end()
            at = end - 1 if text[end : end + 1] in _REPEATS else end  # a repetition is of the last letter
            run += text[start:at]
            if at > start:
                continue
        single, found, at = _item(text, at)
        least, at = _least(text, at)
        if single and least == 1 and at == start + len(single):
            run += single
            continue
        best = _better(best, _letters(run))
        run = single if single and least else ""
        best = _better(best, found if least else None)
    return _better(best, _letters(run)), at


def _item(text: str, at: int) -> tuple[str, Pieces, int]:
    """One character, class or group: its letter if it is one, what it needs, and where it ends."""
    char = text[at]
    if char == "\\":
        end = text.index("}", at) + 1 if text[at + 1] in "pP" and text[at + 2 : at + 3] == "{" else at + 2
        return "", None, end
    if char == "[":
        end = at + 2 if text[at + 1] in "^]" else at + 1
        while text[end] != "]":
            end += 2 if text[end] == "\\" else 1
        return "", None, end + 1
    if char == "(":
        opened = _GROUP.match(text, at)
        found, end = _either(text, opened.end() if opened else at + 1)
        return "", found, end + 1
    return (char if "a" <= char <= "z" else ""), (None if char.isascii() else frozenset()), at + 1


def _least(text: str, at: int) -> tuple[int, int]:
    """How often at least the item before `at` comes, and where its repetition ends."""
    least = 1
    if at < len(text) and text[at] in "?*+":
        least, at = (1 if text[at] == "+" else 0), at + 1
    elif repeat := _REPEAT.match(text, at):
        least, at = min(int(repeat[1]), 1), repeat.end()
    return least, at + 1 if text[at : at + 1] == "?" and text[at - 1 : at] in "?*+}" else at


def _letters(run: str) -> Pieces:
    found = max(_LETTERS.findall(run), key=len, default="")
    return frozenset({found}) if len(found) >= _SHORTEST else None


def _better(one: Pieces, other: Pieces) -> Pieces:
    """The one with longer pieces; at the same length the one with fewer."""
    if one is None or other is None:
        return one if other is None else other
    return max(one, other, key=lambda each: (min(min(map(len, each), default=_ENOUGH), _ENOUGH), -len(each)))
