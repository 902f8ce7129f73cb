"""Decompression of whole hostile streams, bounded in output; several streams one after the other are one."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["BOMB_BYTES", "BOMB_RATIO", "STREAMS", "Inflated", "bare_stream", "inflate", "is_bomb"]

BOMB_BYTES: Final = 8 << 20
BOMB_RATIO: Final = 100
"""What unpacks to more than so many bytes, and to so many times its size, is made to exhaust."""

_LZMA_MEMORY: Final = 64 << 20
_MOST_STREAMS: Final = 1_000


@dataclass(frozen=True)
class Inflated:
    """`data`, whether the stream ended properly within the bound (`whole`), why not, and the bytes after it."""

    data: bytes
    whole: bool
    reason: str = ""
    rest: bytes = b""


def _zlib(window: int) -> Callable[[], Any]:
    return lambda: zlib.decompressobj(window)


STREAMS: Final[dict[str, Callable[[], Any]]] = {
    "deflate": _zlib(-zlib.MAX_WBITS),
    "zlib": _zlib(zlib.MAX_WBITS),
    "gzip": _zlib(zlib.MAX_WBITS | 16),
    "bzip2": bz2.BZ2Decompressor,
    "xz": lambda: lzma.LZMADecompressor(memlimit=_LZMA_MEMORY),
    "lzma": lambda: lzma.LZMADecompressor(lzma.FORMAT_ALONE, memlimit=_LZMA_MEMORY),
}
_MAGIC: Final = {"gzip": b"\x1f\x8b", "bzip2": b"BZh", "xz": b"\xfd7zXZ"}
_ERRORS = (zlib.error, lzma.LZMAError, OSError, ValueError, EOFError)


def bare_stream(data: bytes) -> str:
    """``zlib`` or ``lzma`` for a stream of that kind without a file format around it, else an empty text.

    Their marks are short (RFC 1950; LZMA's properties and size), so that a first byte has to come out as well.
    """
    kind = ""
    if data[:1] == b"\x78" and int.from_bytes(data[:2], "big") % 31 == 0:
        kind = "zlib"
    elif data[:3] == b"]\0\0" and data[11:13] in {b"\0\0", b"\xff\xff"}:
        kind = "lzma"
    return kind if kind and inflate(kind, data, 1).data else ""


def inflate(kind: str, data: bytes, most: int) -> Inflated:
    """Decompress `data` (a kind of `STREAMS`) to at most `most` bytes. Never raises on content."""
    parts: list[bytes] = []
    left, rest = most, data
    for _ in range(_MOST_STREAMS):
        stream = STREAMS[kind]()
        try:
            part = stream.decompress(rest, left + 1)
        except _ERRORS as error:
            return Inflated(b"".join(parts), False, f"it is damaged ({str(error)[:60]})", rest)
        parts.append(part[:left])
        if len(part) > left:
            return Inflated(b"".join(parts), False, "it is larger than the bound")
        if not stream.eof:
            return Inflated(b"".join(parts), False, "it ends too early")
        left, rest = left - len(part), stream.unused_data
        if kind not in _MAGIC or not rest.startswith(_MAGIC[kind]):
            return Inflated(b"".join(parts), True, rest=rest)
    return Inflated(b"".join(parts), False, "it has too many streams")


def is_bomb(kind: str, packed: bytes, inflated: Inflated) -> bool:
    """True when `inflated`, which `packed` gave, is out of all proportion; of what was cut off, its beginning tells."""
    size = len(inflated.data)
    if size <= BOMB_BYTES or size > BOMB_RATIO * len(packed):
        return size > BOMB_BYTES
    return not inflated.whole and len(inflate(kind, packed[: size // BOMB_RATIO], size).data) >= size
