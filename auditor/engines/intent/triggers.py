"""Which combinations of classes each of many blocks allows by its words, found for all of the blocks at once.

What holds for some of the blocks is a number with a bit for each of them: a word or a set of pieces is looked up once
for all blocks that have it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress
from operator import itemgetter

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
        self._sets = 1 + max((each for ways in lookup.ways for way in ways for each in way), default=-1)
        self._here = _Parts(lookup, [part for parts, _ in combinations for part in parts])
        self._near = _Parts(lookup, [part for parts, own in combinations if own is not None for part in parts])
        self._combinations = [
            (
                self._here.number(parts[own or 0]),
                [(self._here if own is None else self._near).number(part) for part in parts],
                own is None,
            )
            for parts, own in combinations
        ]

    def allowed(
        self, words: Sequence[str], stops: Sequence[int], texts: Sequence[str], follows: int
    ) -> Iterator[tuple[int, int]]:
        """The numbers of combinations in order, each with the blocks that allow it.

        `words` are those of all blocks with one between two blocks, `stops` where those of each end, `texts` the
        blocks. `follows` are the blocks that follow the one before in the same text.
        """
        whole = (1 << len(stops)) - 1
        held = self._held(words, stops, texts)
        here = self._here.blocks(held, whole)
        for each in compress(self._near.sets, self._near.held(held)):
            held[each] |= held[each] << 1 & follows
        near = self._near.blocks(held, whole)
        for number, (own, parts, alone) in enumerate(self._combinations):
            blocks = here[own]
            if blocks:
                for part in parts:
                    blocks &= (here if alone else near)[part]
                    if not blocks:
                        break
                else:
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


class _Parts:
    """Parts of combinations, each with a number, and the blocks that allow one of the classes of each.

    `sets` are those that their classes ask for; `held` gives the blocks that hold each of them.
    """

    def __init__(self, lookup: Lookup, parts: Iterable[Sequence[int]]) -> None:
        self._numbers = {part: number for number, part in enumerate(dict.fromkeys(map(tuple, parts)))}
        self._of: dict[int, list[int]] = {}  # the parts of each class
        for part, number in self._numbers.items():
            for each in part:
                self._of.setdefault(each, []).append(number)
        begun: dict[int, list[tuple[int, Way]]] = {}  # the ways to the classes by the set that each asks for first
        for each in sorted(self._of):
            for way in lookup.ways[each]:
                begun.setdefault(way[0], []).append((each, way[1:]))
        self._begun, self._ways = _getter(begun), list(begun.values())
        self._always = lookup.always.intersection(self._of)
        self.sets = sorted({each for number in self._of for way in lookup.ways[number] for each in way})
        self.held = _getter(self.sets)

    def number(self, part: Sequence[int]) -> int:
        """That of a part."""
        return self._numbers[tuple(part)]

    def blocks(self, held: Sequence[int], whole: int) -> Sequence[int]:
        """The blocks that allow each part, by its number; `held` are those that hold each set, `whole` are all."""
        classes = dict.fromkeys(self._always, whole)
        begun = self._begun(held)
        for found, ways in compress(zip(begun, self._ways, strict=True), begun):
            for number, rest in ways:
                blocks = found
                for each in rest:
                    blocks &= held[each]
                    if not blocks:
                        break
                else:
                    classes[number] = classes.get(number, 0) | blocks
        allowed = [0] * len(self._numbers)
        for number, blocks in classes.items():
            for part in self._of[number]:
                allowed[part] |= blocks
        return allowed


def _getter(places: Iterable[int]) -> Callable[[Sequence[int]], Sequence[int]]:
    """What gives the items at `places` of a list, all in one step."""
    some = list(places)
    return itemgetter(*some) if len(some) > 1 else lambda held: [held[each] for each in some]


def ones(some: int) -> Iterator[int]:
    """The numbers of the bits that `some` has."""
    row = bin(some)[:1:-1]
    at = row.find("1")
    while at >= 0:
        yield at
        at = row.find("1", at + 1)
