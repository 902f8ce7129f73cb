"""Believes a claim only when its quote stands in the file, at the lines it names, in the bytes that were shown."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from skillkeep.auditor.interface import Location, Severity
from skillkeep.auditor.rubric.prompt import shown_path
from skillkeep.auditor.rubric.reply import Claim
from skillkeep.auditor.rubric.selection import Shown, lines_of
from skillkeep.auditor.rubric.text import Rubric
from skillkeep.errors import SkillkeepError
from skillkeep.tree import TreeView

__all__ = ["Evidence", "Witness"]

_SHORTEST_QUOTE = 4
_MOST_LINES = 60


@dataclass(frozen=True)
class Evidence:
    """A claim that holds: the rule it stands for, where, and the text that was found there."""

    rule: str
    category: str
    severity: Severity
    location: Location
    quote: str
    reason: str
    sha256: str

    def overlaps(self, other: Evidence) -> bool:
        """Same file, same category, and at least one line in common."""
        mine, its = self.location, other.location
        same = (mine.path, self.category) == (its.path, other.category)
        return same and mine.line <= its.end_line and its.line <= mine.end_line


class Witness:
    """Checks claims against the tree. Each file is read again; bytes that are no longer those shown prove nothing."""

    def __init__(self, view: TreeView, files: Sequence[Shown], rubric: Rubric) -> None:
        self._view = view
        self._rubric = rubric
        self._shown = {shown_path(each.path): each for each in files} | {each.path: each for each in files}
        self._lines: dict[str, list[str] | None] = {}

    def check(self, claim: Claim) -> Evidence | None:
        """The claim as evidence, or None when anything of it does not hold."""
        shown = self._shown.get(claim.file)
        if shown is None or not claim.start_line <= claim.end_line <= len(shown.lines):
            return None
        if claim.end_line - claim.start_line >= _MOST_LINES:
            return None
        lines = self._current(shown)
        if lines is None:
            return None
        text = "\n".join(lines[claim.start_line - 1 : claim.end_line])
        place = _place(shown.path, claim, text)
        if place is None:
            return None
        category = self._rubric.category(claim.category)
        blocks = category is not None and claim.severity == "fail"
        return Evidence(
            rule=category.rule if category else self._rubric.concern,
            category=category.name if category else "other",
            severity=Severity.FAIL if blocks else Severity.WARN,
            location=place,
            quote=claim.quote.strip("\r\n"),
            reason=claim.reason,
            sha256=shown.sha256,
        )

    def _current(self, shown: Shown) -> list[str] | None:
        if shown.path not in self._lines:
            self._lines[shown.path] = self._read(shown)
        return self._lines[shown.path]

    def _read(self, shown: Shown) -> list[str] | None:
        try:
            data = self._view.read(shown.path)
        except SkillkeepError:
            return None
        return lines_of(shown.path, data) if hashlib.sha256(data).hexdigest() == shown.sha256 else None


def _place(path: str, claim: Claim, text: str) -> Location | None:
    """Where the quote stands in `text`, the claimed lines: from the first to the last of them, letter by letter."""
    quote = _newlines(claim.quote).strip("\n")
    if len(quote.strip()) < _SHORTEST_QUOTE:
        return None
    at = text.replace("\r", "\n").find(quote)
    newlines = claim.end_line - claim.start_line
    if at < 0 or text.count("\n", 0, at) != 0 or text.count("\n", at, at + len(quote)) != newlines:
        return None
    column = at + 1
    last = text.rfind("\n", 0, at + len(quote)) + 1
    return Location(path, claim.start_line, column, claim.end_line, at + len(quote) - last + 1)


def _newlines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
