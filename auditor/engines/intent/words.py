"""Classes of words: which a text may hold, and where. The classes are data (``rules/tables/intent.yaml``)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from skillkeep.auditor.engines.intent.pieces import Piece, alternatives_of, pieces_of
from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.patterns import PatternSet

__all__ = ["Places", "Words", "words"]

_MOST: Final = 40  # words of one class in one sentence
_WORD: Final = re.compile(r"[a-z]+")
_FOREIGN: Final = re.compile("[^\x00-\x7f\xa0-\xbf\u2000-\u2bff\u3000-\u3003\ufe0f\U0001f000-\U0001faff]")  # letters
_LONGEST: Final = 24
_MOST_WORDS: Final = 50_000


class Words:
    """Tags texts. A class has alternatives between word ends (`en`, `latin`) and others as they stand (`other`).

    Words are looked up, not searched: an alternative is possible when a piece of each of two of its words is there,
    and one without three letters in a row when one of the class's `needs` is in the text.
    """

    def __init__(self, classes: Mapping[str, Any]) -> None:
        """`classes` as in the table. Raises `AuditError` (`bad_rule`) for a pattern RE2 refuses."""
        self._index = {name: number for number, name in enumerate(classes)}
        spelled = [_spelled(each) for each in classes.values()]
        self._set = PatternSet(spelled)
        self._masks: dict[str, int] = {}
        self._next = len(classes)
        self._classes = (1 << self._next) - 1
        self._pairs = 0
        self._both: dict[int, tuple[int, int]] = {}
        self._exact: dict[str, int] = {}
        self._starts: dict[str, int] = {}
        self._ends: dict[str, int] = {}
        self._inner: dict[str, int] = {}
        self._always = 0
        self._needs: list[tuple[str, int]] = []
        self._known: dict[str, int] = {}
        for number, each in enumerate(classes.values()):
            self._needs += ((need, 1 << number) for need in each.get("needs", ()))
            for part in (*each.get("en", ()), *each.get("latin", ())):
                self._learn(1 << number, part, each, whole=True)
            for part in filter(str.isascii, each.get("other", ())):
                self._learn(1 << number, part, each, whole=False)
        self._lengths = sorted(set(map(len, self._inner)))

    def bits(self, names: str) -> int:
        """The mask of classes joined by ``|``."""
        if names not in self._masks:
            self._masks[names] = sum(1 << self._index[name] for name in names.split("|"))
        return self._masks[names]

    def tags(self, text: str) -> int:
        """The mask of all classes that may have a word in the lower-cased `text`; `places` tells for sure."""
        mask = self._always
        known = self._known
        for word in set(_WORD.findall(text)):
            mask |= known[word] if word in known else self._tag(word)
        first = mask & self._pairs
        while first:
            one = first & -first
            other, bit = self._both[one]
            if mask & other:
                mask |= bit
            first ^= one
        mask &= self._classes
        for need, bit in self._needs:
            if need in text:
                mask |= bit
        if not text.isascii() and _FOREIGN.search(text):
            for number in self._set.candidates(text.encode()):
                mask |= 1 << number
        return mask

    def places(self, name: str, text: str, data: bytes) -> list[tuple[int, int]]:
        """Where words of the class `name` stand in `text`, whose bytes are `data`, as character offsets."""
        hits = self._set.find(self._index[name], data, _MOST)
        found = [hit.groups.get("at", (hit.start, hit.end)) for hit in hits]
        if len(data) != len(text):
            found = [(len(data[:a].decode(errors="replace")), len(data[:b].decode(errors="replace"))) for a, b in found]
        return found

    def _learn(self, bit: int, pattern: str, each: Mapping[str, Any], *, whole: bool) -> None:
        for alternative in alternatives_of(pattern):
            sets = pieces_of(alternative, whole=whole)
            if not sets and "needs" not in each:
                self._always |= bit
            elif len(sets) == 1 or (sets and "paired" not in each):
                self._note(sets[0], bit)
            elif sets:
                one, other = 1 << self._next, 2 << self._next
                self._next += 2
                self._note(sets[0], one)
                self._note(sets[1], other)
                self._pairs |= one
                self._both[one] = (other, bit)

    def _note(self, pieces: frozenset[Piece], bit: int) -> None:
        for piece in pieces:
            found = (self._inner, self._ends, self._starts, self._exact)[2 * piece.first + piece.last]
            found[piece.letters] = found.get(piece.letters, 0) | bit

    def _tag(self, word: str) -> int:
        """The classes with a piece inside of `word`."""
        if len(word) > _LONGEST:
            return -1
        size = len(word)
        mask = self._exact.get(word, 0)
        for end in range(1, size + 1):
            mask |= self._starts.get(word[:end], 0) | self._ends.get(word[size - end :], 0)
        for length in self._lengths:
            for start in range(size - length + 1):
                mask |= self._inner.get(word[start : start + length], 0)
        if len(self._known) < _MOST_WORDS:
            self._known[word] = mask
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
        spelled.append(rf"\b(?:{'|'.join(parts['en'])})\b")
    if parts.get("latin"):
        spelled.append(rf"(?:^|[^\pL\d])(?P<at>{'|'.join(parts['latin'])})(?:$|[^\pL\d])")
    spelled += parts.get("other", ())
    return "|".join(spelled)


@cache
def words() -> Words:
    """The classes that this version ships."""
    return Words(table("intent")["classes"])
