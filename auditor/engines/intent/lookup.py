"""Which classes the words of a text allow. Made of plain data that is derived from the tables once (`derive`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property, reduce
from operator import or_
from typing import Any, Final

from skillkeep.auditor.engines.intent.commonness import rarity
from skillkeep.auditor.engines.intent.pieces import FOREIGN, Piece, Way, alternatives_of, chance, ways_of

__all__ = ["Lookup", "Texts", "derive"]

_WORD: Final = re.compile(r"[a-z]+")
_LONGEST: Final = 24
_MARKS: Final = "*`_\\"  # what a plain text is without
_MOST_WORDS: Final = 50_000
_TEXTS: Final = 4
_KINDS: Final = ("en", "latin", "other")
_SPELLED_OUT: Final = 0.02  # the share of texts that hold one of the texts that a class needs, roughly

_Checks = tuple[tuple[int, int], ...]
"""What else has to be met, and the class that is possible then."""
_Known = tuple[int, int, _Checks]
"""What is met with a word, the rarest things that one of its checks needs, and the checks."""
Texts = Sequence[tuple[str, _Known]]
"""Texts that are looked for as they stand."""


def derive(classes: Mapping[str, Any]) -> dict[str, Any]:
    """What texts must hold for each class, as plain data; takes long.

    `pieces`: numbers by the letters of pieces, as `_kind` sorts them: of a class, or of a set of pieces from the number
    of the classes on, or below zero of a set that is the rarest of a way. `after`: by the latter, which classes are
    possible when the listed sets are met, too, of which the rarest is the first. `always`: the classes that nothing is
    known of. `shares`: the share of texts that allow each class, roughly.
    """
    return _Derivation(classes).answer


class _Derivation:
    def __init__(self, classes: Mapping[str, Any]) -> None:
        self._rarest: dict[frozenset[Piece], int] = {}
        self._others: dict[frozenset[Piece], int] = {}
        self._first = len(classes)
        self.answer: dict[str, Any] = {
            "pieces": [{}, {}, {}, {}, {}], "after": {}, "always": [], "shares": [],
        }  # fmt: skip
        for number, each in enumerate(classes.values()):
            self.answer["shares"].append(min(1.0, self._class(number, each)))

    def _class(self, number: int, each: Mapping[str, Any]) -> float:
        answer, share = self.answer, 0.0
        needs = each.get("needs", ())
        for need in needs:
            self._note(frozenset({Piece(need, spelled=True)}), number)
        for alternative, whole in _alternatives(each):
            ways = ways_of(alternative, rarity, whole=whole)
            if all(ways):
                share += chance(ways, rarity)
                for way in ways:
                    self._way(number, way)
            elif needs:
                share += _SPELLED_OUT
            else:
                share = 1.0
                answer["always"].append(number)
        return share

    def _way(self, number: int, way: Way) -> None:
        rarest, *others = way
        if not others:
            self._note(rarest, number)
            return
        first = _numbered(self._rarest, rarest, -1 - len(self._rarest))
        self._note(rarest, first)
        check = [number]
        for each in others:
            check.append(_numbered(self._others, each, self._first + len(self._others)))
            self._note(each, check[-1])
        self.answer["after"].setdefault(str(first), []).append(check)

    def _note(self, pieces: frozenset[Piece], number: int) -> None:
        for piece in pieces:
            known = self.answer["pieces"][_kind(piece)].setdefault(piece.letters, [])
            if number not in known:
                known.append(number)


def _numbered(known: dict[frozenset[Piece], int], pieces: frozenset[Piece], number: int) -> int:
    return known.setdefault(pieces, number)


def _kind(piece: Piece) -> int:
    """The number of its kind: inner letters, ends, starts, whole words, texts as they stand."""
    return _TEXTS if piece.spelled else 2 * piece.first + piece.last


def _alternatives(each: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    for kind in _KINDS:
        for pattern in each.get(kind, ()):
            for alternative in alternatives_of(pattern):
                yield alternative, kind != "other"


class Lookup(dict[str, _Known | None]):
    """What was found out of each word that was met: the numbers in it as bits, and what they ask for besides."""

    def __init__(self, derived: Mapping[str, Any], classes: int) -> None:
        """`derived` is what `derive` answers for that many `classes`."""
        super().__init__()
        self._inner, self._ends, self._starts, self._exact, texts = derived["pieces"]
        self._after = derived["after"]
        self._asked: dict[int, tuple[int, _Checks]] = {}
        self._classes = (1 << classes) - 1
        self._plain, self._foreign = (
            [(each, self._known(set(texts[each]))) for each in texts if each.isascii() is plain]
            for plain in (True, False)
        )

    def texts_in(self, text: str) -> Texts:
        """What of the texts that are looked for as they stand is in `text`: all that can be in its parts."""
        bare = lowered = text.lower()
        for mark in _MARKS:
            bare = bare.replace(mark, "")
        holds = set(lowered).issuperset
        some = (*self._plain, *self._foreign) if FOREIGN.search(text) else self._plain
        return [each for each in some if holds(each[0]) and (each[0] in lowered or each[0] in bare)]

    def classes(self, text: str, texts: Texts) -> int:
        """The mask of the classes that the words of the lower-cased `text` allow, with those of `texts` in it."""
        known = [*filter(None, map(self.__getitem__, set(_WORD.findall(text))))]
        known += [each for spelled, each in texts if spelled in text]
        met = 0
        for bits, _, _ in known:
            met |= bits
        found = met & self._classes
        for _, rarest, checks in known:
            if met & rarest:
                for needed, bit in checks:
                    if met & needed == needed:
                        found |= bit
        return found

    def __missing__(self, word: str) -> _Known | None:
        numbers = self._numbers(word)
        found = self._known(numbers) if numbers else None
        if len(word) <= _LONGEST:
            if len(self) >= _MOST_WORDS:
                self.clear()
            self[word] = found
        return found

    def _known(self, numbers: AbstractSet[int]) -> _Known:
        asked = [self._asked_by(number) for number in numbers if number < 0]
        met = sum(1 << number for number in numbers if number >= 0)
        return met, reduce(or_, (rarest for rarest, _ in asked), 0), sum((checks for _, checks in asked), ())

    @cached_property
    def _lengths(self) -> list[int]:
        return sorted(set(map(len, self._inner)))

    @cached_property
    def _longest(self) -> int:
        return max(map(len, (*self._starts, *self._ends)), default=0)

    def _numbers(self, word: str) -> set[int]:
        size = len(word)
        found = set(self._exact.get(word, ()))
        for length in range(1, min(size, self._longest) + 1):
            found.update(self._starts.get(word[:length], ()))
            found.update(self._ends.get(word[size - length :], ()))
        for length in self._lengths:
            for start in range(size - length + 1):
                found.update(self._inner.get(word[start : start + length], ()))
        return found

    def _asked_by(self, number: int) -> tuple[int, _Checks]:
        """What checks a set of pieces asks for, and the rarest things that they need."""
        if number not in self._asked:
            rarest, checks = 0, []
            for of_class, *others in self._after[str(number)]:
                rarest |= 1 << others[0]
                checks.append((sum(1 << each for each in others), 1 << of_class))
            self._asked[number] = rarest, tuple(checks)
        return self._asked[number]
