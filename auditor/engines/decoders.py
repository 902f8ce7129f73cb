"""Long encoded literals: decoded and audited as what they hold, or reported because nobody can read them.

Base64, hex, escapes and percent-encoding are peeled one layer at a time (what is found inside comes back here as
derived text, to the collector's depth). Media, fonts, certificates and hashes are recognised and left alone.
"""

from __future__ import annotations

import binascii
import math
import re
import urllib.parse
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.inflate import INFLATERS, MAX_INFLATED
from skillkeep.auditor.engines.interface import CODE, Context, Emitter, Engine, Mark, Segment, SourceFile
from skillkeep.auditor.engines.network import host_of, is_hidden
from skillkeep.auditor.languages import sniff
from skillkeep.auditor.patterns import PatternSet

__all__ = ["ENGINE", "DecoderEngine"]

_LAYERS: Final = {
    "base64": r"[A-Za-z0-9+/_-]{40,}={0,2}",
    "escapes": r"(?:\\x[0-9a-fA-F]{2}){8,}",
    "unicode": r"(?:\\u[0-9a-fA-F]{4}){8,}",
    "url": r"(?:%[0-9a-fA-F]{2}){8,}",
}
_MARKS: Final = {"escapes": b"\\x", "unicode": b"\\u", "url": b"%"}
_HEX: Final = compiled(r"(?:[0-9a-fA-F]{2})+\Z")
_MEDIA: Final = (
    b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"%PDF", b"wOFF", b"wOF2", b"OTTO", b"\0\1\0\0", b"ID3", b"OggS",
    b"fLaC", b"\0\0\1\0", b"BM", b"\0\0\0\x18ftyp", b"\0\0\0\x1cftyp", b"\0\0\0\x20ftyp", b"0\x82", b"0\x81", b"ssh-",
    b"\0\0\0\x07ssh-", b"\0\0\0\x0bssh-",
)  # fmt: skip
_PROGRAMS: Final = (b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"\0asm")
_READABLE_LITERAL: Final = 200
_UNDECODABLE: Final = 512
_LONGEST_HASH: Final = 128
_MOST_LITERALS: Final = 2_000
_LONGEST: Final = 1 << 20
_EXCERPT: Final = 120
_USING: Final = CODE | {Context.TEXT, Context.CONFIG}
_ADDRESS: Final = compiled(r"\s*(?:https?|wss?|ftp)://\S{3,500}\s*")
_DECODES: Final = compiled(
    r"(?i)(?:base64|b64|hex|url|rot13|str)_?(?:decode|2bin|tobytes)\w*\W|decode_?(?:base64|string|b64|hex)|getDecoder\(|"
    r"From_?Base64|from_?hex|un_?b(?:ase)?64|base64Encoded|Base64\W{1,3}\w*decode|unpack\(|"
    r"\batob\(|Buffer\.from\(|\bbase64[ \t]+-{1,2}d|\bxxd[ \t]+-r"
)
_SERVERS: Final = compiled(r"mcp_?servers?\b", re.IGNORECASE)
_PROSE: Final = frozenset({Context.INSTRUCTION, Context.FENCED, Context.METADATA, Context.TEXT})


@dataclass(frozen=True)
class _Literal:
    layer: str
    text: str
    start: int
    end: int


class DecoderEngine(Engine):
    """Long literals in every kind of text."""

    name: ClassVar[str] = "decoders"
    order: ClassVar[int] = 40

    def scan_file(self, file: SourceFile, emit: Emitter) -> None:
        """Decode the long literals of each segment once, code contexts first."""
        seen: set[tuple[int, str]] = set()
        read: dict[tuple[str, int, Sequence[Mark]], Segment] = {}
        for segment in sorted(file.segments, key=lambda item: item.context not in CODE):
            if segment.context is not Context.FILENAME:
                read.setdefault((segment.text, segment.first_line, segment.marks), segment)  # a fence is code, too
        layers = _layers("\n".join([segment.text for segment in read.values()]))
        for segment in read.values() if layers else ():
            for count, literal in enumerate(_literals(segment.text, layers)):
                if count >= _MOST_LITERALS:
                    emit.incomplete(segment.path, "it holds more long literals than are decoded")
                    break
                key = (segment.locate(literal.start, literal.start).line, literal.text)
                if key not in seen:
                    seen.add(key)
                    _judge(literal, segment, emit)


@cache
def _patterns() -> PatternSet:
    return PatternSet(list(_LAYERS.values()))


def _layers(text: str) -> list[tuple[int, str]]:
    """The layers of which `text` has a long run, by number and name. No run goes over the end of a line."""
    data = text.encode("utf-8", "replace")
    return [
        (index, name)
        for index, name in enumerate(_LAYERS)
        if (name == "base64" or _MARKS[name] in data) and _patterns().occurs(index, data)
    ]


def _literals(text: str, layers: Sequence[tuple[int, str]]) -> Iterator[_Literal]:
    """Every long run of each layer's characters. RE2 finds them in one fast pass a layer."""
    data = text.encode("utf-8", "replace")
    for index, name in layers:
        for hit in _patterns().find(index, data, len(data)):
            body = data[hit.start : hit.end].decode("ascii")
            layer = "hex" if name == "base64" and _HEX.match(body) else name
            if layer == "base64" and not _looks_base64(body):
                continue
            start = hit.start if len(data) == len(text) else len(data[: hit.start].decode("utf-8"))
            yield _Literal(layer, body, start, start + len(body))


def _looks_base64(body: str) -> bool:
    """Mixed letters and digits without the shape of a path or an identifier."""
    head = body[:400]
    mixed = any(char.islower() for char in head) and any(char.isupper() for char in head)
    if not mixed or head.count("/") > len(head) // 16 or head.count("-") + head.count("_") > len(head) // 12:
        return False
    return any(char.isdigit() for char in head) or body.endswith("=") or len(body) > _READABLE_LITERAL


def _judge(literal: _Literal, segment: Segment, emit: Emitter) -> None:
    data = _decoded(literal)
    if data is None or (literal.layer == "hex" and len(literal.text) <= _LONGEST_HASH and not _is_text(data)):
        return
    place = segment.locate(literal.start, literal.end)
    excerpt = literal.text[:_EXCERPT]
    via, data = _unpacked(literal.layer, data)
    size = len(literal.text)
    in_code = segment.context in CODE
    if data.startswith(_PROGRAMS) and size >= _READABLE_LITERAL:
        emit.finding("code-undecodable-literal", place, excerpt, f"{via} of a program", segment=segment)
    elif data.startswith(_MEDIA) and not _is_text(data):
        return
    elif _is_text(data):
        text = data.decode("utf-8", "replace")
        known = sniff(text)
        if known or not in_code:
            emit.derive(text, None, place, via, segment)
        if in_code and segment.context not in known:
            emit.derive(f"{text}\n", segment.context, place, via, segment)  # one text is derived once a line
        if (host := _hidden_host(text, segment)) is not None:
            message = f"the address of {host} stands there as {via}"
            emit.finding("code-hidden-address", place, excerpt, message, segment=segment)
        elif size >= _READABLE_LITERAL and (in_code or segment.context in _PROSE):
            emit.finding("code-opaque-literal", place, excerpt, f"{size} characters of {via}", segment=segment)
    elif in_code and size >= _UNDECODABLE and _entropy(data) > 5.0:
        message = f"{size} characters of {via} that hold no known format"
        emit.finding("code-undecodable-literal", place, excerpt, message, segment=segment)
    elif in_code and size >= _READABLE_LITERAL:
        emit.finding("code-opaque-literal", place, excerpt, f"{size} characters of {via}", segment=segment)


def _hidden_host(text: str, segment: Segment) -> str | None:
    """The host of the address that `text` is, in a program that decodes or in what an agent starts its servers by."""
    used = _SERVERS if segment.context is Context.CONFIG else _DECODES
    shows = segment.is_example or segment.context not in _USING
    if shows or not _ADDRESS.fullmatch(text) or not used.search(segment.text):
        return None
    host = host_of(text.strip())
    return host.name if is_hidden(host, segment.text) else None


def _decoded(literal: _Literal) -> bytes | None:
    body = literal.text[:_LONGEST]
    try:
        if literal.layer == "hex":
            return binascii.unhexlify(body[: len(body) // 2 * 2])
        if literal.layer == "escapes":
            return binascii.unhexlify(body.replace("\\x", ""))
        if literal.layer == "unicode":
            points = (int(part, 16) for part in body.split("\\u")[1:])
            return "".join(chr(point) for point in points).encode("utf-8", "replace")
        if literal.layer == "url":
            return urllib.parse.unquote_to_bytes(body)
        raw = body.rstrip("=").replace("-", "+").replace("_", "/")
        raw = raw[: len(raw) - (len(raw) % 4 == 1)]
        return binascii.a2b_base64(raw + "=" * (-len(raw) % 4))
    except (ValueError, binascii.Error):
        return None


def _unpacked(layer: str, data: bytes) -> tuple[str, bytes]:
    """Inflate what is compressed; the name of the layers and what they hold."""
    for name, mark in (("gzip", b"\x1f\x8b"), ("zlib", b"\x78"), ("bz2", b"BZh"), ("lzma", b"\xfd7zXZ")):
        if data.startswith(mark):
            try:
                return f"{layer}+{name}", INFLATERS[name](data)[:MAX_INFLATED]
            except (ValueError, EOFError):
                return layer, data
    return layer, data


def _is_text(data: bytes) -> bool:
    head = data[:4096]
    if not head:
        return False
    try:
        text = head.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(head) - 4:
            return False
        text = head[: error.start].decode("utf-8")
    readable = sum(char.isprintable() or char in "\n\r\t" for char in text)
    ascii_part = sum(char < "\x80" for char in text)
    return bool(text) and readable >= len(text) * 0.95 and ascii_part >= len(text) * 0.7


def _entropy(data: bytes) -> float:
    """Bits a byte of the first 64 KiB."""
    head = data[: 1 << 16]
    return -sum(n / len(head) * math.log2(n / len(head)) for n in Counter(head).values()) if head else 0.0


ENGINE = DecoderEngine()
