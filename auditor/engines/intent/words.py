"""Classes of words: which a text may hold, and where. The classes are data (``rules/tables/intent.yaml``)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache, cached_property, reduce
from operator import or_
from typing import Any, Final

from skillkeep.auditor.engines.intent.chunks import WORD
from skillkeep.auditor.engines.intent.lookup import Lookup, Part, allows, alternatives, derive
from skillkeep.auditor.engines.intent.meanings import meanings
from skillkeep.auditor.patterns import Pattern, forgets
from skillkeep.auditor.prefilter import widened
from skillkeep.auditor.ruleset import INTENT_REQUIREMENTS, shipped

__all__ = ["Held", "Places", "Words", "words"]

Spans = list[tuple[int, int]]

_MOST: Final = 40  # words of one class in one sentence
_FEW: Final = 4  # alternatives that are looked for one by one
_COMPILED: Final = 400  # of them


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
        self._numbers: dict[str, tuple[int, ...]] = {}
        self._parts: dict[str, Part] = {}
        self._tables = classes
        self._compiled: dict[tuple[str, tuple[int, ...] | None], Pattern] = {}
        self._alternatives: dict[tuple[str, int], Pattern] = {}
        self._listed: dict[str, Sequence[tuple[str, str]]] = {}
        self.lookup = Lookup(derived)
        self._shares: list[float] = derived["shares"]
        forgets(self)

    def forget(self) -> None:
        """Drop what was compiled, with its automata; it is made again when it is looked for."""
        self._compiled.clear()
        self._alternatives.clear()

    def share(self, names: str) -> float:
        """The share of texts that may hold a word of the classes joined by ``|``, roughly."""
        return min(1.0, sum(self._shares[self._index[name]] for name in names.split("|")))

    def numbers(self, names: str) -> tuple[int, ...]:
        """The numbers of the classes joined by ``|``."""
        found = self._numbers.get(names)
        if found is None:
            found = self._numbers[names] = tuple(self._index[name] for name in names.split("|"))
        return found

    def part(self, names: str) -> Part:
        """What a text holds that has a word of the classes joined by ``|``."""
        if names not in self._parts:
            self._parts[names] = self.lookup.part(self.numbers(names))
        return self._parts[names]

    def held(self, text: str, found: Iterable[str] | None = None) -> Held:
        """What a text in lower case holds; `found` are its words."""
        return Held(self, self.lookup.held(WORD.findall(text) if found is None else found, text))

    def held_together(self, some: Iterable[Held], text: str) -> Held:
        """What a text holds that is made of texts of which that is known, with no word over an end of them."""
        return Held(self, self.lookup.of_texts(reduce(or_, [each.bits for each in some], 0), text))

    def places(self, name: str, text: str, data: bytes, held: int | None = None) -> Spans:
        """Where words of the class `name` stand in `text`, whose bytes are `data`, as character offsets.

        `held` are the bits of the sets that it holds a piece of. The few alternatives that these allow are looked for
        first, each without upper ends of its repetitions: a small pattern is fast, while that of a large class outgrows
        its memory in every other text.
        Raises `AuditError` (`bad_rule`) for a pattern RE2 refuses.
        """
        some = None if held is None else self.lookup.owners(self._index[name], held)
        few: tuple[int, ...] | None = None
        if some is not None and len(some) <= _FEW:
            few = tuple(each for each in sorted(some) if self._alternative(name, each).occurs(data))
            if not few:
                return []
        found = self._class(name, few).spans(data, _MOST)
        if found and len(data) != len(text):
            found = [(len(data[:a].decode(errors="replace")), len(data[:b].decode(errors="replace"))) for a, b in found]
        return found

    def _class(self, name: str, few: tuple[int, ...] | None) -> Pattern:
        """The pattern of a class, or of a few of its alternatives where no other can match."""
        known = self._compiled.pop((name, few), None)  # the one used last stands last
        if known is None:
            spelled = _spelled(self._tables[name] if few is None else self._some(name, few))
            if few is not None and len(few) == 1 and widened(spelled) == spelled:
                return self._alternative(name, *few)
            if len(self._compiled) >= _COMPILED:
                del self._compiled[next(iter(self._compiled))]
            known = Pattern(spelled)
        self._compiled[name, few] = known
        return known

    def _some(self, name: str, few: Collection[int]) -> Mapping[str, Sequence[str]]:
        """A class with a few of its alternatives."""
        some: dict[str, list[str]] = {}
        for number in few:
            each, kind = self._alternatives_of(name)[number]
            some.setdefault(kind, []).append(each)
        return some

    def _alternatives_of(self, name: str) -> Sequence[tuple[str, str]]:
        if name not in self._listed:
            self._listed[name] = list(alternatives(self._tables[name]))
        return self._listed[name]

    def _alternative(self, name: str, number: int) -> Pattern:
        known = self._alternatives.pop((name, number), None)  # the one used last stands last
        if known is None:
            if len(self._alternatives) >= _COMPILED:
                del self._alternatives[next(iter(self._alternatives))]
            known = Pattern(widened(_spelled(self._some(name, (number,)))))
        self._alternatives[name, number] = known
        return known


class Held:
    """Which classes a text may have a word of; `Words.places` tells for sure."""

    def __init__(self, tagger: Words, bits: int) -> None:
        """`bits` are those of the sets that the text holds a piece of."""
        self.tagger = tagger
        self.bits = bits
        self._known: dict[str, bool] = {}

    def may(self, names: str) -> bool:
        """True when the text may have a word of the classes joined by ``|``."""
        found = self._known.get(names)
        if found is None:
            found = self._known[names] = allows(self.tagger.part(names), self.bits)
        return found


class Places:
    """Where words stand in one text; each class is searched once."""

    def __init__(self, text: str, held: Held) -> None:
        """`text` is in lower case; `held` is what it holds."""
        self.text = text
        self._tagger = held.tagger
        self.held = held
        self._found: dict[str, Spans] = {}

    @cached_property
    def _data(self) -> bytes:
        return self.text.encode()

    def of(self, names: str) -> Spans:
        """The spans of words of the classes joined by ``|``, in order."""
        found = self._found.get(names)
        if found is None:
            if "|" in names:
                found = sorted(place for name in names.split("|") for place in self.of(name))
            else:
                may = self.held.may(names)
                found = self._tagger.places(names, self.text, self._data, self.held.bits) if may else []
            self._found[names] = found
        return found


def _spelled(parts: Mapping[str, Any]) -> str:
    spelled = []
    if parts.get("en"):
        spelled.append(rf"\b(?:{'|'.join(parts['en'])})(?:\b|\W|$)")
    if parts.get("latin"):
        spelled.append(rf"(?:^|[^\pL\d])(?:{'|'.join(parts['latin'])})(?:$|[^\pL\d])")
    spelled += parts.get("other", ())
    return "|".join(spelled)


@cache
def words() -> Words:
    """The classes that this version ships."""
    classes = meanings("classes")
    return Words(classes, shipped().derived(INTENT_REQUIREMENTS, lambda: derive(classes)))
