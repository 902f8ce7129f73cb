"""The one place where tests poll: for facts of the kernel that nothing announces."""

from __future__ import annotations

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
