"""The files of a tree between `scan_file` and `scan_tree`: as they were cut while they are few, packed beyond that.

A tree may be a quarter of a gigabyte, and what is cut from a file takes several times its size.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Final

from skillkeep.auditor.engines.interface import Context, Segment, SourceFile
from skillkeep.auditor.sources import decode

__all__ = ["FileStore"]

CUT_BYTES: Final = 4 << 20
_LEVEL: Final = 1

Cut = Callable[[str, bytes, bool], SourceFile]


class FileStore:
    """`keep` files one by one; `files` are all of them, in that order. `cut` makes a file of its bytes again."""

    def __init__(self, cut: Cut, most_bytes: int = CUT_BYTES) -> None:
        self.files: list[SourceFile] = []
        self.packed = 0
        """How many were packed: none unless the tree is large."""
        self._cut = cut
        self._contexts: dict[frozenset[Context], frozenset[Context]] = {}  # there are few
        self._room = most_bytes
        self._open: tuple[_PackedFile, SourceFile] | None = None

    def unpacked(self) -> Iterator[SourceFile]:
        """The files that are kept as they were cut."""
        return (file for file in self.files if not isinstance(file, _PackedFile))

    def keep(self, file: SourceFile) -> bool:
        """Keep a file of the tree (no derived text). True when it was packed: what it holds is dear from now on."""
        for segment in file.segments:
            segment.forget()
        size = _size(file)
        if size <= self._room or file.text is None:
            self._room -= size
            self.files.append(file)
            return False
        self.packed += 1
        self.files.append(_PackedFile(file, self))
        return True

    def widen(self, index: int, more: tuple[Segment, ...]) -> None:
        """Give the file at `index` of `files` more segments. One that is packed stays as it is: it was judged."""
        file = self.files[index]
        if not isinstance(file, _PackedFile):
            self.files[index] = replace(file, segments=(*file.segments, *more))

    def contexts(self, some: Iterable[Segment]) -> frozenset[Context]:
        """Those of some segments, each set of them once."""
        found = frozenset(segment.context for segment in some)
        return self._contexts.setdefault(found, found)

    def opened(self, packed: _PackedFile) -> SourceFile:
        """The file as it was; the last one asked for stays open."""
        if self._open is None or self._open[0] is not packed:
            self._open = packed, self._cut(packed.path, packed.data, packed.executable)
        return self._open[1]


class _PackedFile(SourceFile):
    """A file of text whose bytes are compressed, and which is cut again when it is looked into."""

    _packed: bytes
    _store: FileStore
    _contexts: frozenset[Context]
    _own: frozenset[Context]
    _head: bytes
    _program: bool

    def __init__(self, file: SourceFile, store: FileStore) -> None:
        set_field = object.__setattr__
        for name in ("path", "executable", "depth", "name"):
            set_field(self, name, getattr(file, name))
        set_field(self, "_packed", zlib.compress(file.data, _LEVEL))
        set_field(self, "_store", store)
        set_field(self, "_head", file.head)
        set_field(self, "_program", file.is_program)
        set_field(self, "_contexts", store.contexts(file.segments))
        set_field(self, "_own", store.contexts(each for each in file.segments if not each.is_example))

    @property
    def data(self) -> bytes:
        """Unpacked each time."""
        return zlib.decompress(self._packed)

    @property
    def is_text(self) -> bool:
        """Only text is packed."""
        return True

    @property
    def head(self) -> bytes:
        """Kept as it is."""
        return self._head

    @property
    def is_program(self) -> bool:
        """Kept as it is."""
        return self._program

    @property
    def text(self) -> str | None:
        """Decoded each time."""
        return decode(self.path, self.data).text

    @property
    def segments(self) -> tuple[Segment, ...]:
        """Of the file, cut again."""
        return self._store.opened(self).segments

    def of(self, *contexts: Context) -> tuple[Segment, ...]:
        """The segments in any of `contexts`. The file is not cut again for those that it has none of."""
        return super().of(*contexts) if self._contexts.intersection(contexts) else ()

    def own(self, *contexts: Context) -> tuple[Segment, ...]:
        """Likewise."""
        return super().own(*contexts) if self._own.intersection(contexts) else ()


def _size(file: SourceFile) -> int:
    texts = {id(segment.text): segment.text for segment in file.segments}
    return len(file.data) + sum(map(sys.getsizeof, texts.values())) + (sys.getsizeof(file.text) if file.text else 0)
