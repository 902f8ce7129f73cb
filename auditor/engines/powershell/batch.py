"""Batch files (``.bat``, ``.cmd``): what their lines run, with carets and variables taken out. Patterns do the rest."""

from __future__ import annotations

import re
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.interface import Context, Emitter, Segment

__all__ = ["is_batch", "judge_batch"]

_LABELS: Final = frozenset({"fence:bat", "fence:batch", "fence:cmd", "fence:dos"})
_SET: Final = compiled(r"(?i)^[ \t]*@?set[ \t]+\"?([\w.-]{1,40})=([^\"\n]{0,400})")
_JOINED: Final = compiled(r"&+")
_USED: Final = compiled(r"%([\w.-]{1,40})(?::~(-?\d{1,4})(?:,(-?\d{1,4}))?)?%")
_STARTED: Final = compiled(r"(?i)\b(?:powershell|pwsh)(?:\.exe)?\b")
_FETCHING: Final = compiled(r"(?i)\b(?:curl|wget|bitsadmin|certutil)(?:\.exe)?\b")
_RUNNING: Final = compiled(r"(?i)^[ \t]*@?(?:start|call)?[ \t]*(?:\"\"[ \t]*)?(?:/\w+[ \t]+)*")
_MOST_DERIVED: Final = 40
_MOST_LINES: Final = 20_000


def is_batch(segment: Segment) -> bool:
    """True for a segment that ``cmd`` reads."""
    if segment.provenance:
        return segment.provenance[-1] in _LABELS
    return segment.path.lower().endswith((".bat", ".cmd"))


def judge_batch(segment: Segment, emit: Emitter) -> None:
    """Hand back each line's PowerShell, and the lines that fetch and start files as one script."""
    known: dict[str, str] = {}
    plain: list[tuple[int, str]] = []
    at = 0
    for line in segment.text.split("\n")[:_MOST_LINES]:
        shown = (
            _USED.sub(lambda found: _value(found, known), line.replace("^", "")) if "%" in line or "^" in line else line
        )
        for part in _JOINED.split(shown) if "&" in shown and '"' not in shown else (shown,):
            if (found := _SET.match(part)) is not None:
                known[found[1].lower()] = found[2].rstrip("\r")
        plain.append((at, shown))
        at += len(line) + 1
    derived = 0
    for start, shown in plain:
        if derived < _MOST_DERIVED and (found := _STARTED.search(shown)) is not None and not _is_remark(shown):
            derived += 1
            place = segment.locate(start, start + len(shown))
            emit.derive(shown[found.start() :], Context.POWERSHELL, place, "batch", segment)
    fetching = next((start for start, shown in plain if _FETCHING.search(shown) and not _is_remark(shown)), None)
    if fetching is not None:
        lines = [_as_shell(shown) for start, shown in plain if start >= fetching and not _is_remark(shown)]
        emit.derive("\n".join(lines), Context.SHELL, segment.locate(fetching, fetching + 1), "batch", segment)
    altered = "\n".join(shown for _, shown in plain)
    if altered != segment.text and "batch variables" not in segment.provenance:
        emit.derive(altered, Context.POWERSHELL, segment.locate(0, 1), "batch variables", segment)


def _value(found: re.Match[str], known: dict[str, str]) -> str:
    value = known.get(found[1].lower())
    if value is None:
        return found[0]
    if found[2] is None:
        return value
    start = int(found[2])
    value = value[start:]
    if found[3] is None:
        return value
    length = int(found[3])
    return value[:length]


def _is_remark(line: str) -> bool:
    return line.lstrip(" \t@").lower().startswith(("rem ", "::", "echo "))


def _as_shell(line: str) -> str:
    """A line as a shell would write it."""
    return " ; ".join(_RUNNING.sub("", part) for part in line.replace("\\", "/").split("&"))
