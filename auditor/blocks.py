"""Where the code blocks of a Markdown text are, in one linear pass and without a tree of tokens.

The block rules of CommonMark 0.31.2 (https://spec.commonmark.org/0.31.2/), in the order markdown-it tries them, reduced
to what decides whether a line is code. Two deliberate differences: a link reference definition is the paragraph it
starts as, and what is nested deeper than `MAX_DEPTH` is text, so that it hides nothing that follows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from skillkeep.auditor.block_html import UNTIL_BLANK, closing_of, opens_html
from skillkeep.auditor.block_lines import Lines, lines_of
from skillkeep.auditor.compiled import compiled

__all__ = ["FENCE", "MAX_DEPTH", "Block", "find_blocks"]

MAX_DEPTH = 40
_BULLETS = frozenset("*+-")
_DIGITS = frozenset("0123456789")
_RULES = frozenset("*-_")
_FENCES = frozenset("`~")
_STARTS = _BULLETS | _DIGITS | _RULES | _FENCES | frozenset("><#")
_SPECIAL = _STARTS | {"="}
_NUMBERED = compiled(r"[0-9]{1,9}[.)](?=[ \t]|$)")
_RULE = compiled(r"([*_-])(?:[ \t]*+\1){2,}+[ \t]*+$")
_HEADING = compiled(r"#{1,6}(?=[ \t]|$)")
_UNDERLINE = compiled(r"(?:=+|-+)[ \t]*$")
FENCE = compiled(r"`{3,}+(?=[^`]*$)|~{3,}+")


@dataclass(frozen=True)
class Block:
    """One code block: its info string, its text, the 0-based line on which `text` starts, and whether `text` is whole
    lines of the source, nothing cut from their starts."""

    info: str
    text: str
    line: int
    whole: bool


def find_blocks(text: str, skip: int = 0) -> list[Block]:
    """Every fenced and indented code block of `text` (lines end in LF), in order; the first `skip` lines are blank."""
    scan = _Scan(lines_of(text, skip))
    scan.blocks(0, scan.last, 0)
    return scan.found


class _Scan:
    """The walk. `need` is the indent of the list item around, `outer` that of the item around it, or -1."""

    def __init__(self, lines: Lines) -> None:
        self.found: list[Block] = []
        self.last = len(lines.indent) - 1
        self._lines = lines
        self._at = lines.source + "\n"
        self._start, self._stop, self._first = lines.start, lines.stop, lines.first
        self._indent, self._base = lines.indent, lines.base
        self._line = 0
        self._need = 0
        self._outer = -1
        self._quotes = 0

    def blocks(self, line: int, end: int, depth: int) -> None:
        """Read blocks from `line` until `end` or until a line that belongs to a container around."""
        first, stop, indent = self._first, self._stop, self._indent
        while line < end:
            while line < self.last and first[line] >= stop[line]:
                line += 1
            self._line = line
            if line >= end or indent[line] < self._need:
                return
            self._block(line, end, depth)
            line = self._line

    def _block(self, line: int, end: int, depth: int) -> None:
        if self._indent[line] - self._need >= 4:
            self._code(line, end)
            return
        mark = self._at[self._first[line]]
        if mark not in _STARTS:
            self._paragraph(line, end)
        elif mark in _FENCES and (opening := self._fence_at(line)):
            self._fence(line, end, mark, opening)
        elif mark == ">" and depth < MAX_DEPTH:
            self._quote(line, end, depth)
        elif mark in _RULES and self._is_rule(line):
            self._line = line + 1
        elif depth < MAX_DEPTH and (after := self._new_list(line)) >= 0:
            self._list(line, end, depth, after)
        elif mark == "<" and (closing := closing_of(self._at, self._first[line], self._stop[line])):
            self._html(line, end, closing)
        elif mark == "#" and _HEADING.match(self._at, self._first[line], self._stop[line]):
            self._line = line + 1
        else:
            self._paragraph(line, end)

    def _paragraph(self, line: int, end: int) -> None:
        first, stop, indent, need = self._first, self._stop, self._indent, self._need
        at = self._at
        line += 1
        while line < self.last and (here := first[line]) < stop[line]:
            mark = at[here]
            if mark in _SPECIAL and indent[line] - need <= 3:
                below = line < end and indent[line] >= need
                if below and mark in "-=" and _UNDERLINE.match(at, here, stop[line]):
                    line += 1
                    break
                if indent[line] >= 0 and self._interrupts(line, paragraph=True):
                    break
            line += 1
        self._line = line

    def _code(self, line: int, end: int) -> None:
        last = after = line + 1
        while after < end:
            if self._first[after] < self._stop[after]:
                if self._indent[after] - self._need < 4:
                    break
                last = after + 1
            after += 1
        self._line = last
        text = self._lines.cut(line, last, 4 + self._need)
        self.found.append(Block("", text.removesuffix("\n") + "\n", line, False))

    def _fence_at(self, line: int) -> int:
        """The length of the fence that opens at `line`, or 0."""
        match = FENCE.match(self._at, self._first[line], self._stop[line])
        return match.end() - match.start() if match else 0

    def _fence(self, line: int, end: int, mark: str, length: int) -> None:
        first, stop, indent, need, at = self._first, self._stop, self._indent, self._need, self._at
        after, closed = line + 1, 0
        fence = mark * length
        while after < end:
            here = first[after]
            if here < stop[after] and indent[after] < need:
                break
            closes = at[here] == mark and indent[after] - need < 4 and at.startswith(fence, here)
            if closes and not at[here : stop[after]].lstrip(mark).strip(" \t"):
                closed = 1
                break
            after += 1
        self._line = after + closed
        info = at[first[line] + length : stop[line]].strip()
        whole = not (indent[line] or self._quotes)
        text = self._lines.whole(line + 1, after) if whole else self._lines.cut(line + 1, after, indent[line])
        self.found.append(Block(info, text, line + 1, whole))

    def _html(self, line: int, end: int, closing: re.Pattern[str]) -> None:
        first, stop = self._first, self._stop
        until_blank = closing is UNTIL_BLANK
        after = line + 1
        if until_blank or not closing.search(self._at, first[line], stop[line]):
            while after < end:
                blank = first[after] >= stop[after]
                if self._indent[after] < self._need and (until_blank or not blank):
                    break
                if blank and until_blank:
                    break
                after += 1
                if not until_blank and closing.search(self._at, first[after - 1], stop[after - 1]):
                    break
        self._line = after

    def _is_rule(self, line: int) -> bool:
        return _RULE.match(self._at, self._first[line], self._stop[line]) is not None

    def _marker(self, line: int) -> int:
        """The offset after the list marker at `line`, or -1."""
        here, stop = self._first[line], self._stop[line]
        mark = self._at[here]
        if mark in _BULLETS:
            return here + 1 if here + 1 >= stop or self._at[here + 1] in " \t" else -1
        match = _NUMBERED.match(self._at, here, stop) if mark in _DIGITS else None
        return match.end() if match else -1

    def _new_list(self, line: int) -> int:
        """`_marker`, but a deep line that left its list is a continuation of the paragraph before it."""
        if self._outer >= 0 and self._indent[line] - self._outer >= 4 and self._indent[line] < self._need:
            return -1
        return self._marker(line)

    def _interrupts(self, line: int, *, paragraph: bool) -> bool:
        """True when the line starts something that ends the paragraph or quote before it."""
        if self._indent[line] - self._need >= 4:
            return False
        if self._ends_item(line):
            return True
        here, stop = self._first[line], self._stop[line]
        mark = self._at[here]
        if mark == "<":
            return opens_html(self._at, here, stop)
        if mark == "#":
            return _HEADING.match(self._at, here, stop) is not None
        after = self._new_list(line)
        if after < 0 or not (paragraph and self._indent[line] >= self._need):
            return after >= 0
        numbered = mark in _DIGITS and int(self._at[here : after - 1]) != 1
        return not numbered and bool(self._at[after:stop].strip(" \t"))

    def _ends_item(self, line: int) -> bool:
        mark = self._at[self._first[line]]
        if mark in _FENCES:
            return self._fence_at(line) > 0
        return mark == ">" or (mark in _RULES and self._is_rule(line))

    def _list(self, line: int, end: int, depth: int, after: int) -> None:
        indent = self._indent
        kind = self._at[after - 1]
        while True:
            self._item(line, end, depth, after)
            line = self._line
            if line >= end or not 0 <= indent[line] - self._need < 4 or self._ends_item(line):
                return
            after = self._marker(line)
            if after < 0 or self._at[after - 1] != kind:
                return

    def _item(self, line: int, end: int, depth: int, after: int) -> None:
        first, indent, need, outer = self._first[line], self._indent[line], self._need, self._outer
        initial = indent + after - first
        place, columns = self._blanks(line, after, initial, 0)
        empty = place >= self._stop[line]
        gap = 1 if empty or columns - initial > 4 else columns - initial
        self._outer, self._need = need, initial + gap
        self._first[line], self._indent[line] = place, columns
        if empty and self._first[line + 1] >= self._stop[line + 1]:
            self._line = min(line + 2, end)
        else:
            self.blocks(line, end, depth + 2)
        self._need, self._outer = need, outer
        self._first[line], self._indent[line] = first, indent

    def _blanks(self, line: int, place: int, columns: int, extra: int) -> tuple[int, int]:
        """Where the blanks from `place` on end, and the column there."""
        stop, base = self._stop[line], self._base[line] + extra
        while place < stop and (char := self._at[place]) in " \t":
            columns += 4 - (columns + base) % 4 if char == "\t" else 1
            place += 1
        return place, columns

    def _quote(self, line: int, end: int, depth: int) -> None:
        last, need = self.last, self._need
        saved: list[tuple[int, int, int, int]] = []
        after, ended_empty = line, False
        while after < end:
            here = self._first[after]
            if here >= self._stop[after]:
                break
            row = (self._start[after], self._first[after], self._indent[after], self._base[after])
            if self._at[here] == ">" and (after == line or self._indent[after] >= need):
                ended_empty = self._quoted(after)
            elif ended_empty:
                break
            elif self._interrupts(after, paragraph=False):
                self.last = after
                if need:
                    saved.append(row)
                    self._indent[after] -= need
                break
            else:
                self._indent[after] = -1
            saved.append(row)
            after += 1
        self._need = 0
        self._quotes += 1
        self.blocks(line, after, depth + 1)
        self._quotes -= 1
        self._need, self.last = need, last
        for number, row in enumerate(saved, line):
            self._start[number], self._first[number], self._indent[number], self._base[number] = row

    def _quoted(self, line: int) -> bool:
        """Take the mark off a line of a quote; True when nothing follows it."""
        place = self._first[line] + 1
        columns = self._indent[line] + 1
        follows = self._at[place]
        initial, extra = columns, 0
        if follows == " " or (follows == "\t" and (self._base[line] + columns) % 4 == 3):
            place, initial, columns = place + 1, initial + 1, columns + 1
        elif follows == "\t":
            extra = 1
        self._start[line] = place
        place, columns = self._blanks(line, place, columns, extra)
        self._base[line] = self._indent[line] + 1 + (follows in " \t")
        self._first[line], self._indent[line] = place, columns - initial
        return place >= self._stop[line]
