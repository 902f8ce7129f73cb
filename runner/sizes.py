"""Sizes as people write them."""

from __future__ import annotations

import re

from skillkeep.errors import UsageError
from skillkeep.text import escape

__all__ = ["size_of"]

_SIZE = re.compile(r"(\d{1,15})(?:([kmgt])(?:i?b)?)?\Z", re.IGNORECASE)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def size_of(text: str, option: str) -> int | None:
    """Bytes, None for an empty text. Raises `UsageError` naming `option`."""
    if not text:
        return None
    match = _SIZE.match(text.strip())
    if not match:
        raise UsageError(
            "usage", f"{option} is not a size: {escape(text)}", "Write a number of bytes, or 64k, 512m, 2g."
        )
    return int(match[1]) * _UNITS[(match[2] or "").lower()]
