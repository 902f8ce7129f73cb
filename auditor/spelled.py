"""A set of patterns of which few are candidates: one automaton finds what is rare of all that they spell, and what else
a match has to hold is looked for near it, mostly on the same line.

RE2's own filter knows the same literals. Yet what it has found is part of its states, so that it makes new ones in
every text, and where in a text the literals stand it does not tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from typing import Any, Final, NamedTuple

from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.patterns import PatternSet, Texts
from skillkeep.auditor.ruleset import SPELLINGS, shipped
from skillkeep.auditor.spelling import EDGE, Spelling, lowered, spelling

__all__ = ["SpelledSet", "keep_spellings"]

_LETTERS: Final = b"0123456789_abcdefghijklmnopqrstuvwxyz"
_WORD: Final = 0.4
_UNHEARD: Final = 10  # in a megabyte, of a text that is not listed
_NEAR: Final = 2_000  # bytes around what was found that are looked at; more are the whole text
_FEW: Final = 4  # texts that are looked for in a whole text
_ASKED: Final = 500, 24  # patterns that are thought of, and bytes for one more, from which on RE2's own filter is asked
_LOOKED_AT: Final = 64  # times a text that is looked at, likewise


class _Need(NamedTuple):
    """A pattern's number, and what a match holds besides the text that it is looked up by: one text of each group.

    That text has `size` bytes; a word starts with it (`first`) or ends with it (`last`).
    """

    number: int
    groups: Sequence[Sequence[bytes]]
    longest: int
    breaks: bool
    size: int
    first: bool
    last: bool


class _Kept(NamedTuple):
    """What a pattern spells: one of the texts `rare`, each with its edges, and one text of each of the `others`."""

    rare: Sequence[str]
    others: Sequence[Sequence[str]]
    longest: int
    breaks: bool


class SpelledSet(PatternSet):
    """See the module."""

    def candidates(self, data: bytes) -> list[int]:
        """Indexes of the patterns that may match in `data` (UTF-8), sorted."""
        plain, index = lowered(data), self._index
        if len(plain) != len(data):  # letters stand where RE2 sees none, so that words start and end elsewhere
            return super().candidates(data)
        found, told, left = set(index.always), index.told, _ASKED[0] + len(plain) // _ASKED[1]
        near = _Near(plain)
        ends = plain + b"\n"
        for at, text in index.rare.starts(plain):
            needs = told[text]
            left -= len(needs) + 1
            if left < 0 or near.left < 0:
                return super().candidates(data)
            for need in needs:
                if (
                    need.number not in found
                    and not (need.first and ends[at - 1] in _LETTERS)
                    and not (need.last and ends[at + need.size] in _LETTERS)
                    and (not need.groups or near.holds(at, need))
                ):
                    found.add(need.number)
        return sorted(found)

    @cached_property
    def _index(self) -> _Index:
        always: list[int] = []
        by_text: dict[bytes, list[_Need]] = {}
        spellings = _spellings()
        for number, pattern in enumerate(self.spelled):
            known = _Kept(*spellings[pattern]) if pattern in spellings else _kept(spelling(pattern))
            if not known.rare:
                always.append(number)
                continue
            groups = [list(map(str.encode, group)) for group in known.others]
            for text in known.rare:
                bare, first, last = _bare(text).encode(), text.startswith(EDGE), text.endswith(EDGE)
                need = _Need(number, groups, known.longest, known.breaks, len(bare), first, last)
                by_text.setdefault(bare, []).append(need)
        rare = Texts({
            text: (all(need.first for need in needs), all(need.last for need in needs))
            for text, needs in by_text.items()
        })  # fmt: skip
        return _Index(always, rare, {
            text: [each for size in range(1, len(text) + 1) for each in by_text.get(text[:size], ())]
            for text in by_text
        })  # fmt: skip


@dataclass(frozen=True)
class _Index:
    """The patterns of which nothing is known; what is rare of the others; and the patterns by each text, and by those
    that it starts with."""

    always: Sequence[int]
    rare: Texts
    told: Mapping[bytes, Sequence[_Need]]


class _Near:
    """Tells what stands near a place of a text. `left` is how many bytes may be looked at."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._begin = self._end = 0  # of the line that was asked for last
        self._line = b""
        self._whole: dict[Sequence[bytes], bool] = {}
        self.left = _LOOKED_AT * (len(text) + _NEAR)

    def holds(self, at: int, need: _Need) -> bool:
        """False when a match that has a rare text at `at` cannot hold what it needs."""
        part = self._around(at, need)
        if part is None:
            return all(self._held(tuple(group)) for group in need.groups if len(group) <= _FEW)
        size = len(part)
        for group in need.groups:
            self.left -= size * len(group)
            for each in group:
                if each in part:
                    break
            else:
                return False
        return True

    def _around(self, at: int, need: _Need) -> bytes | None:
        """What any match with a text at `at` lies in, or None when that is too much."""
        text, longest = self._text, need.longest
        if not need.breaks:
            if not self._begin <= at < self._end:
                self._begin = text.rfind(b"\n", 0, at) + 1
                self._end = text.find(b"\n", at) + 1 or len(text) + 1
                self._line = text[self._begin : min(self._end, self._begin + _NEAR + 1)]
            if len(self._line) <= _NEAR:
                return self._line
        return text[max(0, at - longest) : at + longest] if 0 < longest <= _NEAR else None

    def _held(self, group: tuple[bytes, ...]) -> bool:
        known = self._whole.get(group)
        if known is None:
            self.left -= len(self._text)
            known = self._whole[group] = any(each in self._text for each in group)
        return known


def _bare(text: str) -> str:
    return text.replace(EDGE, "")


def keep_spellings() -> None:
    """Keep what the patterns spell, which takes long to tell."""
    _spellings()


def _spellings() -> Mapping[str, Sequence[Any]]:
    """What is known of each pattern of the rules, as the arguments of `_Kept`."""
    known: Mapping[str, Sequence[Any]] = shipped().derived(
        SPELLINGS, lambda: {pattern: list(_kept(spelling(pattern))) for pattern in dict.fromkeys(_patterns())}
    )
    return known


def _kept(found: Spelling) -> _Kept:
    """The same, with what a megabyte of public skills holds least of first, which takes long to tell as well."""
    rare, *others = sorted(found.groups, key=_often) or [()]
    bare = [[_bare(text) for text in sorted(group, key=_often_one, reverse=True)] for group in others]
    return _Kept(list(rare), bare, found.longest, found.breaks)


def _patterns() -> Iterator[str]:
    rules = shipped()
    for name in rules.files():
        for entries in (rules.document(name) or {}).values():
            yield from chain.from_iterable(entry.get("patterns", ()) for entry in entries)


def _often(group: Iterable[str]) -> float:
    """How often one of some texts stands in a megabyte of public skills, roughly."""
    return sum(map(_often_one, group))


def _often_one(text: str) -> float:
    """Words are rarer than what they are spelled like, and so is what longer texts hold."""
    bare = _bare(text)
    known = _common().get(bare)
    if known is None:
        known = min((_common().get(part, _UNHEARD) for part in bare.split()), default=_UNHEARD)
    return known * _WORD ** (len(text) - len(bare)) * _WORD ** (len(bare) - len(bare.strip()))


@cache
def _common() -> Mapping[str, int]:
    return {text: band["of_megabyte"] for band in table("spelled")["texts"] for text in band["are"]}
