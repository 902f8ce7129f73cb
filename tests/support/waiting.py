"""The one place where tests poll: for facts of the kernel that nothing announces."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable


def until(fact: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Whether `fact` came true within `seconds`: far more than it takes, because the machine may be busy."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if fact():
            return True
        time.sleep(0.01)
    return fact()


def later(seconds: float) -> None:
    """Let some time pass, to strike at a moment that nothing announces. Never to wait for something."""
    time.sleep(seconds)


def kill(pid: int, seconds: float = 60.0) -> None:
    """Kill a process and see it end: it is listed no more a little before all that it held is closed."""
    pidfd = os.pidfd_open(pid)
    try:
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        assert select.select([pidfd], [], [], seconds)[0], f"{pid} still lives"
    finally:
        os.close(pidfd)
