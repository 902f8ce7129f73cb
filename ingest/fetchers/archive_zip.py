"""Reads a zip archive. Its directory may lie: about sizes, about names, about how often bytes are used."""

from __future__ import annotations

import lzma
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO

from skillkeep.ingest import observations as seen
from skillkeep.ingest.errors import IngestError
from skillkeep.ingest.fetchers.interface import FetchOrder
from skillkeep.ingest.observations import Observations
from skillkeep.ingest.paths import split_path
from skillkeep.ingest.writer import TreeWriter, too_much

__all__ = ["bad_archive", "unpack_zip"]

_BROKEN = (
    zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError, RuntimeError,
    struct.error, NotImplementedError, IndexError, KeyError, OverflowError,
)  # fmt: skip
_CHUNK = 1 << 18
_LINK_BYTES = 4096
_ENCRYPTED = 0x1


def unpack_zip(stream: IO[bytes], order: FetchOrder, writer: TreeWriter, notes: Observations) -> None:
    """Write every member below ``order.path``. Raises `IngestError` (`bad_archive`), `limit_exceeded`."""
    try:
        archive = zipfile.ZipFile(stream)
    except _BROKEN as error:
        raise bad_archive(str(error)) from error
    with archive:
        members = archive.infolist()
        if len(members) > order.limits.entries:
            raise too_much("entries", order.limits.entries)
        if sum(member.file_size for member in members) > order.limits.total_bytes * 4:
            raise too_much("bytes", order.limits.total_bytes)
        for member in members:
            if not member.filename:
                raise bad_archive("a member has no name")
            path = inner_path(member.filename, order.path)
            if path is not None:
                _take(archive, member, path, writer, notes)


def _take(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: str, writer: TreeWriter, notes: Observations
) -> None:
    kind = stat.S_IFMT(member.external_attr >> 16) if member.create_system == 3 else 0
    if member.flag_bits & _ENCRYPTED:
        raise bad_archive("a member is encrypted, so nobody can see what it holds")
    if member.is_dir() or kind == stat.S_IFDIR:
        if split_path(path):  # ``./`` names the root itself
            writer.folder(path)
    elif kind == stat.S_IFLNK:
        target = b"".join(_chunks(archive, member, _LINK_BYTES))
        writer.link(path, target.decode("utf-8", "surrogateescape"))
    elif kind in {0, stat.S_IFREG}:
        executable = bool((member.external_attr >> 16) & 0o111)
        writer.file(path, executable, member.file_size, _chunks(archive, member, None))
    else:
        notes.add(seen.SPECIAL_FILE, path, "a device, FIFO or socket")


def _chunks(archive: zipfile.ZipFile, member: zipfile.ZipInfo, limit: int | None) -> Iterator[bytes]:
    left = _CHUNK if limit is None else limit
    try:
        with archive.open(member) as content:
            while left > 0 and (chunk := content.read(min(left, _CHUNK))):
                yield chunk
                left -= 0 if limit is None else len(chunk)
    except _BROKEN as error:
        raise bad_archive(str(error)) from error


def inner_path(name: str, wanted: str) -> str | None:
    """The member's path below `wanted` (``--path``), or None when it lies elsewhere."""
    if not wanted:
        return name
    path = "/".join(split_path(name))
    if path == wanted:
        return path.rpartition("/")[2] if not name.endswith("/") else None
    return path.removeprefix(wanted + "/") if path.startswith(wanted + "/") else None


def bad_archive(detail: str) -> IngestError:
    """The error for an archive that cannot be read whole."""
    return IngestError(
        "bad_archive",
        "the archive cannot be read",
        "Take it again from its source; zip, tar, tar.gz, tar.bz2 and tar.xz without a password are read.",
        detail=detail[:300],
    )
