"""The lines of a Markdown text as offsets, which quotes and list items move while what is inside them is read."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

__all__ = ["Lines", "lines_of"]

_BLANK = frozenset(" \t")


@dataclass
class Lines:
    """The lines of a text, as offsets: `start` and `stop` of each, its `first` other than blank, its `indent` in
    columns. Containers move these while what is inside them is read; `base` are the columns a quote's mark took."""

    source: str
    start: list[int]
    stop: list[int]
    first: list[int]
    indent: list[int]
    base: list[int]

    def whole(self, begin: int, end: int) -> str:
        """The lines from `begin` to before `end` as they are."""
        return self.source[self.start[begin] : self.stop[end - 1] + 1] if begin < end else ""

    def cut(self, begin: int, end: int, columns: int) -> str:
        """The lines from `begin` to before `end`, each without its first `columns` columns."""
        return "".join(self._row(line, columns) for line in range(begin, end))

    def _row(self, line: int, cut: int) -> str:
        at, stop = self.start[line], self.stop[line] + 1
        if self.source.startswith(" " * cut, at, stop - 1):
            return self.source[at + cut : stop]
        columns, base, shown = 0, self.base[line], self.first[line]
        while at < stop and columns < cut and at < len(self.source):
            char = self.source[at]
            if char == "\t":
                columns += 4 - (columns + base) % 4
            elif char == " " or at < shown:
                columns += 1
            else:
                break
            at += 1
        return " " * max(0, columns - cut) + self.source[at:stop]


def lines_of(text: str, skip: int) -> Lines:
    """The lines of `text`; the first `skip` are taken as blank."""
    rows = text.split("\n")
    if not rows[-1].strip(" \t"):
        rows.pop()
    start = list(accumulate([len(row) + 1 for row in rows], initial=0))
    stop = [at - 1 for at in start[1:]]
    start[-1] = len(text)
    stop.append(len(text))
    first, indent = start.copy(), [0] * len(start)
    for number in [number for number, row in enumerate(rows) if row[:1] in _BLANK]:
        row = rows[number]
        width = len(row) - len(row.lstrip(" \t"))
        first[number] += width
        indent[number] = width if "\t" not in row else _columns(row[:width])
    for number in range(min(skip, len(rows))):
        first[number], indent[number] = stop[number], 0
    return Lines(text, start, stop, first, indent, [0] * len(start))


def _columns(blank: str) -> int:
    columns = 0
    for char in blank:
        columns += 4 - columns % 4 if char == "\t" else 1
    return columns
