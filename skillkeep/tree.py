"""A read-only view of a tree nobody trusts.

One walk by directory descriptors (``openat`` with ``O_NOFOLLOW``), so no link is ever followed and a folder
swapped for a link during the walk is not entered. What is not read is reported, never silently left out.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final

from skillkeep.clock import SYSTEM_CLOCK, Clock
from skillkeep.digest import CHUNK
from skillkeep.errors import SkillkeepError

__all__ = ["GIT_FOLDER", "EntryKind", "TreeEntry", "TreeLimits", "TreeView", "Unread", "UnreadReason"]

GIT_FOLDER: Final = ".git"
"""Where a working copy keeps what is git's own."""

_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


class EntryKind(StrEnum):
    """What a directory entry is."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    FIFO = "fifo"
    SOCKET = "socket"
    DEVICE = "device"


class UnreadReason(StrEnum):
    """Why something in the tree was not read."""

    TOO_MANY = "too many entries"
    TOO_DEEP = "too deep"
    TOO_LARGE = "file too large"
    TOO_MUCH = "too many bytes in all"
    TOO_SLOW = "out of time"
    DENIED = "not readable"
    CHANGED = "changed while being read"


@dataclass(frozen=True)
class TreeEntry:
    """One entry: path below the root (POSIX, ``surrogateescape``), kind, permission bits, bytes, link target."""

    path: str
    kind: EntryKind
    mode: int
    size: int
    target: str | None = None
    links: int = 1

    @property
    def executable(self) -> bool:
        """True when any execute bit is set on a file."""
        return self.kind is EntryKind.FILE and bool(self.mode & 0o111)


@dataclass(frozen=True)
class Unread:
    """Something that was not read, and why."""

    path: str
    reason: UnreadReason
    detail: str = ""


@dataclass(frozen=True)
class TreeLimits:
    """Bounds of one view: entries, bytes of one file, bytes of all files, folder depth, seconds of the walk.

    With `checkout` the root is somebody's working copy, of which its own ``.git`` is no part.
    """

    entries: int = 20_000
    file_bytes: int = 16 << 20
    total_bytes: int = 512 << 20
    depth: int = 64
    seconds: float = 60.0
    checkout: bool = False


@dataclass
class _Walk:
    limits: TreeLimits
    clock: Clock
    deadline: float
    entries: list[TreeEntry] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    total: int = 0
    stopped: bool = False

    def skip(self, path: str, reason: UnreadReason, detail: str = "") -> None:
        self.unread.append(Unread(path, reason, detail))

    def stop(self, path: str, reason: UnreadReason) -> None:
        self.skip(path, reason)
        self.stopped = True


class TreeView:
    """The entries of a folder as they were at `open`, and bounded reads of its files. Close it, or use ``with``."""

    def __init__(self, root_fd: int, walk: _Walk) -> None:
        self._root_fd = root_fd
        self.limits = walk.limits
        self.entries: tuple[TreeEntry, ...] = tuple(sorted(walk.entries, key=lambda entry: os.fsencode(entry.path)))
        self.unread: tuple[Unread, ...] = tuple(walk.unread)
        self._by_path = {entry.path: entry for entry in self.entries}

    @classmethod
    def open(cls, root: Path | str, limits: TreeLimits = TreeLimits(), clock: Clock = SYSTEM_CLOCK) -> TreeView:
        """Walk `root` once. Raises `SkillkeepError` (`not_a_tree`) when it is not a folder that can be opened."""
        try:
            root_fd = os.open(root, _OPEN_FOLDER)
        except (OSError, ValueError) as error:
            raise SkillkeepError(
                "not_a_tree",
                "the path is not a folder that can be read",
                "Give the path of an existing folder, not of a link to one.",
                path=os.fspath(root),
                reason=getattr(error, "strerror", None) or str(error),
            ) from error
        walk = _Walk(limits, clock, clock.monotonic() + limits.seconds)
        try:
            _walk_folder(walk, root_fd, "", 1)
        except BaseException:
            os.close(root_fd)
            raise
        return cls(root_fd, walk)

    def __enter__(self) -> TreeView:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the root's descriptor; reading afterwards fails."""
        if self._root_fd >= 0:
            os.close(self._root_fd)
            self._root_fd = -1

    def get(self, path: str) -> TreeEntry | None:
        """The entry at `path`, or None."""
        return self._by_path.get(path)

    def files(self) -> Iterator[TreeEntry]:
        """Every regular file, in byte order of paths."""
        return (entry for entry in self.entries if entry.kind is EntryKind.FILE)

    def open_fd(self, path: str) -> int:
        """A read-only descriptor of the regular file `path`; the caller closes it. No component may be a link.

        Raises `SkillkeepError` (`unsafe_path`, `io_error`).
        """
        parts = _safe_parts(path)
        folder = os.dup(self._root_fd)
        try:
            for part in parts[:-1]:
                deeper = os.open(part, _OPEN_FOLDER, dir_fd=folder)
                os.close(folder)
                folder = deeper
            fd = os.open(parts[-1], _OPEN_FILE, dir_fd=folder)
        except OSError as error:
            raise _cannot_read(path, error.strerror or "error") from error
        finally:
            os.close(folder)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise _cannot_read(path, "not a regular file")
        return fd

    def read(self, path: str, limit: int | None = None) -> bytes:
        """The bytes of a file, at most `limit` (default: the view's `file_bytes`).

        Raises `SkillkeepError`: `limit_exceeded` when it is larger, `unsafe_path`, `io_error`.
        """
        bound = self.limits.file_bytes if limit is None else limit
        fd = self.open_fd(path)
        try:
            chunks: list[bytes] = []
            left = bound + 1
            while left > 0 and (chunk := os.read(fd, min(left, CHUNK * 4))):
                chunks.append(chunk)
                left -= len(chunk)
        finally:
            os.close(fd)
        if left <= 0:
            raise SkillkeepError(
                "limit_exceeded",
                "a file is larger than the limit for reading it",
                "Raise the limit in config.toml if the file is expected to be that large.",
                path=path,
                limit=bound,
            )
        return b"".join(chunks)


def _safe_parts(path: str) -> list[str]:
    parts = path.split("/")
    if not path or path.startswith("/") or "\0" in path or any(part in {"", ".", ".."} for part in parts):
        raise SkillkeepError(
            "unsafe_path", "a path leaves its tree", "Use a plain path below the tree's root.", path=path
        )
    return parts


def _cannot_read(path: str, reason: str) -> SkillkeepError:
    return SkillkeepError(
        "io_error",
        "a file of the tree cannot be read",
        "Check its permissions, or fetch the tree again.",
        path=path,
        reason=reason,
    )


def _kind_of(mode: int) -> EntryKind:
    if stat.S_ISREG(mode):
        return EntryKind.FILE
    if stat.S_ISDIR(mode):
        return EntryKind.FOLDER
    if stat.S_ISLNK(mode):
        return EntryKind.LINK
    if stat.S_ISFIFO(mode):
        return EntryKind.FIFO
    return EntryKind.SOCKET if stat.S_ISSOCK(mode) else EntryKind.DEVICE


def _walk_folder(walk: _Walk, folder_fd: int, prefix: str, depth: int) -> None:
    try:
        names = _names(walk, folder_fd, prefix)
    except OSError as error:
        walk.skip(prefix, UnreadReason.DENIED, error.strerror or "")
        return
    for name in names:
        path = f"{prefix}/{name}" if prefix else name
        if walk.stopped:
            return
        if path == GIT_FOLDER and walk.limits.checkout:
            continue
        if len(walk.entries) >= walk.limits.entries:
            walk.stop(path, UnreadReason.TOO_MANY)
            return
        if walk.clock.monotonic() > walk.deadline:
            walk.stop(path, UnreadReason.TOO_SLOW)
            return
        _visit(walk, folder_fd, name, path, depth)


def _names(walk: _Walk, folder_fd: int, prefix: str) -> list[str]:
    """The folder's names in byte order; a folder with more names than the view may hold is cut, and said so."""
    names: list[str] = []
    room = walk.limits.entries - len(walk.entries) + 1
    with os.scandir(folder_fd) as listing:
        for item in listing:
            if len(names) >= room:
                walk.skip(prefix, UnreadReason.TOO_MANY)
                break
            names.append(item.name)
    return sorted(names, key=os.fsencode)


def _visit(walk: _Walk, folder_fd: int, name: str, path: str, depth: int) -> None:
    try:
        info = os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
        kind = _kind_of(info.st_mode)
        target = os.readlink(name, dir_fd=folder_fd) if kind is EntryKind.LINK else None
    except OSError as error:
        walk.skip(path, UnreadReason.CHANGED, error.strerror or "")
        return
    size = info.st_size if kind is EntryKind.FILE else 0
    walk.entries.append(TreeEntry(path, kind, stat.S_IMODE(info.st_mode), size, target, info.st_nlink))
    if kind is EntryKind.FILE:
        walk.total += size
        if size > walk.limits.file_bytes:
            walk.skip(path, UnreadReason.TOO_LARGE, f"{size} bytes")
        if walk.total > walk.limits.total_bytes:
            walk.stop(path, UnreadReason.TOO_MUCH)
    elif kind is EntryKind.FOLDER:
        _enter(walk, folder_fd, name, path, depth)


def _enter(walk: _Walk, folder_fd: int, name: str, path: str, depth: int) -> None:
    if depth >= walk.limits.depth:
        walk.skip(path, UnreadReason.TOO_DEEP)
        return
    try:
        inner = os.open(name, _OPEN_FOLDER, dir_fd=folder_fd)
    except OSError as error:
        walk.skip(path, UnreadReason.DENIED, error.strerror or "")
        return
    try:
        _walk_folder(walk, inner, path, depth + 1)
    finally:
        os.close(inner)
