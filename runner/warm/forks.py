"""What a process that forked off its caller lets go of at once: what holds the parent's interpreters.

The pipe that an interpreter's sandbox ends with ends with its last holder. A fork without exec, as of multiprocessing,
would hold it too, and keep a call that nobody bounds any more.
"""

from __future__ import annotations

import os
import threading
from typing import Protocol
from weakref import WeakSet

__all__ = ["changing", "watch"]


class Holder(Protocol):
    """What has something that only the process which made it may hold."""

    def let_go(self) -> None:
        """Close this process's copies of it."""


changing = threading.RLock()
"""Held while what is held changes: no fork happens meanwhile."""
_holders: WeakSet[Holder] = WeakSet()


def watch(holder: Holder) -> None:
    """Have it let go in every process that forks off from now on."""
    with changing:
        _holders.add(holder)


def _let_go() -> None:
    try:
        for holder in tuple(_holders):
            holder.let_go()
        _holders.clear()
    finally:
        changing.release()


os.register_at_fork(before=changing.acquire, after_in_parent=changing.release, after_in_child=_let_go)
