"""Splits JavaScript, TypeScript and JSX into tokens; comments vanish, regular expressions and templates are known.

Where the language needs a parser to tell (a slash after ``)``), the guess costs at most the rest of a line: a quote
without its partner before the line's end is an ordinary character. Every character is looked at a bounded number
of times. Reference: ECMA-262, Lexical Grammar.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

__all__ = ["TemplatePart", "Tokens", "TooDeepError", "tokenize", "unescape"]

_DEPTH: Final = 40
_TOKEN: Final = re.compile(
    r"(?P<space>[\s\ufeff]+)"
    r"|(?P<line>//[^\n]*)"
    r"|(?P<hash>\A\#![^\n]*)"
    r"|(?P<name>(?:[^\W\d]|\$|\\u[0-9a-fA-F]{4}|\\u\{[0-9a-fA-F]{1,6}\})(?:\w|\$|\\u[0-9a-fA-F]{4}|\\u\{[0-9a-fA-F]{1,6}\})*)"
    r"|(?P<number>\d(?:[\w.])*|\.\d\w*)"
    r"|(?P<punct>\?\.(?!\d)|=>|\*\*|\.\.\.|[=!]==?|&&|\|\||\?\?|[^\w\s])"
)
_ESCAPE: Final = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}|([0-7]{1,3})|(\r?\n)|(.))", re.DOTALL
)
_SIMPLE: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_REGEX: Final = re.compile(r"/(?![*/])(?:[^\\/\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*+\])++/[a-z]*")
_PARTNERS: Final = {"(": ")", "[": "]", "{": "}"}
_BEFORE_REGEX: Final = frozenset(
    {
        "return",
        "typeof",
        "case",
        "in",
        "of",
        "delete",
        "void",
        "throw",
        "new",
        "else",
        "do",
        "await",
        "yield",
        "instanceof",
    }
)


class TooDeepError(ValueError):
    """Templates are nested deeper than the tokenizer follows."""


TemplatePart = "str | tuple[int, int]"


@dataclass(eq=False)
class Tokens:
    """Parallel lists. `kinds`: ``name``, ``number``, ``string``, ``template``, ``regex`` or ``punct``.

    `values` of strings are unescaped. `parts` holds, for a template's index, its texts and the token ranges between
    them; those tokens follow the template token.
    """

    kinds: list[str] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    parts: dict[int, list[str | tuple[int, int]]] = field(default_factory=dict)
    after: dict[int, int] = field(default_factory=dict)  # a template's index -> the index after its inner tokens
    closing: dict[int, int] = field(default_factory=dict)  # an opening bracket's index -> its partner's
    damaged: bool = False
    looks: int = 1  # how many tokens may still be looked at to find the ends of expressions

    def next(self, at: int) -> int:
        """The index after the token at `at`: after its partner for a bracket, after its inside for a template."""
        if self.kinds[at] == "punct":
            return self.closing.get(at, at) + 1
        return self.after.get(at, at + 1)

    def pair(self) -> None:
        """Fill `closing`. A bracket without its partner has none."""
        self.looks = 10_000 + 20 * len(self.kinds)
        waiting: list[int] = []
        for at, value in enumerate(self.values):
            if self.kinds[at] != "punct":
                continue
            if value in _PARTNERS:
                waiting.append(at)
            elif value in ")]}" and waiting and _PARTNERS[self.values[waiting[-1]]] == value:
                self.closing[waiting.pop()] = at

    def add(self, kind: str, value: str, start: int, end: int) -> int:
        """Append a token; its index."""
        self.kinds.append(kind)
        self.values.append(value)
        self.starts.append(start)
        self.ends.append(end)
        return len(self.kinds) - 1

    def is_punct(self, index: int, value: str) -> bool:
        """True when the token at `index` is this punctuation."""
        return index < len(self.kinds) and self.kinds[index] == "punct" and self.values[index] == value

    def is_name(self, index: int, value: str) -> bool:
        """True when the token at `index` is this name or keyword."""
        return index < len(self.kinds) and self.kinds[index] == "name" and self.values[index] == value


def unescape(text: str) -> str:
    """The value of a string literal's inside."""
    return _ESCAPE.sub(_unescaped, text) if "\\" in text else text


def _unescaped(match: re.Match[str]) -> str:
    digits = match[1] or match[2] or match[3]
    if digits:
        point = int(digits, 16)
        return chr(point) if point < 0x110000 and not 0xD800 <= point < 0xE000 else "\ufffd"
    if match[4]:
        return chr(int(match[4], 8))
    return "" if match[5] else _SIMPLE.get(match[6], match[6])


class _Lexer:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = Tokens()
        self.failed: dict[str, int] = {}  # quote or slash -> end of the line on which it has no partner

    def run(self, at: int, depth: int) -> int:
        """Read tokens from `at`; inside a template (`depth` > 0) up to the closing brace. The next offset."""
        if depth > _DEPTH:
            raise TooDeepError
        text, tokens, braces = self.text, self.tokens, 0
        while at < len(text):
            char = text[at]
            if char in "'\"":
                at = self._string(at, char)
            elif char == "`":
                at = self._template(at, depth)
            elif char == "/" and (end := self._slash(at)) is not None:
                at = end
            else:
                found = _TOKEN.match(text, at)
                if found is None:
                    at += 1
                    continue
                kind = found.lastgroup or "punct"
                if depth and char == "{":
                    braces += 1
                elif depth and char == "}":
                    if braces == 0:
                        return at
                    braces -= 1
                if kind in {"name", "number", "punct"}:
                    value = unescape(found[0]) if kind == "name" else found[0]
                    tokens.add(kind, value, at, found.end())
                at = found.end()
        return at

    def _string(self, at: int, quote: str) -> int:
        if at < self.failed.get(quote, -1):
            self.tokens.add("punct", quote, at, at + 1)
            return at + 1
        text, end = self.text, at + 1
        while end < len(text):
            char = text[end]
            if char == quote:
                self.tokens.add("string", unescape(text[at + 1 : end]), at, end + 1)
                return end + 1
            if char == "\n":
                break
            end += 3 if text.startswith("\\\r\n", end) else 2 if char == "\\" else 1
        self.failed[quote] = end
        self.tokens.add("punct", quote, at, at + 1)
        return at + 1

    def _slash(self, at: int) -> int | None:
        """The end of a comment or regular expression at `at`; None for a division."""
        text = self.text
        if text.startswith("/*", at):
            end = text.find("*/", at + 2)
            self.tokens.damaged = self.tokens.damaged or end < 0
            return len(text) if end < 0 else end + 2
        if text.startswith("//", at) or at < self.failed.get("/", -1) or not self._regex_allowed():
            return None
        found = _REGEX.match(text, at)
        if found is None:
            end = text.find("\n", at)
            self.failed["/"] = len(text) if end < 0 else end
            return None
        self.tokens.add("regex", found[0], at, found.end())
        return found.end()

    def _regex_allowed(self) -> bool:
        tokens = self.tokens
        if not tokens.kinds:
            return True
        kind, value = tokens.kinds[-1], tokens.values[-1]
        if kind == "name":
            return value in _BEFORE_REGEX
        return kind == "punct" and value not in {")", "]", "}"}

    def _template(self, at: int, depth: int) -> int:
        text, tokens = self.text, self.tokens
        index = tokens.add("template", "", at, at + 1)
        parts: list[str | tuple[int, int]] = []
        start = at = at + 1
        while at < len(text) and text[at] != "`":
            if text[at] == "\\":
                at += 2
            elif text.startswith("${", at):
                parts.append(unescape(text[start:at]))
                first = len(tokens.kinds)
                at = self.run(at + 2, depth + 1) + 1
                parts.append((first, len(tokens.kinds)))
                start = at
            else:
                at += 1
        tokens.damaged = tokens.damaged or at >= len(text)
        parts.append(unescape(text[start:at]))
        tokens.parts[index] = parts
        tokens.ends[index] = min(at + 1, len(text))
        tokens.after[index] = len(tokens.kinds)
        return at + 1


def tokenize(text: str) -> Tokens:
    """The tokens of `text`. Raises `TooDeepError`."""
    lexer = _Lexer(text)
    lexer.run(0, 0)
    lexer.tokens.pair()
    return lexer.tokens
