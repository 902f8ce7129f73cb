"""Code of documentation that shows a weakness, told from code that carries something out.

Tutorials about secure code show ``eval(user_input)``: what would be run comes from nowhere, so the block harms nobody
by itself. Where the text that is run is read, decoded or fetched in the same block, it is no such example.
"""

from __future__ import annotations

import re
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.interface import Segment
from skillkeep.auditor.interface import Severity

__all__ = ["example_severity"]

_BRINGS: Final = compiled(
    r"\bopen\s*\(|\.\s*read\w*\s*\(|\bread_?(?:file|text|bytes)|\.\s*load\w*\s*\(\s*open|decode|unhexlify|fromhex"
    r"|urlopen|urllib|\brequests\s*\.|\bhttpx\b|\baiohttp\b|\bsocket\b|\bfetch\s*\(|XMLHttpRequest|\baxios\b|https?://"
    r"|\batob\b|fromCharCode|Buffer\s*\.\s*from|__builtins__|\bcheck_output\b|\bgetoutput\b|\bpopen\b|\bstdout\b",
    re.IGNORECASE,
)
_WORD: Final = compiled(r"[A-Za-z_]\w*")
_MOST_WORDS: Final = 40
_STEPS: Final = 3


def example_severity(segment: Segment, dangerous: str = "") -> Severity | None:
    """WARN for a fenced block in which nothing brings along what the call `dangerous` would run, else None.

    Without `dangerous` the whole block is searched.
    """
    if len(segment.provenance) != 1 or not segment.provenance[0].startswith("fence"):
        return None
    seen: set[str] = set()
    found = dangerous or segment.text
    for _ in range(_STEPS):
        if _BRINGS.search(found):
            return None
        words = [word for word in dict.fromkeys(_WORD.findall(found)) if word not in seen][:_MOST_WORDS]
        seen.update(words)
        if not words:
            break
        sets = re.compile(
            rf"^.*\b(?:{'|'.join(words)})\b[^=\n(]{{0,40}}=[^=].*$|^.*\bas[ \t]+(?:{'|'.join(words)})\b.*$",
            re.MULTILINE,
        )
        found = "\n".join(line.group() for line in sets.finditer(segment.text))
    return Severity.WARN
