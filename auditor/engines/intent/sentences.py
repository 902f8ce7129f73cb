"""Instruction text cut into sentences: paragraphs joined over line ends, list items and table cells apart."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.forbidden import AFFIRMED, depth_of
from skillkeep.auditor.engines.table_rows import is_quotation, shows_attacks

__all__ = [
    "EXCUSE", "FLAG", "HEADING", "Block", "Blocks", "Sentence", "blocks", "plain_text", "sentences", "spans",
    "straight",
]  # fmt: skip

HEADING: Final = "# "
"""What a lead starts with that is a heading."""
FLAG: Final = "flag:"
"""The lead of what a table says of a flag."""
EXCUSE: Final = "excuse:"
"""The lead of what a table quotes as an excuse, which the next cell answers."""
MODES: Final = "modes:"
"""The lead of rows that say what a mode or a value of a setting does."""
SPECIMEN: Final = "specimen:"
"""The lead of what a table of attacks quotes."""
QUOTATION: Final = "quotation:"
"""The lead of a block that a page quotes whole as an attack, and has reported."""

_START: Final = compiled(
    r"[ \t]*(?:[-*+•‣◦↓↑→][ \t]+|\(?\d{1,3}[.)][ \t]+|[a-zA-Z][.)][ \t]+|#{1,6}[ \t]|\||>|<!--|<[a-z]|-->"
    r"|[\w-]{1,40}:[ \t])"
)
_ITEM: Final = compiled(r"[ \t]*(?:>[ \t]*)*(?:[-*+•‣◦][ \t]+|\(?\d{1,3}[.)][ \t]+|[a-zA-Z][.)][ \t]+|\|)")
_END: Final = compiled(
    r"(?<=[.!?])[\"'”’)\]*_`]*\s+(?=[\"'“‘(\[<*_`]*[^\Wa-z])|(?<=[。！？；])"
    r"|\n[ \t]*(?:-{3,}|={3,}|\*{3,}|_{3,})[ \t]*(?:\n|$)"  # a line across the page
)
_NOISE: Final = compiled(
    r"[*`]+|(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?!\w)|<!--|-->|</?[a-z][\w-]{0,20}>|\\(?=\W)|(?<=\n)[ \t]*>[> \t]*"
)
_NOISY: Final = compiled(r"[*`_<\\]|-->|\n[ \t]*>")  # one of these is in all noise
_STRAIGHT: Final = (("’", "'"), ("‘", "'"), ("“", '"'), ("”", '"'), ("–", "-"), ("—", "-"), ("\u00a0", " "))
_QUOTE: Final = compiled(r"[ \t]*>[> \t]*")
_FLAG: Final = compiled(r"[ \t`]*-{1,2}[a-zA-Z][\w-]*[^|]{0,40}")
_FORBIDS_ELSEWHERE: Final = compiled(
    r"[#\W\d_]*(?:禁止(?:事項|行為|事项)?|(?:やっては|しては)いけない(?:こと)?|しないこと|ng(?:例|事項)|禁忌"
    r"|금지(?: ?사항)?|prohibid[oa]s?|prohibiciones|nunca|lo que no (?:debes|hay que) hacer|interdi\w+"
    r"|à ne (?:pas|jamais) faire|jamais|verboten|verbote|niemals|запре\w+|нельзя|никогда|proibid[oa]s?|proibições"
    r"|o que não fazer|vietat\w+|da non fare|yasak\w*|dilarang|jangan|cấm|không được(?: làm)?"
    r"|gör aldrig|aldrig|förbjudet|zakázáno|nikdy|interzis|niciodată|απαγορεύεται|ποτέ|ห้าม|هرگز|ممنوع|אסור"
    r"|לעולם לא)[:：\W]*"
)
_FORBIDS: Final = compiled(
    r"#+ (?:\W+ )?(?:(?:(?:you )?(?:must|should|do|shall) not|don't|never|avoid)"
    r"(?: do| use)?(?: this| these| the following)?"
    r"|don'ts|(?:common |frequent |typical |known )?(?:mistakes|anti-?patterns)(?: to avoid)?|(?:things|what) to avoid"
    r"|what not to do|(?:prohibited|forbidden)(?: \w+)?):?"
)
_EXCUSES: Final = compiled(  # the head of a table
    r"[ \t]*\|[ \t*]*(?:common )?(?:excuse|rationali[sz]ation|myth|misconception)s?[ \t*]*\|[^|\n]+\|[ \t]*\n?",
    re.IGNORECASE,
)
_MODES: Final = compiled(  # the head of a table
    r"[ \t]*\|[ \t*`]*(?:(?:[\w-]+ )?(?:mode|flag|option|switch|setting)|value|level)s?[ \t*`]*\|"
    r"[ \t*]*(?:behaviou?r|description|effect|meaning|what it does)[ \t*]*\|[ \t]*\n?",
    re.IGNORECASE,
)
_NAME: Final = compiled(r"[ \t*]*`[\w.=-]+`[ \t*]*")
_QUOTED: Final = compiled(r"[ \t*]*[\"“][^\"“”]+[\"”][ \t*]*")
_NEVER: Final = compiled(r"(?:[-*+] |\d{1,2}[.)] )(?:never|do not|don't|you must not|must not)(?: do)?:")
_QUOTATION: Final = compiled(r"[ \t]*>[> \t]*[\"“][^\"“”]{4,400}[\"”][ \t]*\n?")
_QUOTES: Final = compiled(  # "Some pages address the reviewer. A typical line, quoted here as an example:"
    r"(?=.*\b(?:quoted|examples?|typical|samples?)\b)"
    r"(?=.*\b(?:attacks?|injections?|suspicious|malicious|hostile"
    r"|(?:address|talks? to|speaks? to) (?:the|you|its))\b).*:"
)
_REPORTED: Final = compiled(  # "Treat such a line as a finding in itself."
    r"(?:treat|regard|count|flag|report) (?:such an?|that|the|any such|every such)"
    r" (?:line|text|sentence|quotation|page|comment)"
    r" as an? (?:finding|attack|injection|red flag|threat)(?: in itself| of its own)?\.(?P<more> .*)?"
)
_YET: Final = compiled(
    r"\b(?:here|except|unless|but|only|however|this|holds?|appl(?:y|ies)|still|valid|binding|obey|follow|accept|true|right)\b"
)
_FAR: Final = 20
_LONGEST: Final = 1_200
_OVERLAP: Final = 300


class Block(NamedTuple):
    """A paragraph, list item or heading at ``[start, end)``. `lead` introduces the list that it is an item of."""

    start: int
    end: int
    lead: str


class Sentence(NamedTuple):
    """`text` is lower-cased without emphasis; ``[start, end)`` is its block, `lead` that of the block."""

    text: str
    start: int
    end: int
    lead: str


class Blocks:
    """The blocks of `text` that stand at `places`, by their number. What introduces one is looked for when asked."""

    def __init__(self, text: str, places: Sequence[tuple[int, int]]) -> None:
        self._text = text
        self._places = places
        self._leads: dict[int, str] = {-1: ""}  # what introduces items that follow a block, by its number

    def __getitem__(self, number: int) -> Block:
        start, end = self._places[number]
        if number > 0 and self._text.startswith(">", start) and self._is_reported(number):
            return Block(start, end, QUOTATION)
        item = number > 0 and _ITEM.match(self._text[start:end])
        return Block(start, end, (self._above(number) or self._after(number - 1)) if item else "")

    def _is_reported(self, number: int) -> bool:
        """True for a whole quotation that is called an attack before it, and is to be reported right after it."""
        if number + 1 >= len(self._places) or not _QUOTATION.fullmatch(self._text[slice(*self._places[number])]):
            return False
        lead, after = (plain_text(self._text[slice(*self._places[at])][:_LONGEST]) for at in (number - 1, number + 1))
        told = _REPORTED.fullmatch(after)
        return bool(told and _QUOTES.fullmatch(lead) and not _YET.search(told["more"] or ""))

    def _above(self, number: int) -> str:
        """What the item says that a deeper one is below, when that is but "Never:"."""
        raw = self._text[slice(*self._places[number])]
        depth = depth_of(raw)
        if not depth or AFFIRMED.search(raw):
            return ""
        for above in range(number - 1, max(-1, number - _FAR), -1):
            said = self._text[slice(*self._places[above])]
            if depth_of(said) < depth:
                plain = plain_text(said[:_LONGEST])
                return plain if _NEVER.fullmatch(plain) else ""
        return ""

    def _after(self, number: int) -> str:
        first = number
        while number not in self._leads:
            lead = self._said(number)
            if lead is None:
                number -= 1
            else:
                self._leads[number] = lead
        lead = self._leads[number]
        self._leads.update(dict.fromkeys(range(number + 1, first + 1), lead))
        return lead

    def _said(self, number: int) -> str | None:
        """What a block says of the list after it, or None when that is what was said before it."""
        raw = self._text[slice(*self._places[number])]
        heading = plain_text(raw[:_LONGEST]) if raw.startswith("#") else ""
        if heading and (_FORBIDS.fullmatch(heading) or _FORBIDS_ELSEWHERE.fullmatch(heading)):
            return f"{HEADING}{heading.rstrip(':')}:"
        if _ITEM.match(raw):
            if _EXCUSES.fullmatch(raw):
                return EXCUSE
            if _MODES.fullmatch(raw):
                return MODES
            first = number == 0 or not self._text[slice(*self._places[number - 1])].lstrip().startswith("|")
            return SPECIMEN if raw.lstrip().startswith("|") and first and shows_attacks(raw) else None
        if raw.rstrip(" *_`\n").endswith((":", "：")):
            return plain_text(raw[-200:])
        return None if raw.lstrip().startswith(("```", "<!--")) else ""


def blocks(text: str) -> Iterator[Block]:
    """The blocks of `text` in order."""
    places = list(spans(text))
    found = Blocks(text, places)
    return (found[number] for number in range(len(places)))


def sentences(text: str, block: Block) -> Iterator[Sentence]:
    """The sentences of one block of `text`. Takes linear time; one longer than 1200 characters comes in pieces."""
    raw = text[block.start : block.end]
    cells = raw.split("|") if raw.lstrip().startswith("|") else [raw]
    lead = (
        EXCUSE
        if block.lead == QUOTATION
        else block.lead or (FLAG if len(cells) > 1 and any(map(_FLAG.fullmatch, cells)) else "")
    )
    for number, cell in enumerate(cells):
        if block.lead == MODES:
            named = len(cells) > 1 and _NAME.fullmatch(cells[1])
            lead = FLAG if named or any(map(_FLAG.fullmatch, cells)) else ""
        elif block.lead == EXCUSE:
            lead = EXCUSE if number == 1 and _QUOTED.fullmatch(cell) else ""
        elif block.lead == SPECIMEN:
            lead = EXCUSE if len(cells) > 1 and is_quotation(cell) else ""
        for piece in _END.split(cell):
            plain = plain_text(piece)
            if len(plain) > 3:
                for part in _pieces(plain):
                    yield Sentence(part, block.start, block.end, lead)


def plain_text(text: str) -> str:
    """`text` in lower case, with straight quotes and single blanks, without emphasis."""
    text = text if text.isascii() else straight(text)
    return " ".join((_NOISE.sub("", text) if _NOISY.search(text) else text).split()).lower()


def straight(text: str) -> str:
    """`text` with the quotes, dashes and blanks that a keyboard has."""
    for sign, plain in _STRAIGHT:
        if sign in text:
            text = text.replace(sign, plain)
    return text


def spans(text: str) -> Iterator[tuple[int, int]]:
    """Where the blocks of `text` stand: paragraphs, items and headings."""
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
