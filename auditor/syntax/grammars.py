"""The grammars and the parser behind them. The only importer of tree_sitter and its languages.

A language is loaded when its first text arrives. The C library keeps its own stacks on the heap, so nesting alone does
not harm it; what ambiguity costs is bounded here by CPU time and memory (some 10 kB need seconds otherwise).
Reference: https://tree-sitter.github.io/tree-sitter/using-parsers/
"""

from __future__ import annotations

import resource
import sys
import time
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Point

__all__ = ["GRAMMARS", "Node", "Point", "UnparsedError", "bare_tree"]

GRAMMARS: Final = ("javascript", "typescript", "tsx", "shell", "powershell", "ruby", "python")
MOST_BYTES: Final = 8 << 20
_SECONDS: Final = 1.0
_SECONDS_A_BYTE: Final = 1e-6  # ordinary code takes a sixth of it
_MEMORY_KIB: Final = 256 << 10
_WINDOW: Final = 1 << 14  # bytes
_EXACT: Final = 1 << 6  # bytes; of fewer there is a view of each size


class UnparsedError(Exception):
    """No tree: the text is too large, or its structure costs too much. The message is a reason in plain words."""


def bare_tree(grammar: str, data: bytes) -> Node:
    """The root of the tree of `data` (UTF-8) in one of `GRAMMARS`. Raises `UnparsedError`."""
    import tree_sitter

    if len(data) > MOST_BYTES:
        raise UnparsedError("it is too large to be parsed")
    meter = _Meter(len(data))
    parser = tree_sitter.Parser(_language(grammar))
    window = _WINDOWS.pop() if _WINDOWS else _Window()
    try:
        return parser.parse(partial(window.of, data), progress_callback=meter.spent).root_node
    except ValueError as error:  # what the binding raises for a parse that was stopped
        raise UnparsedError("its structure is too costly to be parsed") from error
    finally:
        _WINDOWS.append(window)


class _Window:
    """What a parser reads a text through, piece by piece.

    The binding never lets go of a buffer that it was handed (0.26.1 takes a reference for each call). So it is only
    ever handed the same few: what it keeps does not grow with what was parsed.
    """

    def __init__(self) -> None:
        whole = memoryview(bytearray(_WINDOW))
        sizes = (*range(_EXACT), *(1 << bit for bit in range(_EXACT.bit_length() - 1, _WINDOW.bit_length())))
        self._views = {size: whole[:size] for size in sizes}

    def of(self, data: bytes, offset: int, _point: object) -> memoryview:
        """The bytes from `offset` on, at most so many as there is a view of: never less than a character."""
        piece = data[offset : offset + _WINDOW]
        size = len(piece) if len(piece) < _EXACT else 1 << (len(piece).bit_length() - 1)
        view = self._views[size]
        view[:] = piece[:size]
        return view


_WINDOWS: Final[list[_Window]] = []  # that no parser reads through


class _Meter:
    """Stops a parse that takes more CPU time or memory than its size explains."""

    def __init__(self, size: int) -> None:
        self._end = time.thread_time() + _SECONDS + _SECONDS_A_BYTE * size
        self._ceiling = _peak() + _MEMORY_KIB

    def spent(self, _offset: int, _damaged: bool) -> bool:
        """Asked at each hundred steps of the parser; True stops it."""
        return time.thread_time() > self._end or _peak() > self._ceiling


def _peak() -> int:
    """The most memory this process has used so far, in KiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak >> 10 if sys.platform == "darwin" else peak  # macOS counts bytes


@cache
def _language(grammar: str) -> Language:
    import tree_sitter

    return tree_sitter.Language(_pointer(grammar))


def _pointer(grammar: str) -> Any:
    if grammar == "javascript":
        import tree_sitter_javascript

        return tree_sitter_javascript.language()
    if grammar in {"typescript", "tsx"}:
        import tree_sitter_typescript

        is_plain = grammar == "typescript"
        return tree_sitter_typescript.language_typescript() if is_plain else tree_sitter_typescript.language_tsx()
    if grammar == "shell":
        import tree_sitter_bash

        return tree_sitter_bash.language()
    if grammar == "powershell":
        import tree_sitter_powershell

        return tree_sitter_powershell.language()
    if grammar == "python":
        import tree_sitter_python

        return tree_sitter_python.language()
    import tree_sitter_ruby

    return tree_sitter_ruby.language()
