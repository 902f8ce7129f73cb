"""A line of source with the offending span marked below it, safe to show and cut to a terminal's width."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from pathlib import Path

from skillkeep.auditor.interface import Finding
from skillkeep.errors import SkillkeepError
from skillkeep.text import escape
from skillkeep.tree import TreeLimits, TreeView

__all__ = ["Reader", "marked_line", "no_source", "reader_of"]

Reader = Callable[[str], list[str]]

_WIDTH = 100
_LEAD = 30
_LONGEST_FILE = 4 << 20


def no_source(_path: str) -> list[str]:
    """A reader for when the tree is not there any more: findings are shown by their excerpts."""
    return []


def reader_of(view: TreeView) -> Reader:
    """Lines of the view's files by path; unreadable and over-large files have none."""
    known: dict[str, list[str]] = {}

    def read(path: str) -> list[str]:
        if path not in known:
            try:
                known[path] = view.read(path, _LONGEST_FILE).decode("utf-8", "replace").split("\n")
            except SkillkeepError:
                known[path] = []
        return known[path]

    return read


def open_view(root: Path) -> TreeView:
    """The view a report of `root` reads its lines from."""
    return TreeView.open(root, TreeLimits())


def marked_line(finding: Finding, lines: list[str]) -> tuple[str, str]:
    """The finding's line and the carets below it, both escaped; the excerpt alone when the line is not known."""
    place = finding.location
    line = lines[place.line - 1].rstrip("\r") if 0 < place.line <= len(lines) else ""
    start = max(place.column - 1, 0)
    end = place.end_column - 1 if place.end_line == place.line else len(line)
    if (finding.provenance and not _shows(line[start:end], finding.excerpt)) or not line or start >= len(line):
        line, start, end = _first_line(finding.excerpt), 0, len(_first_line(finding.excerpt))
    if start > _WIDTH - _LEAD:
        cut = start - _LEAD
        line, start, end = "…" + line[cut:], start - cut + 1, end - cut + 1
    before, marked, after = line[:start], line[start : max(end, start + 1)], line[max(end, start + 1) :]
    room = max(_WIDTH - _width(escape(before)), 8)
    shown = _cut(escape(marked), room)
    rest = _cut(escape(after), room - _width(shown)) if len(shown) == len(escape(marked)) else ""
    return escape(before) + shown + rest, " " * _width(escape(before)) + "^" * max(_width(shown), 1)


def _shows(span: str, excerpt: str) -> bool:
    """True when the span of the file is the text the rule matched, and not what a layer was decoded from."""
    return bool(excerpt) and (excerpt[:20].strip() in span or span[:20].strip() in excerpt)


def _first_line(excerpt: str) -> str:
    return excerpt.strip("\n").split("\n")[0].rstrip("\r")


def _cut(text: str, width: int) -> str:
    if _width(text) <= width:
        return text
    kept = text[: max(width - 1, 0)]
    while _width(kept) > max(width - 1, 0):
        kept = kept[:-1]
    return kept + "…" if width > 0 else ""


def _width(text: str) -> int:
    """Columns of a terminal that `text` takes: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )
