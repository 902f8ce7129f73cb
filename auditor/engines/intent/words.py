"""Classes of words: which a text may hold, and where. The classes are data (``rules/tables/intent.yaml``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, reduce
from operator import or_
from typing import Any, Final

from skillkeep.auditor.engines.intent.allowed import Allowed
from skillkeep.auditor.engines.intent.chunks import WORD, joined
from skillkeep.auditor.engines.intent.lookup import Lookup, derive
from skillkeep.auditor.engines.intent.meanings import meanings
from skillkeep.auditor.patterns import Pattern
from skillkeep.auditor.ruleset import INTENT_REQUIREMENTS, shipped

__all__ = ["Meanings", "Places", "Words", "words"]

Spans = list[tuple[int, int]]

_MOST: Final = 40  # words of one class in one sentence


class Words:
    """Tags texts. A class has alternatives between word ends (`en`, `latin`) and others as they stand (`other`).

    Words are looked up, not searched: a class is possible when what one of its alternatives needs is there, pieces of
    words or texts as they stand, or one of the class's `needs` for an alternative of which neither is known.
    """

    def __init__(self, classes: Mapping[str, Any], derived: Mapping[str, Any] | None = None) -> None:
        """`classes` as in the table, `derived` what `derive` says of them, asked for when it is not given.

        Their patterns are compiled when they are asked for; most are not in one audit.
        """
        derived = derive(classes) if derived is None else derived
        self._index = {name: number for number, name in enumerate(classes)}
        self._tables = classes
        self._compiled: dict[str, Pattern] = {}
        self._lookup = Lookup(derived)
        self._shares: list[float] = derived["shares"]

    def share(self, names: str) -> float:
        """The share of texts that may hold a word of the classes joined by ``|``, roughly."""
        return min(1.0, sum(self._shares[self._index[name]] for name in names.split("|")))

    def of(self, texts: Sequence[str]) -> Meanings:
        """What the words of `texts`, in lower case, allow."""
        plain = joined(texts)
        return self.of_words(plain, WORD.findall(plain))

    def of_words(self, plain: str, found: Sequence[str], followers: int = 0) -> Meanings:
        """The same for texts that are joined, and the words found in them; `followers` as in `Allowed`."""
        return Meanings(self, Allowed(self._lookup, plain, found, followers))

    def number(self, name: str) -> int:
        """The number of a class."""
        return self._index[name]

    def places(self, name: str, text: str, data: bytes) -> Spans:
        """Where words of the class `name` stand in `text`, whose bytes are `data`, as character offsets.

        Raises `AuditError` (`bad_rule`) for a pattern RE2 refuses.
        """
        if name not in self._compiled:
            self._compiled[name] = Pattern(_spelled(self._tables[name]))
        found = self._compiled[name].spans(data, "at", _MOST)
        if found and len(data) != len(text):
            found = [(len(data[:a].decode(errors="replace")), len(data[:b].decode(errors="replace"))) for a, b in found]
        return found


class Meanings:
    """Which classes some texts may have a word of; `Words.places` tells for sure. A number has a bit for each text."""

    def __init__(self, tagger: Words, allowed: Allowed) -> None:
        self._tagger = tagger
        self._allowed = allowed
        self._found: dict[tuple[str, bool], int] = {}
        self._rows: dict[str, str] = {}

    def of(self, names: str, around: bool = False) -> int:
        """The texts that may have a word of the classes joined by ``|``; `around` as in `Allowed`."""
        found = self._found.get((names, around))
        if found is None:
            if "|" in names:
                found = reduce(or_, [self.of(name, around) for name in names.split("|")])
            else:
                found = self._allowed.of(self._tagger.number(names), around)
            self._found[names, around] = found
        return found

    def holds(self, text: int, names: str) -> bool:
        """True when the text of that number may have a word of the classes joined by ``|``."""
        row = self._rows.get(names)
        if row is None:
            row = self._rows[names] = bin(self.of(names))[:1:-1]
        return row[text : text + 1] == "1"


class Places:
    """Where words stand in one text; each class is searched once."""

    def __init__(self, text: str, tagger: Words, meanings: Meanings, number: int = 0) -> None:
        """`text` is that of `meanings` at `number`."""
        self.text = text
        self._data = text.encode()
        self._tagger = tagger
        self._meanings = meanings
        self._number = number
        self._found: dict[str, Spans] = {}

    def of(self, names: str) -> Spans:
        """The spans of words of the classes joined by ``|``, in order."""
        found = self._found.get(names)
        if found is None:
            if "|" in names:
                found = sorted(place for name in names.split("|") for place in self.of(name))
            else:
                possible = self._meanings.holds(self._number, names)
                found = self._tagger.places(names, self.text, self._data) if possible else []
            self._found[names] = found
        return found


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
    return Words(classes, shipped().derived(INTENT_REQUIREMENTS, lambda: derive(classes)))
