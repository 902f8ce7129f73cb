"""Which classes the words of a text allow. Made of plain data that is derived from the tables once (`derive`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, reduce
from itertools import chain
from operator import or_
from typing import Any, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.intent.chunks import WORD
from skillkeep.auditor.engines.intent.commonness import common_words, commonness
from skillkeep.auditor.engines.intent.pieces import SHORTEST, Piece, Pieces, alternatives_of, chance, ways_of

__all__ = ["ANY", "Lookup", "Part", "Way", "allows", "alternatives", "derive"]

Way = Sequence[int]
"""The numbers of the sets of pieces that a match holds one piece of each, the rarest first."""
Part = tuple[int, Mapping[int, Sequence[Way]]] | None
"""The first sets of ways, a bit for each, and by each what its ways ask for besides; None when nothing is known."""

_RUNS: Final = compiled(r"[a-z]+|[0-9]+")
_LONGEST: Final = 24
_MOST_WORDS: Final = 50_000
_MOST_BITS: Final = 16_000
_INSIDE, _TEXTS = 4, 5
ANY: Final = -1
"""The owner of a way that is not of one alternative."""
_KINDS: Final = ("en", "latin", "other")
_SPELLED_OUT: Final = 0.02  # the share of texts that hold one of the texts that a class needs, roughly


def derive(classes: Mapping[str, Any]) -> dict[str, Any]:
    """What texts must hold for each class, as plain data; takes long. What more common words hold has lower numbers.

    `pieces`: the numbers of the sets that a piece is of, by its letters, as `_kind` sorts them. `ways`: of each class,
    the sets that a match holds one piece of each, the rarest first. `owners`: of each way the number of the alternative
    that it is of, or `ANY`. `always`: the classes that nothing is known of. `shares`: the share of texts that allow
    each class, roughly.
    """
    made = _Derivation(classes).answer
    held = Counter(chain.from_iterable(map(Lookup(made).find, common_words())))
    numbers = {number for ways in made["ways"] for way in ways for number in way}
    order = {old: new for new, old in enumerate(sorted(numbers, key=lambda number: (-held[number], number)))}
    made["pieces"] = [
        {letters: [order[each] for each in some] for letters, some in kind.items()} for kind in made["pieces"]
    ]
    made["ways"] = [[[order[each] for each in way] for way in ways] for ways in made["ways"]]
    return made


class _Derivation:
    def __init__(self, classes: Mapping[str, Any]) -> None:
        self._numbers: dict[Pieces, int] = {}
        self.answer: dict[str, Any] = {
            "pieces": [{}, {}, {}, {}, {}, {}], "ways": [], "owners": [], "always": [], "shares": [],
        }  # fmt: skip
        for number, each in enumerate(classes.values()):
            self.answer["ways"].append([])
            self.answer["owners"].append([])
            self.answer["shares"].append(min(1.0, self._class(number, each)))

    def _class(self, number: int, each: Mapping[str, Any]) -> float:
        answer, share = self.answer, 0.0
        needs = each.get("needs", ())
        for need in needs:
            self._way(number, (frozenset({Piece(need, spelled=True)}),), ANY)
        for owner, (alternative, kind) in enumerate(alternatives(each)):
            ways = ways_of(alternative, commonness, whole=kind != "other")
            if all(ways):
                share += chance(ways, commonness)
                for way in ways:
                    self._way(number, way, owner)
            elif needs:
                share += _SPELLED_OUT
            else:
                share = 1.0
                answer["always"].append(number)
        return share

    def _way(self, number: int, way: Sequence[Pieces], owner: int) -> None:
        numbers = [self._number(each) for each in way]
        ways, owners = self.answer["ways"][number], self.answer["owners"][number]
        if numbers not in ways:
            ways.append(numbers)
            owners.append(owner)
        elif owners[ways.index(numbers)] != owner:
            owners[ways.index(numbers)] = ANY

    def _number(self, pieces: Pieces) -> int:
        worded = frozenset(map(_worded, pieces))
        found = self._numbers.get(worded)
        if found is None:
            found = self._numbers[worded] = len(self._numbers)
            for piece in worded:
                self.answer["pieces"][_kind(piece)].setdefault(piece.letters, []).append(found)
        return found


def _worded(piece: Piece) -> Piece:
    """A piece of a word that each text with `piece` holds: what is looked up by words needs no search of the text."""
    text = piece.letters
    if not piece.spelled:
        return piece
    if not text.isascii():
        return Piece(next(char for char in text if char > "\x7f"), spelled=True)
    if len(text) == 1 and WORD.fullmatch(text):
        return piece if text.isalnum() else Piece(text, first=True, last=True)
    parts = [(run[0], run.start() > 0, run.end() < len(text)) for run in _RUNS.finditer(text)]
    if parts:
        letters, first, last = max(parts, key=lambda part: (len(part[0]), part[1] + part[2]))
        return Piece(letters, first, last, spelled=not (first or last))
    sign = next((char for char in text if WORD.fullmatch(char)), "")
    return Piece(sign, first=True, last=True) if sign else piece


def _kind(piece: Piece) -> int:
    """The number of its kind: inner letters, ends, starts, whole words; what words hold, texts as they stand."""
    if not piece.spelled:
        return 2 * piece.first + piece.last
    return _INSIDE if WORD.fullmatch(piece.letters) else _TEXTS


def alternatives(each: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The alternatives of a class, each with its kind, in the order that `owners` counts them in."""
    for kind in _KINDS:
        for pattern in each.get(kind, ()):
            for alternative in alternatives_of(pattern):
                yield alternative, kind


class Lookup:
    """What was found out of each word that was met: the numbers of what it holds."""

    def __init__(self, derived: Mapping[str, Any]) -> None:
        """`derived` is what `derive` answers; `ways` and `always` are as there.

        `texts` are looked for as they stand; all else is looked up in `numbers`, by words in lower case.
        """
        self._inner, self._ends, self._starts, self._exact, inside, self.texts = derived["pieces"]
        self._letters = [(each, numbers) for each, numbers in inside.items() if each.isascii() and each.isalpha()]
        self._signs = [(each, numbers) for each, numbers in inside.items() if each.isascii()]
        self._foreign = list(inside.items())
        self.ways: Sequence[Sequence[Way]] = derived["ways"]
        self._owners: Sequence[Sequence[int]] = derived["owners"]
        self._begun: dict[int, tuple[int, Mapping[int, Sequence[tuple[Way, int]]]]] = {}  # of the classes asked for
        self.always: frozenset[int] = frozenset(derived["always"])
        self.numbers: Mapping[str, tuple[int, ...]] = _Numbers(self)
        self._bits: Mapping[str, int] = _Bits(self)
        self._bits_of_texts = {each: _bits(numbers) for each, numbers in self.texts.items()}

    def held(self, words: Iterable[str], text: str) -> int:
        """The sets that `text` holds a piece of, a bit for each; `words` are its words."""
        return self.of_texts(reduce(or_, map(self._bits.__getitem__, words), 0), text)

    def of_texts(self, held: int, text: str) -> int:
        """What `text` holds besides `held`, of what is looked for as it stands."""
        for each, bits in self._bits_of_texts.items():
            if each in text:
                held |= bits
        return held

    def part(self, numbers: Iterable[int]) -> Part:
        """What a text holds that has a word of one of the classes `numbers`."""
        begun: dict[int, list[Way]] = {}
        for number in numbers:
            if number in self.always:
                return None
            for way in self.ways[number]:
                begun.setdefault(way[0], []).append(way[1:])
        return _bits(begun), begun

    def owners(self, number: int, held: int) -> set[int] | None:
        """The alternatives of a class that a text may match that holds `held`; None when it may be any."""
        if number in self.always:
            return None
        if number not in self._begun:
            begun: dict[int, list[tuple[Way, int]]] = {}
            for way, owner in zip(self.ways[number], self._owners[number], strict=True):
                begun.setdefault(way[0], []).append((way[1:], owner))
            self._begun[number] = _bits(begun), begun
        mask, ways = self._begun[number]
        found: set[int] = set()
        firsts = held & mask
        while firsts:
            first = firsts.bit_length() - 1
            found.update(owner for way, owner in ways[first] if all(held >> each & 1 for each in way))
            firsts ^= 1 << first
        return None if ANY in found else found

    def find(self, word: str) -> tuple[int, ...]:
        """The numbers of the sets that a word holds a piece of."""
        found: set[int] = set(self._exact.get(word, ()))
        if word.isascii() and word.isalpha():
            self._add(word, found)
            inside = self._letters
        else:
            for part in _RUNS.findall(word):
                found.update(self._exact.get(part, ()))
                self._add(part, found)
            inside = self._signs if word.isascii() else self._foreign
        for each, numbers in inside:
            if each in word:
                found.update(numbers)
        return tuple(found)

    @cached_property
    def _heads(self) -> dict[str, list[str]]:
        """The pieces from inside of words by their first letters, of which each has that many."""
        heads: dict[str, list[str]] = {}
        for letters in self._inner:
            heads.setdefault(letters[:SHORTEST], []).append(letters)
        return heads

    @cached_property
    def _lengths(self) -> tuple[Sequence[int], Sequence[int]]:
        """Those of what words start with, and of what they end with."""
        return sorted(set(map(len, self._starts))), sorted(set(map(len, self._ends)))

    def _add(self, word: str, found: set[int]) -> None:
        """Add the numbers of the sets that letters or figures in a row hold a piece of, those of the whole apart."""
        size, heads = len(word), self._heads
        starts, ends = self._lengths
        for length in starts:
            if length > size:
                break
            numbers = self._starts.get(word[:length])
            if numbers:
                found.update(numbers)
        for length in ends:
            if length > size:
                break
            numbers = self._ends.get(word[size - length :])
            if numbers:
                found.update(numbers)
        for start in range(size - SHORTEST + 1):
            head = heads.get(word[start : start + SHORTEST])
            if head:
                for letters in head:
                    if word.startswith(letters, start):
                        found.update(self._inner[letters])


def allows(part: Part, held: int) -> bool:
    """True when what is `held` has all that one of the ways of a part asks for."""
    if part is None:
        return True
    firsts = held & part[0]
    while firsts:
        first = firsts.bit_length() - 1
        for way in part[1][first]:
            for number in way:
                if not held >> number & 1:
                    break
            else:
                return True
        firsts ^= 1 << first
    return False


def _bits(numbers: Collection[int]) -> int:
    row = bytearray(max(numbers, default=-1) // 8 + 1)
    for number in numbers:
        row[number >> 3] |= 1 << (number & 7)
    return int.from_bytes(row, "little")


class _Numbers(dict[str, tuple[int, ...]]):
    """What was found out of each word that was met; long ones are not kept."""

    def __init__(self, lookup: Lookup) -> None:
        super().__init__()
        self._lookup = lookup

    def __missing__(self, word: str) -> tuple[int, ...]:
        found = self._lookup.find(word)
        if len(word) <= _LONGEST:
            if len(self) >= _MOST_WORDS:
                self.clear()
            self[word] = found
        return found


class _Bits(dict[str, int]):
    """The sets that each word that was met holds a piece of; long words are not kept."""

    def __init__(self, lookup: Lookup) -> None:
        super().__init__()
        self._lookup = lookup
        self._same: dict[int, int] = {}  # many words hold what others do

    def __missing__(self, word: str) -> int:
        found = _bits(self._lookup.numbers[word])
        if len(word) <= _LONGEST:
            if len(self) >= _MOST_BITS:
                self.clear()
                self._same.clear()
            found = self[word] = self._same.setdefault(found, found)
        return found
