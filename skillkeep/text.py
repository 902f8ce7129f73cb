"""Text that came from a tool, made safe to show: on a terminal, in a log line, in a report.

Everything that could move a cursor, change colours, reorder characters (Trojan Source, CVE-2021-42574), hide
(zero-width, tags, variation selectors) or break a line is written as a visible escape.
"""

from __future__ import annotations

import unicodedata

__all__ = ["encodable", "escape", "printable_path", "shorten"]

_UNSAFE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
_INVISIBLE_LETTERS = frozenset({0x115F, 0x1160, 0x3164, 0xFFA0, 0x2800, 0x034F, 0x17B4, 0x17B5})


def _hides(char: str) -> bool:
    point = ord(char)
    if unicodedata.category(char) in _UNSAFE_CATEGORIES or point in _INVISIBLE_LETTERS:
        return True
    return 0xFE00 <= point <= 0xFE0F or 0xE0100 <= point <= 0xE01EF


def _escape_char(char: str) -> str:
    point = ord(char)
    if 0xDC80 <= point <= 0xDCFF:
        return f"\\x{point - 0xDC00:02x}"
    if point < 0x100:
        return {0x09: "\\t", 0x0A: "\\n", 0x0D: "\\r"}.get(point, f"\\x{point:02x}")
    return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"


def escape(text: str | bytes, *, keep_newlines: bool = False) -> str:
    """Return `text` with every non-printing character as a visible escape such as ``\\x1b``.

    Bytes are read as UTF-8, undecodable ones become ``\\xNN``. With `keep_newlines`, line feeds and tabs stay.
    A backslash of the input stays single: the result is for people, not for reading back.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", "surrogateescape")
    if text.isascii() and text.isprintable():
        return text
    kept = "\n\t" if keep_newlines else ""
    out: list[str] = []
    for char in text:
        shown = char == " " or char in kept or not _hides(char)
        out.append(char if shown else _escape_char(char))
    return "".join(out)


def encodable(text: str) -> str:
    """`text` with what stands for undecodable bytes (PEP 383) as ``\\xNN``; all other characters stay."""
    if text.isascii():
        return text
    return "".join(_escape_char(char) if 0xD800 <= ord(char) <= 0xDFFF else char for char in text)


def shorten(text: str, width: int) -> str:
    """Escape `text` onto one line of at most `width` characters, ending in ``…`` when cut. `width` is at least 1."""
    line = escape(text[: width * 2])
    if len(line) <= width and len(text) <= width * 2:
        return line
    return line[: width - 1] + "…"


def printable_path(path: str | bytes) -> str:
    """Escape a path for a message; an empty path is shown as ``(empty)``."""
    return escape(path) or "(empty)"
