"""Instruction text cut into sentences: paragraphs joined over line ends, list items and table cells apart."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

__all__ = ["Block", "Sentence", "blocks", "plain_text", "sentences"]

_START: Final = re.compile(
    r"[ \t]*(?:[-*+•‣◦][ \t]+|\(?\d{1,3}[.)][ \t]+|[a-zA-Z][.)][ \t]+|#{1,6}[ \t]|\||>|<!--|<[a-z]|-->"
    r"|[\w-]{1,40}:[ \t])"
)
_ITEM: Final = re.compile(r"[ \t]*(?:>[ \t]*)*(?:[-*+•‣◦][ \t]+|\(?\d{1,3}[.)][ \t]+|[a-zA-Z][.)][ \t]+|\|)")
_END: Final = re.compile(r"(?<=[.!?])[\"'”’)\]*_`]*\s+(?=[\"'“‘(\[<*_`]*[^\Wa-z])|(?<=[。！？；])")
_NOISE: Final = re.compile(r"[*`]+|(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?!\w)|<!--|-->|</?[a-z][\w-]{0,20}>|\\(?=\W)")
_NOISY: Final = re.compile(r"[*`_<\\]|-->")  # one of these is in all noise
_STRAIGHT: Final = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "\u00a0": " "})
_LONGEST: Final = 1_200
_OVERLAP: Final = 300


@dataclass(frozen=True)
class Block:
    """A paragraph, list item or heading at ``[start, end)``. `lead` introduces the list that it is an item of."""

    start: int
    end: int
    lead: str
    before: Block | None


@dataclass(frozen=True)
class Sentence:
    """`text` is lower-cased without emphasis; ``[start, end)`` is its block, `lead` that of the block."""

    text: str
    start: int
    end: int
    lead: str


def blocks(text: str) -> Iterator[Block]:
    """The blocks of `text` in order."""
    lead = ""
    before: Block | None = None
    for start, end in _spans(text):
        raw = text[start:end]
        item = bool(_ITEM.match(raw))
        if not item and not raw.lstrip().startswith(("```", "<!--")):
            lead = ""
        block = Block(start, end, lead if item else "", before)
        yield block
        before = Block(start, end, block.lead, None)
        if not item and raw.rstrip(" *_`\n").endswith((":", "：")):
            lead = plain_text(raw[-200:])


def sentences(text: str, block: Block) -> Iterator[Sentence]:
    """The sentences of one block of `text`. Takes linear time; one longer than 1200 characters comes in pieces."""
    raw = text[block.start : block.end]
    cells = raw.split("|") if raw.lstrip().startswith("|") else [raw]
    for piece in (piece for cell in cells for piece in _END.split(cell)):
        plain = plain_text(piece)
        if len(plain) > 3:
            for part in _pieces(plain):
                yield Sentence(part, block.start, block.end, block.lead)


def plain_text(text: str) -> str:
    """`text` in lower case, with straight quotes and single blanks, without emphasis."""
    text = text if text.isascii() else text.translate(_STRAIGHT)
    return " ".join((_NOISE.sub("", text) if _NOISY.search(text) else text).split()).lower()


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Offsets of paragraphs, items and headings."""
    begin = at = 0
    for line in text.split("\n"):
        after = at + len(line) + 1
        if not line.strip():
            if begin < at:
                yield begin, at
            begin = after
        elif begin < at and (_START.match(line) or text.startswith("#", begin)):
            yield begin, at
            begin = at
        at = after
    if begin < len(text):
        yield begin, len(text)


def _pieces(text: str) -> Iterator[str]:
    if len(text) <= _LONGEST:
        yield text
        return
    for start in range(0, len(text), _LONGEST - _OVERLAP):
        yield text[start : start + _LONGEST]
