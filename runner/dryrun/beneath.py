"""Paths below an opened folder, never through a link, never out of it, never into another mount (openat2(2))."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
from collections.abc import Iterator

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.libc import AT_FDCWD, syscall

__all__ = ["exchange", "move_new", "open_below", "open_root", "parent_of", "split"]

_NO_XDEV, _NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 1, 2, 4, 8
_NOREPLACE, _EXCHANGE = 1, 2
_LAYER = "dry_run"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY


class _How(ctypes.Structure):
    """`struct open_how`."""

    _fields_ = tuple((name, ctypes.c_uint64) for name in ("flags", "mode", "resolve"))


def open_root(path: str) -> int:
    """A descriptor of the folder at the absolute `path`, of which no part is a link. Raises OSError."""
    return _open(AT_FDCWD, path, _FOLDER, _NO_MAGICLINKS | _NO_SYMLINKS)


def open_below(root: int, path: str, flags: int = _FOLDER) -> int:
    """Open `path` below the folder `root`; "" is the folder itself. Raises OSError: ELOOP for a link on the way."""
    return _open(root, path or ".", flags, _NO_XDEV | _NO_MAGICLINKS | _NO_SYMLINKS | _BENEATH)


@contextlib.contextmanager
def parent_of(root: int, path: str) -> Iterator[tuple[int, str]]:
    """The opened folder that holds `path`, and the last name of it. Raises OSError."""
    folder, name = split(path)
    fd = open_below(root, folder)
    try:
        yield fd, name
    finally:
        os.close(fd)


def split(path: str) -> tuple[str, str]:
    """Folder and last name of a path below a root. Raises ValueError for one that is not plain."""
    folder, _, name = path.rpartition("/")
    if any(part in ("", ".", "..") for part in path.split("/")) or "\0" in path:
        raise ValueError("not a path below a folder")
    return folder, name


def move_new(folder: int, name: str, new: str) -> None:
    """Rename within `folder`; a `new` that exists already is FileExistsError."""
    _rename(folder, name, new, _NOREPLACE)


def exchange(folder: int, one: str, other: str) -> None:
    """Let two names of `folder` change places in one step. Raises OSError (EINVAL where the file system cannot)."""
    _rename(folder, one, other, _EXCHANGE)


def _open(at: int, path: str, flags: int, resolve: int) -> int:
    how = _How(flags | os.O_CLOEXEC, 0, resolve)
    try:
        return syscall(_LAYER, "openat2", at, os.fsencode(path), how, ctypes.sizeof(how))
    except KernelError as error:
        raise OSError(error.number, os.strerror(error.number), path) from error


def _rename(folder: int, old: str, new: str, flags: int) -> None:
    try:
        syscall(_LAYER, "renameat2", folder, os.fsencode(old), folder, os.fsencode(new), flags)
    except KernelError as error:
        if error.number == errno.ENOSYS:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), old) from error
        raise OSError(error.number, os.strerror(error.number), old) from error
