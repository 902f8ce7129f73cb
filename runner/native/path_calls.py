"""System calls that name files or places of a network: where their words stand, and what they want."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import Enum

__all__ = ["CALLS", "OF_DESCRIPTORS", "PathCall", "Want", "wanted"]


class Want(Enum):
    """What a call wants of the last of its paths."""

    LOOK = "look at"
    OPEN = "open"
    """As its flags say."""
    READ = "read"
    WRITE = "write"
    RUN = "run"
    ENTER = "enter"
    MAKE = "make"
    REMOVE = "remove"
    OWN = "change the rights of"
    MOVE = "move"
    ASK = "ask for"
    """As its mode says."""
    CONNECT = "connect to"


@dataclass(frozen=True)
class PathCall:
    """`paths`: for each, the arguments with the folder's descriptor (None: the working folder) and the path.

    `extra` is the argument with flags, mode or length, where the call has one.
    """

    want: Want
    paths: tuple[tuple[int | None, int], ...]
    extra: int | None = None


_HERE = ((None, 0),)
_AT = ((0, 1),)

CALLS = {
    "open": PathCall(Want.OPEN, _HERE, 1),
    "openat": PathCall(Want.OPEN, _AT, 2),
    "openat2": PathCall(Want.OPEN, _AT),
    "creat": PathCall(Want.MAKE, _HERE),
    **{name: PathCall(Want.LOOK, _HERE) for name in ("stat", "lstat", "readlink", "statfs", "getxattr", "lgetxattr")},
    **{name: PathCall(Want.LOOK, _AT) for name in ("newfstatat", "statx", "readlinkat", "inotify_add_watch")},
    "access": PathCall(Want.ASK, _HERE, 1),
    "faccessat": PathCall(Want.ASK, _AT, 2),
    "faccessat2": PathCall(Want.ASK, _AT, 2),
    "chdir": PathCall(Want.ENTER, _HERE),
    "execve": PathCall(Want.RUN, _HERE),
    "execveat": PathCall(Want.RUN, _AT),
    "truncate": PathCall(Want.WRITE, _HERE),
    **{name: PathCall(Want.MAKE, _HERE) for name in ("mkdir", "mknod")},
    **{name: PathCall(Want.MAKE, _AT) for name in ("mkdirat", "mknodat")},
    "symlink": PathCall(Want.MAKE, ((None, 1),)),
    "symlinkat": PathCall(Want.MAKE, ((1, 2),)),
    **{name: PathCall(Want.REMOVE, _HERE) for name in ("rmdir", "unlink")},
    "unlinkat": PathCall(Want.REMOVE, _AT),
    **{name: PathCall(Want.MOVE, ((None, 0), (None, 1))) for name in ("rename", "link")},
    **{name: PathCall(Want.MOVE, ((0, 1), (2, 3))) for name in ("renameat", "renameat2", "linkat")},
    **{
        name: PathCall(Want.OWN, _HERE)
        for name in ("chmod", "chown", "lchown", "utime", "utimes", "setxattr", "lsetxattr", "removexattr")
    },
    **{name: PathCall(Want.OWN, _AT) for name in ("fchmodat", "fchmodat2", "fchownat", "utimensat", "futimesat")},
    "connect": PathCall(Want.CONNECT, (), 2),
}
"""By name. Of calls that only a newer kernel or another architecture has, the table of the running one decides."""

OF_DESCRIPTORS = {
    **dict.fromkeys(("write", "pwrite64", "writev", "pwritev", "ftruncate", "fallocate", "sendfile"), 0),
    "copy_file_range": 2,
}
"""Calls that can meet a limit in a file that is open already: the argument with its descriptor."""
_TMPFILE = 0o20000000  # __O_TMPFILE


def wanted(call: PathCall, flags: int) -> Want:
    """What a call that is told by its flags or mode wants."""
    if call.want is Want.OPEN:
        if flags & (os.O_CREAT | _TMPFILE):
            return Want.MAKE
        return Want.WRITE if flags & os.O_ACCMODE or flags & os.O_TRUNC else Want.READ
    if call.want is Want.ASK:
        return Want.WRITE if flags & os.W_OK else Want.RUN if flags & os.X_OK else Want.LOOK
    return call.want
