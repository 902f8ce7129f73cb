"""Pure functions the folder may apply to constants: text building, number and byte work, and the decoders.

Every function here is bounded by the size of its input or by an explicit limit. Formatting with widths, padding
and other ways to ask for a gigabyte in ten characters are refused (`ValueError`, which folds to unknown).
"""

from __future__ import annotations

import ast
import base64
import binascii
import codecs
import html
import json
import operator
import quopri
import re
import struct
import urllib.parse
import warnings
from collections.abc import Callable
from typing import Any, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.inflate import INFLATERS
from skillkeep.auditor.engines.python.values import HOLE, MAX_ITEMS, MAX_LITERAL, MAX_TEXT, is_whole

__all__ = ["DECODERS", "DECODER_METHODS", "FUNCTIONS", "METHODS", "concat", "decode_with", "format_braces", "join_path",
           "percent_format"]  # fmt: skip

_FIELD = compiled(r"\{\{|\}\}|\{(\w*)(![rsa])?(?::([cdsx]?))?\}|[{}]")
_PERCENT = compiled(r"%(?:\((\w{1,64})\))?([sdcrxi%])|%")
_ROT13: Final = frozenset({"rot13", "rot_13", "rot-13"})
_BYTE_CODECS: Final = frozenset({"hex", "hex_codec", "base64", "base64_codec", "zlib", "zip", "bz2", "uu"})


def _text(data: str | bytes) -> str:
    return data if isinstance(data, str) else data.decode("latin-1")


def _raw(data: str | bytes) -> bytes:
    return data if isinstance(data, bytes) else data.encode("latin-1")


def _whole(*texts: object) -> None:
    if any(isinstance(text, str) and HOLE in text for text in texts):
        raise ValueError("a part is not known")


def concat(left: Any, right: Any) -> Any:
    """``left + right`` for text, bytes, numbers and sequences of one type."""
    if isinstance(left, str | bytes | tuple) and len(left) + len(right) > MAX_TEXT:
        raise ValueError("too long")
    return left + right


def percent_format(template: str, arguments: Any) -> str:
    """``template % arguments`` without widths and precisions."""
    given = arguments if isinstance(arguments, tuple) else (arguments,)
    queue = iter(given)

    def one(match: re.Match[str]) -> str:
        if match[2] is None:
            raise ValueError("a format this folder does not apply")
        if match[2] == "%":
            return "%"
        value = arguments[match[1]] if match[1] else next(queue, HOLE)
        return _spelled(value, match[2])

    return _checked(_PERCENT.sub(one, template))


def _spelled(value: Any, kind: str) -> str:
    if value == HOLE:
        return HOLE
    if kind == "c" and isinstance(value, int):
        return chr(value)
    if kind == "x" and isinstance(value, int):
        return f"{value:x}"
    return repr(value) if kind == "r" else str(value)


def _checked(text: str) -> str:
    if len(text) > MAX_TEXT:
        raise ValueError("too long")
    return text


def format_braces(template: str, *arguments: Any, named: dict[str, Any] | None = None) -> str:
    """``template.format(*arguments, **named)``; an attribute is a hole."""
    count = iter(range(MAX_ITEMS))

    def one(match: re.Match[str]) -> str:
        if match[0] in {"{{", "}}"}:
            return match[0][0]
        if match[0] in {"{", "}"}:
            raise ValueError("a format this folder does not apply")
        if named is not None and match[1] in named:
            return _spelled(named[match[1]], match[3] or "s")
        index = int(match[1]) if match[1].isdigit() else next(count) if not match[1] else len(arguments)
        return _spelled(arguments[index], match[3] or "s") if index < len(arguments) else HOLE

    return _checked(_FIELD.sub(one, template))


def _join(separator: Any, items: Any) -> Any:
    parts = tuple(items)
    if sum(map(len, parts)) + len(separator) * len(parts) > MAX_TEXT:
        raise ValueError("too long")
    return separator.join(parts)


def _replace(text: Any, old: Any, new: Any, count: int = -1) -> Any:
    if text.count(old) * len(new) > MAX_TEXT:
        raise ValueError("too long")
    return text.replace(old, new, count)


def _translate(text: str, table: dict[Any, Any]) -> str:
    whole = {ord(key) if isinstance(key, str) else key: value for key, value in table.items()}
    return _checked(text.translate(whole))


def _maketrans(first: Any, second: str = "", third: str = "") -> dict[Any, Any]:
    if isinstance(first, dict):
        return dict(str.maketrans(first))
    return dict(str.maketrans(first, second, third))


def join_path(*parts: str) -> str:
    """``os.path.join`` on text: an absolute part starts anew."""
    joined = ""
    for part in parts:
        joined = part if part.startswith(("/", "~")) or not joined else f"{joined.rstrip('/')}/{part}"
    return _checked(joined)


def decode_with(data: str | bytes, name: str = "utf-8", _errors: str = "strict") -> str | bytes:
    """``data.decode(name)`` and ``codecs.decode(data, name)``, for the codecs that undo something."""
    _whole(data)
    spelled = name.lower()
    if spelled in _ROT13:
        return codecs.decode(_text(data), "rot13")
    if spelled in {"zlib", "zip", "bz2"}:
        return INFLATERS["bz2" if spelled == "bz2" else "zlib"](_raw(data))
    if spelled in _BYTE_CODECS:
        return codecs.decode(_raw(data), spelled)
    if spelled in {"unicode_escape", "unicode-escape"}:
        return codecs.decode(_raw(data), "unicode_escape")
    return _raw(data).decode(spelled if spelled in {"latin-1", "ascii", "utf-16", "utf-32"} else "utf-8")


def _encode(text: str, name: str = "utf-8", _errors: str = "strict") -> str | bytes:
    if name.lower() in _ROT13:
        return codecs.encode(text, "rot13")
    return text.encode(name if name in {"latin-1", "ascii", "utf-16-le"} else "utf-8", "surrogatepass")


def _b64(data: str | bytes, *_rest: Any) -> bytes:
    _whole(data)
    body = _raw(data).translate(bytes.maketrans(b"-_", b"+/"))
    return binascii.a2b_base64(body + b"=" * (-len(body.strip()) % 4))


def _bytes(value: Any = b"", encoding: str = "utf-8", _errors: str = "strict") -> bytes:
    if isinstance(value, str):
        return value.encode(encoding)
    if isinstance(value, int) and value > MAX_ITEMS:
        raise ValueError("too long")
    return bytes(value)


def _str(value: Any = "", encoding: str = "utf-8", _errors: str = "strict") -> str:
    if isinstance(value, tuple | dict) and not is_whole(value):
        return HOLE
    return value.decode(encoding) if isinstance(value, bytes) else str(value)


def _range(*bounds: int) -> tuple[int, ...]:
    span = range(*bounds)
    if len(span) > MAX_ITEMS:
        raise ValueError("too long")
    return tuple(span)


def _to_bytes(number: int, length: int = 1, byteorder: Any = "big") -> bytes:
    if length > MAX_ITEMS:
        raise ValueError("too long")
    return number.to_bytes(length, byteorder)


def _literal(text: str | bytes) -> Any:
    """What a literal in Python or JSON stands for, lists as tuples."""
    _whole(text)
    if len(text) > MAX_LITERAL:
        raise ValueError("too long")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _frozen(ast.literal_eval(_text(text).strip()))
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError("no literal") from error


def _json(text: str | bytes) -> Any:
    _whole(text)
    try:
        return _frozen(json.loads(text))
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def _frozen(value: Any) -> Any:
    if isinstance(value, list | tuple | set):
        return tuple(_frozen(item) for item in value)
    if isinstance(value, dict):
        return {key: _frozen(item) for key, item in value.items()}
    return value


def _pack(shape: str | bytes, *values: Any) -> bytes:
    if struct.calcsize(shape) > MAX_ITEMS:
        raise ValueError("too long")
    return struct.pack(shape, *values)


def _identity(value: Any, *_rest: Any) -> Any:
    return value


# Decoders by qualified name, with the layer that each peels.
DECODERS: Final[dict[str, tuple[str, Callable[..., Any]]]] = {
    "base64.b64decode": ("base64", _b64),
    "base64.urlsafe_b64decode": ("base64", _b64),
    "base64.standard_b64decode": ("base64", _b64),
    "base64.decodebytes": ("base64", _b64),
    "base64.decodestring": ("base64", _b64),
    "base64.b32decode": ("base32", lambda data: base64.b32decode(data, casefold=True)),
    "base64.b16decode": ("hex", lambda data: base64.b16decode(data, casefold=True)),
    "base64.b85decode": ("base85", base64.b85decode),
    "base64.a85decode": ("base85", base64.a85decode),
    "binascii.a2b_base64": ("base64", _b64),
    "binascii.unhexlify": ("hex", binascii.unhexlify),
    "binascii.a2b_hex": ("hex", binascii.unhexlify),
    "builtins.bytes.fromhex": ("hex", bytes.fromhex),
    "builtins.bytearray.fromhex": ("hex", bytes.fromhex),
    "codecs.decode": ("codec", decode_with),
    "zlib.decompress": ("zlib", lambda data, *_: INFLATERS["zlib"](data)),
    "gzip.decompress": ("gzip", INFLATERS["gzip"]),
    "bz2.decompress": ("bz2", INFLATERS["bz2"]),
    "lzma.decompress": ("lzma", INFLATERS["lzma"]),
    "urllib.parse.unquote": ("url", urllib.parse.unquote),
    "urllib.parse.unquote_plus": ("url", urllib.parse.unquote_plus),
    "urllib.parse.unquote_to_bytes": ("url", urllib.parse.unquote_to_bytes),
    "html.unescape": ("HTML entities", html.unescape),
    "quopri.decodestring": ("quoted-printable", quopri.decodestring),
}

FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "builtins.compile": _identity,
    "builtins.chr": chr,
    "builtins.ord": ord,
    "builtins.int": int,
    "builtins.abs": abs,
    "builtins.len": len,
    "builtins.str": _str,
    "builtins.bytes": _bytes,
    "builtins.bytearray": _bytes,
    "builtins.tuple": lambda items=(): tuple(items),
    "builtins.list": lambda items=(): tuple(items),
    "builtins.iter": lambda items: tuple(items),
    "builtins.reversed": lambda items: tuple(reversed(items)),
    "builtins.sorted": lambda items: tuple(sorted(items)),
    "builtins.range": _range,
    "builtins.zip": lambda *items: tuple(zip(*items, strict=False)),
    "builtins.enumerate": lambda items: tuple(enumerate(items)),
    "builtins.str.join": _join,
    "builtins.next": lambda items, *_default: items[0],
    "builtins.sum": lambda items, *start: sum(items, *start),
    "builtins.slice": slice,
    "builtins.memoryview": _bytes,
    "builtins.bool": bool,
    "builtins.hex": hex,
    "builtins.set": lambda items=(): tuple(items),
    "builtins.frozenset": lambda items=(): tuple(items),
    "shutil.which": lambda name, *_where: name,
    "ast.literal_eval": _literal,
    "json.loads": _json,
    "struct.pack": _pack,
    "array.array": lambda _kind, items=(): bytes(items),
    "operator.add": concat,
    "operator.concat": concat,
    "operator.xor": operator.xor,
    "operator.getitem": operator.getitem,
    "itertools.chain": lambda *parts: tuple(item for part in parts for item in part),
    "itertools.chain.from_iterable": lambda parts: tuple(item for part in parts for item in part),
    "builtins.str.maketrans": _maketrans,
    "builtins.bytes.decode": decode_with,
    "codecs.encode": _encode,
    "base64.b64encode": lambda data: base64.b64encode(_raw(data)),
    "os.path.join": join_path,
    "os.path.expanduser": _identity,
    "os.path.expandvars": _identity,
    "os.path.abspath": _identity,
    "os.path.normpath": _identity,
    "os.path.realpath": _identity,
    "os.fspath": _identity,
    "pathlib.Path": join_path,
    "pathlib.PurePath": join_path,
    "pathlib.PosixPath": join_path,
    "pathlib.Path.home": lambda: "~",
    "shlex.quote": _identity,
    "shlex.split": lambda text: tuple(text.split()) if not re.search(r"[\"'\\]", text) else _refuse(),
    "textwrap.dedent": _identity,
}

DECODER_METHODS: Final = frozenset({"fromhex"})

METHODS: Final[dict[str, Callable[..., Any]]] = {
    "join": _join,
    "replace": _replace,
    "format": format_braces,
    "decode": decode_with,
    "encode": _encode,
    "translate": _translate,
    "to_bytes": _to_bytes,
    "strip": lambda text, *chars: text.strip(*chars),
    "lstrip": lambda text, *chars: text.lstrip(*chars),
    "rstrip": lambda text, *chars: text.rstrip(*chars),
    "lower": lambda text: text.lower(),
    "upper": lambda text: text.upper(),
    "swapcase": lambda text: text.swapcase(),
    "title": lambda text: text.title(),
    "capitalize": lambda text: text.capitalize(),
    "split": lambda text, *how: tuple(text.split(*how)),
    "splitlines": lambda text: tuple(text.splitlines()),
    "removeprefix": lambda text, prefix: text.removeprefix(prefix),
    "removesuffix": lambda text, suffix: text.removesuffix(suffix),
    "partition": lambda text, at: text.partition(at),
    "rpartition": lambda text, at: text.rpartition(at),
    "rsplit": lambda text, *how: tuple(text.rsplit(*how)),
    "casefold": lambda text: text.casefold(),
    "tobytes": _identity,
    "__add__": concat,
    "__getitem__": operator.getitem,
    "pop": lambda items, *at: items[at[0] if at else -1],
    "hex": lambda data: data.hex(),
    "joinpath": join_path,
    "expanduser": _identity,
    "resolve": _identity,
    "absolute": _identity,
    "as_posix": _identity,
    "copy": _identity,
    "get": lambda table, key, default=None: table.get(key, default),
    "keys": lambda table: tuple(table),
    "values": lambda table: tuple(table.values()),
    "items": lambda table: tuple(table.items()),
}


def _refuse() -> Any:
    raise ValueError("a form this folder does not apply")
