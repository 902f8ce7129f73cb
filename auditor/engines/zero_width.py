"""Texts that are spelled in characters nobody sees: each kind of them is a bit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice, permutations
from typing import Final, NamedTuple

from skillkeep.auditor.compiled import compiled

__all__ = ["HiddenText", "hidden_texts"]

_RUN: Final = compiled("[\u200b-\u200d\u2060\ufeff]{16,}")
_BETWEEN: Final = compiled("(?<=[\x20-\x7e])[\u200b-\u200d\u2060\ufeff]+(?=[\x20-\x7e\n]|\\Z)")
_LEAST: Final = 32  # of such characters between letters, of which no language has that many
_LONGEST: Final = 200_000
_MOST: Final = 10
_WIDTHS: Final = (8, 7, 16)
_PRINTED: Final = 0.9


class HiddenText(NamedTuple):
    """Where it stands, and what it says: nothing where the bits are no text."""

    start: int
    end: int
    text: str


def hidden_texts(text: str) -> Iterator[HiddenText]:
    """Every run of 16 and more such characters, and a text that single ones spell between the letters of a page."""
    runs = list(islice(_RUN.finditer(text), _MOST))
    for run in runs:
        yield HiddenText(*run.span(), _spelled(run[0]))
    if runs:
        return
    single = list(islice(_BETWEEN.finditer(text), _LONGEST))
    if sum(len(each[0]) for each in single) >= _LEAST and (said := _spelled("".join(each[0] for each in single))):
        yield HiddenText(single[0].start(), single[-1].end(), said)


def _spelled(marks: str) -> str:
    """What the two most frequent kinds spell as bits, the first of a character first; empty for no text."""
    kinds = [kind for kind, _ in Counter(marks).most_common(2)]
    marks = "".join(each for each in marks[:_LONGEST] if each in kinds)
    for zero, one in permutations(kinds, 2):
        bits = marks.translate({ord(zero): "0", ord(one): "1"})
        for width in _WIDTHS:
            codes = [int(bits[at : at + width], 2) for at in range(0, len(bits) - width + 1, width)]
            said = bytes(codes).decode("utf-8", "replace") if width == 8 else "".join(map(chr, codes))
            if len(said) > 1 and _is_text(said):
                return said
    return ""


def _is_text(said: str) -> bool:
    """True for what is printed, and is mostly letters, digits and blanks: bits of anything else are printed as well."""
    printed = sum(each.isprintable() or each in "\n\t" for each in said)
    return (
        "\ufffd" not in said
        and printed >= _PRINTED * len(said)
        and sum(each.isalnum() or each in " \n" for each in said) >= len(said) // 2
    )
