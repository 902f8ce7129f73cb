"""The escapes of ``$'…'``, ``printf`` and ``echo -e``."""

from __future__ import annotations

import re
from typing import Final

from skillkeep.auditor.compiled import compiled

__all__ = ["unescape_ansi"]

_ESCAPE: Final = compiled(
    r"\\(?:x([0-9a-fA-F]{1,2})|0?([0-7]{1,3})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|(.))", re.DOTALL
)
_SIMPLE: Final = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}


def unescape_ansi(text: str) -> str:
    """`text` with its backslash escapes replaced by what they stand for."""

    def one(match: re.Match[str]) -> str:
        digits = match[1] or match[3] or match[4]
        if digits:
            point = int(digits, 16)
            return chr(point) if point < 0x110000 and not 0xD800 <= point < 0xE000 else ""
        if match[2]:
            return chr(int(match[2], 8) & 0xFF)
        return _SIMPLE.get(match[5], match[5])

    return _ESCAPE.sub(one, text)
