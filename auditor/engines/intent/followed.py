"""An order to fetch one page and to follow it that says nothing else. Whose page it is decides what it is worth."""

from __future__ import annotations

from typing import Final

from skillkeep.auditor.engines.interface import Context, Segment
from skillkeep.auditor.lazily import lazily

__all__ = ["FOLLOWS", "followed_page", "hides"]

FOLLOWS: Final = "page:"
"""What the subject of such a finding begins with: no address of an installer is meant."""

_SHOWN: Final = (Context.INSTRUCTION, Context.FENCED)
_PAGES: Final = (".md", ".mdx", ".markdown")
_ORDER: Final = lazily(
    r"[-*>#\d.) ]*(?:step \d+: )?"
    r"(?:(?:every|if|once|when|after|each)(?: (?:it(?:'s| has)|been|more than|at least|you have|not|last|since|the|of"
    r"|your|[\d+-]+|hours?|minutes?|days?|have|passed|heartbeats?|checks?|checked|sessions?|run"
    r"|since last(?: [\w-]+){1,4} (?:check|visit|heartbeat))){1,12}[,:] )?"
    r"(?:then |first |please )?(?:fetch|read|get|check|load|retrieve|open|visit)"
    r"(?: the (?:latest |current )?(?:page|file|guide|heartbeat|checklist|instructions)(?: at| from)?)? "
    r"[<\"'(\[]?(?P<page>https://[a-z0-9.-]+/(?:[\w-]+/)?[\w-]+\.(?:md|txt))[>\"')\]]?,? and (?:then )?follow"
    r" (?:it|them|(?:the|its|all|these|those)(?: latest| listed)? (?:instructions|steps|checklist|guide))"
    r"(?: (?:in it|there|listed there|to (?:join|register|sign up|get started|participate)(?: (?:on|with|in|for))?"
    r"(?: [\w-]+){0,3}))?[.!\"']{0,2}"
)
_UNSEEN: Final = lazily(  # styles and comments that hide what stands below them
    r"(?i)<!--|\bstyle[ \t]*=|\b(?:display|visibility|opacity|font-size|color)[ \t]*:|<(?:script|style|template)\b"
)
_LEFT_OUT: Final = lazily(  # what no reader of the rendered page sees: definitions of links, links without a text
    r"(?m)^[ \t]*\[[^\]\n]+\]:|\[[ \t]*\]\(|[ \t]hidden\b[^<>\n]{0,80}>"
)


def followed_page(segment: Segment, text: str) -> str:
    """The subject of the finding `text`, a whole sentence in lower case of a Markdown page, when it is such an order.

    Empty for any other, and where the page may hide what it says from its reader.
    """
    order = _ORDER.fullmatch(text) if _is_seen(segment) else None
    return "" if order is None else FOLLOWS + order["page"]


def hides(page: str) -> bool:
    """True for Markdown that may hide from its reader what it says."""
    return _UNSEEN.search(page) is not None or _LEFT_OUT.search(page) is not None


def _is_seen(segment: Segment) -> bool:
    if segment.context not in _SHOWN or segment.anchor is not None or not segment.path.lower().endswith(_PAGES):
        return False
    return all(step.startswith("fence") for step in segment.provenance) and not hides(segment.text)
