"""Classes of words: which a text may hold, and where. The classes are data (``rules/tables/intent.yaml``)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from skillkeep.auditor.engines.intent.pieces import alternatives_of, pieces_of
from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.patterns import PatternSet

__all__ = ["Words", "words"]

_MOST: Final = 40  # words of one class in one sentence
_WORD: Final = re.compile(r"[a-z]{3,}")
_LONGEST: Final = 24
_MOST_WORDS: Final = 50_000


class Words:
    """Tags texts. A class has alternatives between word ends (`en`, `latin`) and others as they stand (`other`).

    An alternative without three letters in a row counts as possible when one of the class's `needs` is in the text.
    """

    def __init__(self, classes: Mapping[str, Any]) -> None:
        """`classes` as in the table. Raises `AuditError` (`bad_rule`) for a pattern RE2 refuses."""
        self._index = {name: number for number, name in enumerate(classes)}
        spelled = [_spelled(each) for each in classes.values()]
        self._set = PatternSet(spelled)
        self._masks: dict[str, int] = {}
        self._pieces: dict[str, int] = {}
        self._always = 0
        self._needs: list[tuple[str, int]] = []
        self._known: dict[str, int] = {}
        for number, each in enumerate(classes.values()):
            self._needs += ((need, 1 << number) for need in each.get("needs", ()))
            for part in (*each.get("en", ()), *each.get("latin", ()), *filter(str.isascii, each.get("other", ()))):
                self._learn(1 << number, part, "needs" in each)
        self._lengths = sorted({len(piece) for piece in self._pieces})

    def bits(self, names: str) -> int:
        """The mask of classes joined by ``|``."""
        if names not in self._masks:
            self._masks[names] = sum(1 << self._index[name] for name in names.split("|"))
        return self._masks[names]

    def tags(self, text: str) -> int:
        """The mask of all classes that may have a word in the lower-cased `text`; `places` tells for sure."""
        mask = self._always
        known = self._known
        for word in _WORD.findall(text):
            mask |= known[word] if word in known else self._tag(word)
        for need, bit in self._needs:
            if need in text:
                mask |= bit
        if not text.isascii():
            for number in self._set.candidates(text.encode()):
                mask |= 1 << number
        return mask

    def places(self, names: str, text: str) -> list[tuple[int, int]]:
        """Where words of classes joined by ``|`` stand in `text`, as character offsets."""
        data = text.encode()
        hits = (hit for name in names.split("|") for hit in self._set.find(self._index[name], data, _MOST))
        found = [hit.groups.get("at", (hit.start, hit.end)) for hit in hits]
        if len(data) != len(text):
            found = [(len(data[:a].decode(errors="replace")), len(data[:b].decode(errors="replace"))) for a, b in found]
        return sorted(found)

    def _learn(self, bit: int, pattern: str, needs: bool) -> None:
        for alternative in alternatives_of(pattern):
            pieces = pieces_of(alternative)
            if pieces is None and not needs:
                self._always |= bit
            for piece in pieces or ():
                self._pieces[piece] = self._pieces.get(piece, 0) | bit

    def _tag(self, word: str) -> int:
        """The classes with a piece inside of `word`."""
        if len(word) > _LONGEST:
            return -1
        mask = 0
        for length in self._lengths:
            for start in range(len(word) - length + 1):
                mask |= self._pieces.get(word[start : start + length], 0)
        if len(self._known) < _MOST_WORDS:
            self._known[word] = mask
        return mask


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
