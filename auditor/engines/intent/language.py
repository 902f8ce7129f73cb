"""Whether a passage is written in another language than English with Latin letters, told by its commonest words."""

from __future__ import annotations

import re
from typing import Final

from skillkeep.auditor.compiled import compiled

__all__ = ["is_foreign"]

_COMMON: Final = compiled(
    r"\b(?:the|and|to|of|is|in|for|with|your|you|an?|this|that|on|it|be|or|when|from)\b", re.IGNORECASE
)
_WORD: Final = compiled(r"[^\W\d_]+")
_LAST_LATIN: Final = "\u024f"
_FEWEST: Final = 8
_LATIN: Final = 0.8
_SHARE: Final = 0.08  # of the words; English has three times as many


def is_foreign(passage: str) -> bool:
    """True for eight words and more in Latin letters of which hardly one is a common English word."""
    words = _WORD.findall(passage)
    if len(words) < _FEWEST:
        return False
    latin = sum(max(word) <= _LAST_LATIN for word in words)
    return latin > _LATIN * len(words) and len(_COMMON.findall(passage)) < _SHARE * len(words)
