"""Perl and PHP with their texts blanked: every character stays where it was, and of texts only variables are left."""

from __future__ import annotations

import re
from typing import Final

from skillkeep.auditor.compiled import compiled

__all__ = ["plain", "without"]

_PHP: Final = compiled(
    r"(?P<note>//[^\n]*|#(?!\[)[^\n]*|/\*.*?(?:\*/|\Z))"
    r"|(?P<here><<<[ \t]*[\"']?(?P<end>\w+)[\"']?\n.*?\n[ \t]*(?P=end)\b)"
    r"|(?P<single>'(?:[^'\\]|\\.)*')|(?P<double>\"(?:[^\"\\]|\\.)*\")",
    re.DOTALL,
)
_PERL: Final = compiled(
    r"(?P<note>(?:^|(?<=[\s;}]))\#[^\n]*|^=[a-z][^\n]*\n.*?(?:^=cut\b|\Z)|^__(?:END|DATA)__\n.*)"
    r"|(?P<here><<[ \t]*[\"']?(?P<end>[A-Z_]{2,})[\"']?[^\n]*\n.*?\n(?P=end)$)"
    r"|(?P<single>(?<!\w)'(?:[^'\\\n]|\\.)*')|(?P<double>\"(?:[^\"\\\n]|\\.)*\")",
    re.DOTALL | re.MULTILINE,
)
_OUTSIDE: Final = compiled(r"(?:\A|\?>)(?:(?!<\?(?:php|=)).)*(?:<\?(?:php|=)|\Z)", re.DOTALL)
_KEPT: Final = compiled(r"HTTP_\w+|php://\w+|https?://\S*")
_NAMES: Final = compiled(r"(?<!\\)[$@]\{?\$?(\w+)")
_MEMBER: Final = compiled(r"(?<=[\w>$@%\]])\{([^{};\n]*)\}")


def plain(text: str, *, php: bool) -> str:
    """`text`, as long as before, without notes, markup, and what texts say beside their variables and addresses."""
    if php:
        text = _OUTSIDE.sub(lambda found: _blank(found[0]), text)
    text = (_PHP if php else _PERL).sub(_blanked, text)
    if php:
        return text
    for _ in range(2):  # braces of a member begin no block
        text = _MEMBER.sub(r"[\1]", text)
    return text


def without(text: str, calls: re.Pattern[str]) -> str:
    """`text`, as long as before, without these calls and their arguments."""
    at = 0
    while found := calls.search(text, at):
        depth, at = 0, found.end() - 1
        while at < len(text):
            depth += (text[at] == "(") - (text[at] == ")")
            at += 1
            if depth == 0:
                break
        text = text[: found.start()] + " " * (at - found.start()) + text[at:]
    return text


def _blanked(found: re.Match[str]) -> str:
    whole = found[0]
    if found["note"] is not None:
        return _blank(whole)
    if found["here"] is not None:
        return _only_names(whole)
    inner = whole[1:-1]
    if _KEPT.match(inner):
        return whole
    return whole[0] + (_blank(inner) if found["single"] is not None else _only_names(inner)) + whole[-1]


def _only_names(text: str) -> str:
    kept = list(_blank(text))
    for found in _NAMES.finditer(text):
        kept[found.start()] = text[found.start()]
        kept[found.start(1) - 1 : found.end()] = text[found.start(1) - 1 : found.end()]
        if text[found.start(1) - 1] == "{":
            kept[found.start(1) - 1] = "$"
            kept[found.start()] = " "
    return "".join(kept)


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
