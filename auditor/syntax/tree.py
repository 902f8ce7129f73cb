"""One text as a syntax tree: which spans the grammar did not understand, and where a node stands in characters."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.interface import Context
from skillkeep.auditor.syntax.bash_repairs import repaired
from skillkeep.auditor.syntax.grammars import UnparsedError, bare_tree

if TYPE_CHECKING:
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["Syntax", "UnparsedError", "parse", "walk"]

_SURROGATE: Final = compiled("[\ud800-\udfff]")
_CLOSING_TAG: Final = compiled(r"</|/>")
_CONTINUATION: Final = bytes(range(0x80, 0xC0))  # bytes that do not begin a character in UTF-8
_STRIDE: Final = 1024
_MOST_ERRORS: Final = 1000


class Syntax:
    """The tree of `text`. Nodes count bytes of UTF-8; `span` and `source` turn them into characters.

    `errors` are the character spans that the grammar could not read or had to imagine, from left to right; a
    token that is missing has an empty span. Past a thousand, the last one covers the rest.
    `complete` is True when there are none. `grammar` names the one that read most.
    """

    def __init__(self, grammar: str, text: str, data: bytes, root: Node) -> None:
        """Made by `parse`: `data` is the UTF-8 of `text` with what cannot stand in it replaced."""
        self.grammar = grammar
        self.text = text
        self.root = root
        self._data = data
        self._ascii = len(data) == len(text)
        self._exact = "\0" not in text and not _SURROGATE.search(text)

    @property
    def complete(self) -> bool:
        """True when the grammar read every character."""
        return not self.root.has_error

    @cached_property
    def errors(self) -> tuple[tuple[int, int], ...]:
        """What was not read, as character spans."""
        found: list[tuple[int, int]] = []
        queue = [self.root] if self.root.has_error else []
        while queue:
            node = queue.pop()
            inner = [] if node.is_error else [child for child in reversed(node.children) if child.has_error]
            if inner:
                queue.extend(inner)
            else:
                found.append(self.span(node))
            if len(found) > _MOST_ERRORS:
                return (*found[:_MOST_ERRORS], (found[_MOST_ERRORS][0], len(self.text)))
        return tuple(found)

    def span(self, node: Node) -> tuple[int, int]:
        """The characters ``[start, end)`` of a node."""
        return self.offset(node.start_byte), self.offset(node.end_byte)

    def source(self, node: Node) -> str:
        """The text of a node, as it was handed in."""
        if self._ascii:
            return self.text[node.start_byte : node.end_byte]
        if self._exact:
            return self._data[node.start_byte : node.end_byte].decode()
        return self.text[self.offset(node.start_byte) : self.offset(node.end_byte)]

    def offset(self, byte: int) -> int:
        """The character at a byte offset."""
        if self._ascii:
            return byte
        block = byte // _STRIDE
        return self._blocks[block] + len(self._data[block * _STRIDE : byte].translate(None, _CONTINUATION))

    @cached_property
    def _blocks(self) -> list[int]:
        """How many characters begin before each block of bytes."""
        counts = [0]
        for start in range(0, len(self._data), _STRIDE):
            block = self._data[start : start + _STRIDE]
            counts.append(counts[-1] + len(block.translate(None, _CONTINUATION)))
        return counts


def parse(context: Context, text: str) -> Syntax:
    """The tree of `text`, which may be broken; of several grammars of one language the one that reads most.

    Lone surrogates and NUL stand in the tree as other characters of the same width. Raises `UnparsedError`.
    """
    data = _SURROGATE.sub("\ufffd", text).replace("\0", "\1").encode()
    best: Syntax | None = None
    for grammar in _grammars(context, text):
        syntax = Syntax(grammar, text, data, bare_tree(grammar, data))
        if syntax.complete:
            return syntax
        if best is None or _unread(syntax) < _unread(best):
            best = syntax
    if context is Context.SHELL and (told := repaired(data)) != data:
        syntax = Syntax(context.value, text, data, bare_tree(context.value, told))
        best = syntax if syntax.complete else best
    assert best is not None
    return best


def walk(node: Node) -> Iterator[Node]:
    """`node` and everything named below it, in the order of the text; depth costs no recursion."""
    queue = [node]
    while queue:
        node = queue.pop()
        yield node
        queue.extend(reversed(node.named_children))


def _grammars(context: Context, text: str) -> tuple[str, ...]:
    """What may read this text. Code called JavaScript is often TypeScript, and either may hold tags."""
    if context is Context.JAVASCRIPT:
        return ("javascript", "tsx", "typescript")
    if context is Context.TYPESCRIPT:
        return ("tsx", "typescript", "javascript") if _CLOSING_TAG.search(text) else ("typescript", "tsx", "javascript")
    if context in {Context.SHELL, Context.POWERSHELL, Context.RUBY}:
        return (context.value,)
    raise UnparsedError("no grammar reads it")


def _unread(syntax: Syntax) -> int:
    return sum(end - start + 1 for start, end in syntax.errors)
