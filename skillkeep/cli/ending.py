"""Being told to end is no reason to leave anything behind."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn

__all__ = ["orderly_end"]

_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def orderly_end() -> Iterator[None]:
    """For the block, SIGTERM and SIGHUP raise `SystemExit` (128 + number), so that what was begun is tidied up.

    One that is ignored (nohup) stays ignored. For the main thread of a command line; a library's caller has handlers
    of its own.
    """
    asked = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, _end) for number in asked}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(number: int, _: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)
