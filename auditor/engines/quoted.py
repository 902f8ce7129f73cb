"""Whether what is made at run time in a shell command can only be an argument of a program that is written down."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.engines.values import HOLE

__all__ = ["is_argument"]

_RUNNING: Final = frozenset(  # besides interpreters: they run what they are given
    {
        "cmd",
        "cmd.exe",
        "eval",
        "env",
        "xargs",
        "ssh",
        "osascript",
        "awk",
        "gawk",
        "mawk",
        "parallel",
        "watch",
        "at",
        "batch",
    }
    | {"su", "runuser", "script", "expect", "nsenter", "chroot", "crontab", "make"}
)
_STARTS: Final = re.compile(  # it names the program of a later command
    rf"(?:[;&(\n!]|\bexec|\b(?:sudo|nohup|time|then|do|else)|-exec(?:dir)?|-ok)\s*[\"']?[^\s\"';&]*{HOLE}"
)


def is_argument(text: str) -> bool:
    """True for ``codesign --verify "${path}"``: the program is written down, and each unknown part is one quoted word.

    A quote in the text still breaks out, which is a weakness and no hidden command.
    """
    words = text.split()
    interpreters = table("shell")["interpreters"].keys() | _RUNNING
    if not words or HOLE in words[0] or any(word.strip("\"'").rpartition("/")[2] in interpreters for word in words):
        return False
    if any(mark in text for mark in ("|", "`", "$(", "eval ")):
        return False
    return not _STARTS.search(text) and all(_quoted_holes(text))


def _quoted_holes(text: str) -> Iterator[bool]:
    """For each hole whether it stands between quotes."""
    mark = ""
    escaped = False
    for character in text:
        if character == HOLE:
            yield mark != ""
        elif escaped:
            escaped = False
        elif character == "\\" and mark != "'":
            escaped = True
        elif character == mark:
            mark = ""
        elif not mark and character in "\"'":
            mark = character
