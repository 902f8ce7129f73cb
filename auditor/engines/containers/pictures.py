"""Pictures: text in their metadata, and what follows after their end.

Sources: PNG (W3C, third edition), JPEG (ITU-T T.81), GIF89a, WebP container (RFC 9649).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from skillkeep.auditor.engines.containers.inflate import inflate
from skillkeep.auditor.engines.containers.model import Budget, Member, Oddity, Part

__all__ = ["is_picture", "read_picture"]

_PNG: Final = b"\x89PNG\r\n\x1a\n"
_MARKER: Final = re.compile(rb"\xff[\x01-\xcf\xd8-\xfe]")
_LONGEST_TEXT: Final = 1 << 20
_MOST_PARTS: Final = 10_000
_MOST_TEXTS: Final = 100
_FEW: Final = 16  # padding that sloppy writers leave behind

Walk = Iterator[tuple[str, bytes]]  # texts in the metadata, then ("end", what follows after the end)


def is_picture(head: bytes) -> bool:
    """True for the kinds `read_picture` reads."""
    return head.startswith((_PNG, b"\xff\xd8\xff", b"GIF87a", b"GIF89a")) or (head[:4] + head[8:12] == b"RIFFWEBP")


def read_picture(data: bytes, budget: Budget) -> Part:
    """The texts of a picture, and what is appended to it. Never raises on content."""
    walks: dict[bytes, Callable[[bytes], Walk]] = {b"\x89": _png, b"\xff": _jpeg, b"G": _gif, b"R": _webp}
    texts = 0
    for kind, content in walks[data[:1]](data):
        if kind == "end":
            yield from _after(content)
        elif content.strip(b"\0 \r\n\t") and texts < _MOST_TEXTS and not budget.spent:
            texts += 1
            budget.spend(len(content))
            yield Member(kind, content)
    if texts >= _MOST_TEXTS:
        yield Oddity("tree-archive", "texts", "a picture with more texts than are read")


def _after(rest: bytes) -> Part:
    if len(rest.strip(b"\0 \r\n\t\xff")) <= _FEW or rest.startswith((b"\xff\xd8\xff", b"MPF")):
        return  # phones append a second picture (CIPA DC-007)
    yield Oddity("container-trailing-data", repr(rest[:60]), f"{len(rest)} bytes follow after the end of the picture")
    yield Member("appended", rest)


def _png(data: bytes) -> Walk:
    place = len(_PNG)
    for _ in range(_MOST_PARTS):
        if place + 12 > len(data):
            return
        length, kind = int.from_bytes(data[place : place + 4], "big"), data[place + 4 : place + 8]
        body = data[place + 8 : place + 8 + min(length, _LONGEST_TEXT)] if kind in {b"tEXt", b"zTXt", b"iTXt"} else b""
        place += length + 12
        if kind == b"IEND":
            yield "end", data[place:]
            return
        if body:
            yield kind.decode(), _png_text(kind, body)


def _png_text(kind: bytes, body: bytes) -> bytes:
    _, _, text = body.partition(b"\0")
    packed = kind == b"zTXt"
    if kind == b"iTXt":
        packed = text[:1] == b"\1"
        text = text[2:].partition(b"\0")[2].partition(b"\0")[2]
    elif packed:
        text = text[1:]
    return inflate("zlib", text, _LONGEST_TEXT).data if packed else text


def _jpeg(data: bytes) -> Walk:
    place = 2
    for _ in range(_MOST_PARTS):
        found = _MARKER.search(data, place)
        if found is None:
            return
        kind, place = data[found.start() + 1], found.end()
        if kind == 0xD9:
            yield "end", data[place:]
            return
        if 0xD0 <= kind <= 0xD8 or kind == 1:
            continue
        length = int.from_bytes(data[place : place + 2], "big")
        if kind == 0xFE:
            yield "comment", data[place + 2 : place + length]
        place += max(2, length)


def _gif(data: bytes) -> Walk:
    place = 13 + (3 << (data[10] & 7) + 1 if len(data) > 10 and data[10] & 0x80 else 0)
    for _ in range(_MOST_PARTS):
        kind = data[place : place + 1]
        if kind == b";":
            yield "end", data[place + 1 :]
            return
        if kind == b"!":
            blocks, place, whole = _gif_blocks(data, place + 2, data[place + 1 : place + 2] == b"\xfe")
            if blocks:
                yield "comment", blocks
        elif kind == b"," and place + 10 <= len(data):
            flags = data[place + 9]
            _, place, whole = _gif_blocks(data, place + 11 + (3 << (flags & 7) + 1 if flags & 0x80 else 0), False)
        else:
            return
        if not whole:
            return


def _gif_blocks(data: bytes, place: int, keep: bool) -> tuple[bytes, int, bool]:
    parts: list[bytes] = []
    while place < len(data):
        size = data[place]
        if not size:
            return b"".join(parts), place + 1, True
        if keep:
            parts.append(data[place + 1 : place + 1 + size])
        place += size + 1
    return b"".join(parts), place, False


def _webp(data: bytes) -> Walk:
    end = 8 + int.from_bytes(data[4:8], "little")
    yield "end", data[end + end % 2 :]
