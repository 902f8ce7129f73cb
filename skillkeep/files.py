"""Writing so that a crash leaves the old state or the new one, removing without following links, locking."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from skillkeep.errors import SkillkeepError

__all__ = ["FileLock", "fsync_dir", "io_error", "io_errors", "is_full", "remove_tree", "write_all", "write_atomic"]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextlib.contextmanager
def io_errors(doing: str, path: Path | None = None) -> Iterator[None]:
    """Turn an `OSError` into `SkillkeepError` (`io_error`), as `io_error` says it."""
    try:
        yield
    except OSError as error:
        raise io_error(doing, error, path) from error


def io_error(doing: str, error: OSError, path: Path | None = None) -> SkillkeepError:
    """What the operating system refused, with its reason; `doing` completes "cannot …".

    `path` is the one that the user knows, when `error` names another.
    """
    named = path or error.filename
    return SkillkeepError(
        "io_error",
        f"cannot {doing}: {error.strerror or error}",
        _hint(error),
        path=os.fsdecode(named) if named else None,
        errno=errno.errorcode.get(error.errno or 0, "unknown"),
    )


def _hint(error: OSError) -> str:
    if is_full(error):
        return "Free some disk space and try again."
    if error.errno == errno.EROFS:
        return "Use a file system that can be written; SKILLKEEP_HOME can name a home on another one."
    return "Check that the path exists and that you may use it."


def is_full(error: OSError) -> bool:
    """True when a device has no room, or its user's share of it is used up."""
    return error.errno in {errno.ENOSPC, errno.EDQUOT}


def write_all(fd: int, data: bytes) -> None:
    """Write every byte, however the kernel splits the writes."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def fsync_dir(path: Path) -> None:
    """Make the names in a folder durable."""
    fd = os.open(path, _FOLDER)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def write_atomic(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Replace `path` by `data`: written to a temporary file beside it, synced, renamed, folder synced.

    Raises `SkillkeepError` (`io_error`); then the old file is untouched and nothing is left beside it.
    """
    temporary = path.parent / f".{path.name}.{os.urandom(8).hex()}.tmp"
    with io_errors(f"write {path.name}", path):
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
        try:
            try:
                write_all(fd, data)
                os.fsync(fd)
            finally:
                os.close(fd)
            os.rename(temporary, path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
            raise
        fsync_dir(path.parent)


def remove_tree(path: Path) -> None:
    """Remove a folder and all below it by descriptors, never through a link; read-only folders included.

    A missing `path` is fine, and so is somebody else who removes the same tree at the same time. Depth is bounded only
    by memory: folders are emptied one after another, so a tree of 100,000 nested folders needs no 100,000 open files.
    Raises `SkillkeepError` (`io_error`).
    """
    with io_errors("remove a folder"):
        try:
            parent = os.open(path.parent, _FOLDER)
        except FileNotFoundError:
            return
        try:
            _remove_entry(parent, path.name)
        finally:
            os.close(parent)


def _remove_entry(parent: int, name: str) -> None:
    try:
        info = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISDIR(info.st_mode):
            os.unlink(name, dir_fd=parent)
            return
        folder = _open_writable(parent, name)
        try:
            while not _gone(parent, name):
                _hoist(folder, _empty_but_folders(folder))
        finally:
            os.close(folder)


def _gone(parent: int, name: str) -> bool:
    """Remove the folder; False while something is in it, which somebody else may just have moved there."""
    try:
        os.rmdir(name, dir_fd=parent)
    except OSError as error:
        if error.errno in {errno.ENOTEMPTY, errno.EEXIST}:
            return False
        raise
    return True


def _open_writable(parent: int, name: str) -> int:
    """Open a folder of ours and give its owner full rights, so that its entries can be removed."""
    try:
        fd = os.open(name, _FOLDER, dir_fd=parent)
    except PermissionError:
        os.chmod(name, stat.S_IRWXU, dir_fd=parent)
        fd = os.open(name, _FOLDER, dir_fd=parent)
    if os.fstat(fd).st_mode & stat.S_IRWXU != stat.S_IRWXU:
        os.fchmod(fd, stat.S_IRWXU)
    return fd


def _empty_but_folders(folder: int) -> list[str]:
    """Unlink all that is no folder; return the folders' names."""
    folders = []
    with os.scandir(folder) as listing:
        items = [(item.name, item.is_dir(follow_symlinks=False)) for item in listing]
    for name, is_folder in items:
        if is_folder:
            folders.append(name)
        else:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
    return folders


def _hoist(folder: int, names: list[str]) -> None:
    """Empty each named folder one level deep: its files go, its folders move up into `folder`; then it goes itself."""
    for name in names:
        with contextlib.suppress(FileNotFoundError):
            inner = _open_writable(folder, name)
            try:
                for deeper in _empty_but_folders(inner):
                    os.close(_open_writable(inner, deeper))
                    os.rename(deeper, os.urandom(16).hex(), src_dir_fd=inner, dst_dir_fd=folder)
            finally:
                os.close(inner)
            os.rmdir(name, dir_fd=folder)


class FileLock:
    """An advisory lock between processes (`flock`) on a file that stays; the kernel drops it when the holder dies."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd = -1

    def acquire(self, *, wait: bool = True) -> bool:
        """Take the lock; with `wait` False return False at once when somebody else holds it."""
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        with io_errors("open a lock file"):
            fd = os.open(self._path, flags, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return False
        except BaseException:
            os.close(fd)
            raise
        self._fd = fd
        return True

    def release(self) -> None:
        """Give the lock back; a lock that is not held is left alone."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> FileLock:
        self.acquire()
        return self

    def __exit__(self, *exc: object) -> None:
        self.release()
