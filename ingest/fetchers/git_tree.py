"""Reads `git ls-tree -z -l`: one record an entry, ``mode SP type SP id SP size TAB path NUL``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from skillkeep.ingest.fetchers.git_errors import from_stderr

__all__ = ["GitEntry", "parse_listing"]

_LONGEST_RECORD = 1 << 20
_MOST_DIGITS = 20


@dataclass(frozen=True)
class GitEntry:
    """One entry of a tree. `kind` is ``blob``, ``tree`` or ``commit`` (a submodule); `size` in bytes, 0 if no blob."""

    mode: str
    kind: str
    oid: str
    size: int
    path: str


def parse_listing(chunks: Iterable[bytes]) -> Iterator[GitEntry]:
    """The entries in the order git lists them. Raises `IngestError` (`hostile_objects`) for a malformed record."""
    rest = b""
    for chunk in chunks:
        *records, rest = (rest + chunk).split(b"\0")
        yield from map(_parse, records)
        if len(rest) > _LONGEST_RECORD:
            raise from_stderr("corrupt: a tree entry is too long")
    if rest:
        raise from_stderr("corrupt: the tree listing is cut")


def _parse(record: bytes) -> GitEntry:
    facts, tab, path = record.partition(b"\t")
    fields = facts.decode("ascii", "replace").split()
    if not tab or len(fields) != 4 or not (fields[3] == "-" or (fields[3].isdigit() and len(fields[3]) < _MOST_DIGITS)):
        raise from_stderr("corrupt: a tree entry is malformed")
    size = 0 if fields[3] == "-" else int(fields[3])
    return GitEntry(fields[0], fields[1], fields[2], size, os.fsdecode(path))
