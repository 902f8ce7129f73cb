"""Texts that are shown to be refused: what a page has a guard tried with, and what tests of one hand to it."""

from __future__ import annotations

from typing import Final

from skillkeep.auditor.engines.interface import Context, Segment
from skillkeep.auditor.lazily import lazily

__all__ = ["is_specimen"]

_CODE: Final = frozenset({Context.PYTHON, Context.JAVASCRIPT, Context.TYPESCRIPT})
_MOST_LINES: Final = 6
_BEFORE: Final = 3
_AFTER: Final = 4
_LONGEST: Final = 400
_TEST: Final = lazily(r"(?i)(?:^|/)(?:test_[\w-]+|[\w-]+_test)\.py$|[\w-]\.(?:test|spec)\.[cm]?[jt]sx?$")
_GIVEN: Final = lazily(  # an argument, a value, or an item of a list, that begins on this line
    r"[ \t]*(?:[^#\s/*\"'`][^\n\"'`]*)?(?:[\"'][\w-]{1,40}[\"'][ \t]*:|(?<=[(=:,\[]))[ \t]*[\"'`][^\"'`\n]*$"
    r"|[ \t]*\[(?:\"[^\"\n]*\",?[ \t]*)+\"[^\"\n]*$"
)
_LEAD: Final = lazily(  # what is tried, and on whom
    r"(?i)\b(?:prompt|known|test)[ -]injection\b|\binjection (?:pattern|attempt|attack|payload)s?\b"
    r"|\btest (?:an? )?(?:blocked|denied|forbidden) (?:action|command|request|prompt)s?\b"
    r"|\bhappens when someone sends\b"
)
_OBEYED: Final = lazily(r"(?i)\b(?:follow|obey|apply|comply|carry out|begin|start with|you must|do as)\b")
_OUTCOME: Final = lazily(
    r"(?i)\b(?:(?:will|should|must) (?:then )?be (?:blocked|denied|rejected|refused|detected|flagged)|blocks this"
    r"|(?:should|will) show a detection|be (?:denied|blocked) by)\b"
)
_ADDRESS: Final = lazily(r"https?://|[\w-]@\w|\bwebhook\b")


def is_specimen(segment: Segment, page: str, start: int, shown: str) -> bool:
    """True for what a block of code of `page` gives as a thing to be refused, or a test's text.

    A block is short and names no address; the words above it tell what it is, and those below what comes of it.
    """
    if segment.context in _CODE and not segment.provenance:
        line = segment.text[segment.text.rfind("\n", 0, start) + 1 : start]
        return _TEST.search(segment.path) is not None and _GIVEN.match(line) is not None
    if segment.context is not Context.FENCED or len(segment.provenance) != 1 or segment.member or segment.anchor:
        return False
    text = segment.text.strip("\n")
    height = text.count("\n") + 1
    if height > _MOST_LINES or len(text) > _LONGEST or _ADDRESS.search(text):
        return False
    lines = page.split("\n")
    first = segment.first_line - 1
    above = "\n".join(line for line in lines[max(0, first - 1 - 2 * _BEFORE) : first - 1] if line.strip())
    below = "\n".join(lines[first + height : first + height + 1 + _AFTER])
    lead = "\n".join(above.split("\n")[-_BEFORE:])
    tried = lead.rstrip(" *_").endswith(":") and _LEAD.search(lead) and not _OBEYED.search(lead)
    return bool(tried and _OUTCOME.search(below))
