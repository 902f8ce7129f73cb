"""An order to fetch one page and to follow it that says nothing else. Whose page it is decides what it is worth."""

from __future__ import annotations

import re
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.interface import Context, Segment

__all__ = ["FOLLOWS", "followed_page", "hides"]

FOLLOWS: Final = "page:"
"""What the subject of such a finding begins with: no address of an installer is meant."""

_SHOWN: Final = (Context.INSTRUCTION, Context.FENCED)
_PAGES: Final = (".md", ".mdx", ".markdown")
_ORDER: Final = compiled(
    r"[-*>#\d.) ]*(?:step \d+: )?"
    r"(?:(?:every|if|once|when|after|each)(?: (?:it(?:'s| has)|been|more than|at least|you have|not|last|since|the|of"
    r"|your|[\d+-]+|hours?|minutes?|days?|have|passed|heartbeats?|checks?|checked|sessions?|run"
    r"|since last(?: [\w-]+){1,4} (?:check|visit|heartbeat))){1,12}[,:] )?"
    r"(?:check (?:the |your |on )?[\w-]+: )?(?:then |first |please )?(?:fetch|read|get|check|load|retrieve|open|visit)"
    r"(?: the (?:latest |current )?(?:page|file|guide|heartbeat|checklist|instructions)(?: at| from)?)? "
    r"[<\"'(\[]?(?P<page>https://[a-z0-9.-]+/(?:[\w-]+/)?[\w-]+\.(?:md|txt))[>\"')\]]?,? and (?:then )?follow"
    r" (?:it|them|(?:the|its|all|these|those)(?: latest| listed)? (?:instructions|steps|checklist|guide))"
    r"(?: (?:in it|there|listed there|to (?:join|register|sign up|get started|participate)(?: (?:on|with|in|for))?"
    r"(?: [\w-]+){0,3}))?[.!\"']{0,2}"
)
_UNSEEN: Final = compiled(  # styles and comments that hide what stands below them
    r"(?i)<!--|\bstyle[ \t]*=|\b(?:display|visibility|opacity|font-size|color)[ \t]*:|<(?:script|style|template)\b"
)
_TAG: Final = compiled(r"<[a-zA-Z!/?]")
_FENCE: Final = compiled(r"( {0,3})```([\w+.-]*)[ \t]*")
_OTHER_CODE: Final = compiled(r"~~~|````|\r(?!\n)|\\`")  # what readers of Markdown may end in different places
_FRONT: Final = compiled(r"\A---[ \t]*\r?\n(?s:.*?)^---", re.MULTILINE)
_COMMENT: Final = compiled(r"(?m)^<!--(?!-?>)[^<>`\n]*-->[ \t]*$")  # of one line, which hides nothing but itself
_LEFT_OUT: Final = compiled(  # what no reader of the rendered page sees: definitions of links, links without a text
    r"(?m)^[ \t]*\[[^\]\n]+\]:|\[[ \t]*\]\(|[ \t]hidden\b[^<>\n]{0,80}>"
)


def followed_page(segment: Segment, text: str) -> str:
    """The subject of the finding `text`, a whole sentence in lower case of a Markdown page, when it is such an order.

    Empty for any other, and where the page may hide what it says from its reader.
    """
    order = _ORDER.fullmatch(text) if _is_seen(segment) else None
    return "" if order is None else FOLLOWS + order["page"]


def hides(page: str) -> bool:
    """True for Markdown that may hide from its reader what it says. The code that it shows hides nothing."""
    if not _may_hide(page):
        return False
    rest = _without_code(page)
    return rest is None or _may_hide(rest) or _TAG.search(rest) is not None


def _may_hide(page: str) -> bool:
    return _UNSEEN.search(page) is not None or _LEFT_OUT.search(page) is not None


def _without_code(page: str) -> str | None:
    """The lines of `page` without blocks of code and code in a line, or None where it is not certain what is code.

    Whoever reads a fence where a browser reads a tag takes for shown what is hidden: everything that CommonMark and
    tables of GitHub end elsewhere than a plain reader is refused.
    """
    front = _FRONT.match(page)
    if _OTHER_CODE.search(page) or (front is not None and "```" in front[0]):
        return None
    rest: list[str] = []
    inside = -1  # how far the fence is indented that is open
    for line in page.replace("\r", "").split("\n"):
        fence = _FENCE.fullmatch(line)
        if inside >= 0:
            depth = len(line) - len(line.lstrip(" "))
            if line.strip() and (depth < inside or (fence is None and "```" in line) or (fence and fence[2])):
                return None  # a list ends, and what it holds with it
            inside = -1 if fence else inside
        elif fence:
            inside = len(fence[1])
        else:
            shown = line.split("`")
            if len(shown) % 2 == 0 or "``" in line or any("|" in code for code in shown[1::2]):
                return None
            rest.append(" ".join(shown[::2]))
    return None if inside >= 0 else "\n".join(rest)


def _is_seen(segment: Segment) -> bool:
    if segment.context not in _SHOWN or segment.anchor is not None or not segment.path.lower().endswith(_PAGES):
        return False
    return all(step.startswith("fence") for step in segment.provenance) and not hides(_COMMENT.sub("", segment.text))
