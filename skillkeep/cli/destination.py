"""Where ``--output`` writes: a file is replaced whole; what else stands there stays what it is."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from skillkeep.errors import UsageError
from skillkeep.files import io_errors, write_all, write_atomic

__all__ = ["require_destination", "write_destination"]

_REFUSED = ((stat.S_ISLNK, "a link"), (stat.S_ISBLK, "a disk"), (stat.S_ISSOCK, "a socket"))


def require_destination(path: Path) -> None:
    """Raise where nothing can be written: before the work, not after it.

    `SkillkeepError` (`io_error`) for what the system refuses; `UsageError` (`usage`) for a link, a disk or a socket:
    behind a link, which anybody may have laid there, lies somebody's file.
    """
    _checked(path)


def write_destination(path: Path, data: bytes) -> None:
    """Replace a file whole; give a device or FIFO the bytes. Raises as `require_destination` does."""
    mode = _checked(path)
    if mode is None or stat.S_ISREG(mode):
        write_atomic(path, data, 0o644)
        return
    with io_errors(f"write {path}", path):
        fd = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            write_all(fd, data)
        finally:
            os.close(fd)


def _checked(path: Path) -> int | None:
    """The mode of what stands at `path`, or None, when something can be written there; raises else."""
    mode = _mode(path)
    with io_errors(f"write {path}", path):
        if mode is None or stat.S_ISREG(mode):
            if not os.access(path.parent, os.W_OK | os.X_OK):
                os.stat(path.parent)
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        elif stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        elif not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return mode


def _mode(path: Path) -> int | None:
    """What stands at `path`; None for nothing, or nothing that can be seen."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return None
    for is_kind, kind in _REFUSED:
        if is_kind(mode):
            hint = "Name a file. Without --output it goes to standard output."
            raise UsageError("usage", f"nothing is written to {kind}", hint, path=str(path))
    return mode
