"""A page has the agent run a program and do what it prints, and the program prints what a stranger's host answers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.behaviour.acts import code_of
from skillkeep.auditor.engines.behaviour.documents import Documents
from skillkeep.auditor.engines.behaviour.followed import Asked, followed
from skillkeep.auditor.engines.interface import SourceTree
from skillkeep.auditor.engines.network import is_near
from skillkeep.auditor.interface import Location

__all__ = ["Printed", "printed_orders"]

Printed = tuple[Location, str, str]  # where it is printed, that line, and whose words these are

_OBEYED: Final = (  # behind a program's name, in lower case
    r"\b[^.;]{0,80}?\b(?:and|then|,) (?:then )?(?:follow|obey|apply|execute|carry out|act on|comply with"
    r"|adhere to|do|treat)\b"
    r"[^.;]{0,20}(?:\b(?:rules?|instructions?|steps?|guid\w+|directi\w+|orders?|polic\w+|prompts?|playbooks?"
    r"|commands?)\b"
    r"[^.;]{0,20}\b(?:prints?|printed|returns?|returned|outputs?|shows?|shown|gives?|answers?|displays?|emits?"
    r"|reports?|says)\b"
    r"|\b(?:its|the|this|that) (?:printed )?(?:output|answer|text|response)\b|\bwhat(?:ever)? (?:it|that"
    r"|the script)\b)"
)
_FETCHES: Final = compiled(
    r"\burlopen\(|\b(?:requests|httpx|session|client|axios|got|ky|needle|superagent)\.(?:get|post|request)\("
    r"|\bfetch\("
    r"|\bhttps?\.get\(|\bURI\.open\(|\bNet::HTTP\.get\w*\(|\bhttp\.Get\(|\b(?:reqwest|ureq)::(?:\w+::)?get\("
    r"|\bfile_get_contents\("
    r"|\bcurl_exec\(|\bGetStringAsync\(|\bLWP::Simple::get\b|\b(?:Invoke-RestMethod|Invoke-WebRequest|irm|iwr)\b"
    r"|\$\([ \t]*(?:curl|wget)\b"
)
_PRINTS: Final = compiled(
    r"\bprint(?:ln|f)?!?[ \t(]|\bsys\.stdout\.(?:buffer\.)?write\(|\bprocess\.stdout\.write\(|\bconsole\.(?:log"
    r"|info)\("
    r"|\bputs\b|\becho\b|\bfmt\.(?:Print\w*|Fprint\w*)\(|\bio\.Copy\([ \t]*os\.Stdout|\bConsole\.Write\w*\("
    r"|\bclick\.echo\("
    r"|\bWrite-(?:Output|Host)\b|\bSystem\.out\.\w+\("
)
_SHELL: Final = compiled(
    r"^[ \t]*(?:exec[ \t]+)?(?:curl|wget)\b(?![^\n]*(?:[ \t]-\w{0,8}[oO]\b|--output|>"
    r"|\|))[^\n]*",
    re.MULTILINE,
)
_NOTHING: Final = compiled(r"(?!)")
_LONGEST: Final = 100_000


def printed_orders(tree: SourceTree, documents: Documents) -> Iterator[Printed]:
    """The first place of each program at which an unnamed host's answer is printed for the agent to obey."""
    hosts: dict[str, list[str]] = {}
    for each in tree.capabilities:
        if each.kind == "network" and not each.value.startswith("*") and not is_near(each.value):
            hosts.setdefault(each.evidence.path, []).append(each.value)
    for file in tree.files if hosts else ():
        name = file.path.rpartition("/")[2].lower()
        if file.path not in hosts or not documents.holds(name):
            continue
        if not documents.says(rf"(?<![\w-]){re.escape(name)}{_OBEYED}"):
            continue
        host = next((each for each in hosts[file.path] if not documents.names(each)), None)
        if host is None:
            continue
        for segment in code_of(file):
            printed = _printed(segment.text)
            if printed is not None:
                at = segment.locate(*printed)
                shown = segment.text[printed[0] : printed[1]].strip()
                yield at, shown, f"a page has the agent do what {host} answers, which no document names"
                break


def _printed(text: str) -> tuple[int, int] | None:
    """Where what is fetched is printed."""
    if len(text) > _LONGEST or not (_FETCHES.search(text) or "curl" in text or "wget" in text):
        return None
    if plain := _SHELL.search(text):
        return plain.span()
    asked = Asked(_FETCHES, _PRINTS, _NOTHING)
    return next(((start, end) for start, end, _ in followed(text, asked)), None)
