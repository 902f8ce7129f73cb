"""``~/.{ssh,aws}``: what a shell makes of braces in a word without quotes."""

from __future__ import annotations

from typing import Final

from skillkeep.auditor.compiled import compiled

__all__ = ["braced"]

_GROUP: Final = compiled(r"(?<!\$)\{([^{}\s]*,[^{}\s]*)\}")
_MOST: Final = 32


def braced(text: str) -> list[str]:
    """The words that `text` becomes, at most 32; itself alone when it holds no list in braces."""
    found = _GROUP.search(text)
    if found is None:
        return [text]
    words: list[str] = []
    for choice in found[1].split(","):
        words += braced(text[: found.start()] + choice + text[found.end() :])
        if len(words) >= _MOST:
            return words[:_MOST]
    return words
