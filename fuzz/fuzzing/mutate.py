"""Changes to inputs that keep them interesting: tokens of the field spliced in, pieces repeated, code still code."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from random import Random

from fuzzing.target import MOST_BYTES, examples

__all__ = ["mutated", "reshaped"]

TOKENS: tuple[bytes, ...] = (
    b"(", b")", b"[", b"]", b"{", b"}", b"'", b'"', b"`", b"$", b"\\", b";", b"|", b"&", b"<", b">", b"#", b"=", b".",
    b",", b":", b"\n", b"\t", b"\r\n", b"\0", b"\xff", b"\xfe", "\u202e".encode(), "\u200b".encode(), b"---\n",
    b"```", b"~~~", b"<!--", b"-->", b"$(", b"${", b"<<EOF\n", b"&&", b"\\\n", b"%00", b"\\x41", b"\\u0041", b"@'\n",
    b"\n'@", b"#!/bin/sh\n", b"# coding: utf-7\n", b"f'{", b"lambda:", b"=>", b"/*", b"*/", b"%w(", b"<<~A\n",
    b"!!python", b"&a", b"*a", b"0" * 5000, b"1e999", b"-1", b"\xff\xff\xff\xff", b"\0\0\0\0", b"PK\x03\x04",
    b"PK\x01\x02", b"PK\x05\x06", b"# coding: idna\n", b"stream\n", b"endstream", b"[[", b"{\"a\":", b"null",
    b"9" * 25, b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xc0\x80",
)  # fmt: skip


def mutated(data: bytes, chance: Random) -> bytes:
    """`data` after one to five random changes."""
    for _ in range(chance.randint(1, 5)):
        at, other = sorted((chance.randrange(len(data) + 1), chance.randrange(len(data) + 1)))
        data = chance.choice(_CHANGES)(data, at, other, chance)[:MOST_BYTES]
    return data


def _insert(data: bytes, at: int, _other: int, chance: Random) -> bytes:
    return data[:at] + chance.choice(TOKENS) * chance.choice([1, 1, 1, 3, 60]) + data[at:]


def _drop(data: bytes, at: int, _other: int, chance: Random) -> bytes:
    return data[:at] + data[at + chance.randint(1, 9) :]


def _repeat(data: bytes, at: int, other: int, chance: Random) -> bytes:
    piece = data[at : min(other, at + 400)]
    return data[:at] + piece * chance.choice([2, 2, 8, 40]) + data[other:]


def _byte(data: bytes, at: int, _other: int, chance: Random) -> bytes:
    return data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]


def _cut(data: bytes, at: int, other: int, _chance: Random) -> bytes:
    return data[:other] if at % 2 else data[at:]


_CHANGES: tuple[Callable[[bytes, int, int, Random], bytes], ...] = (
    _insert,
    _insert,
    _drop,
    _repeat,
    _byte,
    _byte,
    _cut,
)


def reshaped(data: bytes, chance: Random) -> bytes:
    """Python code with expressions exchanged and wrapped by those of our rules' examples; it still parses."""
    try:
        tree = _parsed(data.decode("utf-8"))
        for _ in range(chance.randint(1, 4)):
            tree = _Exchange(tree, chance).visit(tree)
        return ast.unparse(ast.fix_missing_locations(tree)).encode("utf-8", "replace")[:MOST_BYTES]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return mutated(data, chance)


def _parsed(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


@cache
def _pool() -> tuple[ast.expr, ...]:
    found: list[ast.expr] = []
    for text in examples(".py"):
        try:
            found += [node for node in ast.walk(_parsed(text)) if isinstance(node, ast.expr)]
        except SyntaxError:
            continue
    return tuple(node for node in found if not isinstance(node, ast.Starred))


class _Exchange(ast.NodeTransformer):
    """Replaces one expression: by one of the pool, or by itself within something larger."""

    def __init__(self, tree: ast.AST, chance: Random) -> None:
        self._chance = chance
        nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Call | ast.Constant | ast.Name | ast.BinOp)]
        loaded = [node for node in nodes if not isinstance(getattr(node, "ctx", None), ast.Store | ast.Del)]
        self._chosen: ast.AST | None = chance.choice(loaded) if loaded else None

    def visit(self, node: ast.AST) -> ast.AST:
        """Exchange the chosen node, walk on in all others."""
        if node is not self._chosen or not isinstance(node, ast.expr):
            return super().visit(node)
        other = deepcopy(self._chance.choice(_pool()))  # the pool's own would grow into each other
        name = self._chance.choice(("getattr", "chr", "bytes.fromhex", "x", "eval", "os.environ.get"))
        return self._chance.choice(
            [
                lambda: other,
                lambda: ast.BinOp(node, ast.Add(), other),
                lambda: ast.BinOp(node, ast.Mod(), ast.Tuple([other], ast.Load())),
                lambda: ast.Call(ast.parse(name, mode="eval").body, [node, other], []),
                lambda: ast.Subscript(
                    node, ast.Slice(None, None, ast.UnaryOp(ast.USub(), ast.Constant(1))), ast.Load()
                ),
                lambda: ast.IfExp(node, other, node),
                lambda: _nested(node, self._chance.choice([5, 60, 300])),
                lambda: ast.JoinedStr([ast.FormattedValue(node, -1, None), ast.Constant("x")]),
                lambda: ast.ListComp(node, [ast.comprehension(ast.Name("i", ast.Store()), other, [], 0)]),
                lambda: ast.Call(ast.Attribute(ast.Constant("-"), "join", ast.Load()), [ast.List([node] * 9)], []),
            ]
        )()


def _nested(node: ast.expr, depth: int) -> ast.expr:
    for _ in range(depth):
        node = ast.Call(ast.Name("str", ast.Load()), [node], [])
    return node
