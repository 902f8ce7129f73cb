"""Puts a published object on the disk, contents and names, before anything refers to it."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

from skillkeep.files import fsync_dir

__all__ = ["make_durable"]

_ONE_BY_ONE = 4  # above that, one sync of the file system is cheaper than a commit of its log for each file


def make_durable(folder: Path) -> None:
    """Return when `folder`, all below it, and its name in its parent survive a power failure. Raises `OSError`.

    Few files are synced one by one. Many are synced by one ``syncfs`` (Linux; reports write errors since 5.8),
    which also waits for whatever else the file system has to write.
    """
    files, folders = [], [folder.parent]
    for place, _, names in os.walk(folder):
        folders.append(Path(place))
        files += [os.path.join(place, name) for name in names]
    if len(files) > _ONE_BY_ONE and _sync_file_system(folder):
        return
    for path in files:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
    for below in reversed(folders):
        fsync_dir(below)


def _sync_file_system(folder: Path) -> bool:
    """``syncfs``; False where the kernel does not offer it."""
    if sys.platform != "linux":
        return False
    from skillkeep.kernel.errors import KernelError
    from skillkeep.kernel.libc import syscall

    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        syscall("vault", "syncfs", fd)
    except KernelError as error:
        if error.number in {errno.ENOSYS, errno.EPERM}:
            return False
        raise OSError(error.number, os.strerror(error.number), str(folder)) from error
    finally:
        os.close(fd)
    return True
