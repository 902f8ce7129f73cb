"""Unpacks zip, tar and `.skill` archives member by member; a member only ever names a path for the `TreeWriter`."""

from __future__ import annotations

from skillkeep.confined import Confinement
from skillkeep.ingest.errors import IngestError
from skillkeep.ingest.fetchers.archive_tar import unpack_tar
from skillkeep.ingest.fetchers.archive_zip import unpack_zip
from skillkeep.ingest.fetchers.interface import Fetcher, FetchFacts, FetchOrder
from skillkeep.ingest.observations import Observations
from skillkeep.ingest.source import SourceKind
from skillkeep.ingest.writer import TreeWriter, too_much

__all__ = ["ArchiveFetcher"]

_ZIP_MARKS = (b"PK\x03\x04", b"PK\x05\x06")


class ArchiveFetcher(Fetcher):
    """An archive file of this machine, told apart by its first bytes, not by its name."""

    kind = SourceKind.ARCHIVE

    def confinement(self, order: FetchOrder) -> Confinement:
        return Confinement(
            read=(order.local,),
            write=(order.folder,),
            wall_seconds=order.limits.seconds,
            cpu_seconds=int(order.limits.seconds) + 1,
            memory_bytes=512 << 20,
            file_bytes=order.limits.file_bytes + (1 << 20),
        )

    def _fetch(self, order: FetchOrder, writer: TreeWriter, notes: Observations) -> FetchFacts:
        with open(order.local, "rb") as stream:
            if stream.seek(0, 2) > order.limits.total_bytes:
                raise too_much("bytes", order.limits.total_bytes)
            stream.seek(0)
            mark = stream.read(4)
            if not mark:
                raise IngestError("empty_source", "the archive is an empty file", "Check that it was downloaded whole.")
            stream.seek(0)
            unpack = unpack_zip if mark in _ZIP_MARKS else unpack_tar
            unpack(stream, order, writer, notes)
        return FetchFacts()
