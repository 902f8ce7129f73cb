"""Unix ar archives (System V and GNU, ar(5)): Debian packages and static libraries."""

from __future__ import annotations

from typing import Final

from skillkeep.auditor.engines.containers.model import Budget, Member, Oddity, Part, escapes

__all__ = ["AR_MAGIC", "read_ar"]

AR_MAGIC: Final = b"!<arch>\n"
_HEADER: Final = 60
_SYMBOLS: Final = frozenset({"/", "/SYM64/", "__.SYMDEF", "__.SYMDEF SORTED"})


def read_ar(data: bytes, budget: Budget) -> Part:
    """The members of an ar archive. Never raises on content."""
    place, names = len(AR_MAGIC), b""
    while place + _HEADER <= len(data):
        header = data[place : place + _HEADER]
        digits = header[48:58].strip()
        if header[58:] != b"`\n" or not digits.isdigit():
            yield Oddity("tree-archive", "ar", "an ar archive with a damaged header")
            return
        if budget.spent:
            yield Oddity("tree-archive", "ar", "an ar archive with more content than is read")
            return
        size = int(digits)
        body = data[place + _HEADER : place + _HEADER + size]
        place += _HEADER + size + size % 2
        name = header[:16].rstrip().decode("utf-8", "replace")
        if name == "//":
            names = body
        elif name not in _SYMBOLS:
            yield from _member(_long(name, names), body, budget)
        if len(body) < size:
            yield Oddity("tree-archive", "ar", "an ar archive that ends too early")
            return
    if data[place:].strip(b"\n\0"):
        yield Oddity("container-trailing-data", repr(data[place : place + 60]), "bytes follow after the last member")
        yield Member("appended", data[place:])


def _long(name: str, names: bytes) -> str:
    """GNU keeps names of over 15 bytes in a member of their own, as ``/OFFSET``."""
    digits = name[1:]
    if not name.startswith("/") or not digits.isdecimal():
        return name.removesuffix("/")
    start = int(digits)
    return names[start : start + 1024].partition(b"/\n")[0].decode("utf-8", "replace") or name


def _member(name: str, body: bytes, budget: Budget) -> Part:
    budget.spend(len(body))
    if escapes(name):
        yield Oddity("container-path-escape", name, f"unpacking writes to {name[:200]}")
    yield Member(name, body)
