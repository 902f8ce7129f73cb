"""What bash reads and the grammar of bash does not, in a spelling of the same length that the grammar reads.

Only the shape of the tree comes from it: the texts of its nodes are taken from what was handed in. So a repair may
change what a value says, and never where a command, a pipe or a quote begins or ends.
Reference: https://www.gnu.org/software/bash/manual/bash.html#Shell-Expansions
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Final

__all__ = ["repaired"]

_HERE_TEXT: Final = re.compile(
    rb"(?<![<\\w])<<-?[ \t]{0,9}[\"']?(?P<mark>\w{1,40})[\"']?(?=[ \t]*$|[ \t]*[|>&;)]|[ \t]+\w)", re.MULTILINE
)
_MOST_TEXTS: Final = 200
_BACKSLASH: Final = re.compile(rb"(?<=\n)\\(?=[A-Za-z])")
_DEFAULT: Final = re.compile(rb"(?<![\\$])(\$\{\w{1,60}:?[-+=?])([^{}\"`$\\\n]{0,300})\}")
_TAKEN_OFF: Final = re.compile(rb"(?<![\\$])(\$\{\w{1,60}(?:##?|%%?))(\\?[\[\](){]|\\\})(?=\})")
_SUM: Final = re.compile(rb"(?<![\\$])\$\(\([\w \t*/+%()-]{1,200}\)\)")
_MATCH: Final = re.compile(
    rb"(?:^|[;&|({!]|\b(?:if|while|until|elif|then|do))[ \t]*\[\[[ \t]+\"?\$\{?\w{1,60}\}?\"?[ \t]+=~[ \t]+"
    rb"(?P<wanted>(?:[^\s\"'`<>$\\]|\\[^\s\"'`]|\$(?=[)|\s])){1,300})(?=[ \t]+\]\])",
    re.MULTILINE,
)
_ESCAPED_BRACKET: Final = re.compile(rb"(?<!\\)\\\(")
_ZSH_FILE: Final = re.compile(rb"(?<![\\$])\$\{\(%\):-%[xN]\}")
_ODD: Final = re.compile(rb"[^\w']")  # a quote stays one, so that what it encloses does not change


def repaired(data: bytes) -> bytes:
    """`data`, a text that the grammar did not read whole, just as long."""
    data = _here_texts(data) if b"<<" in data else data
    data = data.replace(b"<<<", b"<  ")
    if b"${" in data:
        data = _TAKEN_OFF.sub(lambda found: found[1] + b"_" * len(found[2]), _DEFAULT.sub(_plain, data))
        data = _ZSH_FILE.sub(lambda found: b"$" + b"_" * (len(found[0]) - 1), data)
    data = _SUM.sub(_without_brackets, data) if b"$((" in data else data
    data = _MATCH.sub(_as_word, data) if b"=~" in data else data
    return _ESCAPED_BRACKET.sub(b"__", data) if b"\\(" in data else data


def _here_texts(data: bytes) -> bytes:
    """Here-documents in which no line begins as the end does, or with a backslash: the grammar stops at both."""
    for found in islice(_HERE_TEXT.finditer(data), _MOST_TEXTS):
        mark = found["mark"]
        body = data.find(b"\n", found.end())
        end = re.compile(rb"\n\t*" + mark + rb"(?=\n|\Z)").search(data, body) if body >= 0 else None
        if end is None:
            continue
        begun = re.compile(rb"(?<=\n)(\t*)" + mark[:1] + rb"(?=" + mark[1:] + rb")")
        told = begun.sub(rb"\1" + (b"x" if mark[:1] != b"x" else b"y"), data[body : end.start() + 1])
        data = data[:body] + _BACKSLASH.sub(b"_", told) + data[end.start() + 1 :]
    return data


def _plain(found: re.Match[bytes]) -> bytes:
    """``${name:-a|b}``: the operator stays, and what stands in for the value is one word."""
    return found[1] + _ODD.sub(b"_", found[2]) + b"}"


def _without_brackets(found: re.Match[bytes]) -> bytes:
    return b"$((" + found[0][3:-2].translate(bytes.maketrans(b"()", b"  ")) + b"))"


def _as_word(found: re.Match[bytes]) -> bytes:
    """``[[ $name =~ \\$\\{(a|b)\\} ]]``: what is looked for is a word."""
    return found[0][: found.start("wanted") - found.start()] + b"_" * len(found["wanted"])
