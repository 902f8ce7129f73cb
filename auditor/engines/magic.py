"""What bytes are by their first few: programs, archives, media. The author chooses names, so they do not count."""

from __future__ import annotations

from typing import Final

__all__ = ["READ_ARCHIVES", "SHORTCUT", "archive_kind", "is_media", "program_kind"]

SHORTCUT: Final = b"L\0\0\0\1\x14\2\0"  # MS-SHLLINK 2.1
_PROGRAMS: Final = (
    (b"\x7fELF", "ELF"), (b"MZ", "Windows"), (b"\xfe\xed\xfa\xce", "Mach-O"), (b"\xfe\xed\xfa\xcf", "Mach-O"),
    (b"\xcf\xfa\xed\xfe", "Mach-O"), (b"\xce\xfa\xed\xfe", "Mach-O"), (b"\xca\xfe\xba\xbe", "Mach-O or Java class"),
    (b"\x00asm", "WebAssembly"), (b"dex\n", "Android"), (b"\x1bLua", "Lua bytecode"),
    (SHORTCUT, "Windows shortcut"),
)  # fmt: skip
_ARCHIVES: Final = (
    (b"PK\x03\x04", "zip"), (b"PK\x05\x06", "zip"), (b"\x1f\x8b", "gzip"), (b"BZh", "bzip2"), (b"\xfd7zXZ\x00", "xz"),
    (b"Cr24", "zip"), (b"!<arch>\n", "ar"),
    (b"7z\xbc\xaf\x27\x1c", "7z"), (b"Rar!\x1a\x07", "rar"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"xar!\0\x1c", "xar"),
    (b"MSCF\0\0\0\0", "cab"), (b"\x04\x22\x4d\x18", "lz4"), (b"LZIP\1", "lzip"), (b"\x1f\x9d", "compress"),
    (b"\xed\xab\xee\xdb", "rpm"), (b"ISc(", "cab"),
)  # fmt: skip
_MEDIA: Final = (
    b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"%PDF", b"\x00\x01\x00\x00", b"OTTO", b"wOFF", b"wOF2", b"ttcf",
    b"\x00\x00\x01\x00", b"ID3", b"OggS", b"fLaC", b"BM", b"II*\x00", b"MM\x00*", b"SQLite format 3",
    b"\xd0\xcf\x11\xe0", b"\x00\x05\x16\x07", b"\x00\x00\x00\x01Bud1",
)  # fmt: skip
# Read by the container engine, which then tells what could not be read.
READ_ARCHIVES: Final = frozenset({"zip", "gzip", "bzip2", "xz", "ar"})


def program_kind(head: bytes) -> str:
    """The kind of program that bytes beginning with `head` are, or an empty text."""
    for magic, name in _PROGRAMS:
        if head.startswith(magic):
            return "" if magic == b"MZ" and b"\0" not in head[:64] else name
    if len(head) >= 16 and head[2:4] == b"\r\n" and head[4:8] in {b"\0\0\0\0", b"\1\0\0\0", b"\3\0\0\0"}:
        return "Python bytecode"
    return ""


def archive_kind(head: bytes) -> str:
    """The kind of archive or compressed file, or an empty text."""
    return next((name for magic, name in _ARCHIVES if head.startswith(magic)), "")


def is_media(head: bytes) -> bool:
    """True for a picture, font, recording, document or database."""
    return head.startswith(_MEDIA) or head[4:8] == b"ftyp"
