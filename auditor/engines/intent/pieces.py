"""Words that a text must hold for a pattern to match: what lets most text be passed over without a search.

Reads the part of the regular expression syntax that the tables use. In doubt it answers None: search everything.
"""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

__all__ = ["Piece", "alternatives_of", "pieces_of"]

_SHORTEST: Final = 3
_REPEAT: Final = re.compile(r"\{(\d+)(?:,\d*)?\}")
_LETTERS: Final = re.compile(r"[a-z]+(?![?*+{])")  # each of them comes once
_GROUP: Final = re.compile(r"\((?:\?(?:P<\w+>|:))?")
_ENOUGH: Final = 7
_BRACKETS: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[()]")
_REPEATS: Final = ("?", "*", "+", "{")
_CLOSES: Final = ("", "|", ")")


@dataclass(frozen=True)
class Piece:
    """Letters inside of a word; with `first` the word starts with them, with `last` it ends with them."""

    letters: str
    first: bool = False
    last: bool = False

    @classmethod
    def spelled(cls, text: str) -> Piece:
        """The piece that `str` shows as `text`."""
        return cls(text.strip("^$"), text.startswith("^"), text.endswith("$"))

    def __str__(self) -> str:
        """Its letters, after ^ when a word starts with them, before $ when one ends with them."""
        return "^" * self.first + self.letters + "$" * self.last

    @property
    def worth(self) -> int:
        """How rare it is, roughly."""
        return min(len(self.letters) + self.first + self.last, _ENOUGH)


Pieces = frozenset[Piece] | None


def pieces_of(alternative: str, *, whole: bool = False) -> list[frozenset[Piece]]:
    """Sets of pieces of words, the rarest first: every ASCII match of `alternative` holds one piece of each set.

    With `whole`, matches start and end where words do.
    """
    found, at = _sequence(alternative, 0, whole, whole)
    return sorted(found, key=_worth, reverse=True) if at == len(alternative) else []


def alternatives_of(pattern: str) -> list[str]:
    """`pattern` cut at the bars outside of groups and classes."""
    cut, depth, start, at = [], 0, 0, 0
    while at < len(pattern):
        char = pattern[at]
        if char in "\\[":
            at = _item(pattern, at, first=False)[2]
            continue
        depth += (char == "(") - (char == ")")
        if char == "|" and not depth:
            cut.append(pattern[start:at])
            start = at + 1
        at += 1
    return [*cut, pattern[start:]]


def _either(text: str, at: int, first: bool, last: bool) -> tuple[Pieces, int]:
    """Alternatives: the union of what each needs."""
    union: frozenset[Piece] = frozenset()
    known = True
    while True:
        found, at = _sequence(text, at, first, last)
        known = known and bool(found)
        union |= max(found, key=_worth, default=frozenset())
        if at >= len(text) or text[at] != "|":
            return (union if known else None), at
        at += 1


def _sequence(text: str, at: int, first: bool, last: bool) -> tuple[list[frozenset[Piece]], int]:
    """Things that follow each other: what each of them needs."""
    needs: list[Pieces] = []
    run, opened = "", first
    fresh = first  # a word starts here
    while at < len(text) and text[at] not in "|)":
        if letters := _LETTERS.match(text, at):
            opened = opened if run else fresh
            run, fresh, at = run + letters[0], False, letters.end()
            continue
        start = at
        single, found, at = _item(text, at, fresh, last)
        stop = at
        least, at = _least(text, at)
        gap = text[start] == " " and least == 1 and at == start + 1
        needs += (_piece(run, opened, gap), found if least else None)
        run, opened = (single, fresh) if single and least else ("", False)
        fresh = gap or ((least > 0 or fresh) and text[start] == "(" and _ends_blank(text, start, stop))
    needs.append(_piece(run, opened, last))
    return [need for need in needs if need is not None], at


def _item(text: str, at: int, first: bool, last: bool = False) -> tuple[str, Pieces, int]:
    """One character, class or group: its letter if it is one, what it needs, and where it ends.

    With `last`, a word ends where the text does, or the group around.
    """
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
        end = _ends(text)[at]
        after = text[end + 1 : end + 2]
        whole = (after == " " and text[end + 2 : end + 3] not in _REPEATS) or (last and after in _CLOSES)
        found, end = _either(text, opened.end() if opened else at + 1, first, whole)
        return "", found, end + 1
    return (char if "a" <= char <= "z" else ""), (None if char.isascii() else frozenset()), at + 1


def _ends_blank(text: str, start: int, stop: int) -> bool:
    """True when a word starts after the group ``[start, stop)``, whichever of its alternatives was taken."""
    return all(each.endswith(" ") for each in alternatives_of(text[text.find(":", start) + 1 : stop - 1]))


@lru_cache(4)
def _ends(text: str) -> dict[int, int]:
    """Where each group of `text` is closed, by where it is opened."""
    ends: dict[int, int] = {}
    opened: list[int] = []
    for found in _BRACKETS.finditer(text):
        if found[0] == "(":
            opened.append(found.start())
        elif found[0] == ")":
            ends[opened.pop()] = found.start()
    return ends


def _least(text: str, at: int) -> tuple[int, int]:
    """How often at least the item before `at` comes, and where its repetition ends."""
    least = 1
    if at < len(text) and text[at] in "?*+":
        least, at = (1 if text[at] == "+" else 0), at + 1
    elif repeat := _REPEAT.match(text, at):
        least, at = min(int(repeat[1]), 1), repeat.end()
    return least, at + 1 if text[at : at + 1] == "?" and text[at - 1 : at] in "?*+}" else at


def _piece(run: str, first: bool, last: bool) -> Pieces:
    if len(run) < _SHORTEST and not (run and first and last):
        return None
    return frozenset({Piece(run, first, last)})


def _worth(need: AbstractSet[Piece]) -> tuple[int, int]:
    """How rare a set of pieces is, roughly."""
    return min((piece.worth for piece in need), default=_ENOUGH), -len(need)
