"""PowerShell's operators and the methods of its strings, on known values; anything else is unknown."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.inflate import INFLATERS
from skillkeep.auditor.engines.values import HOLE, NOTHING, UNKNOWN, Value, joined, listed

__all__ = ["binary", "cast", "decoded_bytes", "formatted", "indexed", "string_method", "text_of_bytes"]

_FORMAT: Final = compiled(r"\{(\d{1,3})(?:[,:][^{}]{0,20})?\}|\{\{|\}\}")
_COMPUTING: Final = frozenset({"-bxor", "-band", "-bor", "-", "-shl", "-shr"})
_LONGEST: Final = 1 << 16
_MOST_ITEMS: Final = 4096
_CODECS: Final = {
    "utf8": "utf-8",
    "unicode": "utf-16-le",
    "ascii": "latin-1",
    "utf32": "utf-32-le",
    "default": "latin-1",
    "bigendianunicode": "utf-16-be",
    "utf7": "latin-1",
    "latin1": "latin-1",
}


def formatted(template: Value, arguments: Value) -> Value:
    """``"{1}{0}" -f a, b``."""
    values = arguments.parts()
    labels = template.labels | NOTHING.union(*(value.labels for value in values))

    def one(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[0][0]
        place = int(found[1])
        return values[place].text if place < len(values) else HOLE

    text = _FORMAT.sub(one, template.text)
    return Value(text if len(text) <= _LONGEST else HOLE, labels)


def binary(operator: str, left: Value, right: Value) -> Value:
    """`left` and `right` joined by an operator such as ``+`` or ``-replace`` (in lower case)."""
    labels = left.labels | right.labels
    if operator == "+":
        return _added(left, right)
    if operator == "-join":
        return joined(left.parts(), right.text).labelled(labels)
    if operator in {"-replace", "-creplace", "-ireplace"}:
        return _replaced(left, right).labelled(labels)
    if operator in {"-split", "-csplit", "-isplit"} and left.known and right.known and right.text:
        parts = left.text.split(re.sub(r"\\(.)", r"\1", right.parts()[0].text))[:_MOST_ITEMS]
        return listed(tuple(Value(part, left.labels) for part in parts))
    if operator == "*" and left.known and right.text.isdecimal() and len(right.text) < 5:
        return Value((left.text * int(right.text))[:_LONGEST], labels, kind="")
    if left.number is not None and right.number is not None and operator in _COMPUTING:
        return _computed(operator, left.number, right.number)
    return Value(HOLE, labels)


def _added(left: Value, right: Value) -> Value:
    if left.items is not None:
        return listed((left.items + right.parts())[:_MOST_ITEMS])
    if left.number is not None and right.number is not None:
        return Value(str(left.number + right.number), kind="int")
    return joined((left, right))


def _computed(operator: str, left: int, right: int) -> Value:
    shift = min(max(right, 0), 32)
    results = {
        "-bxor": left ^ right,
        "-band": left & right,
        "-bor": left | right,
        "-": left - right,
        "-shl": (left << shift) & 0xFFFFFFFF,
        "-shr": left >> shift,
    }
    return Value(str(results[operator]), kind="int")


def _replaced(left: Value, right: Value) -> Value:
    pieces = right.parts()
    new = pieces[1].text if len(pieces) > 1 else ""
    pattern = pieces[0].text
    if HOLE in pattern or HOLE in new or not pattern or len(left.text) > _LONGEST:
        return UNKNOWN
    plain = re.sub(r"\\(.)", r"\1", pattern)
    if set(plain) & set("*+?[](){}|^$") and plain == pattern:
        return UNKNOWN  # a pattern, which hostile text could make slow
    return Value(re.sub(re.escape(plain), lambda _: new, left.text, flags=re.IGNORECASE))


def cast(name: str, value: Value) -> Value:
    """``[char]105``, ``[char[]](105, 101)``, ``[string]x``."""
    if name == "char" and value.text.strip().isdecimal():
        return _character(value)
    if name == "char[]":
        parts = value.parts() if value.items is not None else tuple(Value(each) for each in value.text[:_MOST_ITEMS])
        return listed(tuple(_character(part) if part.text.isdecimal() else part for part in parts))
    if name == "string" and value.items is not None:
        return joined(value.items, " ")
    if name in {"int", "byte"}:
        return _number(value)
    if name == "scriptblock":
        return Value(value.text, value.labels, kind="block")
    return value


def _number(value: Value) -> Value:
    text = value.text.strip().lower()
    try:
        return Value(str(int(text, 0)), value.labels, kind="int") if len(text) < 12 else value
    except ValueError:
        return value


def _character(value: Value) -> Value:
    point = int(value.text.strip()[:8])
    return Value(chr(point) if point < 0xD800 else HOLE, value.labels)


def indexed(value: Value, index: Value) -> Value:
    """``"text"[1]`` or ``"text"[4,2]``."""
    if not value.known and value.items is None:
        return Value(HOLE, value.labels)
    parts = (
        value.items if value.items is not None else tuple(Value(each, value.labels) for each in value.text[:_LONGEST])
    )
    found = []
    for each in index.parts():
        place = each.number
        if place is None or not -len(parts) <= place < len(parts):
            return Value(HOLE, value.labels)
        found.append(parts[place])
    return found[0] if len(found) == 1 else listed(tuple(found))


def string_method(value: Value, name: str, arguments: tuple[Value, ...]) -> Value:
    """``"text".Replace("a", "b")`` and the like; unknown for others."""
    texts = [argument.text for argument in arguments]
    if HOLE in "".join(texts) or not value.known:
        return Value(HOLE, value.labels | NOTHING.union(*(argument.labels for argument in arguments)))
    numbers = [int(text) for text in texts if text.isdecimal() and len(text) < 7]
    text = value.text
    if name == "replace" and len(texts) == 2 and texts[0]:
        return Value(text.replace(texts[0], texts[1])[:_LONGEST], value.labels)
    if name == "substring" and numbers:
        return Value(text[numbers[0] :][: numbers[1] if len(numbers) > 1 else None], value.labels)
    if name in {"tolower", "tolowerinvariant", "toupper", "toupperinvariant", "trim", "tostring"}:
        return Value(_spelled(name, text), value.labels, kind=value.kind)
    if name == "split" and len(texts) == 1 and texts[0]:
        return listed(tuple(Value(part, value.labels) for part in text.split(texts[0])[:_MOST_ITEMS]))
    if name == "tochararray":
        return listed(tuple(Value(each, value.labels) for each in text[:_MOST_ITEMS]))
    if name in {"insert", "remove"} and numbers:
        cut = numbers[1] if len(numbers) > 1 and name == "remove" else len(text) if name == "remove" else 0
        return Value(
            text[: numbers[0]] + (texts[1] if name == "insert" else "") + text[numbers[0] + cut :], value.labels
        )
    return Value(HOLE, value.labels)


def _spelled(name: str, text: str) -> str:
    if name.startswith("tolower"):
        return text.lower()
    if name.startswith("toupper"):
        return text.upper()
    return text.strip() if name == "trim" else text


def decoded_bytes(value: Value) -> Value:
    """``[Convert]::FromBase64String``: bytes, each a character of Latin-1."""
    labels = value.labels | {"decoded"}
    if not value.known:
        return Value(HOLE, labels, kind="bytes")
    raw = "".join(value.text.split()).encode("ascii", "ignore")
    try:
        data = base64.b64decode(raw + b"=" * (-len(raw) % 4))
    except (ValueError, binascii.Error):
        return Value(HOLE, labels, kind="bytes")
    for name in ("gzip", "zlib"):
        if data.startswith({"gzip": b"\x1f\x8b", "zlib": b"\x78"}[name]):
            try:
                data = INFLATERS[name](data)
            except ValueError:
                continue
    return Value(data.decode("latin-1"), labels, kind="bytes")


def text_of_bytes(codec: str, value: Value) -> Value:
    """``[Text.Encoding]::Unicode.GetString(bytes)``."""
    if value.items is not None and all(part.number is not None for part in value.items):
        data = bytes((part.number or 0) & 0xFF for part in value.items)
    elif value.known and value.kind == "bytes":
        data = value.text.encode("latin-1", "replace")
    else:
        return Value(HOLE, value.labels)
    text = data.decode(_CODECS.get(codec, "utf-8"), "replace")
    return Value(text[:_LONGEST], value.labels | {"decoded"})
