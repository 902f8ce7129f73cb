"""Pure functions of JavaScript on known texts: literals, methods of strings, character codes, and the decoders."""

from __future__ import annotations

import base64
import binascii
import re
import urllib.parse
from typing import TYPE_CHECKING, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.values import HOLE

if TYPE_CHECKING:
    from skillkeep.auditor.syntax import Syntax
    from skillkeep.auditor.syntax.grammars import Node

__all__ = [
    "BYTE_ENCODINGS",
    "HOLE",
    "MAX_TEXT",
    "NUMBERS",
    "arithmetic",
    "character",
    "decode",
    "module_path",
    "number_of",
    "on_text",
    "replaced",
    "string_value",
    "unescape",
    "unescape_name",
]

MAX_TEXT: Final = 1 << 18
BYTE_ENCODINGS: Final = frozenset({"base64", "hex", "base64url"})
NUMBERS: Final = frozenset({"parseInt", "parseFloat", "Number", "Number.parseInt", "Number.parseFloat", "Date.now"})
_ESCAPE: Final = compiled(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r\n|.))", re.DOTALL)
_PLAIN: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": "", "\r\n": "",
                 "\u2028": "", "\u2029": ""}  # fmt: skip
_NUMBER: Final = compiled(r"\s*(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|\d+)\s*\Z")
_ONE_CHARACTER: Final = compiled(r"/\\?([^\w\s\\.*+?^$|()\[\]{}/])/(g?)")
_LARGEST: Final = 1 << 53


def string_value(syntax: Syntax, node: Node) -> str:
    """The value of a string literal."""
    raw = syntax.source(node)[1:-1]
    return unescape(raw) if "\\" in raw else raw


def unescape(raw: str) -> str:
    """`raw` with the escapes of string and template literals resolved."""
    return _ESCAPE.sub(_resolved, raw)


def unescape_name(raw: str) -> str:
    """The name that an identifier with escapes stands for."""
    return _ESCAPE.sub(_resolved, raw) if "\\" in raw else raw


def _resolved(match: re.Match[str]) -> str:
    digits = match[1] or match[2] or match[3]
    if digits is None:
        return _PLAIN.get(match[4], match[4])
    code = int(digits, 16)
    return chr(code) if code <= 0x10FFFF else "\ufffd"


def module_path(name: str) -> str:
    """``node:fs/promises`` is ``fs.promises``; a file of the tool keeps its dots under another sign.

    What is taken out of the machine's packages by its place, ``/usr/lib/node_modules/axios/index.js``, is that package.
    """
    if name.startswith("/") and (package := _installed_package(name)):
        return package
    if name.startswith((".", "/")):
        return "file:" + name.replace(".", "\x1f")
    return name.removeprefix("node:").replace("/", ".")


def _installed_package(place: str) -> str:
    """The package whose file lies at `place`, below the last folder of packages; empty for other places."""
    _, folder, rest = place.rpartition("/node_modules/")
    parts = rest.split("/") if folder else []
    return ".".join(parts[: 2 if rest.startswith("@") else 1])


def number_of(text: str) -> int | None:
    """The whole number that a literal or numeric text stands for."""
    text = text.replace("_", "")
    if not _NUMBER.match(text) or len(text) > 32:
        return None
    text = text.strip()
    if len(text) > 1 and text[0] == "0" and text.isdigit():
        return int(text, 8 if not set(text) & set("89") else 10)
    return int(text, 0)


def arithmetic(operator: str, left: int, right: int) -> int | None:
    """The value of ``left operator right`` on whole numbers, or None."""
    if operator in {"<<", ">>", ">>>"} and not 0 <= right < 32:
        return None
    if operator in {"%", "/"} and (not right or (operator == "/" and left % right)):
        return None
    result = {
        "+": lambda: left + right,
        "-": lambda: left - right,
        "*": lambda: left * right,
        "/": lambda: left // right,
        "%": lambda: left % right,
        "^": lambda: left ^ right,
        "|": lambda: left | right,
        "&": lambda: left & right,
        "<<": lambda: left << right,
        ">>": lambda: left >> right,
        ">>>": lambda: left >> right,
    }.get(operator)
    value = result() if result is not None else None
    return value if value is not None and abs(value) < _LARGEST else None


def on_text(method: str, text: str, folded: list[str | None]) -> str | None:
    """The text that ``text.method(...folded)`` gives, or None."""
    first = folded[0] if folded else None
    if method in {"toString", "valueOf", "normalize", "toWellFormed"}:
        return text
    if method in {"trim", "trimStart", "trimEnd", "trimLeft", "trimRight"}:
        return text.strip()
    if method == "concat":
        return (text + "".join(part if part is not None else HOLE for part in folded))[:MAX_TEXT]
    if method in {"toLowerCase", "toUpperCase", "toLocaleLowerCase", "toLocaleUpperCase"}:
        return text.lower() if "Lower" in method else text.upper()
    if method in {"replace", "replaceAll"} and len(folded) == 2 and first and folded[1] is not None:
        if len(folded[1]) * text.count(first) > MAX_TEXT:
            return None
        return text.replace(first, folded[1], 1 if method == "replace" else -1)
    numbers = [number_of(part) if part is not None else None for part in folded]
    if any(number is None for number in numbers) or HOLE in text:
        return None
    return _by_number(method, text, [number for number in numbers if number is not None])


def replaced(pattern: str, text: str, new: str | None) -> str | None:
    """The text that ``text.replace(/'/g, new)`` gives, for a `pattern` of one plain character; or None."""
    found = _ONE_CHARACTER.fullmatch(pattern)
    if found is None or new is None or "$" in new or HOLE in new or len(new) * text.count(found[1]) > MAX_TEXT:
        return None
    return text.replace(found[1], new, -1 if found[2] else 1)


def _by_number(method: str, text: str, numbers: list[int]) -> str | None:
    first = numbers[0] if numbers else 0
    if method in {"slice", "substring"}:
        return text[first : numbers[1] if len(numbers) > 1 else None]
    if method == "substr":
        return text[first : first + numbers[1] if len(numbers) > 1 else None]
    if method in {"charAt", "at"}:
        return text[first : first + 1]
    if method in {"charCodeAt", "codePointAt"}:
        return str(ord(text[first])) if first < len(text) else None
    if method == "repeat":
        return text * first if first * len(text) <= MAX_TEXT else None
    return None


def character(code: str) -> str | None:
    """One character of ``String.fromCharCode``."""
    number = number_of(code)
    return chr(number) if number is not None and number <= 0x10FFFF else None


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
