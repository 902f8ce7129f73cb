"""A time limit for each piece of work of one thread: one timer ticks for all of them, since setting one costs more than
many an engine needs for a small file."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["TooSlowError", "Watch"]

_TICK_SECONDS = 0.1
_AGAIN_SECONDS = 1.0


class TooSlowError(BaseException):
    """Work used up its time. Not an `Exception`, so that no engine swallows it."""


class Watch:
    """Interrupts work that is past its limit, again every second while it goes on. For the main thread."""

    def __init__(self) -> None:
        self._cpu_seconds = self._cpu_until = self._wall_until = math.inf

    @contextmanager
    def ticking(self) -> Iterator[None]:
        """Own SIGALRM and the real-time timer meanwhile."""
        before = signal.signal(signal.SIGALRM, self._ring)
        signal.setitimer(signal.ITIMER_REAL, _TICK_SECONDS, _TICK_SECONDS)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def run(self, work: Callable[[], None], cpu_seconds: float, wall_seconds: float) -> None:
        """Do `work`. Raises `TooSlowError` inside it when it takes longer than either, a tick more or less.

        Its own CPU time is what counts for one piece: a machine that is busy with other things changes no verdict. That
        clock is slow to ask, so it is asked when the timer ticks first.
        """
        self._cpu_until, self._cpu_seconds = math.inf, cpu_seconds
        self._wall_until = time.monotonic() + wall_seconds
        try:
            work()
        finally:
            self._cpu_seconds = self._cpu_until = self._wall_until = math.inf

    def _ring(self, _signal: int, frame: FrameType | None) -> None:
        # In the frame of `run` itself the work has not begun or is over: nothing to interrupt.
        now = time.process_time()
        self._cpu_until = min(self._cpu_until, now + self._cpu_seconds)
        late = now > self._cpu_until or time.monotonic() > self._wall_until
        if late and frame is not None and frame.f_code is not Watch.run.__code__:
            self._cpu_seconds, self._cpu_until = math.inf, now + _AGAIN_SECONDS
            self._wall_until = time.monotonic() + _AGAIN_SECONDS
            raise TooSlowError
