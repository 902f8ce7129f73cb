"""What each match of a pattern spells: texts of which it holds one of each of some sets, and how far it reaches.

Reads RE2's syntax (https://github.com/google/re2/wiki/Syntax) as far as the rules use it, and makes no use of what it
does not know: a pattern of which nothing is known is always searched. What it tells is kept beside the rules: who
changes what that is counts up the number that derived things are kept under (`ruleset._DERIVED`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from skillkeep.auditor.compiled import compiled

__all__ = ["EDGE", "Spelling", "lowered", "spelling"]

EDGE: Final = "\ue000"
"""Stands for the start or the end of a word at an end of a text that is spelled."""

_ATOM: Final = compiled(
    r"\\(?:(?P<property>[pP](?:\{\^?\w+\}|\w))|x\{(?P<wide>[0-9a-fA-F]+)\}|x(?P<hex>[0-9a-fA-F]{2})|(?P<escape>.))"
    r"|\[(?P<negated>\^?)(?P<members>\]?(?:\\[pP]\{\^?\w+\}|\\x\{[0-9a-fA-F]+\}|\\.|\[:\^?\w+:\]|[^\]\\])*)\]"
    r"|(?P<plain>[^\\\[])",
    re.DOTALL,
)
_OPEN: Final = compiled(r"\((?:\?(?:P?<\w+>|(?P<flags>[imsU-]*)(?P<end>[:)]))|(?!\?))")
_COUNT: Final = compiled(r"(?:[*+?]|\{(?P<least>\d+)(?P<comma>,(?P<most>\d*))?\})\??")
_CONTROLS: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "\a"}
_ON_A_LINE: Final = frozenset({r"\d", r"\w", r"\S", r"\pL", r"\pN", r"\p{L}", r"\p{N}"})
_NO_LINE_END: Final = frozenset({r"\n", r"\s", "\n"})  # what a class holds that is the rest of such a one
_MEMBER: Final = compiled(r"\\.|.", re.DOTALL)
_ENDS: Final = frozenset("BAz")
_SHORTHANDS: Final = frozenset("dDwWsS")
_LETTER: Final = compiled(r"[0-9a-z_]")
_NO_CASE: Final = (("\u017f", "s"), ("\u212a", "k"))  # what is matched by a letter without regard to case
_MOST_EXACT: Final = 24
_MOST_TEXTS: Final = 80
_MOST_CHARACTERS: Final = 4  # of a class that is spelled out
_WIDEST: Final = 4  # bytes of a character


@dataclass(frozen=True)
class Spelling:
    """A match holds, in lower case, one text of each of `groups`, with `EDGE` where a word starts or ends with it.

    It has `longest` bytes at most, or any number when that is 0. With `breaks` it may go over the end of a line.
    """

    groups: Sequence[Sequence[str]]
    longest: int
    breaks: bool


@dataclass(frozen=True)
class _Part:
    """Part of a pattern: all that it matches, when that is known, and else what its matches hold."""

    exact: frozenset[str] | None
    groups: tuple[frozenset[str], ...] = ()
    longest: float = 0.0
    breaks: bool = False
    repeated: frozenset[str] = frozenset()
    """What it is one or more of, when that is known."""


class _UnknownError(Exception):
    """Syntax that is not read."""


_NOTHING: Final = _Part(frozenset({""}))


def lowered(data: bytes) -> bytes:
    """A text (UTF-8) in lower case as far as patterns without regard to case are."""
    plain = data.lower()
    if not plain.isascii():
        for sign, letter in _NO_CASE:
            plain = plain.replace(sign.encode(), letter.encode())
    return plain


def spelling(pattern: str) -> Spelling:
    """What is known of `pattern`, in which ``^`` and ``$`` match at lines. Takes any text."""
    try:
        reader = _Reader(pattern)
        part = reader.alternatives(fold=False, dots=False)
        if reader.at < len(pattern):
            raise _UnknownError
    except _UnknownError:
        return Spelling((), 0, breaks=True)
    groups = [sorted(group) for group in _groups(part)]
    return Spelling(groups, 0 if math.isinf(part.longest) else int(part.longest), part.breaks)


class _Reader:
    """Reads a pattern from left to right; `at` is where it is."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.at = 0

    def alternatives(self, *, fold: bool, dots: bool) -> _Part:
        """All until the end of a group. With `fold` the case is of no regard, with `dots` a dot is any character."""
        found: list[_Part] = []
        while True:
            part, fold, dots = self._sequence(fold, dots)
            found.append(part)
            if not self._text.startswith("|", self.at):
                return _either(found)
            self.at += 1

    def _sequence(self, fold: bool, dots: bool) -> tuple[_Part, bool, bool]:
        parts: list[_Part] = []
        while self.at < len(self._text) and self._text[self.at] not in "|)":
            if self._text[self.at] == "(":
                opened = _OPEN.match(self._text, self.at)
                if opened is None:
                    raise _UnknownError
                self.at = opened.end()
                inner = _flags(opened["flags"] or "", fold, dots)
                if opened["end"] == ")":
                    fold, dots = inner
                    continue
                part = self.alternatives(fold=inner[0], dots=inner[1])
                if not self._text.startswith(")", self.at):
                    raise _UnknownError
                self.at += 1
            else:
                atom = _ATOM.match(self._text, self.at)
                if atom is None or (atom["plain"] or "") in ("*", "+", "?"):
                    raise _UnknownError
                self.at = atom.end()
                part = _atom(atom, fold, dots)
            while count := _COUNT.match(self._text, self.at):
                self.at = count.end()
                part = _counted(part, count)
            parts.append(part)
        return _after_each_other(parts), fold, dots


def _flags(spelled: str, fold: bool, dots: bool) -> tuple[bool, bool]:
    on, _, off = spelled.partition("-")
    return ("i" in on or fold) and "i" not in off, ("s" in on or dots) and "s" not in off


def _atom(atom: re.Match[str], fold: bool, dots: bool) -> _Part:
    if atom["members"] is not None:
        return _class(atom["members"], fold, negated=bool(atom["negated"]))
    if atom["property"]:
        return _any(breaks=atom[0] not in _ON_A_LINE)
    if atom["hex"] or atom["wide"]:
        return _character(chr(int(atom["hex"] or atom["wide"], 16)), fold)
    if escape := atom["escape"]:
        if escape in _CONTROLS:
            return _character(_CONTROLS[escape], fold)
        if escape == "b":
            return _Part(frozenset({EDGE}))
        if escape in _ENDS:
            return _NOTHING
        if escape in _SHORTHANDS:
            return _any(breaks=atom[0] not in _ON_A_LINE)
        if escape.isalnum():
            raise _UnknownError
        return _character(escape, fold)
    if atom[0] in "^$":
        return _NOTHING
    return _any(breaks=dots) if atom[0] == "." else _character(atom[0], fold)


def _any(*, breaks: bool) -> _Part:
    return _Part(None, (), _WIDEST, breaks)


def _character(char: str, fold: bool) -> _Part:
    if fold and not char.isascii():
        return _any(breaks=False)
    plain = lowered(char.encode()).decode()
    return _Part(frozenset({plain}), (), len(char.encode()), char == "\n")


def _class(members: str, fold: bool, *, negated: bool) -> _Part:
    if negated:
        return _any(breaks=_NO_LINE_END.isdisjoint(_MEMBER.findall(members)))
    found: set[str] = set()
    at, breaks, known = 0, False, "[" not in members
    while at < len(members):
        escaped = members[at] == "\\"
        at += escaped
        char = _CONTROLS.get(members[at], members[at]) if escaped else members[at]
        if escaped and char.isalnum():
            known, breaks = False, breaks or char not in "dwS"
        if members[at + 1 : at + 2] == "-" and at + 2 < len(members):  # a range
            known, breaks = False, breaks or char < "\n"
        breaks = breaks or char == "\n"
        found.add(char)
        at += 1
    if not known or len(found) > _MOST_CHARACTERS or not all(map(str.isascii, found)):
        return _any(breaks=breaks or "[" in members)
    return _either([_character(char, fold) for char in sorted(found)])


def _counted(part: _Part, count: re.Match[str]) -> _Part:
    sign = count[0][0]
    if sign != "{":
        least, most = int(sign == "+"), 1.0 if sign == "?" else math.inf
    else:
        least = int(count["least"])
        most = least if count["comma"] is None else int(count["most"]) if count["most"] else math.inf
    longest = part.longest * most if part.longest and most else 0.0
    if part.exact is not None:
        if least == most and len(part.exact) ** least <= _MOST_EXACT:
            exact = frozenset("".join(each) for each in product(part.exact, repeat=least))
            return _Part(exact, (), longest, part.breaks)
        if (least, most) == (0, 1):
            return _Part(part.exact | {""}, (), longest, part.breaks)
    if not least:
        return _Part(None, (), longest, part.breaks)
    return _Part(None, _groups(part), longest, part.breaks, part.exact or frozenset())


def _either(parts: Sequence[_Part]) -> _Part:
    if len(parts) == 1:
        return parts[0]
    longest, breaks = max(each.longest for each in parts), any(each.breaks for each in parts)
    exact = [each.exact for each in parts if each.exact is not None]
    whole = frozenset[str]().union(*exact)
    if len(exact) == len(parts) and len(whole) <= _MOST_TEXTS:
        return _Part(whole, (), longest, breaks)
    picked = [max(_groups(each), key=_worth, default=frozenset[str]()) for each in parts]
    group = _group(frozenset[str]().union(*picked)) if all(picked) else None
    return _Part(None, (group,) if group else (), longest, breaks)


def _after_each_other(parts: Iterable[_Part]) -> _Part:
    groups: list[frozenset[str]] = []
    run, whole, longest, breaks = frozenset({""}), True, 0.0, False
    for part in parts:
        longest, breaks = longest + part.longest, breaks or part.breaks
        exact = part.exact if part.exact is not None else part.repeated
        fits = exact and len(run) * len(exact) <= (_MOST_TEXTS if len(run) == 1 else _MOST_EXACT)
        if fits:
            run = frozenset(before + here for before in run for here in exact)
        if part.exact is None or not fits:
            whole = False
            if group := _group(run):
                groups.append(group)
            groups += part.groups
            run = exact or frozenset({""})
    if whole:
        return _Part(run, (), longest, breaks)
    if group := _group(run):
        groups.append(group)
    return _Part(None, tuple(dict.fromkeys(groups)), longest, breaks)


def _groups(part: _Part) -> tuple[frozenset[str], ...]:
    group = _group(part.exact) if part.exact is not None else None
    return (group,) if group else part.groups


def _group(texts: frozenset[str]) -> frozenset[str] | None:
    """`texts` without those that hold another; None when that says nothing, since one of them is blank or empty."""
    spelled = frozenset(map(_with_edges, texts))
    if len(spelled) > _MOST_TEXTS or not all(text.replace(EDGE, "").strip() for text in spelled):
        return None
    return frozenset(text for text in spelled if not any(other in text for other in spelled if other != text))


def _with_edges(text: str) -> str:
    """`text` without the edges inside of it, and those beside what is no letter of a word."""
    bare = text.replace(EDGE, "")
    first = text.startswith(EDGE) and _LETTER.match(bare)
    last = text.endswith(EDGE) and _LETTER.match(bare[-1:])
    return f"{EDGE if first else ''}{bare}{EDGE if last else ''}"


def _worth(group: frozenset[str]) -> tuple[int, int]:
    return min(len(text.strip()) for text in group), -len(group)
