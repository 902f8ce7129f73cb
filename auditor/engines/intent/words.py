"""Classes of words: which a text may hold, and where. The classes are data (``rules/tables/intent.yaml``)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache, cached_property, reduce
from operator import or_
from typing import Any, Final

from skillkeep.auditor.engines.intent.meanings import meanings
from skillkeep.auditor.engines.intent.pieces import Piece, alternatives_of, pieces_of
from skillkeep.auditor.patterns import Pattern, PatternSet
from skillkeep.auditor.ruleset import INTENT_REQUIREMENTS, shipped

__all__ = ["Places", "Words", "requirements", "words"]

Required = list[str] | str
"""Sets of pieces, each a string of them with blanks between; or a text that has to be there as it is."""

_MOST: Final = 40  # words of one class in one sentence
_WORD: Final = re.compile(r"[a-z]+")
_FOREIGN: Final = re.compile("[^\x00-\x7f\xa0-\xbf\u2000-\u2bff\u3000-\u3003\ufe0f\U0001f000-\U0001faff]")  # letters
_PLAIN: Final = re.compile(r"[a-z0-9]+")
_LONGEST: Final = 24
_MOST_WORDS: Final = 16_000  # half a kilobyte each, at most
_MOST_GROUPS: Final = 4_000  # sets of 64 alternatives
_TOGETHER: Final = 100
_SLOTS: Final = 3  # pieces that are asked for of an alternative that needs that many


class Words:
    """Tags texts. A class has alternatives between word ends (`en`, `latin`) and others as they stand (`other`).

    Words are looked up, not searched: an alternative is possible when a piece of each of three of its words is there
    (of all where it has fewer), and one without three letters in a row when one of the class's `needs` is in the text.
    """

    def __init__(self, classes: Mapping[str, Any], required: Mapping[str, Sequence[Required]] | None = None) -> None:
        """`classes` as in the table, `required` what `requirements` says of them, asked for when it is not given.

        Their patterns are compiled when they are asked for; most are not in one audit.
        """
        required = requirements(classes) if required is None else required
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
        for number, (name, each) in enumerate(classes.items()):
            self._needs += ((need, 1 << number) for need in each.get("needs", ()))
            for asked in required[name]:
                several += self._learn(1 << number, asked, each)
        self._met = [_Lanes(self._lanes[first : first + 64]) for first in range(0, len(self._lanes), 64)]
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
        if held:
            for known, group in zip(
                self._met, memoryview(held.to_bytes(8 * len(self._met), "little")).cast("Q"), strict=True
            ):
                if group:
                    mask |= known[group]
        for need, bit in self._needs:
            if need in text:
                mask |= bit
        if not text.isascii() and _FOREIGN.search(text):
            data = text.encode()
            for first, some in self._together:
                for number in some.candidates(data):
                    mask |= 1 << (first + number)
        return mask

    @cached_property
    def _together(self) -> list[tuple[int, PatternSet]]:
        """Sets of classes with the number of the first in each: all of them in one are more than RE2 compiles."""
        spelled = list(self._spelled.values())
        starts = range(0, len(spelled), _TOGETHER)
        return [(first, PatternSet(spelled[first : first + _TOGETHER])) for first in starts]

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

    def _learn(self, bit: int, asked: Required, each: Mapping[str, Any]) -> list[list[frozenset[Piece]]]:
        """Note what one piece tells; the answer is what an alternative needs that needs several."""
        if isinstance(asked, str):
            self._needs.append((asked, bit))
        elif not asked and "needs" not in each:
            self._always |= bit
        elif asked:
            sets = [frozenset(map(Piece.spelled, some.split())) for some in asked]
            if len(sets) > 1:
                self._lanes.append(bit)
                return [sets]
            self._pieces.note(sets[0], bit)
        return []


class _Lanes(dict[int, int]):
    """The classes of each set of 64 alternatives that was met."""

    def __init__(self, lanes: Sequence[int]) -> None:
        super().__init__()
        self._lanes = lanes

    def __missing__(self, group: int) -> int:
        mask = 0
        for number, bit in enumerate(self._lanes):
            if group >> number & 1:
                mask |= bit
        if len(self) >= _MOST_GROUPS:
            self.clear()
        self[group] = mask
        return mask


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


def requirements(classes: Mapping[str, Any]) -> dict[str, list[Required]]:
    """What a text must hold for each alternative of each class, as plain data; takes long."""
    return {
        name: [
            _required(alternative, whole=kind != "other")
            for kind in ("en", "latin", "other")
            for pattern in each.get(kind, ())
            for alternative in alternatives_of(pattern)
        ]
        for name, each in classes.items()
    }


def _required(alternative: str, *, whole: bool) -> Required:
    sets = pieces_of(alternative, whole=whole)
    if not sets and _PLAIN.fullmatch(alternative):
        return alternative
    return [" ".join(sorted(map(str, some))) for some in sets]


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
    classes = meanings("classes")
    return Words(classes, shipped().derived(INTENT_REQUIREMENTS, lambda: requirements(classes)))
