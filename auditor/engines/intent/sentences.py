"""Instruction text cut into sentences: paragraphs joined over line ends, list items and table cells apart."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

__all__ = ["FLAG", "HEADING", "Block", "Sentence", "blocks", "plain_text", "sentences"]

HEADING: Final = "# "
"""What a lead starts with that is a heading."""
FLAG: Final = "flag:"
"""The lead of what a table says of a flag."""

_START: Final = re.compile(
    r"[ \t]*(?:[-*+•‣◦][ \t]+|\(?\d{1,3}[.)][ \t]+|[a-zA-Z][.)][ \t]+|#{1,6}[ \t]|\||>|<!--|<[a-z]|-->"
    r"|[\w-]{1,40}:[ \t])"
)
_ITEM: Final = re.compile(r"[ \t]*(?:>[ \t]*)*(?:[-*+•‣◦][ \t]+|\(?\d{1,3}[.)][ \t]+|[a-zA-Z][.)][ \t]+|\|)")
_END: Final = re.compile(r"(?<=[.!?])[\"'”’)\]*_`]*\s+(?=[\"'“‘(\[<*_`]*[^\Wa-z])|(?<=[。！？；])")
_NOISE: Final = re.compile(
    r"[*`]+|(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?!\w)|<!--|-->|</?[a-z][\w-]{0,20}>|\\(?=\W)|(?<=\n)[ \t]*>[> \t]*"
)
_NOISY: Final = re.compile(r"[*`_<\\]|-->|\n[ \t]*>")  # one of these is in all noise
_STRAIGHT: Final = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "\u00a0": " "})
_QUOTE: Final = re.compile(r"[ \t]*>[> \t]*")
_FLAG: Final = re.compile(r"[ \t`]*-{1,2}[a-zA-Z][\w-]*[^|]{0,40}")
_FORBIDS: Final = re.compile(
    r"#+ (?:\W+ )?(?:(?:(?:you )?(?:must|should|do|shall) not|don't|never|avoid)"
    r"(?: do| use)?(?: this| these| the following)?"
    r"|don'ts|(?:common |frequent |typical |known )?(?:mistakes|anti-?patterns)(?: to avoid)?|(?:things|what) to avoid"
    r"|what not to do|(?:prohibited|forbidden)(?: \w+)?):?"
)
_LONGEST: Final = 1_200
_OVERLAP: Final = 300


class Block(NamedTuple):
    """A paragraph, list item or heading at ``[start, end)``. `lead` introduces the list that it is an item of."""

    start: int
    end: int
    lead: str
    before: Block | None


class Sentence(NamedTuple):
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
        if raw.startswith("#") and _FORBIDS.fullmatch(heading := plain_text(raw[:_LONGEST])):
            lead = f"{HEADING}{heading.rstrip(':')}:"
        elif not item and raw.rstrip(" *_`\n").endswith((":", "：")):
            lead = plain_text(raw[-200:])


def sentences(text: str, block: Block) -> Iterator[Sentence]:
    """The sentences of one block of `text`. Takes linear time; one longer than 1200 characters comes in pieces."""
    raw = text[block.start : block.end]
    cells = raw.split("|") if raw.lstrip().startswith("|") else [raw]
    lead = block.lead or (FLAG if len(cells) > 1 and any(map(_FLAG.fullmatch, cells)) else "")
    for piece in (piece for cell in cells for piece in _END.split(cell)):
        plain = plain_text(piece)
        if len(plain) > 3:
            for part in _pieces(plain):
                yield Sentence(part, block.start, block.end, lead)


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
        elif begin < at and (
            _starts(line, quoted=_QUOTE.match(text, begin) is not None) or text.startswith("#", begin)
        ):
            yield begin, at
            begin = at
        at = after
    if begin < len(text):
        yield begin, len(text)


def _starts(line: str, *, quoted: bool) -> bool:
    """True when a block starts with `line`; with `quoted` the block before is a quotation, which may go on."""
    mark = _QUOTE.match(line) if quoted else None
    if mark is None:
        return _START.match(line) is not None
    rest = line[mark.end() :]
    return not rest.strip() or _START.match(rest) is not None


def _pieces(text: str) -> Iterator[str]:
    if len(text) <= _LONGEST:
        yield text
        return
    for start in range(0, len(text), _LONGEST - _OVERLAP):
        yield text[start : start + _LONGEST]
