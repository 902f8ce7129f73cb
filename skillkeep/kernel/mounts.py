"""Mounts by descriptor: open a source first, attach it later under a root built from nothing.

A path that was opened cannot be swapped for a link any more (CVE-2021-30465), and a source below a folder that
only the caller may enter stays attachable after the ids have changed. What is opened for somebody else leads through no
link either: one could have been put there after the path was looked at. Source: open_tree, move_mount, mount_setattr,
openat2(2). All but `open_plain`, `copy_tree` and `copy_tree_of` add steps to a tape.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.libc import AT_FDCWD, syscall
from skillkeep.kernel.tape import Argument, At, Cell, Tape, Word

__all__ = [
    "MountAttr",
    "attach",
    "copy_tree",
    "copy_tree_of",
    "leave_old_root",
    "make_private",
    "mount_new",
    "open_plain",
    "open_plain_tree",
    "open_tree",
    "open_tree_of",
    "pivot_into",
    "restrict",
    "show_again",
]

_OPEN_TREE_CLONE, _OPEN_TREE_CLOEXEC = 1, os.O_CLOEXEC
_AT_EMPTY_PATH, _AT_RECURSIVE, _AT_SYMLINK_NOFOLLOW = 0x1000, 0x8000, 0x100
_MOVE_FROM_EMPTY = 0x4
_ATTR_RDONLY, _ATTR_NOSUID, _ATTR_NODEV, _ATTR_NOEXEC = 1, 2, 4, 8
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_BIND, _MS_REC, _MS_PRIVATE = 2, 4, 8, 0x1000, 0x4000, 0x40000
_MNT_DETACH = 2
_NO_LINKS = 2 | 4  # RESOLVE_NO_MAGICLINKS, RESOLVE_NO_SYMLINKS
_PLAIN = struct.pack("=QQQ", os.O_PATH | os.O_CLOEXEC, 0, _NO_LINKS)  # struct open_how
_PLAIN_INSIDE = struct.pack("=QQQ", os.O_PATH | os.O_CLOEXEC, 0, _NO_LINKS | 0x10)  # RESOLVE_IN_ROOT


class MountAttr(ctypes.Structure):
    """`struct mount_attr`."""

    _fields_ = tuple((name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "userns_fd"))


def open_plain(layer: str, path: str) -> int:
    """An O_PATH descriptor of what is at `path`, through no link. Raises KernelError, for a link one with ELOOP."""
    how = ctypes.create_string_buffer(_PLAIN, len(_PLAIN))
    try:
        return syscall(layer, "openat2", AT_FDCWD, os.fsencode(path), how, len(_PLAIN))
    except KernelError as error:
        why = "A link stands in its path, and could be turned elsewhere: name the real folder."
        hint = why if error.number == errno.ELOOP else error.hint
        raise KernelError(layer, error.number, f"open {path}", hint) from error


def copy_tree(layer: str, fd: int) -> int:
    """A detached copy of the mount tree behind an O_PATH descriptor (submounts included), as a descriptor."""
    flags = _OPEN_TREE_CLONE | _OPEN_TREE_CLOEXEC | _AT_RECURSIVE | _AT_EMPTY_PATH
    return syscall(layer, "open_tree", fd, b"", flags)


def copy_tree_of(layer: str, fd: int) -> int:
    """A detached copy of the mount tree behind an O_PATH descriptor, cut off from what is mounted there later."""
    tree = copy_tree(layer, fd)
    try:
        attr = MountAttr(propagation=_MS_PRIVATE)
        syscall(layer, "mount_setattr", tree, b"", _AT_EMPTY_PATH | _AT_RECURSIVE, attr, ctypes.sizeof(attr))
    except BaseException:
        os.close(tree)
        raise
    return tree


def make_private(tape: Tape, layer: str) -> None:
    """Cut every mount of this namespace off from the host's, so that nothing done here is seen there."""
    tape.call(layer, "mount", None, b"/", None, _MS_REC | _MS_PRIVATE, None, why="make every mount private")


def open_tree(tape: Tape, layer: str, path: Argument, *, follow: bool = True, tolerate: int = 0) -> Cell:
    """A detached copy of the mount tree at `path` (submounts included); the cell receives the descriptor."""
    fd = tape.cell()
    flags = _OPEN_TREE_CLONE | _OPEN_TREE_CLOEXEC | _AT_RECURSIVE | (0 if follow else _AT_SYMLINK_NOFOLLOW)
    tape.call(layer, "open_tree", AT_FDCWD, path, flags, into=fd, tolerate=tolerate)
    return fd


def open_plain_tree(tape: Tape, layer: str, path: Argument, root: At | None = None) -> Cell:
    """As `open_tree` for a path without a link, of the host's root or of the one whose descriptor the cell holds."""
    found, tree = tape.cell(), tape.cell()
    how, where = (_PLAIN, AT_FDCWD) if root is None else (_PLAIN_INSIDE, Word(root))
    tape.call(layer, "openat2", where, path, tape.data(how), len(how), into=found, why="open the source of a bind")
    open_tree_of(tape, layer, found, tree)
    return tree


def restrict(
    tape: Tape,
    layer: str,
    fd: Cell | At,
    *,
    writable: bool = False,
    devices: bool = False,
    programs: bool = True,
    below: bool = True,
) -> None:
    """Make a mount nosuid, and nodev, read-only and noexec unless asked otherwise; with `below`, submounts too."""
    bits = _ATTR_NOSUID
    bits |= 0 if devices else _ATTR_NODEV
    bits |= 0 if writable else _ATTR_RDONLY
    bits |= 0 if programs else _ATTR_NOEXEC
    attr = bytes(MountAttr(set=bits))
    where = _AT_EMPTY_PATH | (_AT_RECURSIVE if below else 0)
    tape.call(layer, "mount_setattr", Word(fd), b"", where, tape.data(attr), len(attr), why="restrict a mount")


def attach(tape: Tape, layer: str, fd: Cell | At, target: Argument) -> None:
    """Attach a detached tree at `target`, and close it."""
    tape.call(layer, "move_mount", Word(fd), b"", AT_FDCWD, target, _MOVE_FROM_EMPTY)
    tape.call(layer, "close", Word(fd))


def show_again(tape: Tape, layer: str, path: bytes, target: bytes, *, tolerate: int = 0) -> None:
    """Show what is at `path` of this very root at `target` as well, as restricted as there, by one call (MS_BIND)."""
    tape.call(layer, "mount", path, target, None, _MS_BIND, None, tolerate=tolerate)


def mount_new(
    tape: Tape, layer: str, kind: str, target: str, options: str = "", *, programs: bool = True, tolerate: int = 0
) -> Cell:
    """Mount a fresh file system (`tmpfs`, `proc`), always nosuid and nodev; the cell receives 0 or -errno."""
    flags = _MS_NOSUID | _MS_NODEV | (0 if programs else _MS_NOEXEC)
    result = tape.cell()
    words = (kind.encode(), os.fsencode(target), kind.encode(), flags, options.encode())
    tape.call(layer, "mount", *words, into=result, tolerate=tolerate)
    return result


def open_tree_of(tape: Tape, layer: str, fd: Cell, tree: Cell) -> None:
    """A detached copy of the mount tree behind an O_PATH descriptor, which is closed; `tree` receives the copy's."""
    flags = _OPEN_TREE_CLONE | _OPEN_TREE_CLOEXEC | _AT_RECURSIVE | _AT_EMPTY_PATH
    tape.call(layer, "open_tree", Word(fd), b"", flags, into=tree)
    tape.call(layer, "close", Word(fd))


def pivot_into(tape: Tape, layer: str, root: str, *, leave: bool = True) -> None:
    """Make the mount at `root` the root of this namespace, and unless told otherwise let go of the old one."""
    tape.call(layer, "chdir", os.fsencode(root))
    tape.call(layer, "pivot_root", b".", b".")
    if leave:
        leave_old_root(tape, layer)
    else:
        tape.call(layer, "chdir", b"/")


def leave_old_root(tape: Tape, layer: str) -> None:
    """Let go of the old root, which pivot_root left mounted over the new one (pivot_root(2), NOTES)."""
    tape.call(layer, "umount2", b".", _MNT_DETACH)
    tape.call(layer, "chdir", b"/")
