"""Code without the comments that stand in the middle of its lines: ``send(/* now */ keys)``."""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

from skillkeep.auditor.engines.interface import Context
from skillkeep.auditor.syntax.grammars import UnparsedError, bare_tree

__all__ = ["uncommented"]

_GRAMMARS: Final = {
    Context.JAVASCRIPT: ("javascript", b"/*", b"*/"),
    Context.TYPESCRIPT: ("tsx", b"/*", b"*/"),
    Context.POWERSHELL: ("powershell", b"<#", b"#>"),
}


def uncommented(text: str, context: Context) -> str:
    """`text`, of which each line is as long as it was: what is cut out of it comes back at its end, as blanks.

    Strings that look like comments stay, since the grammar tells them apart; so does all of a text that it cannot read.
    """
    if context not in _GRAMMARS:
        return text
    grammar, opening, closing = _GRAMMARS[context]
    data = text.encode("utf-8", "replace")
    if not _stands_beside_code(data, opening, closing):
        return text
    try:
        spans = _comments(data, opening, grammar)
    except UnparsedError:
        return text
    return _without(data, spans).decode() if spans else text


def _stands_beside_code(data: bytes, opening: bytes, closing: bytes) -> bool:
    """Whether something stands before or after what may be a comment, on its line."""
    at = data.find(opening)
    while at >= 0:
        if data[data.rfind(b"\n", 0, at) + 1 : at].strip():
            return True
        end = data.find(closing, at + len(opening))
        if end < 0:
            return False
        line_end = data.find(b"\n", end)
        if data[end + len(closing) : line_end if line_end >= 0 else len(data)].strip(b" \t\r;"):
            return True
        at = data.find(opening, end)
    return False


def _comments(data: bytes, opening: bytes, grammar: str) -> list[tuple[int, int]]:
    """Where they are, in bytes. Raises UnparsedError."""
    marks, at = list[int](), data.find(opening)
    while at >= 0:
        marks.append(at)
        at = data.find(opening, at + len(opening))
    found, queue = list[tuple[int, int]](), [bare_tree(grammar, data)]
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
    return sorted(found)


def _without(data: bytes, spans: list[tuple[int, int]]) -> bytes:
    lines, kept, owed, at = list[bytes](), bytearray(), 0, 0
    for start, end in [*spans, (len(data), len(data))]:
        for piece, stays in ((data[at:start], True), (data[start:end], False)):
            for number, part in enumerate(piece.split(b"\n")):
                if number:
                    lines.append(bytes(kept) + b" " * owed)
                    kept, owed = bytearray(), 0
                if stays:
                    kept += part
                else:
                    owed += len(part.decode("utf-8", "replace"))
        at = end
    lines.append(bytes(kept) + b" " * owed)
    return b"\n".join(lines)
