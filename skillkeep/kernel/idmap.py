"""Mounts that show one owner's files as another's (mount_setattr(2), MOUNT_ATTR_IDMAP).

With it a payload of an unprivileged id can write a granted folder of an ordinary user, and what it writes
belongs to that user on disk. Needs root in the namespace that owns the file system.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal

from skillkeep.kernel import mounts
from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.id_maps import IdMap, write_maps
from skillkeep.kernel.libc import guarded, syscall

__all__ = ["mapped_copy"]

_NEW_USER = 0x10000000
_AT_EMPTY_PATH, _AT_RECURSIVE = 0x1000, 0x8000
_ATTR_IDMAP = 0x00100000
_MS_PRIVATE = 0x40000
_NO_MAP = (
    "Its file system, or one mounted below it, does not know id-mapped mounts (a memory file system before Linux 6.3, "
    "most network file systems): take a folder on the disk, or do not run as root."
)


def mapped_copy(layer: str, at: int, path: str, on_disk: tuple[int, int], seen_as: tuple[int, int]) -> int:
    """A detached copy of the mount tree behind `at`, in which files of uid and gid `on_disk` are those of `seen_as`.

    It is cut off from what is mounted there later: that would be shown as it is on the host, whatever bounds the copy.
    `path` is what messages call it. Files of every other owner belong to nobody there. The process must have a single
    thread: it is forked to make the mapping. Raises KernelError, also where the file system does not know id-mapped
    mounts.
    """
    namespace = _namespace(layer, IdMap(((on_disk[0], seen_as[0]),), ((on_disk[1], seen_as[1]),)))
    try:
        fd = mounts.copy_tree(layer, at)
        try:
            attr = mounts.MountAttr(set=_ATTR_IDMAP, propagation=_MS_PRIVATE, userns_fd=namespace)
            syscall(layer, "mount_setattr", fd, b"", _AT_EMPTY_PATH | _AT_RECURSIVE, attr, ctypes.sizeof(attr))
        except KernelError as error:
            os.close(fd)
            if error.number == errno.EINVAL:
                raise KernelError(
                    layer, error.number, f"show the files of {path} as another owner's", _NO_MAP
                ) from error
            raise
        return fd
    finally:
        os.close(namespace)


def _namespace(layer: str, ids: IdMap) -> int:
    """A user namespace with these ids, as a descriptor; the process that made it is gone again."""
    ready, made = os.pipe2(os.O_CLOEXEC)
    child = os.fork()
    if child == 0:
        try:
            syscall(layer, "unshare", _NEW_USER)
            os.write(made, b"x")
            signal.pause()
        finally:
            os._exit(1)
    os.close(made)
    try:
        with guarded(layer, "make a user namespace for an id map"):
            if not os.read(ready, 1):
                raise OSError(os.EX_OSERR, "the helper ended")
            write_maps(child, ids)
            return os.open(f"/proc/{child}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.close(ready)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
