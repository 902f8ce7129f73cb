"""The whole environment that leaves, in languages without a parser: followed by name from its reading to a request.

One variable by its name, and what is handed to a program that is started, is not the whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.behaviour.followed import Asked, followed
from skillkeep.auditor.engines.interface import Context, Segment
from skillkeep.auditor.interface import Location

__all__ = ["sent_environments"]

_WORDS: Final = (  # of which every place that reads all of it has one
    "env::vars", "Environ()", "getenv()", "GetEnvironmentVariables", "%ENV", "$_ENV", ".environment", "get_env()",
)  # fmt: skip
_WHOLE: Final = compiled(
    r"\benv::vars(?:_os)?\(\)|\b(?:os|syscall)\.Environ\(\)|\b(?:System\.)?getenv\([ \t]*\)"
    r"|\bGetEnvironmentVariables\([ \t]*\)|(?<![\w$])%(?:main::)?ENV\b|\$_ENV\b(?![ \t]*\[)"
    r"|\b(?:processInfo|Platform)\.environment\b(?![ \t]*\[)|\bSystem\.get_env\(\)"
)
_TO_CHILD: Final = compiled(r"\.envs\([^;\n]*|\.Env[ \t]*=[^;\n]*|\benvironment\(\)\.putAll\([^;\n]*|\benviron:[^;\n]*")
_FILTERED: Final = compiled(r"(?i)(?:starts_?with|has_?prefix)\([^)\n]{0,30}?[\"'](?P<own>[A-Z][A-Z0-9_]{1,40})[\"']")
_OTHERS: Final = compiled(
    r"(?i)token|key|secret|passw|credential|aws|azure|google|gcp|github|gitlab|actions|npm|cargo|ci_"
)
_SENDS: Final = compiled(
    r"\bhttp\.(?:Post|PostForm|NewRequest\w*|Get|Head)\(|\b\w{0,20}(?:[cC]lient|[hH]ttp)\.(?:Post|PostForm|Get|Do)\("
    r"|\b(?:reqwest|ureq|minreq|isahc|attohttpc|surf)::|\.(?:send_(?:string|bytes|form|json)|body|json|form|query)\("
    r"|\b(?:Post|Put|Send|PostAsJson|GetString|GetByteArray)(?:Async)?\(|\bUpload(?:String|Data|Values)\w*\("
    r"|\bBodyPublishers\.|\bgetOutputStream\(\)|\bopenStream\(\)|\bRequestBody\.create\(|\.toRequestBody\("
    r"|\bCURLOPT_(?:POSTFIELDS|URL|HTTPHEADER)\b|\bfile_get_contents\([ \t]*[\"']https?:|\bstream_context_create\("
    r"|\bf(?:write|puts)\([ \t]*\$s|->(?:post|put|request|post_form|get)\(|\bHTTP::Request->new\(|\bhttpBody\b"
    r"|\b(?:(?:conn|c|sock|socket|stream|s)\w{0,12}|req(?:uest)?|r)\.(?:write(?:_all)?|Write|send|Send)\("
    r"|\b(?:fmt\.Fprintf?|io\.WriteString|writeln?!)\([ \t]*&?(?:mut )?(?:conn|sock|stream)\w{0,12}\b"
    r"|[\"'`](?:/usr/bin/)?(?:curl|wget|nc|ncat|nslookup|dig)(?:\.exe)?[\"'` ]|\b(?:qx|system|exec"
    r"|`)[^;\n]{0,20}\bcurl\b"
    r"|\bHTTPoison\.post|\bnet\.Lookup\w+\(|\bgethostbyname\("
)
_LONGEST: Final = 200_000


def sent_environments(segment: Segment) -> Iterator[tuple[Location, str]]:
    """Every request of `segment` that all variables of the environment go into, and its line."""
    text = segment.text
    if segment.context is not Context.TEXT or len(text) > _LONGEST or not any(word in text for word in _WORDS):
        return
    if not _WHOLE.search(text) or not _SENDS.search(text):
        return
    for start, end, statement in followed(text, Asked(_WHOLE, _SENDS, _TO_CHILD, whole=True, is_none=_is_own)):
        yield segment.locate(start, end), " ".join(statement.split())[:200]


def _is_own(code: str) -> bool:
    """True where only variables are taken whose names begin as the tool's own do."""
    return _FILTERED.search(code) is not None and _OTHERS.search(code) is None
