"""The texts that a call may have besides the last one: a condition is read as if it always held.

``cmd=$(tail -n 1 notes.md); [ -n "$cmd" ] || cmd="echo none"; eval "$cmd"`` runs either.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from skillkeep.auditor.engines.shell.evaluate import HOLE, Scope
from skillkeep.auditor.engines.shell.model import Variable, Word
from skillkeep.auditor.engines.shell.site import Call

__all__ = ["ways"]

_MOST_WAYS: Final = 16


def ways(call: Call, scope: Scope) -> Iterator[Call]:
    """`call`, and what it is with other texts of one of its variables; with each value of a loop instead of none."""
    found: list[Call] = []
    looped = False
    for index, word in enumerate(call.words[: len(call.arguments)]):
        for piece in word.pieces if word.literal is None else ():
            if not isinstance(piece, Variable) or piece.operator:
                continue
            several = scope.several.get(piece.name, ()) or scope.elements(Word(0, 0, [piece]))
            looped = looped or bool(several)
            texts = (*several, *scope.earlier(piece.name), *_not_given(piece, scope))
            found += [replace(call, arguments=_with(call, index, _text(word, piece, text, scope))) for text in texts]
    if not looped or not found:
        yield call
    yield from found[:_MOST_WAYS]
    if len(found) > _MOST_WAYS:
        yield replace(call, arguments=tuple(HOLE for _ in call.arguments))


def _not_given(variable: Variable, scope: Scope) -> tuple[str, ...]:
    """``${1:-true}`` of a script: what its caller gives is not known."""
    unknown = variable.default is not None and variable.name.isdecimal() and variable.name not in scope.own
    return (HOLE,) if unknown else ()


def _text(word: Word, variable: Variable, text: str, scope: Scope) -> str:
    pieces = (
        text if piece is variable else piece if isinstance(piece, str) else scope.text(Word(0, 0, [piece]))
        for piece in word.pieces
    )
    return "".join(pieces)


def _with(call: Call, index: int, text: str) -> tuple[str, ...]:
    return (*call.arguments[:index], text, *call.arguments[index + 1 :])
