"""Owner names that imitate a trusted one: swapped letters, digits for letters, foreign letters.

A look-alike is never trusted anyway (trust needs the exact name); finding it tells the reader that somebody may
be trying. Method after Unicode TS 39 "confusables" (a small table of the letters that pass for ASCII ones) and
Damerau-Levenshtein distance 1 on the resulting skeletons.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

__all__ = ["lookalike", "skeleton"]

_MIN_LENGTH_FOR_DISTANCE = 5  # among shorter names, one edit lies between unrelated ones: aws, was, axs
_SINGLE = str.maketrans(
    {
        # digits and signs read as letters
        "0": "o", "1": "l", "|": "l", "!": "l", "3": "e", "4": "a", "5": "s", "$": "s", "7": "t", "8": "b", "9": "g",
        "@": "a", "i": "l",
        # Cyrillic
        "а": "a", "в": "b", "с": "c", "ԁ": "d", "е": "e", "ё": "e", "һ": "h", "і": "l", "ї": "l", "ј": "j", "к": "k",
        "ӏ": "l", "м": "m", "н": "h", "п": "n", "о": "o", "р": "p", "ԛ": "q", "г": "r", "ѕ": "s", "т": "t", "у": "y",
        "ԝ": "w", "х": "x", "ь": "b",
        # Greek
        "α": "a", "β": "b", "ε": "e", "η": "n", "ι": "l", "κ": "k", "ν": "v", "ο": "o", "ρ": "p", "σ": "o", "τ": "t",
        "υ": "u", "χ": "x", "γ": "y", "ω": "w",
        # Armenian and Latin letters that keep no ASCII base when decomposed
        "օ": "o", "ս": "u", "հ": "h", "ո": "n", "ց": "g", "զ": "q", "ı": "l", "ɑ": "a", "ɡ": "g", "ɩ": "l", "ø": "o",
        "ł": "l", "đ": "d", "ħ": "h", "ŧ": "t", "æ": "ae", "œ": "oe", "ɪ": "l", "ʟ": "l", "ɴ": "n", "ɢ": "g",
    }
)  # fmt: skip
_SEPARATORS = "-_.·‐‑‒–—"
_PAIRS = (("rn", "m"), ("vv", "w"), ("cl", "d"))


def lookalike(owner: str, trusted: Iterable[str]) -> str | None:
    """The trusted entry that `owner` imitates, or None. A trusted owner itself imitates nobody.

    Entries may be ``owner`` or ``host/owner``; the entry is returned as it stands in `trusted`.
    """
    entries = {entry: entry.rpartition("/")[2].strip().lower() for entry in trusted}
    folded = owner.strip().lower()
    if not folded or folded in entries.values():
        return None
    for entry, name in entries.items():
        if skeleton(owner) == skeleton(name):
            return entry
        if len(name) >= _MIN_LENGTH_FOR_DISTANCE and _one_edit_apart(_letters(owner), _letters(name)):
            return entry
    return None


def skeleton(name: str) -> str:
    """What a reader at a glance takes `name` for: marks, separators and case dropped, confusables mapped to ASCII."""
    mapped = _letters(name)
    for pair, single in _PAIRS:
        mapped = mapped.replace(pair, single)
    return mapped


def _letters(name: str) -> str:
    """The skeleton letter by letter; pairs that pass for one letter stay two, so that a swap stays one edit."""
    flat = unicodedata.normalize("NFKD", name.casefold())
    kept = "".join(char for char in flat if unicodedata.category(char)[0] not in "MCZ" and char not in _SEPARATORS)
    return kept.translate(_SINGLE)


def _one_edit_apart(left: str, right: str) -> bool:
    """True for one insertion, deletion, substitution, or swap of neighbours."""
    if abs(len(left) - len(right)) > 1:
        return False
    head = 0
    while head < min(len(left), len(right)) and left[head] == right[head]:
        head += 1
    a, b = left[head:], right[head:]
    swapped = len(a) >= 2 and len(b) >= 2 and a[0] == b[1] and a[1] == b[0] and a[2:] == b[2:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or swapped
