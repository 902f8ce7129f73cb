"""Classes of words: which a text may hold, and where. The classes are data (``rules/tables/intent.yaml``)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, cached_property, reduce
from operator import or_
from typing import Any, Final

from skillkeep.auditor.engines.intent.pieces import Piece, alternatives_of, pieces_of
from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.patterns import Pattern, PatternSet

__all__ = ["Places", "Words", "words"]

_MOST: Final = 40  # words of one class in one sentence
_WORD: Final = re.compile(r"[a-z]+")
_FOREIGN: Final = re.compile("[^\x00-\x7f\xa0-\xbf\u2000-\u2bff\u3000-\u3003\ufe0f\U0001f000-\U0001faff]")  # letters
_PLAIN: Final = re.compile(r"[a-z0-9]+")
_LONGEST: Final = 24
_MOST_WORDS: Final = 16_000  # half a kilobyte each, at most
_SLOTS: Final = 3  # pieces that are asked for of an alternative that needs that many


class Words:
    """Tags texts. A class has alternatives between word ends (`en`, `latin`) and others as they stand (`other`).

    Words are looked up, not searched: an alternative is possible when a piece of each of three of its words is there
    (of all where it has fewer), and one without three letters in a row when one of the class's `needs` is in the text.
    """

    def __init__(self, classes: Mapping[str, Any]) -> None:
        """`classes` as in the table. Their patterns are compiled when they are asked for; most are not in one audit."""
        self._index = {name: number for number, name in enumerate(classes)}
        self._spelled = {name: _spelled(each) for name, each in classes.items()}
        self._compiled: dict[str, Pattern] = {}
        self._masks: dict[str, int] = {}
        self._many = len(classes)
        self._classes = (1 << self._many) - 1
        self._pieces = _Pieces()
        self._always = 0
        self._needs: list[tuple[str, int]] = []
        self._lanes: list[int] = []  # the class of each alternative that needs several pieces
        several: list[list[frozenset[Piece]]] = []
        for number, each in enumerate(classes.values()):
            self._needs += ((need, 1 << number) for need in each.get("needs", ()))
            for part in (*each.get("en", ()), *each.get("latin", ())):
                several += self._learn(1 << number, part, each, whole=True)
            for part in each.get("other", ()):
                several += self._learn(1 << number, part, each, whole=False)
        for lane, sets in enumerate(several):
            for slot in range(_SLOTS):
                bit = 1 << (self._many + slot * len(several) + lane)
                if slot < len(sets):
                    self._pieces.note(sets[slot], bit)
                else:
                    self._always |= bit

    def bits(self, names: str) -> int:
        """The mask of classes joined by ``|``."""
        if names not in self._masks:
            self._masks[names] = sum(1 << self._index[name] for name in names.split("|"))
        return self._masks[names]

    def tags(self, text: str) -> int:
        """The mask of all classes that may have a word in the lower-cased `text`; `places` tells for sure."""
        met = map(self._pieces.__getitem__, set(_WORD.findall(text)))
        mask = reduce(or_, filter(None, met), 0) | self._always
        lanes = len(self._lanes)
        held = mask >> self._many
        for slot in range(1, _SLOTS):
            held &= mask >> (self._many + slot * lanes)
        held &= (1 << lanes) - 1
        mask &= self._classes
        while held:
            lane = held.bit_length() - 1
            mask |= self._lanes[lane]
            held ^= 1 << lane
        for need, bit in self._needs:
            if need in text:
                mask |= bit
        if not text.isascii() and _FOREIGN.search(text):
            for number in self._together.candidates(text.encode()):
                mask |= 1 << number
        return mask

    @cached_property
    def _together(self) -> PatternSet:
        return PatternSet(list(self._spelled.values()))

    def places(self, name: str, text: str, data: bytes) -> list[tuple[int, int]]:
        """Where words of the class `name` stand in `text`, whose bytes are `data`, as character offsets.

        Raises `AuditError` (`bad_rule`) for a pattern RE2 refuses.
        """
        if name not in self._compiled:
            self._compiled[name] = Pattern(self._spelled[name])
        hits = self._compiled[name].find(data, _MOST)
        found = [hit.groups.get("at", (hit.start, hit.end)) for hit in hits]
        if len(data) != len(text):
            found = [(len(data[:a].decode(errors="replace")), len(data[:b].decode(errors="replace"))) for a, b in found]
        return found

    def _learn(self, bit: int, pattern: str, each: Mapping[str, Any], *, whole: bool) -> list[list[frozenset[Piece]]]:
        """Note what one piece tells; the answer is what each alternative needs that needs several."""
        several = []
        for alternative in alternatives_of(pattern):
            sets = pieces_of(alternative, whole=whole)
            if not sets and _PLAIN.fullmatch(alternative):
                self._needs.append((alternative, bit))
            elif not sets and "needs" not in each:
                self._always |= bit
            elif len(sets) == 1:
                self._pieces.note(sets[0], bit)
            elif sets:
                several.append(sets)
                self._lanes.append(bit)
        return several


class _Pieces(dict[str, int]):
    """The mask of each word that was met: the bits of all pieces in it."""

    def __init__(self) -> None:
        super().__init__()
        self._exact: dict[str, int] = {}
        self._starts: dict[str, int] = {}
        self._ends: dict[str, int] = {}
        self._inner: dict[str, int] = {}
        self._same: dict[int, int] = {}

    def note(self, pieces: frozenset[Piece], bit: int) -> None:
        """Let words with one of `pieces` have `bit`."""
        for piece in pieces:
            found = (self._inner, self._ends, self._starts, self._exact)[2 * piece.first + piece.last]
            found[piece.letters] = found.get(piece.letters, 0) | bit

    @cached_property
    def _lengths(self) -> list[int]:
        return sorted(set(map(len, self._inner)))

    def __missing__(self, word: str) -> int:
        if len(word) > _LONGEST:
            return -1
        size = len(word)
        mask = self._exact.get(word, 0)
        for end in range(1, size + 1):
            mask |= self._starts.get(word[:end], 0) | self._ends.get(word[size - end :], 0)
        for length in self._lengths:
            for start in range(size - length + 1):
                mask |= self._inner.get(word[start : start + length], 0)
        if len(self) >= _MOST_WORDS:
            self.clear()
            self._same.clear()
        self[word] = self._same.setdefault(mask, mask)
        return mask


class Places:
    """Where words stand in one text; each class is searched once."""

    def __init__(self, text: str, tagger: Words, tags: int) -> None:
        """`tags` are the classes that `text` may hold."""
        self.text = text
        self._data = text.encode()
        self._tagger = tagger
        self._tags = tags
        self._found: dict[str, list[tuple[int, int]]] = {}

    def of(self, names: str) -> list[tuple[int, int]]:
        """The spans of words of the classes joined by ``|``, in order."""
        if names not in self._found:
            parts = names.split("|")
            if len(parts) > 1:
                self._found[names] = sorted(place for name in parts for place in self.of(name))
            else:
                possible = self._tags & self._tagger.bits(names)
                self._found[names] = self._tagger.places(names, self.text, self._data) if possible else []
        return self._found[names]


def _spelled(parts: Mapping[str, Any]) -> str:
    spelled = []
    if parts.get("en"):
        spelled.append(rf"\b(?:{'|'.join(parts['en'])})(?:\b|\W|$)")
    if parts.get("latin"):
        spelled.append(rf"(?:^|[^\pL\d])(?P<at>{'|'.join(parts['latin'])})(?:$|[^\pL\d])")
    spelled += parts.get("other", ())
    return "|".join(spelled)


@cache
def words() -> Words:
    """The classes that this version ships."""
    return Words(table("intent")["classes"])
