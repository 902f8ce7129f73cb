"""Where a notebook's cells stand in its file: each line of a source with its line and column in the JSON text."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.interface import Mark

__all__ = ["source_marks"]

_TOKEN: Final = compiled(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]]', re.DOTALL)
_KEY: Final = compiled(r"[ \t\r\n]*:")
_ESCAPE: Final = compiled(r"\\(?:u[0-9a-fA-F]{4}|.)", re.DOTALL)
_CELL, _SOURCE = 3, 4  # depth inside a cell's object, and inside the list of its source

Piece = tuple[int, str]  # offset of a JSON string's first character, and the string as it is written


def source_marks(text: str) -> list[tuple[str, tuple[Mark, ...]]]:
    """For each cell of the notebook `text` the source as it is read there, and where each of its lines stands.

    A caller compares the source with its own: JSON lets a key occur twice, and readers differ in which one counts.
    """
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    return [_marked(pieces, starts) for pieces in _sources(text)]


def _sources(text: str) -> Iterator[list[Piece]]:
    """The strings of each cell's ``source``, the last one when there are several."""
    stack: list[str] = []
    keys = ["", "", "", "", ""]
    pieces: list[Piece] = []
    for token in _TOKEN.finditer(text):
        kind, depth = token[0][0], len(stack)
        if kind in "{[":
            stack.append(kind)
            if depth == _CELL and keys[_CELL] == "source":
                pieces = []
            keys[min(depth + 1, _SOURCE)] = ""
        elif kind in "}]":
            if stack:
                stack.pop()
            if depth == _CELL and _in_cells(stack, keys):
                yield pieces
                pieces = []
        elif depth <= _CELL and stack and stack[-1] == "{" and _KEY.match(text, token.end()):
            keys[depth] = token[0][1:-1]
        elif keys[_CELL] == "source" and _in_cells(stack, keys) and depth in {_CELL, _SOURCE}:
            piece = (token.start() + 1, token[0][1:-1])
            pieces = [*pieces, piece] if depth == _SOURCE and stack[-1] == "[" else [piece]


def _in_cells(stack: list[str], keys: list[str]) -> bool:
    return stack[:2] == ["{", "["] and keys[1] == "cells"


def _marked(pieces: list[Piece], starts: list[int]) -> tuple[str, tuple[Mark, ...]]:
    marks: list[Mark] = []
    texts: list[str] = []
    fresh = True

    def mark(offset: int) -> None:
        line = bisect_right(starts, offset)
        marks.append(Mark(line, offset - starts[line - 1] + 1, len(marks) + 1))

    for offset, written in pieces:
        if fresh and written:
            mark(offset)
        fresh = fresh and not written
        for escape in _ESCAPE.finditer(written):
            if escape[0] in {"\\n", "\\u000a", "\\u000A"}:
                fresh = escape.end() == len(written)
                if not fresh:
                    mark(offset + escape.end())
        texts.append(_decoded(written))
    return "".join(texts), tuple(marks)


def _decoded(written: str) -> str:
    try:
        return str(json.loads(f'"{written}"', strict=False))
    except ValueError:
        return ""
