"""Which classes the words of a text allow. Made of plain data that is derived from the tables once (`derive`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from skillkeep.auditor.engines.intent.commonness import commonness
from skillkeep.auditor.engines.intent.pieces import FOREIGN, SHORTEST, Piece, Way, alternatives_of, chance, ways_of

__all__ = ["Lookup", "derive"]

_LETTERS: Final = re.compile(r"[a-z]+")
_LONGEST: Final = 24
_MOST_WORDS: Final = 50_000
_TEXTS: Final = 4
_KINDS: Final = ("en", "latin", "other")
_SPELLED_OUT: Final = 0.02  # the share of texts that hold one of the texts that a class needs, roughly


def derive(classes: Mapping[str, Any]) -> dict[str, Any]:
    """What texts must hold for each class, as plain data; takes long.

    `pieces`: the numbers of the sets that a piece is of, by its letters, as `_kind` sorts them. `ways`: of each class,
    the sets that a match holds one piece of each, the rarest first. `always`: the classes that nothing is known of.
    `shares`: the share of texts that allow each class, roughly.
    """
    return _Derivation(classes).answer


class _Derivation:
    def __init__(self, classes: Mapping[str, Any]) -> None:
        self._numbers: dict[frozenset[Piece], int] = {}
        self.answer: dict[str, Any] = {"pieces": [{}, {}, {}, {}, {}], "ways": [], "always": [], "shares": []}
        for number, each in enumerate(classes.values()):
            self.answer["ways"].append([])
            self.answer["shares"].append(min(1.0, self._class(number, each)))

    def _class(self, number: int, each: Mapping[str, Any]) -> float:
        answer, share = self.answer, 0.0
        needs = each.get("needs", ())
        for need in needs:
            self._way(number, (frozenset({Piece(need, spelled=True)}),))
        for alternative, whole in _alternatives(each):
            ways = ways_of(alternative, commonness, whole=whole)
            if all(ways):
                share += chance(ways, commonness)
                for way in ways:
                    self._way(number, way)
            elif needs:
                share += _SPELLED_OUT
            else:
                share = 1.0
                answer["always"].append(number)
        return share

    def _way(self, number: int, way: Way) -> None:
        numbers = [self._number(each) for each in way]
        if numbers not in self.answer["ways"][number]:
            self.answer["ways"][number].append(numbers)

    def _number(self, pieces: frozenset[Piece]) -> int:
        found = self._numbers.get(pieces)
        if found is None:
            found = self._numbers[pieces] = len(self._numbers)
            for piece in pieces:
                self.answer["pieces"][_kind(piece)].setdefault(piece.letters, []).append(found)
        return found


def _kind(piece: Piece) -> int:
    """The number of its kind: inner letters, ends, starts, whole words, texts as they stand."""
    return _TEXTS if piece.spelled else 2 * piece.first + piece.last


def _alternatives(each: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    for kind in _KINDS:
        for pattern in each.get(kind, ()):
            for alternative in alternatives_of(pattern):
                yield alternative, kind != "other"


class Lookup:
    """What was found out of each word that was met: the numbers of what it holds."""

    def __init__(self, derived: Mapping[str, Any]) -> None:
        """`derived` is what `derive` answers; `ways` and `always` are as there."""
        self._inner, self._ends, self._starts, self._exact, texts = derived["pieces"]
        self.ways: Sequence[Sequence[Sequence[int]]] = derived["ways"]
        self.always: frozenset[int] = frozenset(derived["always"])
        self._known: dict[str, tuple[int, ...]] = {}
        self._plain = {each: tuple(numbers) for each, numbers in texts.items() if each.isascii()}
        self._foreign = {each: tuple(numbers) for each, numbers in texts.items() if not each.isascii()}

    def spelled(self, text: str) -> Iterator[tuple[str, tuple[int, ...]]]:
        """What is in `text` of the texts that are looked for as they stand, with their numbers."""
        holds = set(text).issuperset
        some = (self._plain, self._foreign) if FOREIGN.search(text) else (self._plain,)
        return ((each, known[each]) for known in some for each in known if holds(each) and each in text)

    def numbers(self, word: str) -> tuple[int, ...]:
        """The numbers of the sets that the lower-cased `word` holds a piece of."""
        found = self._known.get(word)
        if found is None:
            parts = _LETTERS.findall(word)
            found = tuple(set().union(*map(self._numbers, parts)))
            if len(word) <= _LONGEST:
                if len(self._known) >= _MOST_WORDS:
                    self._known.clear()
                self._known[word] = found
        return found

    @cached_property
    def _heads(self) -> dict[str, list[str]]:
        """The pieces from inside of words by their first letters, of which each has that many."""
        heads: dict[str, list[str]] = {}
        for letters in self._inner:
            heads.setdefault(letters[:SHORTEST], []).append(letters)
        return heads

    @cached_property
    def _longest(self) -> int:
        return max(map(len, (*self._starts, *self._ends)), default=0)

    def _numbers(self, word: str) -> set[int]:
        size, heads = len(word), self._heads
        found = set(self._exact.get(word, ()))
        for length in range(1, min(size, self._longest) + 1):
            if (first := word[:length]) in self._starts:
                found.update(self._starts[first])
            if (last := word[size - length :]) in self._ends:
                found.update(self._ends[last])
        for start in range(size - SHORTEST + 1):
            head = word[start : start + SHORTEST]
            if head in heads:
                for letters in heads[head]:
                    if word.startswith(letters, start):
                        found.update(self._inner[letters])
        return found
