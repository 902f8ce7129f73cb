"""What a server answers is run: a name that a fetched text is given stands where a shell or an interpreter takes one.

For languages that no engine here parses. The name alone is followed, within one file, from the line that fetches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.patterns import RarePattern

__all__ = ["answered"]

_FETCHED: Final = RarePattern(
    compiled(  # what is bound in one line to what a server answers
        r"(?<![\w.])(?P<name>[A-Za-z_]\w{0,40})(?:[ \t]{0,3}:[ \t]{0,3}\w{1,30})?[ \t]{0,3}:?=[ \t]{0,3}"
        r"(?:[^\n=;]{0,40}\b(?:URL|URI)\([^\n]{1,200}?\)\.(?:readText|getText|text\b|openStream)|[^\n=;]{0,30}\bSource\.fromURL\("
        r"|(?:\w{1,20}[.:])?(?:https?\.request|https?\.get|HttpGet(?:Async)?)\([^\n]{1,200}|[^\n=;]{0,40}\bhttpGet\(\)"
        r"|[^\n]{0,20}\bio\.popen\([ \t]{0,3}[\"'](?:curl|wget)\b"
        r"|(?:String\([ \t]{0,3})?[\w.:]{0,30}(?:[bB](?:ase)?64|unhex|[dD]ecrypt|[dD]ecipher)[\w.]{0,12}\()"
        r"|\"(?:curl|wget)[ \t][^\"\n]{1,300}\"[ \t]{0,3}\|&?[ \t]{0,3}getline[ \t]{1,3}(?P<line>[A-Za-z_]\w{0,40})"
    )
)
_LOADED: Final = compiled(
    r"\blocal[ \t]{1,3}(\w{1,40})[ \t]{0,3}=[ \t]{0,3}(?:loadstring|load)[ \t]{1,3}or[ \t]{1,3}(?:loadstring|load)\b"
)
_SHELL: Final = (
    r"[\"'](?:(?:/usr)?/bin/)?(?:ba|z|da)?sh[\"']\s{0,9},\s{0,9}\[?\s{0,9}[\"']-\w{0,2}c[\"']\s{0,9},\s{0,9}"
)
_SOCKET: Final = compiled(
    r"\b(?P<peer>[A-Za-z_]\w{0,40})[ \t]{0,3}=[ \t]{0,3}\"/inet[46]?/(?:tcp|udp)/\w{0,6}/(?P<host>[^/\"\n]{0,80})"
)
_LOCAL: Final = compiled(r"(?:localhost|127\.[\d.]+|0|::1)?")
_MOST: Final = 10


def answered(text: str) -> Iterator[tuple[int, str]]:
    """Every place (an offset) where what was fetched is run, and the name that it has there."""
    loads = [r"loadstring", r"load", *(re.escape(found[1]) for found in islice(_LOADED.finditer(text), _MOST))]
    told: set[str] = set()
    for found in islice(_FETCHED.finditer(text), _MOST):
        name = found["name"] or found["line"]
        if name in told:
            continue
        told.add(name)
        if run := re.compile(_runs(name, loads), re.MULTILINE).search(
            text, found.end("name") if found["name"] else found.end()
        ):
            yield run.start(), name
    yield from _sockets(text)


def _runs(name: str, loads: list[str]) -> str:
    """A pattern of what runs the text of that name."""
    loader = (
        rf"(?:(?<![\w.:])(?:{'|'.join(loads)})|\([ \t]*(?:loadstring|load)[ \t]+or[ \t]+(?:loadstring|load)[ \t]*\))"
    )
    return (
        rf"{_SHELL}(?:string\(|String\()?{name}\b(?![\w(\[])"
        rf"|{loader}[ \t]*\([ \t]*{name}\b[^()\n]{{0,60}}\)[ \t]*\)?[ \t]*\("
        rf"|(?<![\w.]){name}\.execute\(|\bProcess\([ \t]*{name}[ \t]*\)\.(?:!|run\b)|(?<![\w.]){name}\.!"
        rf"|\bsystem\([ \t]*{name}[ \t]*\)|(?<![\w.$]){name}[ \t]*\|&?[ \t]*getline\b"
        rf"|\bprint\w?\b[^\n|]{{0,80}}\|[ \t]*{name}\b"
    )


def _sockets(text: str) -> Iterator[tuple[int, str]]:
    """awk: a line that a socket answers is run as a command."""
    for peer in islice(_SOCKET.finditer(text), _MOST) if "/inet" in text else ():
        if _LOCAL.fullmatch(peer["host"]):
            continue
        line = re.search(rf"\b{peer['peer']}[ \t]*\|&[ \t]*getline[ \t]+([A-Za-z_]\w{{0,40}})", text[peer.end() :])
        if line and (run := re.search(_runs(line[1], ["load"]), text[peer.end() :])):
            yield peer.end() + run.start(), line[1]
