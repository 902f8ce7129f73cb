"""Whole commands among the strings of a program that is no text, as strings(1) would print them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.whole_commands import is_whole_command

__all__ = ["commands_among"]

_MARK: Final = re.compile(
    rb"curl[ \t]|wget[ \t]|/dev/(?:tcp|udp)/|powershell|pwsh |base64 -|\bssh |\bnc |python3? -c"
    rb"|c\0u\0r\0l\0 \0|w\0g\0e\0t\0 \0|p\0o\0w\0e\0r\0s\0h\0e\0l\0l\0",
    re.IGNORECASE,
)
_MOST: Final = 50
_BEFORE: Final = 500  # characters of a string in front of the mark
_NARROW: Final = re.compile(rb"[\x20-\x7e]{0,2500}")
_WIDE: Final = re.compile(rb"(?:[\x20-\x7e]\0){0,2500}")
_LEADING: Final = compiled(r"^[^A-Za-z0-9/(]{1,3}")  # a length or a tag that happens to be a character


def commands_among(data: bytes) -> Iterator[str]:
    """Each string that begins as a command and goes on to another one, once."""
    seen: set[str] = set()
    read = 0
    for mark in _MARK.finditer(data):
        if mark.start() < read:
            continue  # in a string that has been looked at
        wide = mark[0][1:2] == b"\0"
        step = 2 if wide else 1
        start = mark.start()
        while start >= step and mark.start() - start < _BEFORE * step and _is_character(data, start - step, wide=wide):
            start -= step
        found = (_WIDE if wide else _NARROW).match(data, start)
        read = found.end() if found is not None else mark.end()
        text = found[0].replace(b"\0", b"").decode("ascii") if found is not None else ""
        text = _LEADING.sub("", text, count=1)
        if text not in seen and is_whole_command(text):
            seen.add(text)
            yield text
        if len(seen) == _MOST:
            return


def _is_character(data: bytes, at: int, *, wide: bool) -> bool:
    return 0x20 <= data[at] <= 0x7E and (not wide or data[at + 1] == 0)
