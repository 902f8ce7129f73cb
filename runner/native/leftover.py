"""Descriptors of runs that are over, closed many at a time.

Right after another process has run, closing one takes ten times as long as closing the next one in a row: done run by
run it would be a twentieth of what a run costs its caller. What waits here holds no process, mount or folder.
"""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Iterable

__all__ = ["MANY", "close_all", "close_many", "leave"]

MANY = min(100, max(resource.getrlimit(resource.RLIMIT_NOFILE)[0], 0) // 8 or 100)
"""Of those that may be open at most an eighth."""
_left: list[int] = []


def leave(fds: Iterable[int]) -> None:
    """From now on they are closed some time."""
    _left.extend(fds)


def close_many() -> None:
    """Close them if they are many."""
    if len(_left) >= MANY:
        close_all()


def close_all() -> None:
    """Close them."""
    while _left:
        try:
            fd = _left.pop()
        except IndexError:  # another thread has closed the last one
            return
        with contextlib.suppress(OSError):  # whoever closes all descriptors of a process has closed it
            os.close(fd)


os.register_at_fork(after_in_child=close_all)
