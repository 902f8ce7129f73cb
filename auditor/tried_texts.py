"""Texts that a test of the tool hands to its guard: ``assert blocked("Ignore all previous instructions")``.

Such a sentence is WARN where it is all that is found on its line, stands in a text that is an argument, an item or a
value there, in a file that is a test by its name, and has no address. A longer order makes other findings, which stay.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.specimens import is_test
from skillkeep.auditor.interface import Finding, Severity

__all__ = ["tried_texts"]

_RULE: Final = "prose-override"
_MOST: Final = 60
_ADDRESS: Final = compiled(r"://|[\w.-]@")
_ARGUMENT: Final = compiled(r"[(=,\[:][ \t]*[rbfu]?\Z")
_SHOWS: Final = compiled(r"\b(?:print|console\.\w+|\w*write\w*|\w*log)\([ \t]*[rbfu]?\Z")  # to whoever runs the test
_DECODED: Final = frozenset({"hex", "base64"})


def tried_texts(found: Sequence[Finding], text_of: Callable[[str], str]) -> frozenset[Finding]:
    """Those of `found` that block and are a text which a test hands over; `text_of` gives a file's text by path."""
    by_path: dict[str, list[Finding]] = defaultdict(list)
    for each in found:
        if each.severity is Severity.FAIL:
            by_path[each.location.path].append(each)
    return frozenset(
        each
        for path, some in by_path.items()
        if len(some) <= _MOST and any(each.rule == _RULE for each in some) and is_test(path)
        for each in _in_test(some, text_of(path).split("\n"))
    )


def _in_test(found: Sequence[Finding], lines: Sequence[str]) -> list[Finding]:
    return [
        each
        for each in found
        if each.engine == "patterns"
        and 0 < each.location.line <= len(lines)
        and {other.rule for other in found if other.location.line == each.location.line} == {_RULE}
        and not set(each.provenance) - _DECODED
        and _is_handed(lines[each.location.line - 1], each.location.column - 1)
    ]


def _is_handed(line: str, at: int) -> bool:
    """True inside a text that begins on `line` and is an argument, an item or a value."""
    mark, begin = "", 0
    for place, letter in enumerate(line[:at]):
        if mark:
            mark = "" if letter == mark and line[place - 1] != "\\" else mark
        elif letter in "\"'`":
            mark, begin = letter, place
        elif letter == "#" or line.startswith("//", place):
            return False
    before = line[:begin]
    return bool(mark) and bool(_ARGUMENT.search(before)) and not _SHOWS.search(before) and not _ADDRESS.search(line)
