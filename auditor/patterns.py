"""Many regular expressions over one text, in linear time. The only importer of re2.

RE2 has no backtracking, so no input makes a pattern slow; a literal prefilter (one pass for all patterns) chooses
the few that can match at all, and only those are run. Reference: RE2's FilteredRE2.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import sha256
from importlib import import_module
from itertools import islice
from typing import Any, Protocol
from weakref import WeakSet

from skillkeep.auditor.errors import AuditError
from skillkeep.auditor.prefilter import pieces, searched, widened

__all__ = [
    "Hit",
    "Pattern",
    "PatternSet",
    "RarePattern",
    "SievedSet",
    "Texts",
    "check_pattern",
    "forget_compiled",
    "forgets",
]

_MAX_MEMORY = 1 << 19  # of each; a pattern may have half as much again as the largest of today
_MAX_SIEVE = 4 << 20  # of each part; enough for some megabytes of code, more of it takes three times as long
_MAX_TEXTS = 16 << 20  # a third of it is used; where it does not suffice, RE2 takes a hundred times as long
_SIEVES = 3  # what was found is part of a state: one automaton of all pieces meets four times as many
_MOST_KEPT = 2_000
_SHORT = 200  # characters; in fewer, RE2 gains nothing
_NOWHERE = (-1, -1)

_Spans = Sequence[tuple[int, int]]
"""Byte offsets of a match and then of its groups."""


@dataclass(frozen=True)
class Hit:
    """One match: the pattern's index in the set, byte offsets, and the named groups that took part."""

    index: int
    start: int
    end: int
    groups: dict[str, tuple[int, int]]


class PatternSet:
    """Patterns with one filter; each is compiled when it is first looked for, which for most is never.

    `flags` of a pattern are written in it, such as ``(?i)``; ``^`` and ``$`` match at lines. What RE2 refuses raises
    `AuditError` (`bad_rule`), at the latest where it is looked for.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        self.spelled = tuple(patterns)
        self._regexps: dict[int, _Regexp] = {}
        self._wider: dict[int, _Regexp] = {}
        forgets(self)
        self._ends = ["\\A" in pattern or "\\z" in pattern for pattern in patterns]

    @cached_property
    def _filter(self) -> Any:
        made, options = _re2().Filter(), _options()
        for pattern in self.spelled:
            if made.Add(_spell(widened(pattern)), options) < 0:
                raise _bad(pattern, "a filter refuses it")
        made.Compile()
        return made

    def candidates(self, data: bytes) -> list[int]:
        """Indexes of the patterns whose literals occur in `data` (UTF-8), sorted."""
        if not self.spelled:
            return []
        return sorted(self._filter.Match(data, True))

    def occurs(self, index: int, data: bytes) -> bool:
        """False when one pattern matches nowhere in `data`. A match in a text is one in a longer text that holds it
        between line feeds, unless the pattern asks for the text's own ends: then the answer is always True."""
        return self._ends[index] or self._wide(index).occurs(data)

    def find(self, index: int, data: bytes, most: int = 50) -> Iterator[Hit]:
        """The first `most` matches of one pattern, from left to right, without overlap."""
        wide = self._wide(index)
        if wide is not self._regexps.get(index) and not wide.occurs(data):
            return iter(())
        return _hits(index, self._regexp(index), data, most)

    def _wide(self, index: int) -> _Regexp:
        """A wider pattern of few states: that of one with counted repetitions outgrows its memory in long texts."""
        known = self._wider.get(index)
        if known is None:
            spelled = widened(self.spelled[index])
            same = spelled == self.spelled[index]
            known = self._wider[index] = self._regexp(index) if same else _Regexp(spelled, grouped=False)
        return known

    def _regexp(self, index: int) -> _Regexp:
        known = self._regexps.get(index)
        if known is None:
            spelled = self.spelled[index]
            known = self._regexps[index] = _Regexp(spelled, grouped="(?P<" in spelled)
        return known

    def forget(self) -> None:
        """Drop what was compiled of single patterns, with its automata; it is made again when it is looked for."""
        self._regexps.clear()
        self._wider.clear()


class _Keeper(Protocol):
    def forget(self) -> None:
        """Drop what is compiled."""


_keepers: WeakSet[_Keeper] = WeakSet()


def forgets(keeper: _Keeper) -> None:
    """Have `keeper` forget with all others, as long as it lives. It makes again what it is asked for later."""
    _keepers.add(keeper)


def forget_compiled() -> None:
    """Give back the memory of patterns that the files of a large tree have had compiled."""
    for each in _keepers:
        each.forget()


class SievedSet(PatternSet):
    """Patterns for code of which far fewer than by their literals alone are candidates, told in one pass as well.

    The automaton of their pieces (`prefilter.pieces`) stays small in code; in prose it does not. What was told of the
    texts asked for last is kept by their digests: an engine asks for the code of a file and for that of its tree.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        super().__init__(patterns)
        self._kept: dict[bytes, tuple[int, ...]] = {}

    def candidates(self, data: bytes) -> list[int]:
        """Indexes of the patterns that may match in `data` (UTF-8), sorted."""
        digest = sha256(data).digest()
        known = self._kept.pop(digest, None)  # the one asked for last stands last
        if known is None:
            known = self._told(data)
            if len(self._kept) >= _MOST_KEPT:
                del self._kept[next(iter(self._kept))]
        self._kept[digest] = known
        return list(known)

    def _told(self, data: bytes) -> tuple[int, ...]:
        sieve = self._sieve
        found = {sieve.others[number] for number in sieve.literals.candidates(data)}
        for part, owners in sieve.parts:
            found.update(*map(owners.__getitem__, part.Match(data)))
        return tuple(sorted(found))

    def forget(self) -> None:
        """As other sets do, and the automata of the pieces."""
        super().forget()
        self.__dict__.pop("_sieve", None)

    @cached_property
    def _sieve(self) -> _Sieve:
        owners: dict[str, list[int]] = {}
        others: list[int] = []
        for number, pattern in enumerate(self.spelled):
            told = pieces(pattern)
            others += [number] if told is None else []
            for piece in told or ():
                owners.setdefault(piece, []).append(number)
        parts = [
            (_set_of(list(owners)[first::_SIEVES]), list(owners.values())[first::_SIEVES]) for first in range(_SIEVES)
        ]
        return _Sieve(parts, others, PatternSet([self.spelled[number] for number in others]))


@dataclass(frozen=True)
class _Sieve:
    """In parts, what tells which pieces match and the patterns of each; and the patterns without."""

    parts: Sequence[tuple[Any, Sequence[Sequence[int]]]]
    others: Sequence[int]
    literals: PatternSet


def _set_of(some: Sequence[str]) -> Any:
    options = _options()
    options.max_mem = _MAX_SIEVE
    made = _re2().Set(_re2().RE2.Anchor.UNANCHORED, options)
    for piece in some:
        made.Add(_spell(piece))
    made.Compile()
    return made


class Pattern:
    """One compiled pattern, written as those of a set. Raises `AuditError` (`bad_rule`) for one RE2 refuses."""

    def __init__(self, pattern: str) -> None:
        self._regexp = _Regexp(pattern, grouped=False)

    def occurs(self, data: bytes) -> bool:
        """True when it matches somewhere in `data` (UTF-8)."""
        return self._regexp.occurs(data)

    def spans(self, data: bytes, most: int = 50) -> list[tuple[int, int]]:
        """Byte offsets of the first `most` matches in `data` (UTF-8)."""
        return [spans[0] for spans in islice(self._regexp.matches(data), most)]


class RarePattern:
    """A pattern of Python, with its groups, of which few texts hold a match: RE2 is asked first whether one may, in a
    tenth of the time."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern
        forgets(self)

    @cached_property
    def _wide(self) -> Pattern | None:
        spelled = searched(self._pattern)
        return None if spelled is None else Pattern(spelled)

    def may_occur(self, text: str) -> bool:
        """False when it matches nowhere in `text`."""
        if len(text) < _SHORT or self._wide is None:
            return True
        try:
            return self._wide.occurs(text.encode())
        except UnicodeEncodeError:
            return True

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """As that of the pattern."""
        return self._pattern.finditer(text) if self.may_occur(text) else iter(())

    def search(self, text: str) -> re.Match[str] | None:
        """As that of the pattern."""
        return self._pattern.search(text) if self.may_occur(text) else None

    def sub(self, made: Callable[[re.Match[str]], str], text: str) -> str:
        """As that of the pattern."""
        return self._pattern.sub(made, text) if self.may_occur(text) else text

    def forget(self) -> None:
        """Drop what was compiled."""
        self.__dict__.pop("_wide", None)


class Texts:
    """Plain texts, found wherever one starts; those that are words by themselves only as such.

    `texts` says of each whether a word starts and whether one ends with it.
    """

    def __init__(self, texts: Mapping[bytes, tuple[bool, bool]]) -> None:
        re2, options = _re2(), _options()
        options.never_capture = True
        options.max_mem = _MAX_TEXTS
        options.longest_match = True
        quoted = re2.RE2.QuoteMeta
        # Sorted, so that RE2 makes a tree of what they begin with.
        spelled = sorted(_edge(first) + quoted(text) + _edge(last) for text, (first, last) in texts.items())
        self._match = re2.RE2(b"|".join(spelled) or rb"[^\x00-\x{10ffff}]", options).Match
        self._anywhere = re2.RE2.Anchor.UNANCHORED

    def starts(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """Each place in `data` where one of the texts starts, with the longest that does."""
        at, end = 0, len(data)
        while True:
            start, stop = self._match(self._anywhere, data, at, end)[0]
            if start < 0:
                return
            yield start, data[start:stop]
            at = start + 1


def _edge(there: bool) -> bytes:
    return rb"\b" if there else b""


class _Regexp:
    """One expression of RE2 itself: in short texts what re2 has in Python around it takes longer than a match.

    Where groups do not matter, a match costs no second pass for them. Raises `AuditError` (`bad_rule`) for what RE2
    refuses.
    """

    __slots__ = ("_anywhere", "_match", "groups")

    def __init__(self, pattern: str, *, grouped: bool = True) -> None:
        re2, options = _re2(), _options()
        options.never_capture = not grouped
        made = re2.RE2(_spell(pattern), options)
        if not made.ok():
            raise _bad(pattern, made.error().decode())
        self._match, self._anywhere = made.Match, re2.RE2.Anchor.UNANCHORED
        self.groups: Mapping[str, int] = {name.decode(): number for name, number in made.NamedCapturingGroups()}

    def occurs(self, data: bytes) -> bool:
        """True when it matches somewhere in `data`."""
        spans: _Spans = self._match(self._anywhere, data, 0, len(data))
        return spans[0] != _NOWHERE

    def matches(self, data: bytes) -> Iterator[_Spans]:
        """The matches in `data`, from left to right, without overlap."""
        at, end = 0, len(data)
        while at <= end:
            spans: _Spans = self._match(self._anywhere, data, at, end)
            if spans[0] == _NOWHERE:
                return
            yield spans
            at = spans[0][1] if spans[0][1] > at else at + 1


def _hits(index: int, regexp: _Regexp, data: bytes, most: int) -> Iterator[Hit]:
    for spans in islice(regexp.matches(data), most):
        groups = {name: spans[number] for name, number in regexp.groups.items() if spans[number] != _NOWHERE}
        yield Hit(index, *spans[0], groups)


def check_pattern(pattern: str) -> None:
    """Raise `AuditError` (`bad_rule`) when RE2 refuses `pattern` or it matches the empty text."""
    if _Regexp(pattern).occurs(b""):
        raise _bad(pattern, "it matches the empty text")


@cache
def _re2() -> Any:
    return import_module("re2._re2")


def _spell(pattern: str) -> bytes:
    return b"(?m)" + pattern.encode()


def _options() -> Any:
    options = _re2().RE2.Options()
    options.max_mem = _MAX_MEMORY
    options.log_errors = False
    return options


def _bad(pattern: str, reason: str) -> AuditError:
    hint = "Write RE2 syntax: no look-around, no back-references, at most 1000 repetitions."
    return AuditError("bad_rule", "a pattern of the ruleset cannot be used", hint, pattern=pattern, reason=reason)
