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
        # Of a combination that may be spread only the order is looked for in all blocks: most end with that.
        self._here = _Parts(
            lookup, [part for parts, own in combinations for part in (parts if own is None else [parts[own]])]
        )
        self._combinations = [
            (parts, [self._here.number(part) for part in (parts if own is None else [parts[own]])], own is not None)
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
        near = _Near(self._lookup, held, whole, follows)
        for number, (parts, own, spread) in enumerate(self._combinations):
            blocks = whole
            for part in own:
                blocks &= here[part]
                if not blocks:
                    break
            else:
                if not spread or (blocks := near.blocks(parts, blocks)):
                    yield number, blocks

    def _held(self, words: Sequence[str], stops: Sequence[int], texts: Sequence[str]) -> list[int]:
        """The blocks that hold a piece of each set."""
        having: dict[str, int] = {}
        known, begin, bit = having.get, 0, 1
        for end in stops:
            for word in words[begin:end]:
                having[word] = known(word, 0) | bit
            begin, bit = end + 1, bit << 1
        held = [0] * self._sets
        for sets, blocks in zip(map(self._lookup.numbers.__getitem__, having), having.values(), strict=True):
            for each in sets:
                held[each] |= blocks
        for piece, sets_of_piece in self._lookup.texts.items():
            blocks = sum(1 << number for number, text in enumerate(texts) if piece in text)
            for each in sets_of_piece:
                held[each] |= blocks
        return held


class _Parts:
    """Parts of combinations, each with a number, and the blocks that allow one of the classes of each."""

    def __init__(self, lookup: Lookup, parts: Iterable[Sequence[int]]) -> None:
        self._numbers = {part: number for number, part in enumerate(dict.fromkeys(map(tuple, parts)))}
        of: dict[int, list[int]] = {}  # the parts of each class
        for part, number in self._numbers.items():
            for each in part:
                of.setdefault(each, []).append(number)
        self._of = [of.get(each, ()) for each in range(len(lookup.ways))]
        begun: dict[int, list[tuple[int, Way]]] = {}  # the ways to the classes by the set that each asks for first
        for each in sorted(of):
            for way in lookup.ways[each]:
                begun.setdefault(way[0], []).append((each, tuple(way[1:])))
        self._ways = [tuple(ways) for _, ways in sorted(begun.items())]
        self._begun = _getter(sorted(begun))
        self._always = lookup.always.intersection(of)

    def number(self, part: Sequence[int]) -> int:
        """That of a part."""
        return self._numbers[tuple(part)]

    def blocks(self, held: Sequence[int], whole: int) -> Sequence[int]:
        """The blocks that allow each part, by its number; `held` are those that hold each set, `whole` are all."""
        classes = [0] * len(self._of)
        for each in self._always:
            classes[each] = whole
        begun = self._begun(held)
        for found, ways in zip(filter(None, begun), compress(self._ways, begun), strict=True):
            for number, rest in ways:
                blocks = found
                for each in rest:
                    blocks &= held[each]
                    if not blocks:
                        break
                else:
                    classes[number] |= blocks
        allowed = [0] * len(self._numbers)
        for parts, blocks in zip(compress(self._of, classes), filter(None, classes), strict=True):
            for part in parts:
                allowed[part] |= blocks
        return allowed


class _Near:
    """The blocks that allow a part together with the block before, looked for when they are asked for."""

    def __init__(self, lookup: Lookup, held: Sequence[int], whole: int, follows: int) -> None:
        """`follows` are the blocks that follow the one before in the same text."""
        self._lookup = lookup
        self._held = held
        self._whole = whole
        self._follows = follows
        self._known: dict[int, int] = {}  # of each class

    def blocks(self, parts: Sequence[Sequence[int]], own: int) -> int:
        """Those of the blocks `own` that allow all of `parts`."""
        for part in parts:
            found = 0
            for number in part:
                found |= self._of(number)
            own &= found
            if not own:
                break
        return own

    def _of(self, number: int) -> int:
        found = self._known.get(number)
        if found is None:
            found = self._known[number] = self._whole if number in self._lookup.always else self._through(number)
        return found

    def _through(self, number: int) -> int:
        held, follows, found = self._held, self._follows, 0
        for way in self._lookup.ways[number]:
            blocks = held[way[0]]
            if blocks:
                blocks |= blocks << 1 & follows
                for each in way[1:]:
                    blocks &= held[each] | held[each] << 1 & follows
                    if not blocks:
                        break
                else:
                    found |= blocks
        return found


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
