"""Code that goes through the pages which the user's agents read already, and changes each of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.behaviour.given import body_below, names_given, with_given
from skillkeep.auditor.engines.interface import Segment
from skillkeep.auditor.interface import Location

__all__ = ["ANNOUNCED", "ChangedPage", "changed_pages"]

ChangedPage = tuple[Location, str]  # where the pages are gone through, and that text

ANNOUNCED: Final = (
    r"\b(?:edit|updat|patch|chang|rewrit|migrat|append|add|insert|switch|convert|remov|renam|fix|normali[sz]|format|lint"
    r"|sync)\w{0,5}\b[^.]{0,60}\b(?:all|every|each|existing|installed|other)\b(?: [\w-]+){0,3} "
    r"(?:agents?|skills?|commands?|rules?|prompts?|memor\w+|pages?)\b"
)
"""What the documents of a tool say of it that is for this."""

_NAMES: Final = (".claude", ".codex", ".gemini", ".cursor", ".windsurf", ".openclaw", ".clawdbot", ".kiro", "opencode")
_PAGES: Final = (
    r"(?:\.(?:claude|codex|gemini|cursor|windsurf|openclaw|clawdbot|kiro)\b|\.config[/\"', \\]{1,6}opencode\b)"
)
_AGENTS: Final = compiled(_PAGES)
_HOME: Final = compiled(r"homedir\(\)|Path\.home\(\)|expanduser|~|\bHOME\b|USERPROFILE|Dir\.home|HomeDir")
_MANY: Final = compiled(r"\b(?:i?glob|rglob|iterdir|readdir|listdir|scandir|walk)\w{0,4}\(|\bfind[ \t]|\*\.mdc?\b|/\*")
_LOOPS: Final = (
    compiled(
        r"^[ \t]*(?:async[ \t]+)?for[ \t]+(?:await[ \t]*)?\(?[ \t]*(?:(?:const|let|var)[ \t]+)?"
        r"(?P<page>\w{1,40})[ \t]+(?:in|of)[ \t]+(?P<over>[^\n]{1,300})",
        re.MULTILINE,
    ),
    compiled(r"(?P<over>\b[\w.]{0,40}(?:readdir|glob)\w{0,4}\([^\n]{0,160}?)\.(?:forEach|map)\(\(?(?P<page>\w{1,40})"),
)
_IN_PLACE: Final = compiled(
    rf"\b(?:sed|perl)[ \t]+-\w*i\b[^\n]{{0,300}}(?:~|HOME\}}?)/{_PAGES}[^\n]{{0,80}}\*"
    rf"|\bfind[ \t][^\n]{{0,60}}(?:~|HOME\}}?[\"']?)/{_PAGES}[^\n]{{0,160}}\b(?:sed|perl)[ \t]+-\w*i\b"
)
_WRITES: Final = (
    r"\bPAGE\.write_text\(|\bopen\([ \t]*PAGE[ \t]*,[ \t]*[\"'](?:[wa]|r\+)|\bPAGE\.open\([ \t]*[\"'][wa]",
    r"\b(?:write|append)File(?:Sync)?\([ \t]*(?:[\w.]{0,20}join\([^)\n]{0,80})?\bPAGE\b",
    r">[ \t]*[\"']?\$\{?PAGE\b|\b(?:sed|perl)[ \t]+-\w*i\b[^\n]{0,300}\$\{?PAGE\b|\btee[ \t]+-a[ \t]+[\"']?\$\{?PAGE\b",
)
_WORD: Final = compiled(r"[A-Za-z_]\w{0,40}")
_MOST: Final = 40


def changed_pages(segment: Segment) -> Iterator[ChangedPage]:
    """Every place of `segment` where all pages below an agent's folder of the home are written over or added to."""
    text = segment.text
    if not any(name in text for name in _NAMES):
        return
    for found in _IN_PLACE.finditer(text):
        yield segment.locate(found.start(), found.end()), found[0][:200]
    loops = [found for pattern in _LOOPS for found in islice(pattern.finditer(text), _MOST)]
    given = names_given(text) if loops else {}
    for found in loops:
        over = with_given(found["over"], given)
        if _AGENTS.search(over) and _HOME.search(over) and _MANY.search(over) and _changes(found, text):
            yield segment.locate(found.start(), found.end()), found[0].strip()[:200]


def _changes(loop: re.Match[str], text: str) -> bool:
    """True where the body of a loop writes to what it goes through, and not only to another place."""
    body, page = body_below(text, loop.start(), loop.end()), loop["page"]
    folders = "|".join(_WORD.findall(loop["over"]))
    joined = re.findall(
        rf"\b(\w{{1,40}})[ \t]*=[ \t]*(?=[^\n]{{0,120}}\b{page}\b)(?=[^\n]{{0,120}}\b(?:{folders})\b)(?![^\n]*read)",
        body,
    )
    names = f"(?:{'|'.join(dict.fromkeys([page, *joined]))})"
    return any(re.search(pattern.replace("PAGE", names), body) for pattern in _WRITES)
