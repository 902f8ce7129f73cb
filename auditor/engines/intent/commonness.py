"""How common pieces of words are in text, to look for what is rare first (``rules/tables/common.yaml``)."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from typing import Final

from skillkeep.auditor.engines.intent.pieces import Piece
from skillkeep.auditor.engines.tables import table

__all__ = ["common_words", "commonness"]

_SPELLED: Final = 0.002
_UNHEARD: Final = {True: 0.0001, False: 0.0003}  # the share of a whole word, and of letters in any, that are not listed


def commonness(pieces: frozenset[Piece]) -> float:
    """The share of paragraphs that hold one of `pieces`, roughly."""
    return min(1.0, sum(map(_share, pieces)))


def common_words() -> Collection[str]:
    """The words that are listed as common."""
    return _words().keys()


@cache
def _share(piece: Piece) -> float:
    if piece.spelled:
        return _SPELLED
    known = _UNHEARD[piece.first and piece.last]
    letters = piece.letters
    if piece.first and piece.last:
        return known + _words().get(letters, 0.0)
    if piece.first:
        return known + sum(share for word, share in _words().items() if word.startswith(letters))
    if piece.last:
        return known + sum(share for word, share in _words().items() if word.endswith(letters))
    return known + sum(share for word, share in _words().items() if letters in word)


@cache
def _words() -> dict[str, float]:
    bands = table("common")["words"]
    return {word: 1.5e-3 * band["of_thousand"] for band in bands for word in band["are"].split()}
