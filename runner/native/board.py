"""Three numbers that a fork server and the caller of a lent sandbox share, so that neither has to wake the other.

The caller writes when the payload was let go, and that its run is over; the server how many calls were refused, before
the payload hears of it.
"""

from __future__ import annotations

import math
import os
import struct

__all__ = ["FIRST_SECONDS", "Board"]

FIRST_SECONDS = 0.0025
"""Of a run that its caller begins: nobody listens for refused calls yet, so that no short run wakes a listener."""

_BEGAN, _REFUSALS, _OVER = 0, 8, 16
_TIME, _COUNT = struct.Struct("=d"), struct.Struct("=Q")
_NOTHING = bytes(24)


class Board:
    """A memory file; `fd` is one that somebody else made. The owner closes it."""

    def __init__(self, fd: int = -1) -> None:
        self.fd = fd
        if fd < 0:
            self.fd = os.memfd_create("skillkeep-board", os.MFD_CLOEXEC)
            os.pwrite(self.fd, _NOTHING, 0)  # or the kernel would look for memory when the run begins

    @property
    def began(self) -> float:
        """When the payload was let go, in monotonic seconds; 0.0 when it was not yet, or for what is no time."""
        data = os.pread(self.fd, _TIME.size, _BEGAN)
        (began,) = _TIME.unpack(data) if len(data) == _TIME.size else (0.0,)
        return began if math.isfinite(began) else 0.0

    def begin(self, now: float) -> None:
        """The payload is let go now."""
        os.pwrite(self.fd, _TIME.pack(now), _BEGAN)

    @property
    def refusals(self) -> int:
        """How many calls were refused."""
        data = os.pread(self.fd, _COUNT.size, _REFUSALS)
        return int(_COUNT.unpack(data)[0]) if len(data) == _COUNT.size else 0

    def refuse(self) -> None:
        """One more call is about to be refused."""
        os.pwrite(self.fd, _COUNT.pack(self.refusals + 1), _REFUSALS)

    @property
    def is_over(self) -> bool:
        """Whether the run has ended, with nothing left for the server to say."""
        return os.pread(self.fd, 1, _OVER) == b"\1"

    def end(self) -> None:
        """The run has ended."""
        os.pwrite(self.fd, b"\1", _OVER)

    def close(self) -> None:
        """Let go of it."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
