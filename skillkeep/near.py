"""What a misspelt word may have meant."""

from __future__ import annotations

from collections.abc import Iterable

from skillkeep.text import printable_path

__all__ = ["did_you_mean", "nearest"]

_MOST = 3
_LIKE = 0.5


def nearest(word: str, known: Iterable[str]) -> list[str]:
    """Those of `known` that come close, whatever their case; three at most, best first."""
    import difflib  # only a mistake needs it

    folded = {each.casefold(): each for each in known}
    return [folded[each] for each in difflib.get_close_matches(word.casefold(), folded, n=_MOST, cutoff=_LIKE)]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A question with those of `known` that come close, escaped; empty when there are none."""
    close = nearest(word, known)
    return f"Did you mean {' or '.join(map(printable_path, close))}?" if close else ""
