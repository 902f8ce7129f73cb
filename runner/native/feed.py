"""Feeds a payload's stdin through a pipe, so that it never holds a descriptor of the host.

A descriptor would carry rights along: the file behind it can be opened again for writing through /proc/self/fd,
a folder leads out of the sandbox (CVE-2024-21626), a terminal can be typed into, and O_NONBLOCK set on it is set
for the host as well.
"""

from __future__ import annotations

import os
import select
import stat

__all__ = ["Feeder"]

_CHUNK = 1 << 16


class Feeder:
    """Moves bytes from `source` (given bytes, or a descriptor) to the pipe end `sink`, never blocking; owns `sink`."""

    def __init__(self, source: bytes | int, sink: int) -> None:
        self._sink = sink
        if isinstance(source, int) or source:
            os.set_blocking(sink, False)
        self._pending = memoryview(source if isinstance(source, bytes) else b"")
        self._source = _not_shared(source) if isinstance(source, int) else -1
        self._waits_on = -1

    def arrange(self, poll: select.poll) -> None:
        """Have `poll` wake for what comes next: room in the pipe, or more to read."""
        done = not self._pending and self._source < 0
        wanted = -1 if done or self._sink < 0 else self._sink if self._pending else self._source
        if wanted != self._waits_on:
            if self._waits_on >= 0:
                poll.unregister(self._waits_on)
            if wanted >= 0:
                poll.register(wanted, select.POLLOUT if self._pending else select.POLLIN)
            self._waits_on = wanted
        if done:
            self.close()

    def step(self, fd: int) -> bool:
        """Do what `poll` woke for; False when `fd` is not ours."""
        if fd != self._waits_on:
            return False
        try:
            if self._pending:
                self._pending = self._pending[os.write(self._sink, self._pending[:_CHUNK]) :]
            else:
                self._pending = memoryview(os.read(self._source, _CHUNK))
                if not self._pending:
                    self._source = -1
        except BlockingIOError:
            return True
        except OSError:  # the payload closed its stdin, or the source broke: there is no more to give
            self._pending, self._source = memoryview(b""), -1
        return True

    def close(self) -> None:
        """End the payload's input."""
        if self._sink >= 0:
            sink, self._sink = self._sink, -1
            os.close(sink)


def _not_shared(fd: int) -> int:
    """The same pipe or device opened anew, where that may be: another reader of ours could make a read block."""
    kind = os.fstat(fd).st_mode
    if stat.S_ISFIFO(kind) or stat.S_ISCHR(kind):
        try:
            return os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        except OSError:
            return fd
    return fd
