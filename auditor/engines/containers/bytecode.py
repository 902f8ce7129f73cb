"""Python bytecode files compared with their source, without ever being loaded.

The marshal format (CPython Python/marshal.c) is walked with a work list of its own: names and texts are gathered,
nothing is built. ``marshal.loads`` can crash the interpreter on hostile bytes, so it is not used.
"""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass, field
from typing import Final

__all__ = ["Bytecode", "SourceNames", "names_of_source", "read_bytecode"]

_MOST_OBJECTS: Final = 400_000
_OBJECT: Final = -1
_NAMES: Final = -2
# First magic number of a layout (Lib/importlib/_bootstrap_external.py) -> its fields: i a number, o an object, n names.
_LAYOUTS: Final = (
    (3495, "iiiiioonnooooioo"),  # 3.11 and later
    (3400, "iiiiiioonnnnooio"),  # 3.8 to 3.10
    (3390, "iiiiioonnnnooio"),  # 3.7
)
_FIXED: Final = {b"i": 4, b"I": 8, b"g": 8, b"y": 16}
_EMPTY: Final = b"0NFTS."


@dataclass
class Bytecode:
    """A ``.pyc``: its header (PEP 552) and what its code names. `whole` is False when it could not be walked."""

    magic: int
    flags: int
    source_size: int
    names: set[str] = field(default_factory=set)
    texts: list[str] = field(default_factory=list)
    whole: bool = True


@dataclass(frozen=True)
class SourceNames:
    """Every identifier and every text of a source file."""

    names: frozenset[str]
    texts: str


def read_bytecode(data: bytes) -> Bytecode:
    """Walk the bytes of a ``.pyc``. Never raises on content."""
    magic = int.from_bytes(data[:2], "little")
    flags = int.from_bytes(data[4:8], "little")
    found = Bytecode(magic, flags, int.from_bytes(data[12:16], "little"))
    try:
        _Walk(data, found, _layout(magic)).run()
    except (IndexError, ValueError):
        found.whole = False
    return found


def names_of_source(text: str) -> SourceNames | None:
    """The names and texts of Python source, or None when this interpreter cannot parse it as it stands."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    names: set[str] = set()
    texts: list[str] = []
    for node in ast.walk(tree):
        for value in (getattr(node, key, None) for key in ("id", "attr", "name", "asname", "arg", "module", "rest")):
            if isinstance(value, str):
                names.add(value)
                names.update(value.split("."))
        if isinstance(node, ast.Global | ast.Nonlocal):
            names.update(node.names)
        elif isinstance(node, ast.MatchClass):
            names.update(node.kwd_attrs)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.append(node.value)
    return SourceNames(frozenset(names), " ".join("\n".join(texts).split()))


def _layout(magic: int) -> str:
    for first, layout in _LAYOUTS:
        if magic >= first:
            return layout
    raise ValueError("unknown version")


class _Walk:
    """One pass over the marshalled objects; what is still to be read lies on a stack."""

    def __init__(self, data: bytes, found: Bytecode, layout: str) -> None:
        self._data = data
        self._at = 16
        self._found = found
        self._again: set[int] = set()
        self._fields = [{"i": 4, "o": _OBJECT, "n": _NAMES}[item] for item in reversed(layout)]
        self._refs: list[str | int] = []  # texts, and where other objects lie
        self._waiting: list[int] = [_OBJECT]  # _OBJECT, _NAMES (an object that is a tuple of names), or bytes to skip

    def run(self) -> None:
        """Read one object and all that is in it."""
        for _ in range(_MOST_OBJECTS):
            if not self._waiting:
                break
            task = self._waiting.pop()
            if task >= 0:
                self._at += task
            else:
                self._object(task == _NAMES)
        if self._waiting or self._at > len(self._data):
            raise ValueError("too many objects, or past the end")

    def _object(self, are_names: bool) -> None:
        start, byte = self._at, self._number(1)
        kind = bytes([byte & 0x7F])
        if kind == b"r":
            self._reference(self._number(4), are_names)
            return
        text = self._text(kind) if kind in b"zZaAuts" else None
        if byte & 0x80:
            self._refs.append(start if text is None else text)
        if text is not None:
            self._keep(text, are_names)
        elif kind in _FIXED:
            self._at += _FIXED[kind]
        elif kind == b"l":
            digits = abs(int.from_bytes(self._take(4), "little", signed=True))
            self._at += 2 * digits
        elif kind in b"([<>)":
            self._wait([_NAMES if are_names else _OBJECT], self._number(1 if kind == b")" else 4))
        elif kind == b"c":
            self._wait(self._fields, 1)
        elif kind == b":":
            self._wait([_OBJECT], 3)
        elif kind not in _EMPTY:
            raise ValueError("an object that is no part of code")

    def _wait(self, tasks: list[int], count: int) -> None:
        if count + len(self._waiting) > _MOST_OBJECTS:
            raise ValueError("too many objects")
        self._waiting += tasks * count

    def _reference(self, index: int, are_names: bool) -> None:
        before = self._refs[index]
        if isinstance(before, str):
            self._keep(before, are_names)
        elif are_names and before not in self._again:  # a tuple that was read as a constant
            self._again.add(before)
            self._names_at(before)

    def _names_at(self, place: int) -> None:
        here, self._at = self._at, place
        kind = bytes([self._number(1) & 0x7F])
        count = self._number(1 if kind == b")" else 4) if kind in b"()" else 0
        for _ in range(min(count, _MOST_OBJECTS)):
            kind = bytes([self._number(1) & 0x7F])
            if kind == b"r":
                text = self._refs[self._number(4)]
            elif kind in b"zZaAut":
                text = self._text(kind)
            else:
                break
            self._found.names.update([text] if isinstance(text, str) else [])
        self._at = here

    def _keep(self, text: str, is_name: bool) -> None:
        if is_name:
            self._found.names.add(text)
        elif text:
            self._found.texts.append(text)

    def _text(self, kind: bytes) -> str:
        raw = self._take(self._number(1 if kind in b"zZ" else 4))
        if kind == b"s":
            return raw.decode() if raw.isascii() and min(raw, default=0) > 8 else ""
        return raw.decode("utf-8" if kind in b"ut" else "latin-1", "replace")

    def _number(self, size: int) -> int:
        return int.from_bytes(self._take(size), "little")

    def _take(self, size: int) -> bytes:
        if self._at + size > len(self._data):
            raise IndexError("past the end")
        self._at += size
        return self._data[self._at - size : self._at]
