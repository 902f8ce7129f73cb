"""A timer that is a descriptor, so that one process sets it and another one hears it (timerfd_create(2))."""

from __future__ import annotations

import ctypes
import os
import struct
import time

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.libc import syscall

__all__ = ["LAYER", "open_timer", "set_timer"]

LAYER = "timer"
_settime = ctypes.CDLL(None, use_errno=True).timerfd_settime  # a run sets it twice: more than its name costs time
_LONGEST_SECONDS = 1e9
_SPEC = struct.Struct("=4q")  # struct itimerspec: no interval, then seconds and nanoseconds


def open_timer() -> int:
    """A timer that is not set, the caller's to close: readable from when it runs out. Raises KernelError."""
    return syscall(LAYER, "timerfd_create", time.CLOCK_MONOTONIC, os.O_CLOEXEC | os.O_NONBLOCK)


def set_timer(timer: int, seconds: float) -> None:
    """Let it run out in that time, for all who hold it. Raises KernelError."""
    whole = int(min(seconds, _LONGEST_SECONDS))
    if _settime(timer, 0, _SPEC.pack(0, 0, whole, int(seconds % 1 * 1e9) or 1), None):
        raise KernelError(LAYER, ctypes.get_errno(), "timerfd_settime")
