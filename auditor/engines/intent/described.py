"""Which texts of a program an agent reads as the description of a tool: what a server says its tools are for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Final

from skillkeep.auditor.compiled import compiled

__all__ = ["DESCRIBED", "described"]

DESCRIBED: Final = "description of a tool"
_BEFORE: Final = 400
_SERVES: Final = compiled(
    r"(?i)\bmcp\b|fastmcp|modelcontextprotocol|list_?tools|register_?tool|add_?tool|input_?schema|\.tool\(|@tool\b"
    r"|\bTool\(|function_declarations|\"type\": ?\"function\""
)
_SPOKEN: Final = (  # one of these is in what `_SERVES` matches, in lower case
    "mcp", "modelcontextprotocol", "listtools", "list_tools", "registertool", "register_tool", "addtool", "add_tool",
    "inputschema", "input_schema", ".tool(", "@tool", "tool(", "function_declarations", '"type":"function"',
    '"type": "function"',
)  # fmt: skip
_ALSO_LETTERS: Final = "\u0130\u0131\u017f\u212a"  # a pattern without case takes these for an i, an s and a k
_NAMED: Final = compiled(  # a key, a keyword, a constant, or the first arguments of a call
    r"(?:(?i:\b\w*(?:description|instructions))[\"']?\s*(?::\s*\w+\s*)?[:=]\s*|\.describe\(\s*|\bWithDescription\(\s*"
    r"|\.(?:tool|registerTool|addTool|prompt|registerPrompt)\(\s*[\"'`][\w./ -]{1,80}[\"'`]\s*,\s*)"
    r"[(\[{]?\s*[a-zA-Z]{0,2}\Z"
)
_DECORATED: Final = compiled(  # the text that a function begins with, whose decorator makes it a tool
    r"@(?:\w+\.)*(?:tool|prompt|resource)\b[^@]{0,200}?\bdef \w{1,80}\([^@]{0,400}:[ \t]*\n[ \t]*[a-zA-Z]{0,2}\Z"
)
_CALLED: Final = (".describe(", "WithDescription(", "ool(", "rompt(")  # what `_NAMED` matches has one of these,
_KEYS: Final = ("description", "instructions")  # or one of these in lower case
_JOINED: Final = compiled(r"[\s+.]*[a-zA-Z]{0,2}\Z")


def described(code: str, runs: Iterator[re.Match[str]]) -> Iterator[tuple[re.Match[str], bool]]:
    """Each of the texts `runs` of `code`, and whether it describes a tool.

    A text that is joined to one before it belongs to that. Only programs that speak of tools have any.
    """
    first = next(runs, None)
    if first is None:
        return
    if not _serves(code):
        yield from ((run, False) for run in chain((first,), runs))
        return
    end, before = 0, False
    for run in chain((first,), runs):
        start = run.start()
        near = code[max(end, start - _BEFORE) : start]
        before = (
            (before and bool(_JOINED.match(near)))
            or _is_named(code, max(0, start - _BEFORE), start)
            or _is_decorated(code, max(0, start - 2 * _BEFORE), start)
        )
        end = run.end()
        yield run, before


def _is_named(code: str, begin: int, end: int) -> bool:
    """True when a name of a description stands right before `end`. The pattern is asked where one of its words is."""
    window = code[begin:end]
    if window.isascii() and not any(call in window for call in _CALLED):
        plain = window.lower()
        if not any(key in plain for key in _KEYS):
            return False
    return _NAMED.search(code, begin, end) is not None


def _is_decorated(code: str, begin: int, end: int) -> bool:
    return code.find("@", begin, end) >= 0 and _DECORATED.search(code, begin, end) is not None


def _serves(code: str) -> bool:
    """True when `code` speaks of tools that a server has; where none of the words stands the pattern is not asked."""
    if code.isascii() or not any(letter in code for letter in _ALSO_LETTERS):
        plain = code.lower()
        if not any(word in plain for word in _SPOKEN):
            return False
    return _SERVES.search(code) is not None
