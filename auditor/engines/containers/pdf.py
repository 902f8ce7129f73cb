"""PDF (ISO 32000): what a document runs, starts or carries when it is opened. Objects are searched, not followed."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from typing import Final

from skillkeep.auditor.engines.containers.inflate import inflate
from skillkeep.auditor.engines.containers.model import Budget, Member, Oddity, Part
from skillkeep.auditor.engines.interface import Context

__all__ = ["read_pdf"]

_ESCAPED: Final = re.compile(rb"#([0-9A-Fa-f]{2})")
_NAME: Final = re.compile(rb"/(?:JavaScript|JS|Launch|EmbeddedFile|RichMedia|XFA|SubmitForm|Encrypt)(?![A-Za-z0-9])")
_SCRIPT: Final = re.compile(
    rb"/JS\s{0,8}(?:\((?P<text>(?:[^()\\]|\\.|\((?:[^()\\]|\\.)*\)){0,20000})\)|<(?P<hex>[0-9A-Fa-f\s]{0,40000})>)",
    re.DOTALL,
)
_SHOWN: Final = re.compile(rb"\(((?:[^()\\]|\\.){1,2000})\)\s{0,8}(?:Tj|'|\")|\[((?:[^\[\]\\]|\\.){1,4000})\]\s{0,8}TJ")
_PIECE: Final = re.compile(rb"\(((?:[^()\\]|\\.){0,2000})\)|(-?\d{3,})")
_BREAK: Final = re.compile(rb"\\([nrtbf()\\]|[0-7]{1,3}|\r?\n)")
_STREAM: Final = b"stream"
_END: Final = b"endstream"
_RULES: Final = {
    b"JavaScript": ("pdf-script", "the document holds JavaScript"),
    b"JS": ("pdf-script", "the document holds JavaScript"),
    b"Launch": ("pdf-launch", "the document starts a program"),
    b"EmbeddedFile": ("pdf-embedded-file", "the document carries another file"),
    b"RichMedia": ("pdf-embedded-file", "the document carries active media"),
    b"XFA": ("pdf-script", "the document holds an XFA form, which may run scripts"),
    b"SubmitForm": ("pdf-script", "the document sends a form somewhere"),
    b"Encrypt": ("tree-archive", "a locked PDF, whose content was not read"),
}


def read_pdf(data: bytes, budget: Budget) -> Part:
    """The scripts, embedded files and texts of a PDF, and what it does. Never raises on content."""
    told: set[str] = set()
    shown: list[str] = []
    yield from _judge(_outside(data), told)
    for head, packed in _streams(data):
        if budget.spent:
            yield Oddity("tree-archive", "pdf", "a PDF with more content than is read")
            return
        content = _content(head, packed, budget)
        if content is None:
            continue
        if b"EmbeddedFile" in head:
            yield Member("embedded", content)
        elif b"ObjStm" in head:
            yield from _judge(content, told)
        elif b"/Subtype" not in head and b"/FunctionType" not in head:
            shown += _texts(content)
            if b"app." in content or b"this.exportDataObject" in content or b"eval(" in content:
                yield Member("script", content, Context.JAVASCRIPT)
    if text := "\n".join(shown).strip():
        yield Member("text", text, Context.INSTRUCTION)


def _outside(data: bytes) -> bytes:
    """The document without its streams."""
    parts, before = [], 0
    for start, stop in _spans(data):
        parts.append(data[before:start])
        before = stop
    return b"".join((*parts, data[before:]))


def _spans(data: bytes) -> Iterator[tuple[int, int]]:
    place = data.find(_STREAM)
    while place >= 0:
        start = place + len(_STREAM)
        end = data.find(_END, start)
        if end < 0:
            return
        yield start, end
        place = data.find(_STREAM, end + len(_END))


def _streams(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    for start, end in _spans(data):
        head = data[max(0, start - 1024) : start]
        first = start + (2 if data[start : start + 2] == b"\r\n" else 1)
        yield _plain(head[max(0, head.rfind(b" obj")) :]), data[first:end]


def _content(head: bytes, packed: bytes, budget: Budget) -> bytes | None:
    """The stream as it is when packed by Flate or not at all; None for pictures and other packings."""
    if b"/Image" in head or b"DCTDecode" in head or b"FontFile" in head or b"/Length1" in head:
        return None
    if b"FlateDecode" not in head:
        content = packed if b"/Filter" not in head else b""
    else:
        inflated = inflate("zlib", packed, budget.room())
        content = inflated.data or _partial(packed, budget.room())
    budget.spend(len(content))
    return content


def _partial(packed: bytes, most: int) -> bytes:
    try:
        return zlib.decompressobj().decompress(packed, most)
    except zlib.error:
        return b""


def _judge(objects: bytes, told: set[str]) -> Part:
    plain = _plain(objects)
    for found in _NAME.finditer(plain):
        rule, message = _RULES[found[0][1:]]
        if message not in told:
            told.add(message)
            around = plain[max(0, found.start() - 40) : found.end() + 120].decode("latin-1")
            yield Oddity(rule, around, message)
    for found in _SCRIPT.finditer(plain):
        yield Member("script", _script(found), Context.JAVASCRIPT)


def _script(found: re.Match[bytes]) -> str:
    digits = b"".join((found["hex"] or b"").split()).decode()
    raw = bytes.fromhex(digits + "0" * (len(digits) % 2)) if digits else _unescaped(found["text"] or b"")
    return raw.decode("utf-16", "replace") if raw.startswith(b"\xfe\xff") else raw.decode("latin-1")


def _plain(data: bytes) -> bytes:
    """Names without their ``#xx`` escapes."""
    return _ESCAPED.sub(lambda match: bytes([int(match[1], 16)]), data) if b"#" in data else data


def _texts(content: bytes) -> Iterator[str]:
    for one, several in _SHOWN.findall(content):
        if one:
            yield _unescaped(one).decode("latin-1")
        else:
            found = _PIECE.findall(several)
            pieces = [b" " if gap.startswith(b"-") else _unescaped(text) for text, gap in found]
            yield b"".join(pieces).decode("latin-1")


def _unescaped(text: bytes) -> bytes:
    def plain(match: re.Match[bytes]) -> bytes:
        code = match[1]
        if code[:1].isdigit():
            return bytes([int(code, 8) & 255])
        return {b"n": b"\n", b"r": b"\r", b"t": b"\t"}.get(code, code if code in b"()\\" else b"")

    return _BREAK.sub(plain, text) if b"\\" in text else text
