"""Tar archives (POSIX.1-2001 pax and GNU), one header after the other, without sparse files."""

from __future__ import annotations

from typing import Final

from skillkeep.auditor.engines.containers.model import Budget, Member, Oddity, Part, escapes

__all__ = ["is_tar", "read_tar"]

_BLOCK: Final = 512
_LONGEST_EXTENSION: Final = 1 << 20


def is_tar(data: bytes) -> bool:
    """True when `data` begins with a tar header whose checksum is right."""
    return len(data) >= _BLOCK and _sum_is_right(data[:_BLOCK])


def read_tar(data: bytes, budget: Budget) -> Part:
    """The members of a tar archive. Never raises on content."""
    place = 0
    name = target = ""  # from an extension header, for the next entry
    while place + _BLOCK <= len(data):
        header = data[place : place + _BLOCK]
        if not header.strip(b"\0"):
            break
        size = _number(header[124:136])
        if not _sum_is_right(header) or size is None:
            yield Oddity("tree-archive", "tar", "a tar archive with a damaged header")
            return
        if budget.spent:
            yield Oddity("tree-archive", "tar", "a tar archive with more content than is read")
            return
        body = data[place + _BLOCK : place + _BLOCK + size]
        place += _BLOCK + (size + _BLOCK - 1) // _BLOCK * _BLOCK
        kind = header[156:157]
        if kind in {b"x", b"L", b"K"}:
            name, target = _extension(kind, body, name, target)
            budget.spend(0)
            continue
        yield from _entry(kind, name or _name(header), target or _text(header[157:257]), body, budget)
        if len(body) < size:
            yield Oddity("tree-archive", "tar", "a tar archive that ends too early")
            return
        name = target = ""


def _entry(kind: bytes, name: str, target: str, body: bytes, budget: Budget) -> Part:
    shown = name[:200]
    budget.spend(len(body))
    if escapes(name):
        yield Oddity("container-path-escape", name, f"unpacking writes to {shown}")
    if kind in {b"1", b"2"}:
        if escapes(target, name if kind == b"2" else None):
            yield Oddity("container-path-escape", name, f"the link {shown} leads to {target[:200]}")
    elif kind in {b"3", b"4", b"6"}:
        yield Oddity("tree-special-file", name, f"the archive makes a device or pipe: {shown}")
    elif kind in {b"0", b"\0", b"7"}:
        if not name.endswith("/"):
            yield Member(name, body)
    elif kind not in {b"5", b"g"}:
        yield Oddity("tree-archive", name, f"{shown} is an entry of a kind that is not read")


def _extension(kind: bytes, body: bytes, name: str, target: str) -> tuple[str, str]:
    if kind == b"L":
        return _text(body), target
    if kind == b"K":
        return name, _text(body)
    at, end = 0, min(len(body), _LONGEST_EXTENSION)
    while at < end:
        digits = body[at : at + 12].partition(b" ")[0]
        if not digits.isdigit() or not (length := int(digits)):
            break
        key, _, value = body[at + len(digits) + 1 : at + length - 1].partition(b"=")
        if key == b"path":
            name = value.decode("utf-8", "replace")
        elif key == b"linkpath":
            target = value.decode("utf-8", "replace")
        at += length
    return name, target


def _name(header: bytes) -> str:
    prefix = _text(header[345:500]) if header[257:263] == b"ustar\0" else ""
    return f"{prefix}/{_text(header[:100])}" if prefix else _text(header[:100])


def _text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode("utf-8", "replace")


def _number(field: bytes) -> int | None:
    """An octal number, or GNU's base 256; None when it is neither or negative."""
    if field[:1] == b"\x80":
        return int.from_bytes(field[1:], "big")
    digits = field.strip(b"\0 ")
    return int(digits, 8) if digits and not digits.strip(b"01234567") else 0 if not digits else None


def _sum_is_right(header: bytes) -> bool:
    told = _number(header[148:156])
    return bool(told) and told == sum(header[:148]) + 8 * 32 + sum(header[156:])
