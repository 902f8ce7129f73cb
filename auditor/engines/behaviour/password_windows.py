"""A window that asks for a password as the system does, and what is done with the answer.

What the system asks for, it keeps itself. A program that shows such a window of its own and writes the answer to a
file, tries it, hands it to `sudo` or sends it has the user's password.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.behaviour.followed import Asked, followed
from skillkeep.auditor.engines.interface import Segment
from skillkeep.auditor.interface import Location
from skillkeep.auditor.patterns import RarePattern

__all__ = ["taken_passwords"]

_WORDS: Final = r"(?:pass(?:word|code|phrase)|credentials?|keychain|kennwort|passwort|mot de passe|contrase[nñ]a|senha)"
_SYSTEM: Final = (
    r"(?:windows|microsoft|session|security|expired|domain|\$env:USERNAME|sign[ -]?in again"
    r"|log[ -]?in again|your password)"
)
_MAY_ASK: Final = RarePattern(compiled(r"(?i)hidden[ \t]+answer|PromptForCredential|Get-Credential"))
_ASKS: Final = compiled(
    rf"(?i)\bdisplay[ \t]+dialog\b[^\n]{{0,400}}{_WORDS}[^\n]{{0,400}}\bhidden[ \t]+answer\b"
    rf"|\bdisplay[ \t]+dialog\b[^\n]{{0,400}}\bhidden[ \t]+answer\b[^\n]{{0,400}}{_WORDS}"
    rf"|\b(?:PromptForCredential[ \t]*\(|Get-Credential\b)[^\n]{{0,300}}{_SYSTEM}"
)
_KEEPS: Final = compiled(
    r"(?i)\.write(?:_text|_bytes|lines)?\(|\bwriteFile(?:Sync)?\(|\bappendFile(?:Sync)?\(|\bjson\.dump\("
    r"|\b(?:Set-Content|Add-Content|Out-File)\b|\bWriteAll\w{1,8}\(|\btee[ \t]|\bwrite\b[^\n]{1,80}[ \t]to[ \t]"
    r"|(?<![0-9&=>-])>>?[ \t]*[\"']?(?!/dev/(?:null|std\w+|tty)\b)[$~/.]"
    r"|\bdscl\b[^\n]{0,40}[ \t\"',]-?authonly\b|\bsudo[\"', \t]{1,6}(?:-[a-zA-Z]{1,3}[\"', \t]{1,6}){0,3}-\w{0,3}S\b"
    r"|\b(?:requests|httpx|axios|session|client)\.(?:post|put|get|request)\(|\b(?:fetch|urlopen|Request|sendBeacon)\("
    r"|\bcurl\b|\bwget\b|\b(?:Invoke-(?:RestMethod|WebRequest)|irm|iwr)\b|\bUpload(?:String|Data|Values)\w{0,12}\("
)
_ASIDE: Final = compiled(r"(?i)[ \t]-Credential[ \t]+\$\w{1,40}|[0-9&]>>?[ \t]*(?:&[0-9]|/dev/\w+)")
_SET: Final = compiled(r"^(?P<before>[ \t]*)set[ \t]+(?P<name>\w{1,40})(?P<gap>[ \t]+to[ \t]+)", re.MULTILINE)
_LONGEST: Final = 100_000
_MOST: Final = 5


def taken_passwords(segment: Segment) -> Iterator[tuple[Location, str]]:
    """Every place of `segment` where the answer to such a window is kept, tried or sent, and that text."""
    text = segment.text
    if len(text) > _LONGEST or not _MAY_ASK.search(text) or not _ASKS.search(text):
        return
    text = _SET.sub(_assigned, text)
    for start, end, statement in islice(followed(text, Asked(_ASKS, _KEEPS, _ASIDE)), _MOST):
        yield segment.locate(start, end), " ".join(statement.split())[:200]


def _assigned(found: re.Match[str]) -> str:
    """AppleScript's ``set a to b`` as others spell it, and just as long."""
    return f"{found['before']}{found['name']} = ".ljust(len(found[0]))
