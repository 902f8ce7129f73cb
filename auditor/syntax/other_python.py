"""Python that this interpreter's parser refuses, since it is of another version, as a syntax tree of this one.

`ast.parse` reads the Python it runs on, and what runs a tool may be newer or older: one f-string of 3.12 or one
``print`` of 2 would else hide a whole file from the engine. tree-sitter reads all of them, so its tree tells what to
put differently; lines stay where they are. Expressions of f-strings are read by themselves and put back, since their
quotes may be those of the string.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from skillkeep.auditor.syntax.grammars import UnparsedError, bare_tree

if TYPE_CHECKING:
    from skillkeep.auditor.syntax.grammars import Node, Point

__all__ = ["python_tree"]

_MOST_LEFT_OUT: Final = 16  # statements; each costs a parse of all
_MOST_LOST: Final = 3  # of so many lines with something on them, one at most
_LONGEST_STRAY: Final = 100  # bytes of what belongs to nothing and is taken out
_OLD_NUMBER: Final = re.compile(rb"0*(?:([0-7]+)|[1-9]\d*|0[xXbBoO]\w+?)[lL]?", re.ASCII)
_QUOTE: Final = re.compile(rb"[\"'`]")
_BEHIND_EXPRESSION: Final = frozenset({"=", "type_conversion", "format_specifier", "}"})
_PASS: Final = b"pass"


def python_tree(text: str) -> tuple[ast.Module, tuple[int, ...]]:
    """The syntax tree of `text`, and the lines of what was left out of it, since no version of Python reads it.

    Raises what `ast.parse` does, for text of which too little can be read.
    """
    try:
        return _plain(text), ()
    except SyntaxError as refused:
        try:
            return _translated(text)
        except (UnparsedError, SyntaxError):
            raise refused from None


def _plain(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def _translated(text: str) -> tuple[ast.Module, tuple[int, ...]]:
    data = text.encode()
    edits = _Edits(data)
    edits.all_of(bare_tree("python", data))
    data, left_out = edits.done(), edits.left_out
    while True:
        try:
            tree = _plain(data.decode())
        except SyntaxError as error:
            line = error.lineno or 1
            shorter = _without(data, line)
            if shorter is None or len(left_out) >= _MOST_LEFT_OUT:
                raise
            data = shorter
            left_out.append(line)
        else:
            if len(set(left_out)) * _MOST_LOST > len(text.split("\n")) - text.count("\n\n"):
                raise UnparsedError("it is no Python")
            if edits.held:
                _Filling(edits.held).visit(tree)
            return tree, tuple(left_out)


@dataclass
class _Edits:
    """What is to be put differently in `data`, as ``start: (end, bytes)``.

    `held` are expressions by their names, `left_out` the lines of what is no Python.
    """

    data: bytes
    at: dict[int, tuple[int, bytes]] = field(default_factory=dict)
    held: dict[str, _Held] = field(default_factory=dict)
    left_out: list[int] = field(default_factory=list)

    def done(self) -> bytes:
        """`data` with all of it."""
        parts, last = [], 0
        for start, (end, new) in sorted(self.at.items()):
            if start >= last:
                parts += [self.data[last:start], new]
                last = end
        return b"".join((*parts, self.data[last:]))

    def all_of(self, root: Node) -> None:
        """Note what every node below `root` needs; depth costs no recursion."""
        waiting = [root]
        while waiting:
            node = waiting.pop()
            handler = _HANDLERS.get(node.type)
            waiting.extend(node.children if handler is None else handler(self, node))

    def replace(self, start: int, end: int, new: bytes) -> None:
        """Put `new` there. Line ends that go with the old come back as joined lines."""
        lines = self.data.count(b"\n", start, end) - new.count(b"\n")
        self.at[start] = (end, new + b"\\\n" * lines)

    def insert(self, place: int, new: bytes) -> None:
        """Put `new` before what stands there."""
        end, old = self.at.get(place, (place, b""))
        self.at[place] = (end, new + old)

    def name_for(self, start: int, end: int, place: Point) -> bytes:
        """A name that the text has not, for the expression that stands there."""
        name = f"{self._prefix}{len(self.held)}"
        self.held[name] = _Held(self.data[start:end].decode(), place.row + 1, place.column)
        return name.encode()

    @cached_property
    def _prefix(self) -> str:
        prefix = "held_"
        while prefix.encode() in self.data:
            prefix += "_"
        return prefix


@dataclass(frozen=True)
class _Held:
    """An expression's source, and its place as `ast` counts: lines from 1, columns in bytes from 0."""

    source: str
    line: int
    column: int

    def tree(self) -> ast.expr | None:
        """Its syntax tree, at its place."""
        try:
            (statement,) = python_tree(f"({self.source}\n)")[0].body
        except (SyntaxError, ValueError):
            return None
        for node in ast.walk(statement):
            if isinstance(node, ast.expr):
                node.col_offset += self.column - 1 if node.lineno == 1 else 0
                node.end_col_offset = (node.end_col_offset or 0) + (self.column - 1 if node.end_lineno == 1 else 0)
                node.lineno += self.line - 1
                node.end_lineno = (node.end_lineno or 1) + self.line - 1
        return statement.value if isinstance(statement, ast.Expr) else None


class _Filling(ast.NodeTransformer):
    """Puts the expressions where their names stand."""

    def __init__(self, held: dict[str, _Held]) -> None:
        self._held = held

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """The expression of that name."""
        held = self._held.get(node.id)
        return (held.tree() if held else None) or node


def _without(data: bytes, line: int) -> bytes | None:
    """`data` without the innermost statement of a line; None when there is none to leave out."""
    node = _statement(bare_tree("python", data), line - 1)
    if node is None:
        start = sum(map(len, data.splitlines(keepends=True)[: line - 1]))
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        return data[:start] + data[end:] if data[start:end].strip() else None
    old = data[node.start_byte : node.end_byte]
    new = _PASS + b"\n" * old.count(b"\n")
    return None if old.strip() == _PASS else data[: node.start_byte] + new + data[node.end_byte :]


def _statement(root: Node, row: int) -> Node | None:
    found, node = None, root
    while True:
        inner = [each for each in node.named_children if each.start_point.row <= row <= each.end_point.row]
        if not inner:
            return found
        if node.type in {"module", "block"} and not inner[0].is_error:
            found = inner[0]
        node = inner[0]


def _string(edits: _Edits, node: Node) -> Sequence[Node]:
    opening = node.children[0]
    start = edits.data[opening.start_byte : opening.end_byte]
    quote = _QUOTE.search(start)
    prefix = start[: quote.start()].lower() if quote else b""
    if start == b"`":
        edits.replace(opening.start_byte, opening.end_byte, b"repr(")
        edits.replace(node.children[-1].start_byte, node.children[-1].end_byte, b")")
    elif b"t" in prefix:
        edits.replace(opening.start_byte, opening.end_byte, start.lower().replace(b"t", b"f"))
    elif b"u" in prefix and b"r" in prefix:
        edits.replace(opening.start_byte, opening.end_byte, start.lower().replace(b"u", b""))
    joined = b"\n" if len(start) - len(prefix) > 1 else b"" if b"r" in prefix else b"\\\n"
    for part in _fields(node):
        _field(edits, part, joined)
    return ()


def _fields(node: Node) -> Iterator[Node]:
    for child in node.named_children:
        if child.type in {"interpolation", "format_expression"}:
            yield child
        if child.type in {"interpolation", "format_specifier"}:
            yield from _fields(child)


def _field(edits: _Edits, node: Node, joined: bytes) -> None:
    opening = node.children[0]
    behind = next((child for child in node.children[1:] if child.type in _BEHIND_EXPRESSION), None)
    if opening.type != "{" or behind is None:
        return
    start, end = opening.end_byte, behind.start_byte
    lines = edits.data.count(b"\n", start, end)
    edits.at[start] = (end, edits.name_for(start, end, opening.end_point))
    if lines and joined:
        edits.insert(node.end_byte, joined * lines)


def _alias(edits: _Edits, node: Node) -> Sequence[Node]:
    """``type X[T] = int`` is ``X = int``."""
    keyword, left = node.children[0], node.child_by_field_name("left")
    if left is None:
        return node.children
    edits.replace(keyword.start_byte, left.start_byte, b"")
    for child in left.named_children:
        for inner in child.named_children if child.type == "generic_type" else ():
            if inner.type == "type_parameter":
                edits.replace(inner.start_byte, inner.end_byte, b"")
    return node.children[2:]


def _definition(edits: _Edits, node: Node) -> Sequence[Node]:
    parameters = node.child_by_field_name("type_parameters")
    if parameters is None:
        return node.children
    edits.replace(parameters.start_byte, parameters.end_byte, b"")
    return [child for child in node.children if child != parameters]


def _except(edits: _Edits, node: Node) -> Sequence[Node]:
    """``except A, B`` is of 3.14, and of 2 with another meaning; what is run is the same."""
    values = node.children_by_field_name("value")
    if len(values) > 1:
        edits.insert(values[0].start_byte, b"(")
        edits.insert(values[-1].end_byte, b")")
    return node.children


def _print(edits: _Edits, node: Node) -> Sequence[Node]:
    if not any(child.type == "chevron" for child in node.named_children):
        edits.replace(node.children[0].start_byte, node.children[0].end_byte, b"print(")
        edits.insert(node.end_byte, b")")
    return node.children


def _exec(edits: _Edits, node: Node) -> Sequence[Node]:
    """``exec code in names`` is ``exec(code, names)``."""
    edits.replace(node.children[0].start_byte, node.children[0].end_byte, b"exec(")
    for child in node.children:
        if child.type == "in":
            edits.replace(child.start_byte, child.end_byte, b",")
    edits.insert(node.end_byte, b")")
    return node.children


def _raise(edits: _Edits, node: Node) -> Sequence[Node]:
    for child in node.named_children:
        if child.type == "expression_list":
            edits.insert(child.start_byte, b"(")
            edits.insert(child.end_byte, b")")
    return node.children


def _compared(edits: _Edits, node: Node) -> Sequence[Node]:
    for child in node.children:
        if child.type == "<>":
            edits.replace(child.start_byte, child.end_byte, b"!=")
    return node.children


def _number(edits: _Edits, node: Node) -> Sequence[Node]:
    """``0755`` and ``10L`` are of 2."""
    text = edits.data[node.start_byte : node.end_byte]
    number = _OLD_NUMBER.fullmatch(text)
    if number and (text[-1:] in b"lL" or number[1]):
        octal = text.startswith(b"0") and number[1]
        edits.replace(node.start_byte, node.end_byte, b"0o" + octal if octal else text.rstrip(b"lL"))
    return ()


def _parameters(edits: _Edits, node: Node) -> Sequence[Node]:
    """``def f(a, (b, c))`` is of 2."""
    for child in node.named_children:
        if child.type == "tuple_pattern":
            name = edits.name_for(child.start_byte, child.end_byte, child.start_point)
            edits.replace(child.start_byte, child.end_byte, name)
    return [child for child in node.children if child.type != "tuple_pattern"]


def _comprehension(edits: _Edits, node: Node) -> Sequence[Node]:
    """``[*row for row in rows]`` is of 3.15."""
    body = node.child_by_field_name("body")
    if body is not None and body.type in {"list_splat", "dictionary_splat"}:
        edits.replace(body.start_byte, body.children[0].end_byte, b"")
    return node.children


def _stray(edits: _Edits, node: Node) -> Sequence[Node]:
    """What belongs to nothing goes, with the blanks behind it."""
    if node.end_byte - node.start_byte > _LONGEST_STRAY or node.start_point.row != node.end_point.row:
        return node.children
    end = node.end_byte
    while edits.data[end : end + 1] in {b" ", b"\t"}:
        end += 1
    edits.replace(node.start_byte, end, b"")
    edits.left_out.append(node.start_point.row + 1)
    return ()


# What each kind of node needs; the answer are the nodes below it that are still to be looked at.
_HANDLERS: Final = {
    "string": _string,
    "type_alias_statement": _alias,
    "function_definition": _definition,
    "class_definition": _definition,
    "except_clause": _except,
    "print_statement": _print,
    "exec_statement": _exec,
    "raise_statement": _raise,
    "comparison_operator": _compared,
    "integer": _number,
    "parameters": _parameters,
    "list_comprehension": _comprehension,
    "set_comprehension": _comprehension,
    "generator_expression": _comprehension,
    "ERROR": _stray,
}
