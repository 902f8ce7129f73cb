"""Which classes the words of many texts allow, of all texts at once: a number has one bit for each text."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Final

from skillkeep.auditor.engines.intent.chunks import BETWEEN
from skillkeep.auditor.engines.intent.lookup import Lookup

__all__ = ["Allowed", "ones"]

_SELDOM: Final = 8  # a text looked for is seldom when it comes in less than one of so many texts
_SPELLED: Final = " "  # begins a text that is looked for as it stands, and no word
_ONE: Final = ord("1")
_MANY: Final = 400  # bits, of which each is set faster as a figure


class Allowed:
    """The classes that texts may hold. Bit `n` of a number is set for what is so in the text `n`."""

    def __init__(self, lookup: Lookup, plain: str, words: Sequence[str], followers: int = 0) -> None:
        """`plain` are the texts in lower case, joined; `words` theirs. `followers` are those that another goes with."""
        self._followers = followers
        self._lookup = lookup
        self.count = plain.count(BETWEEN) + 1
        at: dict[str, list[int]] = defaultdict(list)
        for word, text in zip(words, accumulate(map(BETWEEN.__eq__, words)), strict=True):
            at[word].append(text)
        self._at = at
        self._bits: dict[str, int] = {}
        self._holders: dict[int, list[str]] = defaultdict(list)
        for word in at:
            for number in lookup.numbers(word):
                self._holders[number].append(word)
        self._spaced = " ".join(plain.split())
        for spelled, numbers in lookup.spelled(self._spaced):
            for number in numbers:
                self._holders[number].append(_SPELLED + spelled)
        self._met: dict[int, int] = {}
        self._met_around: dict[int, int] = {}

    def of(self, number: int, around: bool = False) -> int:
        """The texts that may hold a word of the class `number`, with `around` they and the ones before them."""
        if number in self._lookup.always:
            return (1 << self.count) - 1
        found, present = 0, self._holders
        met, meets = (self._met_around, self._around) if around else (self._met, self._meets)
        for way in self._lookup.ways[number]:
            here = -1
            for each in way:
                if each not in present:
                    break
                here &= met[each] if each in met else meets(each)
                if not here:
                    break
            else:
                found |= here
        return found

    def _meets(self, number: int) -> int:
        """The texts that hold a piece of the set `number`."""
        found, known = 0, self._bits
        for each in self._holders[number]:
            found |= known[each] if each in known else self._holding(each)
        self._met[number] = found
        return found

    def _around(self, number: int) -> int:
        found = self._met[number] if number in self._met else self._meets(number)
        found |= (found << 1) & self._followers
        self._met_around[number] = found
        return found

    def _holding(self, each: str) -> int:
        """The texts that hold a word, or a text as it stands."""
        places = self._with(each[1:]) if each.startswith(_SPELLED) else self._at[each]
        if len(places) < _MANY:
            row = bytearray((self.count >> 3) + 1)
            for place in places:
                row[place >> 3] |= 1 << (place & 7)
            found = int.from_bytes(row, "little")
        else:
            row = bytearray(b"0") * self.count
            for place in places:
                row[~place] = _ONE
            found = int(row, 2)
        self._bits[each] = found
        return found

    def _with(self, spelled: str) -> Sequence[int]:
        if self._spaced.count(spelled) * _SELDOM > self.count:
            return [number for number, text in enumerate(self._texts) if spelled in text]
        found = []
        at = self._spaced.find(spelled)
        while at >= 0:
            found.append(bisect_right(self._starts, at) - 1)
            at = self._spaced.find(spelled, at + 1)
        return found

    @cached_property
    def _texts(self) -> list[str]:
        return self._spaced.split(BETWEEN)

    @cached_property
    def _starts(self) -> list[int]:
        return list(accumulate((len(text) + 1 for text in self._texts), initial=0))[:-1]


def ones(some: int) -> Iterator[int]:
    """The numbers of the texts that `some` has a bit for."""
    row = bin(some)[:1:-1]
    at = row.find("1")
    while at >= 0:
        yield at
        at = row.find("1", at + 1)
