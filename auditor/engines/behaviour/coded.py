"""Commands and addresses that a program keeps as the numbers of their characters, where no engine works out values."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.whole_commands import is_whole_command
from skillkeep.auditor.patterns import RarePattern

__all__ = ["coded_commands", "masked_addresses"]

_NUMBER: Final = r"(?:0[xX][0-9a-fA-F]{1,2}|\d{1,3})(?:u8)?"
_CALL: Final = r"\w{0,12}[cC][hH][rR]\w{0,8}[ \t]{0,2}\([ \t]{0,2}"
_LISTED: Final = RarePattern(compiled(rf"(?:{_NUMBER}\s{{0,9}}[,;]\s{{0,40}}){{11,}}{_NUMBER}"))
_CALLED: Final = compiled(
    rf"(?:{_CALL}{_NUMBER}[ \t]{{0,2}}\)[ \t]{{0,9}}(?:\.\.?|[+&,]|<>|\|\|)[ \t_]{{0,9}}\n?[ \t]{{0,40}}){{11,}}"
    rf"{_CALL}{_NUMBER}"
)
_ESCAPED: Final = RarePattern(compiled(r"(?:\\\d{2,3}){12,}"))
_DIGITS: Final = compiled(r"0[xX][0-9a-fA-F]{1,2}|(?<![\dxXu])\d{1,3}(?!\d)")
_DECIMAL: Final = compiled(r"\\(\d{2,3})")
_ADDRESS: Final = compiled(r"\s*(?P<url>(?:https?|wss?|ftp|tcp|socks5)://[!-~]{4,600})[\s\x00]*")
_MASKS: Final = ("^", "xor", "Xor", "XOR")
_MOST: Final = 40
_LONGEST: Final = 4_000
_VARIED: Final = 6  # different characters that the shortest command has
_STARTS: Final = (
    b"sh", b"bash", b"zsh", b"dash", b"ksh", b"/", b"curl", b"wget", b"nohup", b"eval", b"echo", b"python", b"perl",
    b"powershell", b"cmd", b"(", b"export", b"cd ",
)  # fmt: skip


def coded_commands(text: str) -> Iterator[tuple[int, str]]:
    """Where numbers stand that are a whole command, and that command: plain, turned round, shifted or masked."""
    for start, data in _coded(text):
        command = _command(data)
        if command:
            yield start, command


def masked_addresses(text: str) -> Iterator[tuple[int, str]]:
    """Where numbers stand that are an address behind a mask, shifted or turned round, and that address."""
    for start, data in _coded(text) if any(word in text for word in _MASKS) else ():
        readings = (plain for each in (data, data[::-1]) for plain in _readings(each) if plain is not data)
        likely = (plain.decode("latin-1") for plain in readings if b"://" in plain[:16])
        address = next((found for plain in likely if (found := _ADDRESS.fullmatch(plain))), None)
        if address:
            yield start, address["url"]


def _coded(text: str) -> Iterator[tuple[int, bytes]]:
    """Every list of numbers that may be characters, and where it begins."""
    for pattern in (_LISTED, _ESCAPED, *([_CALLED] if "chr" in text or "Chr" in text else ())):
        for found in islice(pattern.finditer(text), _MOST):
            digits = _DECIMAL.findall(found[0]) if pattern is _ESCAPED else _DIGITS.findall(found[0])
            values = [int(digit, 16 if digit[:2] in {"0x", "0X"} else 10) for digit in digits]
            if len(values) <= _LONGEST and max(values) < 256 and len(set(values)) >= _VARIED:
                yield found.start(), bytes(values)


def _command(data: bytes) -> str:
    for each in (data, data[::-1]):
        for plain in _readings(each):
            text = plain.rstrip(b"\0").decode("ascii", "replace") if plain.startswith(_STARTS) else ""
            if text and is_whole_command(text):
                return text
    return ""


def _readings(data: bytes) -> Iterator[bytes]:
    """`data` as it is, behind each mask of one byte, and with each number taken off its characters."""
    yield data
    yield from map(data.translate, _tables())


@cache
def _tables() -> tuple[bytes, ...]:
    masked = [bytes(value ^ key for value in range(256)) for key in range(1, 256)]
    moved = [bytes((value + key) % 256 for value in range(256)) for key in (*range(1, 32), *range(225, 256))]
    return (*masked, *moved)
