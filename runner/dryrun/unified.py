"""Two texts compared as ``diff -u`` does, with bounded work; long lines set out in rows, with nothing left out unsaid.

A row that goes on with a line begins with ``>``, one that says what was left out of it with ``!``: a line of a file
begins with neither.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from skillkeep.text import escape

__all__ = ["TooManyError", "Work", "lines_of", "rows_of", "unified"]

_LINES = 600
_COMPARED_LINES = 6_000
_CONTEXT = 3
_WIDTH = 400
_BLANKS = re.compile(" {40,}")
_ROWS = 10  # of a very long line, that are shown of its beginning, and of its end
_GOES_ON = ">"
_NO_NEWLINE = "\\ No newline at end of file"


@dataclass
class Work:
    """How many lines may still be compared, in all texts together."""

    lines: int = _COMPARED_LINES


class TooManyError(Exception):
    """More lines differ than are compared; the text says how many."""


def lines_of(data: bytes) -> list[str] | None:
    """The lines with their newlines, which the last one may lack; None for what is no text."""
    if b"\0" in data:
        return None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    *whole, rest = text.split("\n")
    return [*(f"{line}\n" for line in whole), *([rest] if rest else [])]


def unified(old: list[str], new: list[str], work: Work) -> Iterator[str]:
    """The lines of a unified difference, escaped and whole. Raises `TooManyError`.

    What the two begin and end with is set aside first, as comparing costs its square.
    """
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    width = max(len(old), len(new)) - start - end
    work.lines -= width
    if width > _LINES or work.lines < 0:
        raise TooManyError(f"{len(old)} -> {len(new)} lines, of which up to {width} differ: too many to compare")
    lead, tail = max(0, start - _CONTEXT), max(0, end - _CONTEXT)
    one, two = old[lead : len(old) - tail], new[lead : len(new) - tail]
    for line in list(difflib.unified_diff(one, two, n=_CONTEXT))[2:]:
        if line.startswith("@@"):
            yield _shifted(line.rstrip("\n"), lead)
            continue
        yield line[0] + escape(line[1:].removesuffix("\n"))
        if not line.endswith("\n"):
            yield _NO_NEWLINE


def rows_of(line: str) -> Iterator[str]:
    """A line as rows of bounded width. Runs of blanks, and the middle of a very long line, are words of ours."""
    if len(line) <= _WIDTH and not _BLANKS.search(line):
        yield line
        return
    rows = [*_cut(line[:1], line[1:])]
    if len(rows) <= 2 * _ROWS:
        yield from (row for row, _ in rows)
        return
    yield from (row for row, _ in rows[:_ROWS])
    yield f"! {sum(size for _, size in rows[_ROWS:-_ROWS])} characters are not shown here"
    yield from (row for row, _ in rows[-_ROWS:])


def _cut(sign: str, text: str) -> Iterator[tuple[str, int]]:
    """Rows, each with the number of characters that it stands for."""
    at = 0
    for blanks in [*_BLANKS.finditer(text), None]:
        end = blanks.start() if blanks else len(text)
        for start in range(at, end, _WIDTH) or ((0,) if sign != _GOES_ON else ()):
            row = text[start : min(start + _WIDTH, end)]
            yield sign + row, len(row)
            sign = _GOES_ON
        if blanks:
            yield f"! {len(blanks[0])} blanks", len(blanks[0])
            at = blanks.end()


def _shifted(line: str, lead: int) -> str:
    words = line.split(" ")
    return " ".join((words[0], _later(words[1], lead), _later(words[2], lead), words[3]))


def _later(place: str, lead: int) -> str:
    first, comma, count = place[1:].partition(",")
    return f"{place[0]}{int(first) + lead}{comma}{count}"


def _common(one: list[str], two: list[str]) -> int:
    for number, (left, right) in enumerate(zip(one, two, strict=False)):
        if left != right:
            return number
    return min(len(one), len(two))
