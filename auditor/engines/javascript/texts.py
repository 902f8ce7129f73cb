"""Pure functions of JavaScript on known texts: methods of strings, character codes, and the decoders."""

from __future__ import annotations

import base64
import binascii
import re
import urllib.parse
from typing import Final

__all__ = ["BYTE_ENCODINGS", "HOLE", "MAX_TEXT", "characters", "decode", "on_text"]

HOLE: Final = "\uf8ff"
MAX_TEXT: Final = 1 << 18
BYTE_ENCODINGS: Final = frozenset({"base64", "hex", "base64url"})
_MOST_ITEMS: Final = 8192

Folded = tuple[str | None, tuple[str, ...] | None]  # a text, or an array of texts


def on_text(method: str, text: str, folded: list[str | None]) -> Folded:
    """The value of ``text.method(...folded)``."""
    first = folded[0] if folded else None
    if method == "split" and first is not None:
        return None, tuple(text)[:_MOST_ITEMS] if first == "" else tuple(text.split(first))[:_MOST_ITEMS]
    if method in {"toString", "trim", "valueOf", "normalize"}:
        return text.strip() if method == "trim" else text, None
    if method == "concat":
        return text + "".join(part if part is not None else HOLE for part in folded), None
    if method in {"toLowerCase", "toUpperCase"}:
        return text.lower() if method == "toLowerCase" else text.upper(), None
    if method in {"replace", "replaceAll"} and len(folded) == 2 and first and folded[1] is not None:
        if len(folded[1]) * text.count(first) > MAX_TEXT:
            return None, None
        return text.replace(first, folded[1], 1 if method == "replace" else -1), None
    return None, None


def characters(folded: list[str | None]) -> str | None:
    """``String.fromCharCode(...folded)``."""
    try:
        return "".join(chr(int(part or "", 0)) for part in folded)
    except (ValueError, OverflowError):
        return None


def decode(path: str, text: str, encoding: str | None) -> str | None:
    """The value of `atob`, `Buffer.from(…).toString()`, `unescape` or `decodeURIComponent`."""
    if path == "Buffer.from" and encoding not in BYTE_ENCODINGS:
        return text
    try:
        if encoding == "hex":
            return binascii.unhexlify(text).decode("utf-8", "replace")
        if path in {"atob", "Buffer.from"}:
            raw = re.sub(r"[^A-Za-z0-9+/]", "", text.replace("-", "+").replace("_", "/"))
            return base64.b64decode(raw + "=" * (-len(raw) % 4)).decode("utf-8", "replace")
    except (ValueError, binascii.Error):
        return None
    return urllib.parse.unquote(text)
