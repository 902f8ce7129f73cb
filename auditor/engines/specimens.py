"""Texts that are shown to be refused: what a page has a guard tried with, and what tests of one hand to it."""

from __future__ import annotations

from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.interface import Context, Segment

__all__ = ["is_listed_as_denied", "is_specimen", "is_test"]

_CODE: Final = frozenset({Context.PYTHON, Context.JAVASCRIPT, Context.TYPESCRIPT})
_MOST_LINES: Final = 6
_BEFORE: Final = 3
_AFTER: Final = 4
_LONGEST: Final = 400
_TEST: Final = compiled(r"(?i)(?:^|/)(?:test_[\w-]+|[\w-]+_test)\.py$|[\w-]\.(?:test|spec)\.[cm]?[jt]sx?$")
_GIVEN: Final = compiled(  # an argument, a value, or an item of a list, that begins on this line
    r"[ \t]*(?:[^#\s/*\"'`][^\n\"'`]*)?(?:[\"'][\w-]{1,40}[\"'][ \t]*:|(?<=[(=:,\[]))[ \t]*[\"'`][^\"'`\n]*$"
    r"|[ \t]*\[(?:\"[^\"\n]*\",?[ \t]*)+\"[^\"\n]*$"
)
_LEAD: Final = compiled(  # what is tried, and on whom
    r"(?i)\b(?:prompt|known|test)[ -]injection\b|\binjection (?:pattern|attempt|attack|payload)s?\b"
    r"|\btest (?:an? )?(?:blocked|denied|forbidden) (?:action|command|request|prompt)s?\b"
    r"|\bhappens when someone sends\b"
)
_OBEYED: Final = compiled(r"(?i)\b(?:follow|obey|apply|comply|carry out|begin|start with|you must|do as)\b")
_OUTCOME: Final = compiled(
    r"(?i)\b(?:(?:will|should|must) (?:then )?be (?:blocked|denied|rejected|refused|detected|flagged)|blocks this"
    r"|(?:should|will) show a detection|be (?:denied|blocked) by)\b"
)
_DENIED: Final = compiled(  # a whole line of JSON: what a policy keeps from an agent
    r"(?i)[ \t]*\"(?:\w+_)?(?:block(?:ed|list)?|deny|denied|denylist|forbid(?:den)?"
    r"|disallow(?:ed)?|banned|reject(?:ed)?)"
    r"(?:_\w+)?\"[ \t]*:[ \t]*\[(?:[ \t]*\"[^\"\n]{1,60}\"[ \t]*,?){2,}[ \t]*\],?[ \t]*"
)
_CAUGHT: Final = compiled(r"(?i)\b(?:flag|detect|catch|recogni[sz]e|block|miss)(?:s|es|ed|ing)?[ \t]+`<!--[ \t]*$")
_CLOSED: Final = compiled(r"[ \t]*-->`")
_HOST: Final = compiled(r"://|@|[\w-]\.[A-Za-z]{2,}")
_ADDRESS: Final = compiled(r"https?://|[\w-]@\w|\bwebhook\b")


def is_test(path: str) -> bool:
    """True for a file that is a test by its name."""
    return _TEST.search(path) is not None


def is_specimen(segment: Segment, page: str, start: int, shown: str) -> bool:
    """True for what a block of code of `page` gives as a thing to be refused, or a test's text.

    A block is short and names no address; the words above it tell what it is, and those below what comes of it.
    """
    if segment.context is Context.INSTRUCTION:  # "it won't flag `<!-- ignore previous instructions -->`"
        first = segment.text.rfind("\n", 0, start) + 1
        at, end = start + len(shown) - len(shown.lstrip()), start + len(shown.rstrip())
        return bool(_CAUGHT.search(segment.text[first:at]) and _CLOSED.match(segment.text, end))
    if segment.context in _CODE and not segment.provenance:
        line = segment.text[segment.text.rfind("\n", 0, start) + 1 : start]
        return is_test(segment.path) and _GIVEN.match(line) is not None
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


def is_listed_as_denied(segment: Segment, start: int) -> bool:
    """True in a line of JSON that a page shows, where texts are listed that are denied, and no address among them."""
    if segment.context is not Context.FENCED or len(segment.provenance) != 1:
        return False
    line = segment.text[segment.text.rfind("\n", 0, start) + 1 :].partition("\n")[0]
    return _DENIED.fullmatch(line) is not None and not _HOST.search(line)
