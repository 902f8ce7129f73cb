"""Where the comments of a PowerShell text are: its grammar takes one before an argument for a part of that.

A block comment begins wherever ``<#`` stands outside of a string, a line comment where a word would begin. Curly quotes
are quotes, ``${...}`` is a name, and a string in double quotes holds code in ``$(...)``, which holds strings
(about_Quoting_Rules, about_Comments, about_Parsing). Whoever judges what is left judges the text as it stands as well:
where a text is made to be misread, this can only show more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from skillkeep.auditor.compiled import compiled

__all__ = ["powershell_comments"]

_SINGLE: Final = "'\u2018\u2019\u201a\u201b"
_DOUBLE: Final = '"\u201c\u201d\u201e'
_NAME: Final = r"\$\{[^}]*\}"
_CODE: Final = compiled(
    rf"`.|{_NAME}|<\#|\#|@[{_SINGLE}][ \t]*\r?\n|@[{_DOUBLE}][ \t]*\r?\n|[{_SINGLE}]|[{_DOUBLE}]|(?<!\S)--%|[()]",
    re.DOTALL,
)
_STRING: Final = compiled(rf"`.|{_NAME}|[{_DOUBLE}]{{2}}|\$\(|[{_DOUBLE}]", re.DOTALL)
_DOCUMENT: Final = compiled(rf"`.|{_NAME}|\$\(|\n[{_DOUBLE}]@", re.DOTALL)
_SINGLE_END: Final = compiled(rf"(?:[^{_SINGLE}]|[{_SINGLE}]{{2}})*[{_SINGLE}]")
_SINGLE_DOCUMENT_END: Final = compiled(rf"\n[{_SINGLE}]@")
_BEFORE_A_WORD: Final = frozenset(("", *" \t\r\n\f\v\x85\xa0;(){}|,&"))
_LINE_END: Final = compiled(r"[\r\n]|$")
_TELLING: Final = compiled(rf"[{_SINGLE}{_DOUBLE}`(){{}}]|<#|#>")
"""What makes a difference to what follows, if it is not in a comment."""


def powershell_comments(text: str) -> Iterator[tuple[int, int]]:
    """The characters ``[start, end)`` of each, in order. After what is not closed, or cannot be told, there is none."""
    around = _Around()
    at = escaped = 0
    while (found := around.kind.search(text, at)) is not None:
        mark, at = found[0], found.end()
        if mark[0] == "`":
            escaped = at
        elif mark.startswith("${"):
            continue
        elif around.kind is not _CODE:
            around.in_string(mark)
        elif mark in ("(", ")"):
            around.bracket(mark)
        elif mark == "<#":
            end = text.find("#>", at) + 2
            if end < at:
                return
            yield found.start(), end
            at = end
        elif mark == "#" and escaped != found.start() and text[found.start() - 1 : found.start()] in _BEFORE_A_WORD:
            at = _line_end(text, at)
            yield found.start(), at
        elif mark in ("#", "--%"):
            end = _line_end(text, at)
            if _TELLING.search(text, at, end):
                return
            at = end
        elif (at := around.after_quote(mark, text, at)) < 0:
            return


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

    def after_quote(self, mark: str, text: str, at: int) -> int:
        """Where it goes on after an opening quote: inside, or behind what nothing can stand in; -1 without an end."""
        if mark.strip("@ \t\r\n") in _DOUBLE:
            self.enter(_STRING if mark[0] != "@" else _DOCUMENT)
            return at - (mark[0] == "@")  # the end of a here-string may stand on its next line
        closing = _SINGLE_END.match(text, at) if mark[0] != "@" else _SINGLE_DOCUMENT_END.search(text, at - 1)
        return -1 if closing is None else closing.end()

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


def _line_end(text: str, at: int) -> int:
    found = _LINE_END.search(text, at)
    return found.start() if found is not None else len(text)
