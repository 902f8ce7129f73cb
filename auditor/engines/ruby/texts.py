"""Ruby's literals, and the methods of its strings and lists, on known values; anything else is unknown."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.inflate import INFLATERS
from skillkeep.auditor.engines.shell.printing import filtered
from skillkeep.auditor.engines.values import HOLE, NOTHING, Value, joined, listed

__all__ = ["DECODING", "decoded", "inflated", "method_of_text", "unescaped"]

_ESCAPE: Final = compiled(
    r"\\(?:x([0-9a-fA-F]{1,2})|u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|([0-7]{1,3})|(.))", re.DOTALL
)
_SIMPLE: Final = {"n": "\n", "t": "\t", "r": "\r", "s": " ", "a": "\a", "e": "\x1b", "0": "\0", "\n": ""}
_SAME: Final = frozenset(
    {
        "to_s",
        "to_str",
        "strip",
        "chomp",
        "dup",
        "freeze",
        "force_encoding",
        "encode",
        "b",
        "to_sym",
        "itself",
        "unicode_normalize",
        "scrub",
        "lstrip",
        "rstrip",
        "read",
        "string",
        "to_a",
    }
)
DECODING: Final = frozenset({"decode64", "strict_decode64", "urlsafe_decode64"})
_LONGEST: Final = 1 << 18
_MOST_ITEMS: Final = 4096


def unescaped(text: str) -> str:
    """The escapes of a string in double quotes replaced by what they stand for."""

    def one(found: re.Match[str]) -> str:
        digits = found[1] or found[2] or found[3]
        if digits:
            point = int(digits, 16)
            return chr(point) if point < 0x110000 and not 0xD800 <= point < 0xE000 else ""
        return chr(int(found[4], 8) & 0xFF) if found[4] else _SIMPLE.get(found[5], found[5])

    return _ESCAPE.sub(one, text) if "\\" in text else text


def decoded(name: str, value: Value) -> Value:
    """``Base64.decode64(text)`` and its like."""
    labels = value.labels | {"decoded"}
    if not value.known:
        return Value(HOLE, labels)
    raw = "".join(value.text.split()).encode("ascii", "ignore")
    if name == "urlsafe_decode64":
        raw = raw.translate(bytes.maketrans(b"-_", b"+/"))
    try:
        return Value(_text(base64.b64decode(raw + b"=" * (-len(raw) % 4))), labels)
    except (ValueError, binascii.Error):
        return Value(HOLE, labels)


def _text(data: bytes) -> str:
    return data[:_LONGEST].decode("utf-8", "surrogateescape")


def method_of_text(value: Value, name: str, given: tuple[Value, ...]) -> Value:
    """``value.name(given)`` for strings, numbers and lists."""
    labels = value.labels | NOTHING.union(*(each.labels for each in given))
    if name in _SAME:
        return value.labelled(labels)
    if value.items is not None:
        return _of_list(value, name, given).labelled(labels)
    if not value.known or any(not each.known for each in given):
        unpacked = name in {"unpack", "unpack1"} and given and given[0].text.startswith(("m", "H"))
        return Value(HOLE, labels | {"decoded"} if unpacked else labels)
    texts = [each.text for each in given]
    return _of_string(value, name, texts).labelled(labels)


def _of_string(value: Value, name: str, texts: list[str]) -> Value:
    text = value.text
    if name == "reverse":
        return Value(text[::-1], frozenset({"decoded"}))
    if name in {"upcase", "downcase", "swapcase", "capitalize"}:
        plain = {"upcase": text.upper(), "downcase": text.lower(), "swapcase": text.swapcase()}
        return Value(plain.get(name, text.capitalize()))
    if name in {"tr", "delete"} and texts:
        options = ["tr", *texts] if name == "tr" else ["tr", "-d", texts[0]]
        changed = filtered(options, text)
        return Value(changed if changed is not None else HOLE, frozenset({"decoded"}) if name == "tr" else NOTHING)
    if name in {"gsub", "sub"} and len(texts) == 2 and texts[0]:
        return Value(text.replace(texts[0], texts[1], -1 if name == "gsub" else 1)[:_LONGEST])
    if name in {"unpack", "unpack1"} and texts:
        return _unpacked(text, texts[0])
    if name in {"chars", "each_char"}:
        return listed(tuple(Value(each) for each in text[:_MOST_ITEMS]))
    if name in {"split", "lines"}:
        return listed(tuple(Value(part) for part in text.split(texts[0] if texts and texts[0] else None)[:_MOST_ITEMS]))
    if name == "chr" and text.isdecimal() and len(text) < 7:
        point = int(text)
        return Value(chr(point) if not 0xD800 <= point < 0xE000 and point < 0x110000 else HOLE)
    if name in {"concat", "+", "<<"}:
        return Value((text + "".join(texts))[:_LONGEST])
    return Value(HOLE)


def _unpacked(text: str, form: str) -> Value:
    if form.startswith("m"):
        return decoded("decode64", Value(text))
    if form.startswith("H"):
        return Value(binascii.hexlify(text.encode("utf-8", "surrogateescape")).decode())
    return Value(HOLE)


def _of_list(value: Value, name: str, given: tuple[Value, ...]) -> Value:
    items = value.items or ()
    if name == "join":
        return joined(items, given[0].text if given else "")
    if name == "reverse":
        return listed(tuple(reversed(items)))
    if name == "pack" and given:
        return _packed(items, given[0].text)
    if name in {"first", "last", "sample", "shift", "pop"} and items:
        return items[-1] if name in {"last", "pop"} else items[0]
    if name in {"map", "collect"} and given and given[0].text == "chr":
        return listed(tuple(_of_string(item, "chr", []) for item in items))
    return Value(HOLE)


def _packed(items: tuple[Value, ...], form: str) -> Value:
    """``[101, 118].pack("c*")``, ``["6576"].pack("H*")``, ``["ZXY="].pack("m")`` the other way round."""
    labels = frozenset({"decoded"})
    if form.startswith(("c", "C", "U")) and all(
        item.text.lstrip("-").isdecimal() and len(item.text) < 8 for item in items
    ):
        return Value("".join(chr(int(item.text) & (0xFF if form[0] != "U" else 0xFFFF)) for item in items), labels)
    if form.startswith(("H", "h")) and items and items[0].known:
        try:
            return Value(_text(binascii.unhexlify(items[0].text)), labels)
        except (ValueError, binascii.Error):
            return Value(HOLE, labels)
    return Value(HOLE, labels)


def inflated(value: Value) -> Value:
    """``Zlib::Inflate.inflate(bytes)``."""
    labels = value.labels | {"decoded"}
    if not value.known:
        return Value(HOLE, labels)
    try:
        data = INFLATERS["zlib"](value.text.encode("utf-8", "surrogateescape"))
    except ValueError:
        return Value(HOLE, labels)
    return Value(_text(data), labels)
