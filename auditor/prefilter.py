"""What a pattern's literals are, at a fraction of the cost of the pattern itself.

A repetition such as ``.{0,800}`` is compiled to hundreds of states, yet says nothing about the literals of a match. So
a filter is made of wider patterns, which match all that the pattern does and more: counted repetitions have no upper
end in them. Most patterns are never asked for more than their literals.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["widened"]

# An escape, a class, or a repetition between two counts that is not a small one.
_PIECE: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|\{(\d+),(\d+)\}", re.DOTALL)
_SMALL: Final = 4


def widened(pattern: str) -> str:
    """A pattern that matches wherever `pattern` does. RE2 takes it at least where it takes `pattern`."""
    return pattern if "\\Q" in pattern else _PIECE.sub(_unbounded, pattern)


def _unbounded(piece: re.Match[str]) -> str:
    if piece[1] is None or int(piece[2]) <= _SMALL:
        return piece[0]
    least = int(piece[1])
    return ("*", "+")[least] if least < 2 else f"{{{least},}}"
