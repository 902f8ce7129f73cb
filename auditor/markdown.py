"""Code in Markdown, with the lines it stands on."""

from __future__ import annotations

from dataclasses import dataclass, replace

from skillkeep.auditor.blocks import FENCE, find_blocks
from skillkeep.auditor.compiled import compiled

__all__ = ["Fence", "code_blocks", "cut_at_fences", "without_blocks", "without_fences"]

_FENCE_LINE = compiled(rf"[ \t]*(?:{FENCE.pattern})[ \t]*(?P<label>.*)")


@dataclass(frozen=True)
class Fence:
    """A fenced or indented code block. `label` is its info string (the writer chose it: a hint, not a fact).

    `first_line` is the file's line of the first line of `text`; `indent` the columns cut from every line.
    """

    label: str
    text: str
    first_line: int
    last_line: int
    indent: int


def code_blocks(text: str, first_line: int = 1) -> tuple[Fence, ...]:
    """Every code block of `text` (CommonMark; nested in lists and quotes too), in order.

    The lines before `first_line` are taken as blank. A fence that is never closed runs to the end of its container,
    as an agent reads it.
    """
    if "```" not in text and "~~~" not in text and "    " not in text and "\t" not in text:
        return ()
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    found = find_blocks(text.replace("\0", "\ufffd"), first_line - 1)
    lines = text.split("\n") if any(not block.whole for block in found) else []
    return tuple(
        Fence(
            label=block.info,
            text=block.text,
            first_line=block.line + 1,
            last_line=block.line + max(block.text.count("\n"), 1),
            indent=0 if block.whole else _indent(lines, block.line, block.text),
        )
        for block in found
    )


def cut_at_fences(block: Fence) -> list[Fence]:
    """`block` in pieces, without its lines that are fences and nothing else: no shell was ever meant to read those."""
    found: list[Fence] = []
    rows = block.text.removesuffix("\n").split("\n")  # no piece has a line more than it stands on
    begin, label, inside = 0, "", False
    for number, row in enumerate([*rows, "```"]):
        match = _FENCE_LINE.fullmatch(row)
        if match is None:
            continue
        if any(rows[begin:number]):
            text = "\n".join(rows[begin:number]) + "\n"
            first = block.first_line + begin
            found.append(
                replace(block, label=label, text=text, first_line=first, last_line=block.first_line + number - 1)
            )
        inside = not inside
        begin, label = number + 1, match["label"].strip() if inside else ""
    return found


def without_blocks(text: str, blocks: tuple[Fence, ...], first_line: int = 1) -> str:
    """`text` with the lines of `blocks` and the lines before `first_line` emptied; the line count stays."""
    lines = text.split("\n")
    for index in range(min(first_line - 1, len(lines))):
        lines[index] = ""
    for block in blocks:
        for index in range(block.first_line - 1, min(block.last_line, len(lines))):
            lines[index] = ""
    return "\n".join(lines)


def without_fences(text: str) -> str:
    """`text` with its lines that are fences emptied."""
    if "```" not in text and "~~~" not in text:
        return text
    return "\n".join("" if _FENCE_LINE.fullmatch(line) else line for line in text.split("\n"))


def _indent(lines: list[str], first: int, content: str) -> int:
    for offset, line in enumerate(content.split("\n")):
        if line.strip() and first + offset < len(lines):
            return max(lines[first + offset].find(line), 0)
    return 0
