"""Takes a local folder or a single file as it lies there; links are copied as links."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from skillkeep.confined import Confinement
from skillkeep.digest import CHUNK
from skillkeep.errors import SkillkeepError
from skillkeep.ingest import observations as seen
from skillkeep.ingest.errors import IngestError
from skillkeep.ingest.fetchers.interface import Fetcher, FetchFacts, FetchOrder
from skillkeep.ingest.observations import Observations
from skillkeep.ingest.source import SourceKind
from skillkeep.ingest.writer import SourceLimits, TreeWriter, too_much
from skillkeep.tree import EntryKind, TreeEntry, TreeLimits, TreeView, Unread, UnreadReason

__all__ = ["FolderFetcher"]

_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class FolderFetcher(Fetcher):
    """A folder or file of this machine."""

    kind = SourceKind.FOLDER

    def confinement(self, order: FetchOrder) -> Confinement:
        return Confinement(
            read=(order.local,),
            write=(order.folder,),
            wall_seconds=order.limits.seconds + 5,
            cpu_seconds=int(order.limits.seconds) + 5,
            file_bytes=order.limits.total_bytes,
        )

    def _fetch(self, order: FetchOrder, writer: TreeWriter, notes: Observations) -> FetchFacts:
        root = os.path.join(order.local, order.path) if order.path else order.local
        _check_path(order)
        if os.path.isdir(root):
            _copy_folder(root, order.limits, writer, notes)
        else:
            _copy_file(root, writer)
        return FetchFacts()


def _check_path(order: FetchOrder) -> None:
    """Refuse a --path that passes through a link, or that does not exist."""
    here = order.local
    for part in filter(None, order.path.split("/")):
        here = os.path.join(here, part)
        if os.path.islink(here) or not os.path.lexists(here):
            raise IngestError(
                "source_not_found", "the source has no such file or folder", "Check --path.", path=order.path
            )


def _copy_folder(root: str, limits: SourceLimits, writer: TreeWriter, notes: Observations) -> None:
    """Copy all of `root` but its own ``.git``: that is the checkout's bookkeeping, no part of what it holds."""
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        names = os.listdir(folder)
        if len(names) > limits.entries:
            raise too_much("entries", limits.entries)
        for name in sorted(names, key=os.fsencode):
            if name == ".git":
                continue
            mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
            if stat.S_ISDIR(mode):
                writer.folder(name)
                _copy_below(os.path.join(root, name), name, limits, (writer, notes))
            elif stat.S_ISLNK(mode):
                writer.link(name, os.readlink(name, dir_fd=folder))
            elif stat.S_ISREG(mode):
                size = os.stat(name, dir_fd=folder, follow_symlinks=False).st_size
                writer.file(name, bool(mode & 0o111), size, _chunks_of(folder, name, name, notes))
            else:
                notes.add(seen.SPECIAL_FILE, name, "a device, FIFO or socket")
    finally:
        os.close(folder)


def _copy_below(root: str, prefix: str, limits: SourceLimits, into: tuple[TreeWriter, Observations]) -> None:
    # one level more than is taken, so that what lies too deep is seen and named
    bounds = TreeLimits(limits.entries, limits.file_bytes, limits.total_bytes, limits.depth + 1, limits.seconds)
    try:
        view = TreeView.open(root, bounds)
    except SkillkeepError as error:
        into[1].add(seen.UNREADABLE, prefix, error.message)
        return
    with view:
        for unread in view.unread:
            _note_unread(unread, prefix, limits, into[1])
        for entry in view.entries:
            _copy_entry(view, entry, f"{prefix}/{entry.path}", into)


def _note_unread(unread: Unread, prefix: str, limits: SourceLimits, notes: Observations) -> None:
    if unread.reason is UnreadReason.TOO_MANY:
        raise too_much("entries", limits.entries)
    if unread.reason is UnreadReason.TOO_MUCH:
        raise too_much("bytes", limits.total_bytes)
    if unread.reason is UnreadReason.TOO_SLOW:
        raise too_much("seconds", int(limits.seconds))
    if unread.reason in {UnreadReason.DENIED, UnreadReason.CHANGED}:
        notes.add(seen.UNREADABLE, f"{prefix}/{unread.path}", f"{unread.reason} {unread.detail}".strip())


def _copy_entry(view: TreeView, entry: TreeEntry, path: str, into: tuple[TreeWriter, Observations]) -> None:
    writer, notes = into
    if entry.kind is EntryKind.FOLDER:
        writer.folder(path)
    elif entry.kind is EntryKind.LINK:
        writer.link(path, entry.target or "")
    elif entry.kind is EntryKind.FILE:
        writer.file(path, entry.executable, entry.size, _chunks(view, entry.path, path, notes))
    else:
        notes.add(seen.SPECIAL_FILE, path, f"a {entry.kind}")


def _chunks(view: TreeView, inner: str, path: str, notes: Observations) -> Iterator[bytes]:
    try:
        fd = view.open_fd(inner)
    except SkillkeepError as error:
        notes.add(seen.UNREADABLE, path, error.message)
        return
    yield from _drain(fd)


def _chunks_of(folder: int, name: str, path: str, notes: Observations) -> Iterator[bytes]:
    try:
        fd = os.open(name, _OPEN_FILE, dir_fd=folder)
    except OSError as error:
        notes.add(seen.UNREADABLE, path, error.strerror or "")
        return
    yield from _drain(fd)


def _drain(fd: int) -> Iterator[bytes]:
    try:
        if stat.S_ISREG(os.fstat(fd).st_mode):
            while chunk := os.read(fd, CHUNK):
                yield chunk
    finally:
        os.close(fd)


def _copy_file(path: str, writer: TreeWriter) -> None:
    fd = os.open(path, _OPEN_FILE)
    with os.fdopen(fd, "rb") as stream:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            raise IngestError("bad_source", "the source is not a regular file", "Give a folder, a file or a git URL.")
        executable = bool(info.st_mode & 0o111)
        writer.file(os.path.basename(path), executable, info.st_size, iter(lambda: stream.read(CHUNK), b""))
