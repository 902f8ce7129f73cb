"""Which layer refused a payload's file, from what the kernel answered and what can be seen of the file from outside.

Nothing here decides anything: the call has been answered before it is looked at.
"""

from __future__ import annotations

import ctypes
import errno
import os
import posixpath
import re
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.libc import syscall
from skillkeep.kernel.procfs import status_of
from skillkeep.runner.native.path_calls import Want

__all__ = ["Inside", "may_be_looked_at", "refuser"]

_HOW = struct.pack("=QQQ", os.O_PATH | os.O_CLOEXEC, 0, 0x10)  # struct open_how, RESOLVE_IN_ROOT
_NOT_HERE = (errno.ENOENT, errno.ENOTDIR)
_LIMITS = {
    errno.EMFILE: ("rlimits", "it has as many files open as it may"),
    errno.EFBIG: ("rlimits", "the file is as large as one may be"),
    errno.ENOSPC: ("tmp", "the sandbox's scratch space is full"),
    errno.EDQUOT: ("tmp", "the sandbox's scratch space is full"),
}
_SCRATCH = ("/tmp/", "/dev/shm/")  # noqa: S108  paths inside
_ESCAPED = re.compile(r"\\([0-7]{3})")
_NEEDED = {Want.READ: 4, Want.WRITE: 2, Want.RUN: 1, Want.ENTER: 1, Want.LOOK: 0, Want.CONNECT: 2}


@dataclass(frozen=True)
class Inside:
    """The files as a thread of the payload sees them."""

    thread: int

    @contextmanager
    def opened(self, path: str) -> Iterator[int]:
        """A descriptor of `path` inside, for looking only. Raises OSError, KernelError."""
        root = os.open(f"/proc/{self.thread}/root", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            how = (ctypes.c_char * len(_HOW)).from_buffer_copy(_HOW)
            found = syscall("trace", "openat2", root, os.fsencode(path), how, len(_HOW))
        finally:
            os.close(root)
        try:
            yield found
        finally:
            os.close(found)

    def grants(self, path: str, want: int) -> bool:
        """Whether owner and mode let the payload use `path` in the ways of `want` (4 read, 2 write, 1 enter or run).

        Access lists are not looked at. Raises OSError, KernelError.
        """
        status = status_of(self.thread, ("Uid", "Gid", "Groups"))
        uid = int(status["Uid"].split()[3])
        groups = {int(status["Gid"].split()[3]), *map(int, status["Groups"].split())}
        with self.opened(path) as fd:
            state = os.fstat(fd)
        shift = 6 if state.st_uid == uid else 3 if state.st_gid in groups else 0
        return (stat.S_IMODE(state.st_mode) >> shift) & want == want

    def forbids_programs(self, path: str) -> bool:
        """Whether the mount that holds `path` lets nothing be executed. Raises OSError, KernelError."""
        with self.opened(path) as fd:
            return bool(os.fstatvfs(fd).f_flag & os.ST_NOEXEC)

    def real(self, path: str) -> str:
        """`path` inside without links. Raises OSError, KernelError."""
        with self.opened(path) as fd:
            return os.readlink(f"/proc/self/fd/{fd}")


def refuser(inside: Inside, path: str, want: Want, number: int) -> tuple[str, str] | None:
    """The layer that answered a wish for `path` (absolute, as seen inside) with the errno `number`, and why.

    None when no layer did: the file is nowhere, or the answer is an ordinary one.
    """
    if number in _LIMITS:
        scratch = path.startswith(_SCRATCH)
        return _LIMITS[number] if _LIMITS[number][0] != "tmp" or scratch else None
    if number == errno.EROFS:
        return "root", "it cannot be written in the sandbox"
    if number in _NOT_HERE:
        return ("root", "this machine has it, and the sandbox does not show it") if _is_outside(path, want) else None
    if number == errno.EPERM:
        return "rights", "no run has the right to do that"
    return _who_denied(inside, path, want) if number == errno.EACCES else None


def may_be_looked_at(path: str) -> bool:
    """Whether looking for `path` on this machine asks nobody else.

    A name below an automounter's folder would be looked up in a network, and the payload chose it.
    """
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        rows = [line.partition(" - ") for line in file]
    elsewhere = [
        _ESCAPED.sub(lambda found: chr(int(found[1], 8)), head.split()[4])
        for head, _, tail in rows
        if tail.startswith(("autofs ", "fuse"))
    ]
    return not any(f"{path}/".startswith(f"{place.rstrip('/')}/") for place in elsewhere)


def _is_outside(path: str, want: Want) -> bool:
    """Whether the machine has what is not there inside, or the folder in which it was to be made."""
    if path.startswith("/proc/") or not may_be_looked_at(path):
        return False
    return os.path.lexists(path) or (want in (Want.MAKE, Want.MOVE) and os.path.isdir(posixpath.dirname(path)))


def _who_denied(inside: Inside, path: str, want: Want) -> tuple[str, str]:
    """Of the three that answer EACCES: owner and mode, a mount without programs, else Landlock."""
    by_mode = "rights", "its owner and mode refuse it"
    try:
        folder = want in (Want.MAKE, Want.REMOVE, Want.MOVE) and not (want is Want.MAKE and _exists(inside, path))
        real = inside.real(posixpath.dirname(path) if folder else path)
        for above in _folders_above(real):
            if not inside.grants(above, 1):
                return by_mode
        needed = 3 if folder else 2 if want is Want.MAKE else _NEEDED.get(want, 0)
        if not inside.grants(real, needed):
            return by_mode
        if want is Want.RUN and inside.forbids_programs(real):
            return "root", "no program is executed from there"
    except (OSError, KernelError, ValueError, KeyError):
        return by_mode  # it is out of sight for whoever has no more rights than the payload
    return "landlock", "the sandbox's rules refuse it"


def _exists(inside: Inside, path: str) -> bool:
    try:
        with inside.opened(path):
            return True
    except (OSError, KernelError):
        return False


def _folders_above(path: str) -> Iterator[str]:
    parts = path.strip("/").split("/")[:-1]
    yield "/"
    for depth in range(1, len(parts) + 1):
        yield "/" + "/".join(parts[:depth])
