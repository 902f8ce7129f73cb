"""The kernel's notices of names that came, went or changed in folders (inotify(7))."""

from __future__ import annotations

import errno
import os

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.libc import syscall

__all__ = ["LAYER", "LOCAL", "open_notices", "watch_folder"]

LAYER = "inotify"
LOCAL = frozenset(
    [
        "btrfs",
        "devtmpfs",
        "erofs",
        "ext2",
        "ext3",
        "ext4",
        "f2fs",
        "overlay",
        "ramfs",
        "squashfs",
        "tmpfs",
        "xfs",
        "zfs",
    ]
)
"""File systems of which every change goes through this kernel, which then says so. Those of a network and FUSE may
change without it. What lies below an overlay may not change while that is mounted (overlayfs.rst)."""

_ATTRIB, _MOVED, _CREATE, _DELETE = 0x4, 0xC0, 0x100, 0x200
_DELETE_SELF, _MOVE_SELF, _ONLY_FOLDERS = 0x400, 0x800, 0x0100_0000
_NAMES = _ATTRIB | _MOVED | _CREATE | _DELETE | _DELETE_SELF | _MOVE_SELF | _ONLY_FOLDERS


def open_notices() -> int:
    """A descriptor that is readable once something has changed, or more has than the kernel keeps in mind.

    The caller's to close. Raises KernelError.
    """
    return syscall(LAYER, "inotify_init1", os.O_CLOEXEC | os.O_NONBLOCK)


def watch_folder(notices: int, path: str) -> bool:
    """From now on names in that folder, and the folder's own end, are noticed. False when there is no such folder.

    The kernel says of a name: that it came, went, or is that of another file now; of the file, that its mode, owner or
    links changed; of the folder besides, that its file system was unmounted. Raises KernelError when it may not be
    watched.
    """
    try:
        syscall(LAYER, "inotify_add_watch", notices, os.fsencode(path), _NAMES)
    except KernelError as error:
        if error.number in (errno.ENOENT, errno.ENOTDIR):
            return False
        raise
    return True
