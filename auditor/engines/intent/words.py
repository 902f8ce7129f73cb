"""Classes of words: which a text may hold, and where. The classes are data (``rules/tables/intent.yaml``)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from skillkeep.auditor.engines.intent.lookup import Lookup, Texts, derive
from skillkeep.auditor.engines.intent.meanings import meanings
from skillkeep.auditor.patterns import Pattern
from skillkeep.auditor.ruleset import INTENT_REQUIREMENTS, shipped

__all__ = ["Places", "Texts", "Words", "words"]

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
        self._masks: dict[str, int] = {}
        self._lookup = Lookup(derived, len(classes))
        self._always: int = sum(1 << number for number in set(derived["always"]))
        self._shares: list[float] = derived["shares"]

    def bits(self, names: str) -> int:
        """The mask of classes joined by ``|``."""
        if names not in self._masks:
            self._masks[names] = sum(1 << self._index[name] for name in names.split("|"))
        return self._masks[names]

    def share(self, names: str) -> float:
        """The share of texts that may hold a word of the classes joined by ``|``, roughly."""
        return min(1.0, sum(self._shares[self._index[name]] for name in names.split("|")))

    def texts_in(self, text: str) -> Texts:
        """What of the texts that are looked for as they stand is in `text`: all that can be in its parts."""
        return self._lookup.texts_in(text)

    def tags(self, text: str, texts: Texts | None = None) -> int:
        """The mask of all classes that may have a word in the lower-cased `text`; `places` tells for sure.

        `texts` is what `texts_in` says of a text that `text` is a part of.
        """
        texts = self._lookup.texts_in(text) if texts is None else texts
        return self._always | self._lookup.classes(text, texts)

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


class Places:
    """Where words stand in one text; each class is searched once."""

    def __init__(self, text: str, tagger: Words, tags: int) -> None:
        """`tags` are the classes that `text` may hold."""
        self.text = text
        self._data = text.encode()
        self._tagger = tagger
        self._tags = tags
        self._found: dict[str, Spans] = {}

    def of(self, names: str) -> Spans:
        """The spans of words of the classes joined by ``|``, in order."""
        found = self._found.get(names)
        if found is None:
            if "|" in names:
                found = sorted(place for name in names.split("|") for place in self.of(name))
            else:
                possible = self._tags & self._tagger.bits(names)
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
