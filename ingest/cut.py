"""Cuts one artifact out of a source: plain files only, each link replaced by a copy of what it leads to inside.

Runs inside a confined worker. A link that is absolute, leaves the source, leads nowhere or to itself is noted (and
fails the audit); the copy is bounded like everything else, so links to links to folders cannot grow without end.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from skillkeep.digest import CHUNK
from skillkeep.errors import SkillkeepError
from skillkeep.ingest import observations as seen
from skillkeep.ingest.observations import Observations
from skillkeep.ingest.writer import SourceLimits, TreeWriter
from skillkeep.links import LinkKind, resolve_link
from skillkeep.text import escape
from skillkeep.tree import EntryKind, TreeEntry, TreeView

__all__ = ["CutLimits", "cut"]

_FATES = {
    LinkKind.ABSOLUTE: seen.LINK_ABSOLUTE,
    LinkKind.ESCAPING: seen.LINK_ESCAPING,
    LinkKind.DANGLING: seen.LINK_DANGLING,
    LinkKind.CYCLE: seen.LINK_CYCLE,
}


@dataclass(frozen=True)
class CutLimits:
    """Bounds of one artifact: files, bytes of all files, path components, seconds."""

    files: int
    total_bytes: int
    depth: int
    seconds: float


def cut(view: TreeView, path: str, into: Path, limits: CutLimits) -> tuple[Observations, int]:
    """Copy the artifact at `path` of the source `view` into the new folder `into`: (what was seen, bytes written).

    Paths in observations are relative to the artifact. Raises `SkillkeepError` (`limit_exceeded`, `io_error`).
    """
    notes = Observations()
    into.mkdir(mode=0o755)
    bounds = SourceLimits(
        entries=limits.files * (limits.depth + 1),
        total_bytes=limits.total_bytes,
        file_bytes=limits.total_bytes,
        depth=limits.depth,
        seconds=limits.seconds,
    )
    with TreeWriter(into, bounds, notes) as writer:
        _Cutter(view, writer, notes, limits).artifact(path)
        return notes, writer.bytes_written


class _Cutter:
    def __init__(self, view: TreeView, writer: TreeWriter, notes: Observations, limits: CutLimits) -> None:
        self._view = view
        self._writer = writer
        self._notes = notes
        self._limits = limits
        self._entries = {entry.path: entry for entry in view.entries}
        self._children: dict[str, list[TreeEntry]] = {}
        for entry in view.entries:
            self._children.setdefault(entry.path.rpartition("/")[0], []).append(entry)
        self._files = 0
        self._bytes = 0

    def artifact(self, path: str) -> None:
        """Copy the folder or the single file at `path`."""
        entry = self._entries.get(path)
        if entry is not None and entry.kind is not EntryKind.FOLDER:
            self._take(entry, path.rpartition("/")[2], ())
        else:
            self.folder(path, "", ())

    def folder(self, source: str, target: str, open_folders: tuple[str, ...]) -> None:
        """Copy what is in the folder `source` to `target`. `open_folders` are the real folders being copied now."""
        if source in open_folders:
            self._notes.add(seen.LINK_CYCLE, target, "links lead around in a circle")
            return
        for entry in self._children.get(source, []):
            name = entry.path.rpartition("/")[2]
            self._take(entry, f"{target}/{name}" if target else name, (*open_folders, source))

    def _take(self, entry: TreeEntry, target: str, open_folders: tuple[str, ...]) -> None:
        if entry.kind is EntryKind.LINK:
            fate = resolve_link(self._entries, entry.path)
            if fate.kind is not LinkKind.INSIDE:
                self._notes.add(_FATES[fate.kind], target, f"leads to {escape(fate.target)}")
                return
            self._notes.add(seen.LINK_COPIED, target, f"a copy of {escape(fate.target)}")
            entry = self._entries[fate.target]
        if entry.kind is EntryKind.FOLDER:
            self._writer.folder(target)
            self.folder(entry.path, target, open_folders)
        elif entry.kind is EntryKind.FILE:
            self._count(entry)
            self._writer.file(target, entry.executable, entry.size, self._chunks(entry.path))
        else:
            self._notes.add(seen.SPECIAL_FILE, target, f"a {entry.kind}")

    def _count(self, entry: TreeEntry) -> None:
        self._files += 1
        self._bytes += entry.size
        for what, number, limit in (
            ("files", self._files, self._limits.files),
            ("bytes", self._bytes, self._limits.total_bytes),
        ):
            if number > limit:
                raise SkillkeepError(
                    "limit_exceeded",
                    f"the tool is larger than the limit: more than {limit} {what}",
                    f"Take a part of it with --path, or raise artifact_{what} under [limits] in config.toml.",
                    what=what,
                    limit=limit,
                )

    def _chunks(self, path: str) -> Iterator[bytes]:
        fd = self._view.open_fd(path)
        try:
            while chunk := os.read(fd, CHUNK):
                yield chunk
        finally:
            os.close(fd)
