"""Which combinations of classes each of many blocks allows by its words, found for all of the blocks at once.

What holds for some of the blocks is a number with a bit for each of them: a word or a set of pieces is looked up once
for all blocks that have it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import or_

from skillkeep.auditor.engines.intent.lookup import Lookup, Way

__all__ = ["Combination", "Triggers", "ones"]

Combination = tuple[Sequence[Sequence[int]], int | None]
"""Parts, the rarest first, which are the numbers of classes, and the place of the part that has to be in the block
itself, or None when all have: the others may be in the block before."""


class Triggers:
    """What the words of a block may begin of some combinations."""

    def __init__(self, lookup: Lookup, combinations: Sequence[Combination]) -> None:
        """The classes of `combinations` are those of `lookup`."""
        self._lookup = lookup
        self._combinations = [(tuple(map(tuple, parts)), own) for parts, own in combinations]
        self._sets = 1 + max((each for ways in lookup.ways for way in ways for each in way), default=-1)
        near = {each for parts, own in combinations if own is not None for part in parts for each in part}
        every = {each for parts, _ in combinations for part in parts for each in part}
        self._all = _begun(lookup, every)
        self._near = _begun(lookup, near)
        self._near_sets = sorted({each for number in near for way in lookup.ways[number] for each in way})

    def allowed(
        self, words: Sequence[str], stops: Sequence[int], texts: Sequence[str], follows: int
    ) -> Iterator[tuple[int, int]]:
        """The numbers of combinations in order, each with the blocks that allow it.

        `words` are those of all blocks with one between two blocks, `stops` where those of each end, `texts` the
        blocks. `follows` are the blocks that follow the one before in the same text.
        """
        whole = (1 << len(stops)) - 1
        held = self._held(words, stops, texts)
        here = _Classes(self._lookup, self._all, held, whole)
        for each in self._near_sets:
            if blocks := held[each]:
                held[each] = blocks | (blocks << 1 & follows)
        near = _Classes(self._lookup, self._near, held, whole)
        for number, (parts, own) in enumerate(self._combinations):
            blocks = whole if own is None else here.blocks(parts[own])
            for part in parts:
                if not blocks:
                    break
                blocks &= (here if own is None else near).blocks(part)
            if blocks:
                yield number, blocks

    def _held(self, words: Sequence[str], stops: Sequence[int], texts: Sequence[str]) -> list[int]:
        """The blocks that hold a piece of each set."""
        having: dict[str, int] = {}
        begin, bit = 0, 1
        for end in stops:
            for word in words[begin:end]:
                having[word] = having.get(word, 0) | bit
            begin, bit = end + 1, bit << 1
        held = [0] * self._sets
        numbers = self._lookup.numbers
        for word, blocks in having.items():
            for number in numbers[word]:
                held[number] |= blocks
        for piece, sets in self._lookup.texts.items():
            blocks = sum(1 << number for number, text in enumerate(texts) if piece in text)
            for number in sets:
                held[number] |= blocks
        return held


class _Classes:
    """The blocks that allow classes, by what they hold."""

    def __init__(self, lookup: Lookup, begun: Sequence[tuple[int, Sequence[tuple[int, Way]]]], held: Sequence[int],
                 whole: int) -> None:  # fmt: skip
        self._known: dict[tuple[int, ...], int] = {}
        self._of = of = dict.fromkeys(lookup.always, whole)
        for first, ways in begun:
            if found := held[first]:
                for number, rest in ways:
                    blocks = found
                    for each in rest:
                        blocks &= held[each]
                        if not blocks:
                            break
                    else:
                        of[number] = of.get(number, 0) | blocks

    def blocks(self, part: tuple[int, ...]) -> int:
        """Those that allow one of the classes of a part."""
        found = self._known.get(part)
        if found is None:
            found = self._known[part] = reduce(or_, (self._of.get(each, 0) for each in part), 0)
        return found


def _begun(lookup: Lookup, numbers: set[int]) -> Sequence[tuple[int, Sequence[tuple[int, Way]]]]:
    """The ways to some classes by the set that each of them asks for first."""
    begun: dict[int, list[tuple[int, Way]]] = {}
    for number in sorted(numbers):
        for way in lookup.ways[number]:
            begun.setdefault(way[0], []).append((number, way[1:]))
    return list(begun.items())


def ones(some: int) -> Iterator[int]:
    """The numbers of the bits that `some` has."""
    row = bin(some)[:1:-1]
    at = row.find("1")
    while at >= 0:
        yield at
        at = row.find("1", at + 1)
