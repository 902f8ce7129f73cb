"""Code without its comments, which a program does not see, and a reader of its text does: ``send(/* now */ keys)``."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.interface import Context, Segment
from skillkeep.auditor.syntax.grammars import UnparsedError, bare_tree
from skillkeep.auditor.syntax.powershell_comments import powershell_comments

__all__ = ["bare", "blanked", "readings", "uncommented", "with_bare"]

_BLOCKS: Final = {
    Context.JAVASCRIPT: ("/*", "*/"),
    Context.TYPESCRIPT: ("/*", "*/"),
    Context.POWERSHELL: ("<#", "#>"),
}
_GRAMMARS: Final = {Context.JAVASCRIPT: "javascript", Context.TYPESCRIPT: "tsx", Context.RUBY: "ruby"}
_IN_RUBY: Final = re.compile(rb"#|^=begin", re.MULTILINE)
_CHARACTER: Final = compiled(r"[^\n]")

_Span = tuple[int, int]


def bare(segment: Segment) -> Segment:
    """The same without them, or the very same where there are none beside code; each line is where it was."""
    if segment.context not in _BLOCKS:
        return segment
    known: Segment | None = segment.__dict__.get("_bare")
    if known is None:
        text = uncommented(segment.text, segment.context)
        known = segment.__dict__["_bare"] = segment if text == segment.text else replace(segment, text=text)
    return known


def with_bare(segments: Iterable[Segment]) -> Iterator[Segment]:
    """Each as it stands, and without its comments where there are some beside code: what looks like one may be none."""
    for segment in segments:
        yield segment
        if (other := bare(segment)) is not segment:
            yield other


def readings(text: str, context: Context) -> list[str]:
    """`text`, and without its comments where the grammar takes those for words: both are judged."""
    return list(dict.fromkeys((text, blanked(text, context))))


def uncommented(text: str, context: Context) -> str:
    """`text`, of which each line is as long as it was: what is cut out of it comes back at its end, as blanks.

    Cut out are comments that have an end of their own, where one stands beside code. Strings that look like comments
    stay; so does all of a text that its grammar cannot read.
    """
    if context not in _BLOCKS or not _stands_beside_code(text, *_BLOCKS[context]):
        return text
    opening = _BLOCKS[context][0]
    if context is Context.POWERSHELL:
        spans = [span for span in powershell_comments(text) if text.startswith(opening, span[0])]
    else:
        spans = _read(text, context, re.compile(re.escape(opening.encode())))
    return _without(text, spans) if spans else text


def blanked(text: str, context: Context) -> str:
    """`text` with blanks in the place of all comments of a language whose grammar takes them for words of a list."""
    if context is Context.POWERSHELL:
        spans = list(powershell_comments(text)) if "#" in text else []
    else:
        spans = _read(text, context, _IN_RUBY) if context is Context.RUBY else []
    parts, at = list[str](), 0
    for start, end in spans:
        parts += text[at:start], _CHARACTER.sub(" ", text[start:end])
        at = end
    return "".join([*parts, text[at:]]) if spans else text


def _stands_beside_code(text: str, opening: str, closing: str) -> bool:
    """Whether something stands before or after what may be a comment, on its line."""
    at = text.find(opening)
    while at >= 0:
        if text[text.rfind("\n", 0, at) + 1 : at].strip():
            return True
        end = text.find(closing, at + len(opening))
        if end < 0:
            return False
        line_end = text.find("\n", end)
        if text[end + len(closing) : line_end if line_end >= 0 else len(text)].strip(" \t\r;"):
            return True
        at = text.find(opening, end)
    return False


def _read(text: str, context: Context, opening: re.Pattern[bytes]) -> list[_Span]:
    """Where the comments with such an opening are, as the grammar sees it; nowhere in a text that it cannot read."""
    data = text.encode("utf-8", "replace")
    if not opening.search(data):
        return []
    try:
        root = bare_tree(_GRAMMARS[context], data)
    except UnparsedError:
        return []
    marks = array("Q", (mark.start() for mark in opening.finditer(data)))
    found, queue = list[_Span](), [root]
    while queue:
        node = queue.pop()
        first = bisect_left(marks, node.start_byte)
        if first == len(marks) or marks[first] >= node.end_byte:
            continue
        if node.type == "comment":
            if marks[first] == node.start_byte:
                found.append((node.start_byte, node.end_byte))
        else:
            queue.extend(node.children)
    return _characters(data, sorted(found))


def _characters(data: bytes, spans: list[_Span]) -> list[_Span]:
    """Spans of bytes, in order, as spans of characters."""
    found, at, number = list[_Span](), 0, 0
    for start, end in spans:
        first = number + len(data[at:start].decode())
        number, at = first + len(data[start:end].decode()), end
        found.append((first, number))
    return found


def _without(text: str, spans: list[_Span]) -> str:
    lines, kept, owed, at = list[str](), list[str](), 0, 0
    for start, end in [*spans, (len(text), len(text))]:
        for piece, stays in ((text[at:start], True), (text[start:end], False)):
            for number, part in enumerate(piece.split("\n")):
                if number:
                    lines.append("".join(kept) + " " * owed)
                    kept, owed = [], 0
                if stays:
                    kept.append(part)
                else:
                    owed += len(part)
        at = end
    lines.append("".join(kept) + " " * owed)
    return "\n".join(lines)
