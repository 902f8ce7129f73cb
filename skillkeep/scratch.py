"""Folders for the time of one task, of which nothing stays: what a killed process left, the next such task removes.

Whoever makes one holds a lock on it that ends with the process; a folder of ours that nobody holds is over.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from skillkeep.errors import SkillkeepError
from skillkeep.files import io_errors, remove_tree

__all__ = ["hold", "scratch", "sweep"]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextlib.contextmanager
def scratch(kind: str, room: str = "") -> Iterator[Path]:
    """A new folder ``skillkeep-<kind>-…`` in `room` (by itself the place for temporary files) that only this user may
    enter; gone afterwards, with all that is in it. Raises `SkillkeepError` (`io_error`).
    """
    room, prefix = os.path.realpath(room or tempfile.gettempdir()), f"skillkeep-{kind}-"
    sweep(room, prefix)
    with io_errors(f"make a folder for the {kind}"):
        folder, lock = _locked_folder(room, prefix)
    try:
        yield Path(folder)
    finally:
        remove_tree(Path(folder))
        os.close(lock)


def hold(folder: str) -> int | None:
    """Lock `folder` against `sweep` until the descriptor is closed; None when a sweep has removed it."""
    try:
        fd = os.open(folder, _FOLDER)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        if os.path.samestat(os.fstat(fd), os.stat(folder)):
            return fd
    except FileNotFoundError:
        pass
    except BaseException:
        os.close(fd)
        raise
    os.close(fd)
    return None


def sweep(room: str, prefix: str) -> None:
    """Remove this user's folders in `room` that nobody holds any more."""
    with contextlib.suppress(OSError):
        for name in os.listdir(room):
            if name.startswith(prefix):
                with contextlib.suppress(OSError, SkillkeepError):
                    _remove_left(os.path.join(room, name))


def _remove_left(path: str) -> None:
    fd = os.open(path, _FOLDER)
    try:
        if os.fstat(fd).st_uid != os.geteuid():
            return
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        remove_tree(Path(path))
    finally:
        os.close(fd)


def _locked_folder(room: str, prefix: str) -> tuple[str, int]:
    while True:
        folder = tempfile.mkdtemp(prefix=prefix, dir=room)
        lock = hold(folder)
        if lock is not None:
            return folder, lock
