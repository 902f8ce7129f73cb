"""What a pattern's literals and pieces are, at a fraction of the cost of the pattern itself.

A repetition such as ``.{0,800}`` is compiled to hundreds of states, yet says nothing about the literals of a match. So
a filter is made of wider patterns, which match all that the pattern does and more: counted repetitions have no upper
end in them. Most patterns are never asked for more than their literals.

A sieve goes further: wherever a pattern matches, what stands between two of its wide repetitions matches too, by
itself. Such a piece is so small that one automaton can look for those of hundreds of patterns in a single pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from skillkeep.auditor.compiled import compiled

__all__ = ["pieces", "searched", "widened"]

# An escape, a class, or a repetition between two counts that is not a small one.
_PIECE: Final = compiled(r"\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|\{(\d+),(\d+)\}", re.DOTALL)
_SMALL: Final = 4
_TOKEN: Final = compiled(
    r"(?P<atom>\\(?:[pP]\{\^?\w+\}|x\{[0-9a-fA-F]+\}|x[0-9a-fA-F]{2}|.)|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|[.^$])"
    r"|(?P<open>\((?:\?(?:P?<\w+>|[a-zA-Z-]*:))?)|(?P<count>(?:[*+?]|\{\d+(?:,\d*)?\})\??)"
    r"|(?P<run>[^\\\[(){*+?|.^$]+|\{)|(?P<mark>.)",
    re.DOTALL,
)
_ESCAPE: Final = compiled(r"\\.", re.DOTALL)
_PYTHON: Final = compiled(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_NOT_RE2: Final = compiled(r"\(\?(?!:|P<)|[*+?}]\+")  # groups that only Python has, and what gives nothing back
_NOT_RE2_ESCAPE: Final = compiled(r"\\[0-9uUN]")
_ANY_SCRIPT: Final = {r"\w": r"\pL\pN_", r"\d": r"\pN", r"\s": r"\s\v\pZ\x{1c}-\x{1f}\x{85}"}
_FLAGS: Final = compiled(r"\(\?[a-zA-Z]+\)")
_EDGES: Final = frozenset({r"\b", r"\B", "^", "$", r"\A", r"\z"})
# Between the line feeds of a longer text, the ends of a text are ends of lines.
_ENDS: Final = {r"\A": "(?m:^)", r"\z": r"(?:\z|\n)"}


def widened(pattern: str) -> str:
    """A pattern that matches wherever `pattern` does. RE2 takes it at least where it takes `pattern`."""
    return pattern if "\\Q" in pattern else _PIECE.sub(_unbounded, pattern)


def searched(pattern: re.Pattern[str]) -> str | None:
    """A pattern of RE2 that matches wherever Python's `pattern` does: where words start and end is not asked, letters,
    figures and blanks are those of any script. None for one that looks around, refers back or knows no case.
    """
    told = pattern.pattern
    if (
        pattern.flags & (re.IGNORECASE | re.VERBOSE)
        or _NOT_RE2_ESCAPE.search(told)
        or _NOT_RE2.search(_PYTHON.sub("_", told))
    ):
        return None
    spelled = widened(_PYTHON.sub(_of_any_script, told))
    return f"(?s){spelled}" if pattern.flags & re.DOTALL else spelled


def _of_any_script(token: re.Match[str]) -> str:
    spelled = token[0]
    if len(spelled) == 2:
        return "" if spelled[1] in "bBAZ" else f"[{_ANY_SCRIPT[spelled]}]" if spelled in _ANY_SCRIPT else spelled
    if spelled.startswith("[^"):
        return spelled  # what RE2 leaves out is less
    return _ESCAPE.sub(lambda escape: _ANY_SCRIPT.get(escape[0], escape[0]), spelled)


def _unbounded(piece: re.Match[str]) -> str:
    if piece[1] is None or int(piece[2]) <= _SMALL:
        return piece[0]
    least = int(piece[1])
    return ("*", "+")[least] if least < 2 else f"{{{least},}}"


def pieces(pattern: str) -> list[str] | None:
    """For each way in which `pattern` may match the piece that spells most; one of them matches wherever it does, also
    in a text that holds that text between line feeds. None when there is a way without any.
    """
    flags = _FLAGS.match(pattern)
    start = flags.end() if flags is not None else 0
    if "\\Q" in pattern or _FLAGS.search(pattern, start):
        return None
    found = [_piece(way) for way in _ways(pattern[start:])]
    return [pattern[:start] + widened(piece) for piece in found] if all(found) else None


@dataclass(frozen=True)
class _Atom:
    """`text` with its count, how much it spells at least, and whether it stands for nearly any text."""

    text: str
    spells: int
    wide: bool


def _ways(pattern: str) -> Iterator[list[_Atom]]:
    """The atoms of each alternative at the top of a pattern."""
    way: list[_Atom] = []
    text, wide, depth, last = "", False, 0, ""
    for token in _TOKEN.finditer(pattern):
        kind, spelled = token.lastgroup, token[0]
        if kind == "count":
            least, open_ended = _counted(spelled)
            loose = open_ended and _is_broad(last)
            if depth:
                text += spelled
                wide = wide or loose
            elif way:
                way[-1] = _counted_atom(way[-1], spelled, least, loose)
        elif kind == "open":
            text = spelled if not depth else text + spelled
            wide = wide and depth > 0
            depth += 1
        elif depth:
            text += _ENDS.get(spelled, spelled)
            depth -= spelled == ")"
            if not depth:
                way.append(_Atom(text, 2, wide))
        elif spelled == "|":
            yield way
            way = []
        else:
            way += _plain(kind == "run", spelled)
        last = spelled
    yield way


def _plain(run: bool, spelled: str) -> list[_Atom]:
    """The atoms of some plain text, the last character by itself since a count may follow, or of one class."""
    if not run:
        return [_Atom(_ENDS.get(spelled, spelled), 0 if spelled in _EDGES else 1, False)]
    rest = [_Atom(spelled[:-1], len(spelled) - 1, False)] if len(spelled) > 1 else []
    return [*rest, _Atom(spelled[-1], 1, False)]


def _counted_atom(atom: _Atom, count: str, least: int, loose: bool) -> _Atom:
    return _Atom(atom.text + count, atom.spells * least, atom.wide or loose)


def _counted(count: str) -> tuple[int, bool]:
    """The least of a count, and whether there is no small most."""
    if count[0] in "*+?":
        return int(count[0] == "+"), count[0] != "?"
    least, comma, most = count.rstrip("?")[1:-1].partition(",")
    return int(least), bool(comma and not most) or int(most or least) > _SMALL


def _is_broad(atom: str) -> bool:
    """True for what stands for nearly any character, and for a group, of which that is not told."""
    return atom in {".", ")", r"\S", r"\D", r"\W", r"[\s\S]", r"[\S\s]"} or atom.startswith("[^")


def _piece(way: list[_Atom]) -> str:
    """The piece that spells most, empty when none spells anything."""
    best, text, spells = (0, ""), "", 0
    for atom in way:
        if atom.wide:
            text, spells = "", 0
        else:
            text, spells = text + atom.text, spells + atom.spells
            best = (spells, text) if 0 < spells >= best[0] else best
    return best[1]
