"""Zip archives (APPNOTE.TXT 6.3), read the way that trusts nothing twice told.

The central directory and the local headers are compared, and what lies between the entries is looked at: readers that
walk the file and readers that use the directory must see the same members.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from skillkeep.auditor.engines.containers.inflate import BOMB_BYTES, BOMB_RATIO, Inflated, inflate, is_bomb
from skillkeep.auditor.engines.containers.model import Budget, Member, Oddity, Part, escapes

__all__ = ["ends_as_zip", "read_zip"]

_END: Final = b"PK\x05\x06"
_ENTRY: Final = b"PK\x01\x02"
_LOCAL: Final = b"PK\x03\x04"
_LONGEST_COMMENT: Final = 65_557
_METHODS: Final = {8: "deflate", 12: "bzip2"}
_MOST_LISTED: Final = 10_000


@dataclass(frozen=True)
class _Entry:
    name: str
    flags: int
    method: int
    packed: int
    size: int
    offset: int
    mode: int


def ends_as_zip(data: bytes) -> bool:
    """True when the directory of a zip archive closes `data`, whatever it begins with."""
    end = data.rfind(_END, max(0, len(data) - _LONGEST_COMMENT))
    if end < 0 or end + 22 > len(data):
        return False
    entries, size, offset = struct.unpack_from("<10xHII", data, end)
    return bool(entries) and size + offset <= end and data[end - size : end - size + 4] == _ENTRY


def read_zip(data: bytes, budget: Budget) -> Part:
    """The members of a zip archive. Never raises on content; what cannot be read is an oddity."""
    if not ends_as_zip(data):
        yield Oddity("tree-archive", "zip", "a zip archive without a proper directory")
        return
    end = data.rfind(_END)
    size, offset = struct.unpack_from("<12xII", data, end)
    base = end - size - offset
    spans: list[tuple[int, int]] = []
    seen: set[str] = set()
    place = end - size
    before = budget.output
    listed = 0
    while place + 46 <= end and data[place : place + 4] == _ENTRY:
        listed += 1
        if budget.spent or listed > _MOST_LISTED:
            is_bomb = before - budget.output > max(BOMB_BYTES, BOMB_RATIO * len(data))
            rule = "container-bomb" if is_bomb else "tree-archive"
            yield Oddity(rule, "zip", "a zip archive with more content than is read")
            return
        entry, place = _entry(data, place)
        if entry.name in seen:
            yield Oddity("container-inconsistent", entry.name, f"the name {entry.name[:200]} occurs twice")
        seen.add(entry.name)
        yield from _member(data, base, entry, spans, budget)
    if place != end:
        yield Oddity("container-inconsistent", "zip", "the archive's directory breaks off")
    yield from _between(data, spans, end - size, budget)


def _entry(data: bytes, place: int) -> tuple[_Entry, int]:
    flags, method, packed, size, names, extras, comments, external, offset = struct.unpack_from(
        "<8xHH8xIIHHH4xII", data, place
    )
    start = place + 46
    raw, extra = data[start : start + names], data[start + names : start + names + extras]
    if 0xFFFFFFFF in (packed, size, offset):
        size, packed, offset = _large(extra, size, packed, offset)
    name = raw.decode("utf-8" if flags & 0x800 else "cp437", "replace")
    return _Entry(name, flags, method, packed, size, offset, external >> 16), start + names + extras + comments


def _large(extra: bytes, *values: int) -> tuple[int, int, int]:
    """The sizes and the offset of a Zip64 entry (APPNOTE 4.5.3)."""
    at, found = 0, list(values)
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, at)
        if kind == 1:
            body = extra[at + 4 : at + 4 + length]
            for index, value in enumerate(found):
                if value == 0xFFFFFFFF and len(body) >= 8:
                    found[index], body = int.from_bytes(body[:8], "little"), body[8:]
        at += 4 + length
    return found[0], found[1], found[2]


def _member(data: bytes, base: int, entry: _Entry, spans: list[tuple[int, int]], budget: Budget) -> Part:
    place = base + entry.offset
    if place + 30 > len(data) or data[place : place + 4] != _LOCAL:
        yield Oddity("container-inconsistent", entry.name, f"{entry.name[:200]} is listed but not there")
        return
    names, extras = struct.unpack_from("<26xHH", data, place)
    body = place + 30 + names + extras
    local = data[place + 30 : place + 30 + names]
    if local.decode("utf-8", "replace") != entry.name and local.decode("cp437") != entry.name:
        yield Oddity("container-inconsistent", entry.name, f"{entry.name[:200]} has two names")
    if any(start < body + entry.packed and place < stop for start, stop in spans[-64:]):
        yield Oddity("container-bomb", entry.name, "entries of the archive lie over each other")
        return
    spans.append((place, body + entry.packed))
    if escapes(entry.name):
        yield Oddity("container-path-escape", entry.name, f"unpacking writes to {entry.name[:200]}")
    if not entry.name.endswith("/"):
        yield from _unpacked(data[body : body + entry.packed], entry, budget)


def _unpacked(packed: bytes, entry: _Entry, budget: Budget) -> Part:
    shown = entry.name[:200]
    if entry.flags & 1:
        yield Oddity("container-encrypted", entry.name, f"{shown} is locked with a password")
        return
    method = _METHODS.get(entry.method)
    if entry.method and method is None:
        yield Oddity("tree-archive", entry.name, f"{shown} is packed by a method that is not read ({entry.method})")
        return
    room = budget.room()
    if method is None:
        inflated = Inflated(packed[:room], len(packed) <= room, "it is larger than the bound")
    else:
        inflated = inflate(method, packed, room)
    content, whole, reason = inflated.data, inflated.whole, inflated.reason
    budget.spend(len(content))
    if method is not None and is_bomb(method, packed, inflated):
        yield Oddity("container-bomb", entry.name, f"{shown} unpacks to over {len(content) >> 20} MiB")
        return
    if not whole:
        yield Oddity("tree-archive", entry.name, f"{shown} was not read: {reason}")
    if entry.mode & 0o170000 == 0o120000:
        target = content[:4096].decode("utf-8", "replace")
        if escapes(target, entry.name):
            yield Oddity("container-path-escape", entry.name, f"the link {shown} leads to {target[:200]}")
        return
    yield Member(entry.name, content)


def _between(data: bytes, spans: list[tuple[int, int]], end: int, budget: Budget) -> Part:
    """Entries in no directory: read by unpackers that walk the file, unseen by those that use the directory."""
    before = 0
    for start, stop in [*sorted(spans), (end, end)]:
        place = data.find(_LOCAL, before, start)
        if place >= 0 and place + 30 <= start and not budget.spent:
            method, packed, names, extras = struct.unpack_from("<8xH8xI4xHH", data, place)
            name = data[place + 30 : place + 30 + names].decode("utf-8", "replace")
            body = place + 30 + names + extras
            yield Oddity("container-hidden-member", name, f"{name[:200]} is in the archive but not in its directory")
            hidden = _Entry(name, 0, method, packed, 0, place, 0)
            yield from _unpacked(data[body : min(start, body + packed) if packed else start], hidden, budget)
        before = max(before, stop)
