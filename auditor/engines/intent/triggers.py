"""Which combinations of classes a block may hold at all, by its words, at the cost of one number for each word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, reduce
from operator import itemgetter, or_
from typing import Final

from skillkeep.auditor.engines.intent.lookup import Lookup, Way

__all__ = ["Combination", "Triggers", "ones"]

_TOGETHER: Final = 16  # ways to the rarest part of a combination
_SETS: Final = 3  # of each of these, and two of each way to the second part
_MOST_WORDS: Final = 16_000

Combination = tuple[Sequence[Sequence[int]], int | None]
"""Parts, the rarest first, which are the numbers of classes, and the place of the part that has to be in the text
itself, or None when all have: the others may be in the text before."""


class Triggers:
    """What the words of a text may begin of some combinations.

    The ways to the rarest part of a combination are cut into groups. A mark is a number with fields of a bit for each
    group: three for the first sets of its ways, two for those of the combination's second part. A word's mark has the
    bits of all sets that it holds a piece of. A group may be in a text when the marks of the words together have its
    bit in all five fields.

    `shared` are the groups that have a part that may be in the text before.
    """

    def __init__(self, lookup: Lookup, combinations: Sequence[Combination]) -> None:
        """The classes of `combinations` are those of `lookup`."""
        self._lookup = lookup
        self._known: dict[int, int] = {}  # the mark of each set
        self._groups: list[tuple[int, Sequence[Way]]] = []
        self._second: dict[int, int] = {}  # of each class, the groups whose combination has it as its second part
        self._first_before = self._second_before = 0  # the groups whose parts may be in the text before
        anything = 0
        for number, (parts, own) in enumerate(combinations):
            begin = len(self._groups)
            self._groups += [(number, some) for some in self._cut(parts[0])]
            bits = (1 << len(self._groups)) - (1 << begin)
            self._first_before |= 0 if own in {None, 0} else bits
            self._second_before |= 0 if own in {None, 1} else bits
            for each in parts[1] if len(parts) > 1 else ():
                self._second[each] = self._second.get(each, 0) | bits
            anything |= bits if len(parts) < 2 else 0
        self._size = size = len(self._groups)
        self._all = (1 << size) - 1
        anything = reduce(or_, (self._second.get(each, 0) for each in lookup.always), anything)
        always = (anything | anything << size) << _SETS * size
        for group, (_, ways) in enumerate(self._groups):
            if () in ways:
                always |= sum(1 << field * size + group for field in range(_SETS))
        texts = map(self._of_set, {each for some in lookup.texts.values() for each in some})
        self._always = reduce(or_, texts, always)
        self._marks = _Marks(self)
        self.shared = self._first_before | self._second_before

    def mark(self, words: Sequence[str]) -> int:
        """The mark of a text that has `words`."""
        return reduce(or_, map(self._marks.__getitem__, words), self._always)

    def may(self, mark: int, before: int) -> int:
        """The groups that a text of that `mark` may hold, a bit for each; `before` is the mark of the text before."""
        first, second = self._parts(mark | before)
        found = first & second
        if before and found:
            first, second = self._parts(mark)
            found &= (first | self._first_before) & (second | self._second_before)
        return found

    def combination(self, group: int) -> int:
        """The number of a group's combination."""
        return self._groups[group][0]

    def of_word(self, word: str) -> int:
        """The mark of one word."""
        return reduce(or_, map(self._of_set, self._lookup.numbers[word]), 0)

    def _parts(self, mark: int) -> tuple[int, int]:
        """The groups, by their own ways, and by those to the second part."""
        size = self._size
        later = mark >> size
        first = mark & later & (later >> size) & self._all
        second = mark >> _SETS * size
        return first, second & (second >> size)

    def _cut(self, numbers: Sequence[int]) -> Iterator[Sequence[Way]]:
        if not self._lookup.always.isdisjoint(numbers):
            yield [()]
            return
        ways = sorted((way for number in numbers for way in self._lookup.ways[number]), key=itemgetter(0))
        for begin in range(0, len(ways), _TOGETHER):
            yield ways[begin : begin + _TOGETHER]

    def _of_set(self, number: int) -> int:
        found = self._known.get(number)
        if found is None:
            found = 0
            for bit in self._asking_first.get(number, ()):
                found |= 1 << bit
            for field, each in self._asking_second.get(number, ()):
                found |= self._second[each] << (_SETS + field) * self._size
            self._known[number] = found
        return found

    @cached_property
    def _asking_first(self) -> Mapping[int, Sequence[int]]:
        """Of each set the bits of the groups that ask for it; a way of few sets asks for its last again."""
        asking: dict[int, list[int]] = {}
        for group, (_, ways) in enumerate(self._groups):
            for way in filter(None, ways):
                for field in range(_SETS):
                    asking.setdefault(way[min(field, len(way) - 1)], []).append(field * self._size + group)
        return asking

    @cached_property
    def _asking_second(self) -> Mapping[int, Sequence[tuple[int, int]]]:
        """Of each set the classes with a way that asks for it, each with the field."""
        asking: dict[int, list[tuple[int, int]]] = {}
        for number in self._second:
            for way in self._lookup.ways[number]:
                asking.setdefault(way[0], []).append((0, number))
                asking.setdefault(way[min(1, len(way) - 1)], []).append((1, number))
        return asking


class _Marks(dict[str, int]):
    """The marks of the words that were met."""

    def __init__(self, triggers: Triggers) -> None:
        super().__init__()
        self._triggers = triggers
        self._same: dict[int, int] = {}  # most words have a mark that others have, too

    def __missing__(self, word: str) -> int:
        if len(self) >= _MOST_WORDS:
            self.clear()
            self._same.clear()
        mark = self._triggers.of_word(word)
        found = self[word] = self._same.setdefault(mark, mark)
        return found


def ones(some: int) -> Iterator[int]:
    """The numbers of the bits that `some` has."""
    row = bin(some)[:1:-1]
    at = row.find("1")
    while at >= 0:
        yield at
        at = row.find("1", at + 1)
