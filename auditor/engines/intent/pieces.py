"""Words that a text must hold for a pattern to match: what lets most text be passed over without a search.

Reads the part of the regular expression syntax that the tables use. In doubt it asks for nothing: search everything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from math import prod
from typing import Final

from skillkeep.auditor.compiled import compiled

__all__ = ["SHORTEST", "Piece", "Pieces", "Way", "alternatives_of", "chance", "ways_of"]

_FOREIGN: Final = compiled("[^\x00-\x7f\xa0-\xbf\u2000-\u2bff\u3000-\u3003\ufe0f\U0001f000-\U0001faff]")
"""A letter of no English word."""
SHORTEST: Final = 3
"""Letters of a piece that is no whole word, at least."""
_REPEAT: Final = compiled(r"\{(\d+)(?:,\d*)?\}")
_LETTERS: Final = compiled(r"[a-z]+(?![?*+{])")  # each of them comes once
_PLURAL: Final = compiled(r"([a-z]*)([a-z])\?(?=[ |)]|$)")  # the last letter of a word may be missing
_GROUP: Final = compiled(r"\((?:\?(?:P<\w+>|:))?")
_BRACKETS: Final = compiled(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[()]")
_CLOSES: Final = ("", "|", ")")
_SHORTHANDS: Final = tuple("\\" + each for each in "abBdDfnrstvwWSzA")
_NO_LITERAL: Final = (".", "^", "$", *_SHORTHANDS)
_CHANGED: Final = " *`_<>\\'\"-"  # what plain text may have instead of other characters, or is without
_NO_ITEM: Final = (*_CLOSES, "(", "?", "*", "+", "{")
_ANY_LETTER: Final = "abcdefghijklmnopqrstuvwxyz"
_RARE: Final = 0.001  # a set of pieces that rare needs no other beside it
_WORTH: Final = 0.5  # what the ways through a group must be rarer by than all of it to be told apart
_MOST_WAYS: Final = 400
_MOST_SETS: Final = 6


@dataclass(frozen=True)
class Piece:
    """Letters inside of a word; with `first` the word starts with them, with `last` it ends with them.

    With `spelled`, any text as it stands.
    """

    letters: str
    first: bool = False
    last: bool = False
    spelled: bool = False


Pieces = frozenset[Piece]
Commonness = Callable[[Pieces], float]
"""The share of texts that hold one of some pieces, roughly."""
Way = tuple[Pieces, ...]
"""What a match holds: one piece of each set."""


def ways_of(alternative: str, commonness: Commonness, *, whole: bool = False) -> list[Way]:
    """The ways to match `alternative`: each match holds what one of them asks for, whose rarest set is the first.

    With `whole`, matches start and end where words do. An empty way asks for nothing.
    """
    reader = _Reader(alternative, commonness)
    ways, end = reader.sequence(0, whole, whole)
    if end != len(alternative):
        return [()]
    return [tuple(sorted(dict.fromkeys(way), key=commonness)[:_MOST_SETS]) for way in ways]


def chance(ways: Sequence[Way], commonness: Commonness) -> float:
    """The share of texts that allow one of `ways`, roughly."""
    return min(1.0, sum(prod(map(commonness, way)) for way in ways))


def alternatives_of(pattern: str) -> list[str]:
    """`pattern` cut at the bars outside of groups and classes."""
    cut, depth, start, at = [], 0, 0, 0
    while at < len(pattern):
        char = pattern[at]
        if char in "\\[":
            at = _end_of_item(pattern, at)
            continue
        depth += (char == "(") - (char == ")")
        if char == "|" and not depth:
            cut.append(pattern[start:at])
            start = at + 1
        at += 1
    return [*cut, pattern[start:]]


class _Reader:
    """Reads one alternative from left to right."""

    def __init__(self, text: str, commonness: Commonness) -> None:
        self._text = text
        self._commonness = commonness

    def sequence(self, at: int, first: bool, last: bool) -> tuple[list[Way], int]:
        """Things that follow each other: the ways through all of them, and where they end."""
        text = self._text
        ways: list[Way] = [()]
        run, opened = "", first
        fresh = first  # a word starts here
        begin = at
        while at < len(text) and text[at] not in "|)":
            if (plural := _PLURAL.match(text, at)) and (short := run + plural[1]):
                at = plural.end()
                whole = last if text[at : at + 1] in _CLOSES else _is_gap(text, at)
                begins = opened if run else fresh
                forms = [_piece(form, begins, last=whole) for form in (short, short + plural[2])]
                ways = ways if None in forms else _with(ways, frozenset().union(*filter(None, forms)))
                run, fresh = "", False
                continue
            if letters := _LETTERS.match(text, at):
                opened = opened if run else fresh
                run, fresh, at = run + letters[0], False, letters.end()
                continue
            start = at
            if text[at] == "(":
                through, stop = self._group(at, fresh, last)
                least, at = _least(text, stop)
                ways = _with(ways, _piece(run, opened, last=False))
                ways = self._across(ways, through) if least else ways
                run, fresh = "", (least > 0 or fresh) and _ends_blank(text, start, stop)
                continue
            stop = _end_of_item(text, at)
            least, at = _least(text, stop)
            bare = _is_no_letter(text[start:stop])
            ways = _with(ways, _piece(run, opened, last=bare and least > 0))
            single = text[start] if "a" <= text[start] <= "z" else ""
            if least and _FOREIGN.match(text, start):
                ways = _with(ways, frozenset({Piece(text[start], spelled=True)}))
            run, opened = (single, fresh) if single and least else ("", False)
            fresh = bare and (least > 0 or fresh)
        ways = _with(ways, _piece(run, opened, last=last))
        if ways == [()] and (literal := _literal(text[begin:at])):
            ways = [(frozenset({Piece(literal, spelled=True)}),)]
        return ways, at

    def _group(self, at: int, first: bool, last: bool) -> tuple[list[Way], int]:
        """The ways through the group at `at`, and where it ends."""
        text = self._text
        opened = _GROUP.match(text, at)
        end = _ends(text)[at] + 1
        whole = last if text[end : end + 1] in _CLOSES else _is_gap(text, end)
        ways: list[Way] = []
        at = opened.end() if opened else at + 1
        while True:
            found, at = self.sequence(at, first, whole)
            ways += found
            if at >= len(text) or text[at] != "|":
                return ways, end
            at += 1

    def _across(self, ways: list[Way], through: list[Way]) -> list[Way]:
        """`ways` and then those `through` a group: one by one where that makes much rarer what is asked for."""
        if not all(through):
            return ways
        union = frozenset().union(*(min(way, key=self._commonness) for way in through))
        whole = self._commonness(union)
        apart = len(through) > 1 and len(ways) * len(through) <= _MOST_WAYS and whole > _RARE
        if len(through) == 1 or (apart and chance(through, self._commonness) < _WORTH * whole):
            return [way + more for way in ways for more in through]
        return [(*way, union) for way in ways]


def _with(ways: list[Way], piece: Pieces | None) -> list[Way]:
    return ways if piece is None else [(*way, piece) for way in ways]


def _piece(run: str, first: bool, *, last: bool) -> Pieces | None:
    if not run or (len(run) < SHORTEST and not (first and last)):
        return None
    return frozenset({Piece(run, first, last)})


def _literal(text: str) -> str:
    """The longest text that each match of `text` holds as it stands, of two characters or more that are no word."""
    runs, at = [""], 0
    while at < len(text):
        if text[at] == "(":
            end, char = _ends(text)[at] + 1, ""
        else:
            end = _end_of_item(text, at)
            char = text[at:end].removeprefix("\\")
        stop = _least(text, end)[1]
        if stop == end and len(char) == 1 and char not in _CHANGED and text[at:end] not in _NO_LITERAL:
            runs[-1] += char
        else:
            runs.append("")
        at = stop
    return max((run for run in runs if len(run) > 1 and not run.isalpha()), key=len, default="")


def _end_of_item(text: str, at: int) -> int:
    """Where the character, escape or class at `at` ends."""
    if text[at] == "\\":
        return text.index("}", at) + 1 if text[at + 1] in "pP" and text[at + 2 : at + 3] == "{" else at + 2
    if text[at] != "[":
        return at + 1
    end = at + 2 if text[at + 1] in "^]" else at + 1
    while text[end] != "]":
        end += 2 if text[end] == "\\" else 1
    return end + 1


def _is_gap(text: str, at: int) -> bool:
    """True when what follows at `at` is there and cannot go on with a word of English letters."""
    if text[at : at + 1] in _NO_ITEM:
        return False
    end = _end_of_item(text, at)
    return _least(text, end)[0] > 0 and _is_no_letter(text[at:end])


@cache
def _is_no_letter(item: str) -> bool:
    """True for a character, class or anchor that an English letter cannot stand for, nor stand on both sides of."""
    if item == r"\B" or item[:2] in (r"\p", r"\P") or r"\p" in item or r"\P" in item:
        return False
    spelled = re.compile(item.replace(r"\z", r"\Z"))
    return not any(map(spelled.fullmatch, _ANY_LETTER))


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
