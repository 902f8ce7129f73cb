"""Code without the comments that stand in the middle of its lines: ``send(/* now */ keys)``."""

from __future__ import annotations

import re
from typing import Final

from skillkeep.auditor.engines.interface import Context
from skillkeep.auditor.syntax.grammars import UnparsedError, bare_tree

__all__ = ["uncommented"]

_GRAMMARS: Final = {
    Context.JAVASCRIPT: ("javascript", "/*", "*/"),
    Context.TYPESCRIPT: ("tsx", "/*", "*/"),
    Context.POWERSHELL: ("powershell", "<#", "#>"),
}
_BESIDE: Final = {  # code before or after one, on its line
    opening: re.compile(rf"\S[^\n]*?{re.escape(opening)}|{re.escape(closing)}[ \t]*[^\s;]")
    for _, opening, closing in _GRAMMARS.values()
}


def uncommented(text: str, context: Context) -> str:
    """`text`, of which each line is as long as it was: what is cut out of it comes back at its end, as blanks.

    Strings that look like comments stay, since the grammar tells them apart; so does all of a text that it cannot read.
    """
    grammar, opening, _ = _GRAMMARS.get(context, ("", "", ""))
    if not opening or opening not in text or not _BESIDE[opening].search(text):
        return text
    data = text.encode("utf-8", "replace")
    try:
        root = bare_tree(grammar, data)
    except UnparsedError:
        return text
    mark, spans, at = opening.encode(), list[tuple[int, int]](), 0
    while (at := data.find(mark, at)) >= 0:
        node = root.descendant_for_byte_range(at, at + len(mark))
        if node is not None and node.type == "comment" and node.start_byte == at:
            spans.append((at, node.end_byte))
        at = max(at + len(mark), spans[-1][1] if spans else 0)
    return _without(data, spans).decode() if spans else text


def _without(data: bytes, spans: list[tuple[int, int]]) -> bytes:
    lines, kept, owed, at = list[bytes](), bytearray(), 0, 0
    for start, end in [*spans, (len(data), len(data))]:
        for number, part in enumerate(data[at:start].split(b"\n")):
            if number:
                lines.append(bytes(kept) + b" " * owed)
                kept, owed = bytearray(), 0
            kept += part
        for number, part in enumerate(data[start:end].split(b"\n")):
            if number:
                lines.append(bytes(kept) + b" " * owed)
                kept, owed = bytearray(), 0
            owed += len(part.decode("utf-8", "replace"))
        at = end
    lines.append(bytes(kept) + b" " * owed)
    return b"\n".join(lines)
