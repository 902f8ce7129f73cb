"""From the upper layer of an overlay to a list of changes; what the tool left there is hostile.

Nothing below either folder is reached but by `beneath`, so no link leads anywhere. Bounded: by the size and the
inodes of the memory file system the layer lies in, and by `Limits` for what had to be looked at in the project.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from skillkeep.kernel.overlay import MARKS, OWN_MARK
from skillkeep.runner.dryrun.beneath import open_below, open_root
from skillkeep.runner.dryrun.change import After, Change, FolderChanges, Remark, Stamp, Type
from skillkeep.runner.dryrun.links import Links, leads_out
from skillkeep.runner.dryrun.since import Around, Since
from skillkeep.text import escape

__all__ = ["Limits", "collect"]

_CHUNK = 1 << 20
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
_SPECIAL = stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX
_PERMISSIONS = 0o777
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_STOPPED = "too many changes: the rest is left out"
_MOVED = (
    "it may have been moved there while the tool ran (it and the folder around it changed): nothing in it is touched"
)


@dataclass(frozen=True)
class Limits:
    """Bounds of a collection: bytes of all files as they read (a sparse one counts whole), entries, path bytes."""

    total_bytes: int
    entries: int = 100_000
    path_bytes: int = 3800


def collect(upper: int, root: str, blobs: Path, since: Since, limits: Limits) -> FolderChanges:
    """What was written in `upper` over the folder `root`. File contents are copied into the folder `blobs`.

    Whatever has changed in the project `since` is a conflict.
    Raises OSError when the project is no longer there, or `blobs` cannot take the copies.
    """
    project = open_root(root)
    try:
        state = os.fstat(project)
        if since.is_other(state):
            raise OSError(errno.ESTALE, "another folder stands there now")
        walk = _Walk(upper, project, blobs, Around.root(since, state), limits)
        if stat.S_IMODE(os.fstat(upper).st_mode) != stat.S_IMODE(state.st_mode):
            walk.note("", "the folder's own mode stays as it is")
            os.fchmod(upper, 0o700)
        walk.all()
        return FolderChanges(root, state.st_dev, state.st_ino, tuple(walk.changes), tuple(walk.remarks))
    finally:
        os.close(project)


class _FullError(Exception):
    """A limit is reached."""


@dataclass
class _Walk:
    upper: int
    project: int
    blobs: Path
    around: Around
    limits: Limits
    changes: list[Change] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)
    left: int = 0
    seen: int = 0
    stored: int = 0
    moved: set[str] = field(default_factory=set)
    marks: str = MARKS[0]
    links: Links = field(init=False)

    def __post_init__(self) -> None:
        self.left = self.limits.total_bytes
        self.links = Links((self.upper, self.project), self._count)
        self.marks = next((prefix for prefix in MARKS if _mark(self.upper, f"{prefix}{OWN_MARK}")), MARKS[0])

    def all(self) -> None:
        """Walk the upper layer. `around` is always of the folder whose entries are looked at."""
        todo = [("", False, self.around)]
        try:
            while todo:
                path, opaque, self.around = todo.pop()
                with self._refusing(path):
                    todo += self._one_folder(path, opaque)
        except _FullError:
            self.refuse("", _STOPPED)

    def refuse(self, path: str, text: str) -> None:
        self.remarks.append(Remark(path, text, refused=True))

    def note(self, path: str, text: str) -> None:
        self.remarks.append(Remark(path, text, refused=False))

    def _one_folder(self, path: str, opaque: bool) -> list[tuple[str, bool, Around]]:
        with _opened(self.upper, path) as here, _maybe_opened(self.project, path) as there:
            self.around = self.around.opened(path, there)
            names = sorted(os.listdir(here), key=os.fsencode)
            if opaque and there >= 0:
                for name in sorted(set(os.listdir(there)) - set(names), key=os.fsencode):
                    if (old := self._old(path, there, name)) is not None:
                        self._gone(_join(path, name), old)
            below: list[tuple[str, bool, Around]] = []
            for name in names:
                self._count()
                if len(os.fsencode(_join(path, name))) > self.limits.path_bytes:
                    self.refuse(path, "what lies deeper has a path that is too long")
                    break
                inner, old = None, self._old(path, there, name)
                with self._refusing(_join(path, name)):
                    inner = self._entry(here, there, _join(path, name), name, old)
                if inner is not None:
                    below.append((_join(path, name), opaque or inner, self.around.below(_join(path, name), old)))
            return below

    def _old(self, path: str, there: int, name: str) -> os.stat_result | None:
        """What the project has there; the folder is looked at after it, so that a move just before shows in both."""
        old = _stat_at(there, name)
        if old is not None and stat.S_ISDIR(old.st_mode):
            self.around = self.around.opened(path, there)
        return old

    @contextlib.contextmanager
    def _refusing(self, path: str) -> Iterator[None]:
        """What cannot be looked at is refused by itself; a disk without room for the copies ends the collection."""
        try:
            yield
        except OSError as error:
            if error.errno in _NO_ROOM:
                raise
            self.refuse(path, f"it cannot be read: {error.strerror}")

    def _entry(self, here: int, there: int, path: str, name: str, old: os.stat_result | None) -> bool | None:
        """One name of the upper layer. For a folder: whether it hides what the project has there."""
        state = os.stat(name, dir_fd=here, follow_symlinks=False)
        if stat.S_ISCHR(state.st_mode) and state.st_rdev == 0:
            if old is not None:
                self._gone(path, old)
            return None
        kind = Type.of(state.st_mode)
        if kind is Type.OTHER:
            self.refuse(path, "a device, pipe or socket is not committed")
            return None
        if kind is Type.FOLDER:
            return self._entry_folder(here, path, name, state, old)
        if old is not None and stat.S_ISDIR(old.st_mode):
            self._gone(path, old)
            old = None
        if kind is Type.LINK:
            self._link(path, os.readlink(name, dir_fd=here), None if there < 0 else there, name, old)
        else:
            self._file(path, here, name, old, there)
        return None

    def _entry_folder(self, here: int, path: str, name: str, state: os.stat_result, old: os.stat_result | None) -> bool:
        fd = _open_ours(here, name, state, os.O_DIRECTORY)
        try:
            hides = _mark(fd, f"{self.marks}opaque") == b"y"
            self._attributes(path, fd, None)
        finally:
            os.close(fd)
        mode = stat.S_IMODE(state.st_mode) & _PERMISSIONS
        if old is not None and not stat.S_ISDIR(old.st_mode):
            self._gone(path, old)
            old = None
        if old is None or stat.S_IMODE(old.st_mode) & _PERMISSIONS != mode:
            self._change(path, old, After(Type.FOLDER, mode), same_content=True)
        return hides

    def _link(self, path: str, target: str, there: int | None, name: str, old: os.stat_result | None) -> None:
        if old is not None and stat.S_ISLNK(old.st_mode) and os.readlink(name, dir_fd=there) == target:
            return
        if leads_out(path, target):
            self.refuse(path, "a link that leads out of the folder is not committed")
            return
        if self.links.pass_out(path, target):
            self.refuse(path, "a link that leads out of the folder through another link is not committed")
            return
        self._change(path, old, After(Type.LINK, _PERMISSIONS, target=target))

    def _file(self, path: str, here: int, name: str, old: os.stat_result | None, there: int) -> None:
        state = os.stat(name, dir_fd=here, follow_symlinks=False)
        if state.st_size > self.left:
            self.refuse(path, "larger than what is left for changes")
            return
        self.left -= state.st_size
        mode = stat.S_IMODE(state.st_mode) & _PERMISSIONS
        was_file = old is not None and stat.S_ISREG(old.st_mode)
        fd = _open_ours(here, name, state)
        try:
            blob, digest = self._store(fd)
            with _maybe_opened(there if was_file else -1, name, _READ) as before:
                same = before >= 0 and os.fstat(before).st_size == state.st_size and _digest(before) == digest
                if not same or before < 0 or mode != stat.S_IMODE(os.fstat(before).st_mode) & _PERMISSIONS:
                    self._attributes(path, fd, before if before >= 0 else None)
        finally:
            os.close(fd)
        if same and old is not None and mode == stat.S_IMODE(old.st_mode) & _PERMISSIONS:
            os.unlink(self.blobs / blob)
            return
        if state.st_mode & _SPECIAL:
            self.note(path, "its setuid, setgid or sticky bit is left out")
        if state.st_nlink > 1:
            self.note(path, f"one of {state.st_nlink} names of one file: each becomes a file of its own")
        if old is not None and was_file and old.st_nlink > 1:
            self.note(path, f"has {old.st_nlink} names in the project: the others keep what they have")
        after = After(Type.FILE, mode, state.st_size, digest, blob)
        self._change(path, old, after, same_content=same)

    def _attributes(self, path: str, fd: int, before: int | None) -> None:
        """Extended attributes, file capabilities among them, stay as the project has them."""
        had = {} if before is None else {name: os.getxattr(before, name) for name in _attribute_names(before)}
        new = [name for name in _attribute_names(fd) if name not in had or had[name] != os.getxattr(fd, name)]
        if new:
            self.note(path, f"extended attributes are left out: {', '.join(map(escape, sorted(new)[:8]))}")

    def _gone(self, path: str, old: os.stat_result) -> None:
        """`path` of the project is to go, with all below it; the deepest comes first.

        Of a folder that may have been moved there only itself is named: what it holds was not the tool's to delete.
        """
        todo, found = [(path, old, self.around)], []
        while todo:
            name, state, around = todo.pop()
            self._count()
            inner: list[str] = []
            if stat.S_ISDIR(state.st_mode):
                with _maybe_opened(self.project, name) as fd:
                    within = around.below(name, state).opened(name, fd)
                    if within.moved:
                        around = replace(around, moved=within.moved)
                    elif fd >= 0:
                        inner = os.listdir(fd)
                    seen = [(_join(name, x), _stat_at(fd, x)) for x in inner]
                    within = within.opened(name, fd)  # again, for what came in since
                    todo += [(below, state, within) for below, state in seen if state is not None]
            found.append((name, state, around))
        for name, state, around in reversed(found):
            self._change(name, state, None, around=around)

    def _change(
        self,
        path: str,
        old: os.stat_result | None,
        after: After | None,
        *,
        same_content: bool = False,
        around: Around | None = None,
    ) -> None:
        around = around or self.around
        if around.moved and around.moved not in self.moved:
            self.moved.add(around.moved)
            self.note(around.moved, _MOVED)
        before = None if old is None else Stamp.of(old)
        self.changes.append(Change(path, before, after, same_content and old is not None, around.refuses(old)))

    def _store(self, fd: int) -> tuple[str, str]:
        """Copy a file into the blobs; the name it has there, and its digest."""
        name = str(self.stored)
        self.stored += 1
        digest = hashlib.sha256()
        with open(self.blobs / name, "xb") as blob:
            while data := os.read(fd, _CHUNK):
                digest.update(data)
                blob.write(data)
        return name, digest.hexdigest()

    def _count(self) -> None:
        self.seen += 1
        if self.seen > self.limits.entries:
            raise _FullError


@contextlib.contextmanager
def _opened(folder: int, path: str, flags: int = os.O_RDONLY | os.O_DIRECTORY) -> Iterator[int]:
    fd = open_below(folder, path, flags)
    try:
        yield fd
    finally:
        os.close(fd)


@contextlib.contextmanager
def _maybe_opened(folder: int, path: str, flags: int = os.O_RDONLY | os.O_DIRECTORY) -> Iterator[int]:
    """What the project has at `path`, or -1 where there is none that can be opened."""
    try:
        fd = open_below(folder, path, flags)
    except OSError:
        yield -1
        return
    try:
        yield fd
    finally:
        os.close(fd)


def _open_ours(folder: int, name: str, state: os.stat_result, kind: int = 0) -> int:
    """Open something of the upper layer, which is ours whatever mode the tool gave it."""
    try:
        return os.open(name, _READ | kind | os.O_CLOEXEC, dir_fd=folder)
    except PermissionError:
        os.chmod(name, stat.S_IMODE(state.st_mode) | 0o700, dir_fd=folder)  # a folder or a file, never a link
        return os.open(name, _READ | kind | os.O_CLOEXEC, dir_fd=folder)


def _stat_at(folder: int, name: str) -> os.stat_result | None:
    if folder < 0:
        return None
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _digest(fd: int) -> str:
    digest = hashlib.sha256()
    while data := os.read(fd, _CHUNK):
        digest.update(data)
    return digest.hexdigest()


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _attribute_names(fd: int) -> list[str]:
    try:
        names = os.listxattr(fd)
    except OSError:
        return []
    return [name for name in names if not name.startswith(MARKS)]


def _mark(fd: int, name: str) -> bytes:
    try:
        return os.getxattr(fd, name)
    except OSError:
        return b""
