"""Which folder a path leads to, told apart from another one that lies there later."""

from __future__ import annotations

import ctypes
import os
import struct
from dataclasses import dataclass

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.libc import AT_FDCWD, syscall

__all__ = ["Folder", "folder_at"]

_NOFOLLOW = 0x100  # AT_SYMLINK_NOFOLLOW
_BORN = 0x800  # STATX_BTIME
_SIZE = 256
_BORN_AT = 80
_TIME = struct.Struct("qI")


@dataclass(frozen=True)
class Folder:
    """A folder's device and inode, and when it was made, in nanoseconds since 1970; `born` 0: nobody knows."""

    device: int
    inode: int
    born: int

    def is_same(self, other: Folder) -> bool:
        """Whether both are one folder.

        A number is given away again as soon as its folder is removed (ext4), so the time of its making decides. Where
        that is known the device does not count: btrfs, NFS and overlays number theirs anew at every mount.
        """
        if self.born and other.born:
            return (self.inode, self.born) == (other.inode, other.born)
        return self == other


def folder_at(path: str) -> Folder:
    """The folder at `path`, which is no link. Raises OSError. Source: statx(2), `stx_btime`."""
    state = os.lstat(path)
    return Folder(state.st_dev, state.st_ino, _born(path))


def _born(path: str) -> int:
    seen = ctypes.create_string_buffer(_SIZE)
    try:
        syscall("environment", "statx", AT_FDCWD, os.fsencode(path), _NOFOLLOW, _BORN, seen)
    except KernelError:  # a filter of the caller's refuses it
        return 0
    (mask,) = struct.unpack_from("I", seen.raw)
    seconds, part = _TIME.unpack_from(seen.raw, _BORN_AT)
    return int(seconds * 10**9 + part) if mask & _BORN else 0
