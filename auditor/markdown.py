"""Code in Markdown, with the lines it stands on. The only importer of markdown-it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

__all__ = ["Fence", "code_blocks", "without_blocks"]


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


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"maxNesting": 40})
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def code_blocks(text: str) -> tuple[Fence, ...]:
    """Every code block of `text` (CommonMark; nested in lists and quotes too), in order.

    A fence that is never closed runs to the end of its container, as an agent reads it.
    """
    if "```" not in text and "~~~" not in text and "\n    " not in text and "\t" not in text:
        return ()
    lines = text.split("\n")
    found = []
    for token in _parser().parse(text):
        if token.type not in {"fence", "code_block"} or token.map is None:
            continue
        first = token.map[0] + (1 if token.type == "fence" else 0)
        count = token.content.count("\n")
        found.append(
            Fence(
                label=token.info.strip(),
                text=token.content,
                first_line=first + 1,
                last_line=first + max(count, 1),
                indent=_indent(lines, first, token.content),
            )
        )
    return tuple(found)


def without_blocks(text: str, blocks: tuple[Fence, ...], first_line: int = 1) -> str:
    """`text` with the lines of `blocks` and the lines before `first_line` emptied; the line count stays."""
    lines = text.split("\n")
    for index in range(min(first_line - 1, len(lines))):
        lines[index] = ""
    for block in blocks:
        for index in range(block.first_line - 1, min(block.last_line, len(lines))):
            lines[index] = ""
    return "\n".join(lines)


def _indent(lines: list[str], first: int, content: str) -> int:
    for offset, line in enumerate(content.split("\n")):
        if line.strip() and first + offset < len(lines):
            return max(lines[first + offset].find(line), 0)
    return 0
