"""Reads a tar archive as a stream, forwards only: no seeking, no extraction by the library, one member at a time."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import tarfile
import zlib
from collections.abc import Iterator
from typing import IO, Protocol

from skillkeep.ingest import observations as seen
from skillkeep.ingest.errors import IngestError
from skillkeep.ingest.fetchers.archive_zip import bad_archive, inner_path
from skillkeep.ingest.fetchers.interface import FetchOrder
from skillkeep.ingest.observations import Observations
from skillkeep.ingest.paths import split_path
from skillkeep.ingest.writer import TreeWriter, too_much

__all__ = ["unpack_tar"]

_BROKEN = (
    tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError, RecursionError, struct.error,
    IndexError, KeyError, OverflowError,
)  # fmt: skip
_CHUNK = 1 << 18


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def unpack_tar(stream: IO[bytes], order: FetchOrder, writer: TreeWriter, notes: Observations) -> None:
    """Write every member below ``order.path``. Raises `IngestError` (`bad_archive`), `limit_exceeded`."""
    plain = _Bounded(_decompressed(stream), order.limits.total_bytes * 2)
    count = 0
    try:
        with tarfile.open(fileobj=plain, mode="r|", encoding="utf-8", errors="surrogateescape") as archive:
            for member in archive:
                count += 1
                if count > order.limits.entries:
                    raise too_much("entries", order.limits.entries)
                path = inner_path(member.name, order.path)
                if path is not None:
                    _take(archive, member, path, (writer, notes, order))
    except _BROKEN as error:
        raise bad_archive(str(error)) from error
    if not count:
        raise IngestError("empty_source", "the archive holds no files", "Check that it was downloaded whole.")


def _take(
    archive: tarfile.TarFile, member: tarfile.TarInfo, path: str, into: tuple[TreeWriter, Observations, FetchOrder]
) -> None:
    writer, notes, order = into
    if member.isdir():
        if split_path(path):
            writer.folder(path)
    elif member.issym():
        writer.link(path, member.linkname)
    elif member.islnk():
        # never a link on disk: a copy of an earlier member, or nothing
        target = inner_path(member.linkname, order.path)
        if target is None or not writer.copy(path, "/".join(split_path(target)), bool(member.mode & 0o111)):
            notes.add(seen.HARDLINK, path, f"hard link to {member.linkname}, which is no earlier file of the archive")
    elif member.isreg():
        writer.file(path, bool(member.mode & 0o111), member.size, _chunks(archive, member))
    else:
        notes.add(seen.SPECIAL_FILE, path, "a device, FIFO or unknown kind of member")


def _chunks(archive: tarfile.TarFile, member: tarfile.TarInfo) -> Iterator[bytes]:
    content = archive.extractfile(member)
    if content is None:
        return
    while chunk := content.read(_CHUNK):
        yield chunk


def _decompressed(stream: IO[bytes]) -> _Readable:
    mark = stream.read(6)
    stream.seek(0)
    if mark.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=stream)
    if mark.startswith(b"BZh"):
        return bz2.BZ2File(stream)
    if mark.startswith(b"\xfd7zXZ"):
        return lzma.LZMAFile(stream)
    return stream


class _Bounded(io.RawIOBase):
    """Reads at most `limit` decompressed bytes of a stream: a bomb ends here, whatever it claims."""

    def __init__(self, stream: _Readable, limit: int) -> None:
        self._stream = stream
        self._limit = limit
        self._left = limit

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size if 0 <= size < _CHUNK * 4 else _CHUNK * 4)
        self._left -= len(data)
        if self._left < 0:
            raise too_much("bytes", self._limit)
        return data
