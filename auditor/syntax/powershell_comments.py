"""Where the comments of a PowerShell text are: its grammar takes one before an argument for a part of that.

A block comment begins wherever ``<#`` stands outside of a string, a line comment where a word would begin. Curly quotes
are quotes, and a string in double quotes holds code in ``$(...)``, which holds strings (about_Quoting_Rules,
about_Comments, about_Parsing).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

__all__ = ["powershell_comments"]

_SINGLE: Final = "'\u2018\u2019\u201a\u201b"
_DOUBLE: Final = '"\u201c\u201d\u201e'
_CODE: Final = re.compile(
    rf"`.|<\#|(?<![^\s;(){{}}|,=&+!\[\]])\#|@[{_SINGLE}][ \t]*\r?\n|@[{_DOUBLE}][ \t]*\r?\n|[{_SINGLE}]|[{_DOUBLE}]"
    r"|(?<!\S)--%|[()]",
    re.DOTALL,
)
_STRING: Final = re.compile(rf"`.|[{_DOUBLE}]{{2}}|\$\(|[{_DOUBLE}]", re.DOTALL)
_DOCUMENT: Final = re.compile(rf"`.|\$\(|\n[{_DOUBLE}]@", re.DOTALL)
_SINGLE_END: Final = re.compile(rf"(?:[^{_SINGLE}]|[{_SINGLE}]{{2}})*[{_SINGLE}]")
_SINGLE_DOCUMENT_END: Final = re.compile(rf"\n[{_SINGLE}]@")


def powershell_comments(text: str) -> Iterator[tuple[int, int]]:
    """The characters ``[start, end)`` of each, in order. What is not closed is none, and nothing after it is."""
    around = _Around()
    at = 0
    while (found := around.kind.search(text, at)) is not None:
        mark, at = found[0], found.end()
        if mark[0] == "`":
            continue
        if around.kind is not _CODE:
            around.in_string(mark)
        elif mark in ("(", ")"):
            around.bracket(mark)
        elif mark in ("<#", "#", "--%"):
            end = _end_of(mark, text, at)
            if end < at:
                return
            if mark != "--%":
                yield found.start(), end
            at = end
        elif mark.strip("@ \t\r\n") in _DOUBLE:
            around.enter(_STRING if mark[0] != "@" else _DOCUMENT)
            at -= mark[0] == "@"  # the end of a here-string may stand on its next line
        else:
            closing = _SINGLE_END.match(text, at) if mark[0] != "@" else _SINGLE_DOCUMENT_END.search(text, at - 1)
            if closing is None:
                return
            at = closing.end()


class _Around:
    """What a place stands in: `kind` says what is looked for there."""

    def __init__(self) -> None:
        self.kind, self._opened = _CODE, 0
        self._outside: list[tuple[re.Pattern[str], int]] = []

    def enter(self, kind: re.Pattern[str]) -> None:
        """Something begins."""
        self._outside.append((self.kind, self._opened))
        self.kind, self._opened = kind, 0

    def in_string(self, mark: str) -> None:
        """Code begins in a string, or the string ends; a doubled quote is neither."""
        if mark == "$(":
            self.enter(_CODE)
        elif self.kind is _DOCUMENT or len(mark) == 1:
            self._leave()

    def bracket(self, mark: str) -> None:
        """One of code: the last that closes ends the code in a string."""
        if mark == "(":
            self._opened += 1
        elif self._opened:
            self._opened -= 1
        elif self._outside:
            self._leave()

    def _leave(self) -> None:
        self.kind, self._opened = self._outside.pop()


def _end_of(mark: str, text: str, at: int) -> int:
    """Where a comment ends, or words that are passed on as they stand; before `at` for one that never does."""
    if mark == "<#":
        return text.find("#>", at) + 2
    end = text.find("\n", at)
    return end if end >= 0 else len(text)
