"""What `echo`, `printf` and the usual filters print for a known text. Bytes that are no text stay as surrogates."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.inflate import INFLATERS
from skillkeep.auditor.engines.shell.ansi import unescape_ansi

__all__ = ["DECODING", "PLAIN_NAME", "echoed", "filtered"]

DECODING: Final = frozenset(
    {
        "base64",
        "base32",
        "openssl",
        "xxd",
        "rev",
        "gunzip",
        "zcat",
        "gzip",
        "tr",
        "sed",
        "cut",
        "uudecode",
        "tac",
        "awk",
    }
)
PLAIN_NAME: Final = compiled(r"[A-Za-z][\w.+-]*")
"""A program's name without a folder or an expansion."""
_SPECIFIER: Final = compiled(r"%(?:%|[-+ #0]*\d*(?:\.\d+)?([sbdxXcoiu]))")
_RANGE: Final = compiled(r"(.)-(.)", re.DOTALL)
_SUBSTITUTE: Final = compiled(r"s([/|,#:@!])((?:(?!\1).){1,80})\1((?:(?!\1).){0,80})\1(g?)")
_LOOK_UP: Final = compiled(r"command -p?v|(?:/usr)?(?:/bin/)?which|type -[pP]")
_MOST_WORDS: Final = 512
_LONGEST: Final = 1 << 18
_CLASSES: Final = {"[:lower:]": "a-z", "[:upper:]": "A-Z", "[:digit:]": "0-9", "[:alpha:]": "A-Za-z"}


def echoed(words: list[str]) -> str | None:
    """What `echo` or `printf` with these arguments prints, or a look-up of a program; None for another command."""
    name = words[0].rpartition("/")[2]
    if _LOOK_UP.fullmatch(" ".join(words[:-1])) and PLAIN_NAME.fullmatch(words[-1]):
        return f"{words[-1]}\n"  # its path, which says no more
    if name == "printf" and len(words) > 1:
        rest = words[2:] if words[1] == "--" else words[1:]
        return _formatted(rest[0], rest[1:]) if rest else None
    if name not in {"echo", "print"}:
        return None
    options = [word for word in words[1:3] if len(word) > 1 and word[0] == "-" and set(word) <= set("-neEr")]
    text = " ".join(words[1 + len(options) :])
    flags = "".join(options)
    return (unescape_ansi(text) if "e" in flags else text) + ("" if "n" in flags else "\n")


def _formatted(template: str, values: list[str]) -> str | None:
    if len(values) > _MOST_WORDS:
        return None
    template = unescape_ansi(template)
    printed: list[str] = []
    left = list(values)
    while True:
        before = len(left)
        printed.append(_SPECIFIER.sub(lambda found: _value(found, left), template))
        if not left or len(left) == before:
            return "".join(printed)


def _value(found: re.Match[str], left: list[str]) -> str:
    kind = found[1]
    if kind is None:
        return "%"
    value = left.pop(0) if left else ""
    if kind == "b":
        return unescape_ansi(value)
    if kind == "c":
        return value[:1]
    if kind in "xX" and value.isdecimal():
        return format(int(value[:18]), kind)
    if kind == "o" and value.isdecimal():
        return format(int(value[:18]), "o")
    return value


def filtered(words: list[str], text: str) -> str | None:
    """What the filter `words` makes of `text`, or None when that is not worked out."""
    if len(text) > _LONGEST:
        return None
    try:
        return _applied(words[0].rpartition("/")[2], words[1:], text)
    except (ValueError, binascii.Error, re.error):
        return None


def _applied(name: str, options: list[str], text: str) -> str | None:
    decodes = any(option.startswith(("-d", "-D", "--d", "-id", "-di")) for option in options)
    if name in {"base64", "base32"} and decodes:
        return _decoded(name, text)
    if name == "openssl" and "-d" in options and ({"base64", "-base64", "-a"} & set(options)):
        return _decoded("base64", text)
    if name == "xxd" and any(option.startswith("-") and "r" in option for option in options):
        return _text(binascii.unhexlify("".join(text.split())))
    if name == "rev":
        return "\n".join(line[::-1] for line in text.split("\n"))
    if name in {"gunzip", "zcat", "gzip"}:
        return _text(INFLATERS["gzip"](text.encode("utf-8", "surrogateescape")))
    if name == "tr":
        return _translated(text, options)
    if name == "sed":
        return _substituted(text, [option for option in options if option not in {"-e", "-E", "-r"}])
    if name == "cut" and len(options) == 1 and options[0].startswith("-c"):
        return _cut(text, options[0][2:])
    if name in {"cat", "tee"}:
        return text if not options or options == ["-"] or name == "tee" else None
    return None


def _decoded(name: str, text: str) -> str:
    raw = b"".join(text.encode("utf-8", "ignore").split())
    if name == "base32":
        return _text(base64.b32decode(raw + b"=" * (-len(raw) % 8)))
    return _text(base64.b64decode(raw + b"=" * (-len(raw) % 4)))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _translated(text: str, options: list[str]) -> str | None:
    flags = [option for option in options if option.startswith("-") and len(option) > 1]
    sets = [_set(option) for option in options if option not in flags]
    if flags == ["-d"] and len(sets) == 1:
        return "".join(char for char in text if char not in sets[0])
    if flags or len(sets) != 2 or not sets[1]:
        return None
    source, target = sets
    target += target[-1] * (len(source) - len(target))
    return text.translate(str.maketrans(source, target[: len(source)]))


def _set(text: str) -> str:
    for name, members in _CLASSES.items():
        text = text.replace(name, members)
    return _RANGE.sub(_members, unescape_ansi(text))


def _members(found: re.Match[str]) -> str:
    first, last = ord(found[1]), ord(found[2])
    return "".join(map(chr, range(first, last + 1))) if first <= last < 0x250 else found[0]


def _substituted(text: str, scripts: list[str]) -> str | None:
    if len(scripts) != 1:
        return None
    for script in scripts[0].split(";"):
        found = _SUBSTITUTE.fullmatch(script.strip())
        if found is None or set(found[2]) & set("*+?[](){}|^$\\."):
            return None
        text = text.replace(found[2], found[3], -1 if found[4] else 1)
    return text


def _cut(text: str, spec: str) -> str | None:
    first, dash, last = spec.partition("-")
    if not (first or "1").isdecimal() or not (last or "1").isdecimal():
        return None
    start = int(first or "1")
    end = int(last) if last else (None if dash else start)
    return "\n".join(line[start - 1 : end] for line in text.split("\n"))
