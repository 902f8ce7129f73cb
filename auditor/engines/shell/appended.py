"""A command behind a separator inside an argument: the program that gets it may hand it to a shell.

``pack "notes; curl https://… | sh"`` looks like one argument. A script that puts it into a command line runs two.
"""

from __future__ import annotations

from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.shell.site import Call

__all__ = ["appended"]

_SEPARATOR: Final = compiled(r"[;|&`\n]+[ \t]*|\$\(")
_ACTING: Final = compiled(
    r"\b(?:curl|wget|(?:ba|z|da|k)?sh|python\d?|node|perl|ruby|eval|source|base64|nc|ncat|socat|rm|powershell|pwsh|iwr|chmod"
    r"|crontab|osascript|ssh|scp)\b|<\("
)
_TEXTUAL: Final = frozenset(  # their arguments are texts, patterns or programs of their own
    {"grep", "egrep", "fgrep", "rg", "ag", "jq", "yq", "sed", "gsed", "awk", "gawk", "psql", "mysql", "sqlite3", "echo"}
    | {"printf", "git", "gh", "ssh", "docker", "podman", "kubectl", "expect", "osascript", "watch", "test", "[", "[["}
    | {"export", "alias"}
)

_ALTERNATIVES: Final = compiled(
    r"\((?:[\w.-]+(?:[ ]\\+[+.]\w+)?\|){3,}[\w.-]+\)"
)  # a pattern of names: none has an address


def appended(call: Call) -> list[str]:
    """What stands behind the first separator of each argument, where that names a program that acts."""
    if call.name in _TEXTUAL:
        return []
    texts = [_ALTERNATIVES.sub("", text) for text in call.arguments]
    tails = [text[found.end() :] for text in texts if (found := _SEPARATOR.search(text))]
    return [tail.strip("`()") for tail in tails if _ACTING.search(tail)]
