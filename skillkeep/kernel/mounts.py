"""Mounts by descriptor: open a source first, attach it later under a root built from nothing.

A path that was opened cannot be swapped for a link any more (CVE-2021-30465), and a source below a folder that
only the caller may enter stays attachable after the ids have changed. Source: open_tree, move_mount,
mount_setattr(2).
"""

from __future__ import annotations

import ctypes
import os

from skillkeep.kernel.libc import AT_FDCWD, guarded, syscall

__all__ = ["MountAttr", "attach", "copy_tree", "make_private", "mount_new", "pivot_into", "restrict"]

_OPEN_TREE_CLONE, _OPEN_TREE_CLOEXEC = 1, os.O_CLOEXEC
_AT_EMPTY_PATH, _AT_RECURSIVE, _AT_SYMLINK_NOFOLLOW = 0x1000, 0x8000, 0x100
_MOVE_FROM_EMPTY = 0x4
_ATTR_RDONLY, _ATTR_NOSUID, _ATTR_NODEV, _ATTR_NOEXEC = 1, 2, 4, 8
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REC, _MS_PRIVATE = 2, 4, 8, 0x4000, 0x40000
_MNT_DETACH = 2


class MountAttr(ctypes.Structure):
    """`struct mount_attr`."""

    _fields_ = tuple((name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "userns_fd"))


def make_private(layer: str) -> None:
    """Cut every mount of this namespace off from the host's, so that nothing done here is seen there."""
    syscall(layer, "mount", None, b"/", None, _MS_REC | _MS_PRIVATE, None)


def copy_tree(layer: str, path: str, base: int = AT_FDCWD, follow: bool = True) -> int:
    """A detached copy of the mount tree at `path` (submounts included), as a descriptor."""
    flags = _OPEN_TREE_CLONE | _OPEN_TREE_CLOEXEC | _AT_RECURSIVE | (0 if follow else _AT_SYMLINK_NOFOLLOW)
    return syscall(layer, "open_tree", base, os.fsencode(path), flags)


def restrict(
    layer: str, fd: int, *, writable: bool = False, devices: bool = False, programs: bool = True, below: bool = True
) -> None:
    """Make a mount nosuid, and nodev, read-only and noexec unless asked otherwise; with `below`, submounts too."""
    bits = _ATTR_NOSUID
    bits |= 0 if devices else _ATTR_NODEV
    bits |= 0 if writable else _ATTR_RDONLY
    bits |= 0 if programs else _ATTR_NOEXEC
    attr = MountAttr(set=bits)
    where = _AT_EMPTY_PATH | (_AT_RECURSIVE if below else 0)
    syscall(layer, "mount_setattr", fd, b"", where, attr, ctypes.sizeof(attr))


def attach(layer: str, fd: int, base: int, target: str) -> None:
    """Attach a detached tree at `target` below the folder `base`, and close it."""
    syscall(layer, "move_mount", fd, b"", base, os.fsencode(target), _MOVE_FROM_EMPTY)
    os.close(fd)


def mount_new(layer: str, kind: str, target: str, options: str = "", programs: bool = True) -> None:
    """Mount a fresh file system (`tmpfs`, `proc`), always nosuid and nodev."""
    flags = _MS_NOSUID | _MS_NODEV | (0 if programs else _MS_NOEXEC)
    syscall(layer, "mount", kind.encode(), os.fsencode(target), kind.encode(), flags, options.encode())


def pivot_into(layer: str, root: str) -> None:
    """Make the mount at `root` the root of this namespace and let go of the old one."""
    with guarded(layer, "enter the new root"):
        os.chdir(root)
    syscall(layer, "pivot_root", b".", b".")
    syscall(layer, "umount2", b".", _MNT_DETACH)
    with guarded(layer, "enter the new root"):
        os.chdir("/")
