"""Writes what a source brings into quarantine: by folder descriptors, never through a link, never over anything.

Files become 0644 or 0755, whatever the source says; links become links and are never followed; what has no place
on disk (a hostile path, a device, a submodule) is noted instead. Counts entries and bytes and stops at the limits.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from skillkeep.digest import CHUNK
from skillkeep.errors import SkillkeepError
from skillkeep.files import io_errors, write_all
from skillkeep.ingest import observations as seen
from skillkeep.ingest.paths import split_path, why_refused

__all__ = ["SourceLimits", "TreeWriter", "too_much"]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_LFS_MARK = b"version https://git-lfs.github.com/spec/"


@dataclass(frozen=True)
class SourceLimits:
    """Bounds of one written tree: entries, bytes of all files, bytes of one file, path components, seconds."""

    entries: int
    total_bytes: int
    file_bytes: int
    depth: int
    seconds: float


class TreeWriter:
    """Writes below `root`, an empty folder of ours. Use as a context manager, with the umask at 022."""

    def __init__(self, root: Path, limits: SourceLimits, notes: seen.Observations) -> None:
        self._root = os.open(root, _FOLDER)
        self._limits = limits
        self._notes = notes
        self._entries = 0
        self._bytes = 0
        self._git_folders: set[str] = set()
        self._parents: list[tuple[str, int]] = []  # the open folders of the path written last
        self.paths: set[str] = set()

    def __enter__(self) -> TreeWriter:
        return self

    def __exit__(self, *exc: object) -> None:
        while self._parents:
            os.close(self._parents.pop()[1])
        os.close(self._root)

    @property
    def bytes_written(self) -> int:
        """Bytes of all files so far."""
        return self._bytes

    def file(self, path: str, executable: bool, size: int, chunks: Iterable[bytes]) -> None:
        """Write a file. `size` is what the source claims; what arrives is counted all the same.

        A file above the limit of one file is noted and not written (nothing of `chunks` is read then). Raises
        `SkillkeepError`: `limit_exceeded` for the whole source, `io_error`.
        """
        if size > self._limits.file_bytes:
            self._note_large(path, size)
            return
        place = self._place(path)
        if place is None:
            return
        folder, name = place
        fd = self._create(folder, name, path, 0o755 if executable else 0o644)
        if fd is None:
            return
        try:
            with io_errors("write into quarantine"):
                complete = self._pour(fd, path, chunks)
        finally:
            os.close(fd)
        if not complete:
            os.unlink(name, dir_fd=folder)
            self.paths.discard(path)

    def copy(self, path: str, source: str, executable: bool) -> bool:
        """Write a copy of the file `source` written before; False when there is none."""
        if source not in self.paths:
            return False
        folder = os.dup(self._root)
        try:
            *parents, name = split_path(source)
            for part in parents:
                inner = os.open(part, _FOLDER, dir_fd=folder)
                os.close(folder)
                folder = inner
            fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        except OSError:
            return False
        finally:
            os.close(folder)
        with os.fdopen(fd, "rb") as stream:
            info = os.fstat(fd)
            if not stat.S_ISREG(info.st_mode):
                return False
            self.file(path, executable, info.st_size, iter(lambda: stream.read(CHUNK), b""))
        return True

    def link(self, path: str, target: str) -> None:
        """Write a symbolic link as a link."""
        place = self._place(path)
        if place is None:
            return
        if "\0" in target or not target or len(os.fsencode(target)) > 4095:
            self._notes.add(seen.LINK_DANGLING, path, "the link's target is no path")
            return
        with io_errors("write into quarantine"):
            try:
                os.symlink(target, place[1], dir_fd=place[0])
            except FileExistsError:
                self._notes.add(seen.DUPLICATE, path, "the source holds this path twice")
                return
        self._count()
        self.paths.add(path)

    def folder(self, path: str) -> None:
        """Make a folder (and its parents); one that is there already is fine."""
        place = self._place(path)
        inner = self._enter(place[0], place[1], path) if place else None
        if inner is not None:
            os.close(inner)
            self.paths.add(path)

    def _pour(self, fd: int, path: str, chunks: Iterable[bytes]) -> bool:
        written = 0
        first = True
        for chunk in chunks:
            if first and chunk.startswith(_LFS_MARK):
                self._notes.add(seen.LFS_POINTER, path, "the content lies elsewhere (Git LFS) and was not fetched")
            first = False
            written += len(chunk)
            self._bytes += len(chunk)
            if self._bytes > self._limits.total_bytes:
                raise too_much("bytes", self._limits.total_bytes)
            if written > self._limits.file_bytes:
                self._note_large(path, written)
                return False
            write_all(fd, chunk)
        return True

    def _note_large(self, path: str, size: int) -> None:
        self._notes.add(seen.TOO_LARGE, path, f"{size} bytes, the limit is {self._limits.file_bytes}")

    def _place(self, path: str) -> tuple[int, str] | None:
        """The open parent folder and the last component; None when the path was noted instead."""
        refused = why_refused(path, self._limits.depth)
        if refused is not None:
            self._note_refused(path, *refused)
            return None
        *parents, name = split_path(path)
        folder = self._open_parents(parents, path)
        return None if folder is None else (folder, name)

    def _note_refused(self, path: str, rule: str, detail: str) -> None:
        if rule == seen.GIT_FOLDER:  # once for the folder, not once for each of its thousand objects
            parts = split_path(path)
            path = "/".join(parts[: parts.index(".git") + 1])
            if path in self._git_folders:
                return
            self._git_folders.add(path)
        self._notes.add(rule, path, detail)

    def _open_parents(self, parents: list[str], path: str) -> int | None:
        keep = 0
        while keep < min(len(parents), len(self._parents)) and self._parents[keep][0] == parents[keep]:
            keep += 1
        while len(self._parents) > keep:
            os.close(self._parents.pop()[1])
        for part in parents[keep:]:
            inner = self._enter(self._here(), part, path)
            if inner is None:
                return None
            self._parents.append((part, inner))
        return self._here()

    def _here(self) -> int:
        return self._parents[-1][1] if self._parents else self._root

    def _enter(self, parent: int, name: str, path: str) -> int | None:
        """Open the folder `name`, made if missing; None (noted) when something else has the name already."""
        with io_errors("write into quarantine"):
            try:
                os.mkdir(name, 0o755, dir_fd=parent)
            except FileExistsError:
                pass
            else:
                self._count()
            try:
                return os.open(name, _FOLDER, dir_fd=parent)
            except OSError as error:
                if error.errno not in {errno.ENOTDIR, errno.ELOOP}:
                    raise
        self._notes.add(seen.DUPLICATE, path, "goes through a link or a file that the source also holds")
        return None

    def _create(self, folder: int, name: str, path: str, mode: int) -> int | None:
        with io_errors("write into quarantine"):
            try:
                fd = os.open(name, _NEW_FILE, mode, dir_fd=folder)
            except FileExistsError:
                self._notes.add(seen.DUPLICATE, path, "the source holds this path twice")
                return None
        self._count()
        self.paths.add(path)
        return fd

    def _count(self) -> None:
        self._entries += 1
        if self._entries > self._limits.entries:
            raise too_much("entries", self._limits.entries)


def too_much(what: str, limit: int) -> SkillkeepError:
    """The error for a source above a limit; `what` is ``entries``, ``bytes`` or ``seconds``."""
    return SkillkeepError(
        "limit_exceeded",
        f"the source is larger than the limit: more than {limit} {what}",
        "Take a part of it with --path, or raise the [limits] in config.toml.",
        what=what,
        limit=limit,
    )
