"""Bytes on their way to a descriptor of the caller's, however slowly it takes them: nothing waits for that.

The descriptor is not made non-blocking, as whoever shares it, such as the caller's shell, would have it so too. What
`poll` calls writable has room for a piece: a pipe for PIPE_BUF bytes (pipe(7)), a terminal for 256 (WAKEUP_CHARS in
the kernel's n_tty.c; the room of a pty comes in such pieces, too). From Linux 6.5 on a pipe is asked not to wait by
each write itself (RWF_NOWAIT).
"""

from __future__ import annotations

import errno
import os
import select
import stat
import time

__all__ = ["Outlet"]

_CHUNK = 1 << 16
_TERMINAL_PIECE = 256
_UNKNOWN = {errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS, errno.EPERM}


class Outlet:
    """Writes to `fd`, which stays the caller's."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._left = memoryview(b"")
        kind = os.fstat(fd).st_mode
        self._at_once = stat.S_ISFIFO(kind)
        self._piece = _CHUNK if stat.S_ISREG(kind) else _TERMINAL_PIECE if os.isatty(fd) else select.PIPE_BUF
        self._poll = select.poll()
        self._poll.register(fd, select.POLLOUT)

    @property
    def is_full(self) -> bool:
        """Whether something waits to be written."""
        return bool(self._left)

    def put(self, data: bytes) -> None:
        """Write `data` behind what waits, as far as it is taken now. Raises OSError, and drops all that waited."""
        if data:
            self._left = memoryview(bytes(self._left) + data)
        self.go_on()

    def go_on(self) -> None:
        """Write what is taken now. Raises OSError, and drops all that waited."""
        try:
            while self._left:
                self._left = self._left[self._write() :]
        except BlockingIOError:
            return
        except OSError:
            self._left = memoryview(b"")
            raise

    def _write(self) -> int:
        """Write a piece; of how many bytes. Raises BlockingIOError when it has no room, OSError."""
        if self._at_once:
            try:
                return os.pwritev(self.fd, [self._left[:_CHUNK]], -1, os.RWF_NOWAIT)
            except OSError as error:
                if error.errno not in _UNKNOWN:
                    raise
                self._at_once = False
        if not self._poll.poll(0):
            raise BlockingIOError
        return os.write(self.fd, self._left[: self._piece])

    def finish(self, until: float) -> bool:
        """Write all that waits, until the monotonic time `until`; whether that was all. Raises OSError."""
        while self._left and (seconds := until - time.monotonic()) > 0:
            self._poll.poll(1000 * min(seconds, 3600.0))
            self.go_on()
        return not self._left
