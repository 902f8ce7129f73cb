"""On what a sandbox that is lent ahead of its run depends, in a form that its caller can look at in few system calls.

Before the server looks at all that could make the sandbox stale, it opens the kernel's notices of each change, and
reads the files that give none. So whoever hears no notice and reads the same texts later knows that all is as it was
when the server looked, by these means:

- mounts of the server, and of the payload (mountinfo); what the host's paths lead to (`host_watch`); that the payload
  lives (its pidfd): by notices.
- The payload's control groups; the limits of its own groups; the server's control groups, resource limits, cores and
  priority, which a sandbox made now would get: read. A control group's files can be written through a mount of another
  namespace, and are changed by the kernel itself: notices of them would not be complete.
- What the binds lead to: walked again, with what init had. As root the thread has no capability meanwhile.
"""

from __future__ import annotations

import errno
import os
import select
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from skillkeep.runner.native.binds import inodes_of
from skillkeep.runner.native.leftover import leave

__all__ = ["Opened", "Terms"]

_HEAD = struct.Struct("=HHi")
_MOST_BYTES = 1 << 14
_NOTICES = 4
_MOUNTS = 2
"""The first of the notices are of mounts."""
_PAYLOADS = 1
"""The one of them that is of the payload's."""


def _bounds(pid: int) -> bytes:
    """What a child of that process is given in cores and priority. Raises OSError."""
    facts = sorted(os.sched_getaffinity(pid)), os.getpriority(os.PRIO_PROCESS, pid), os.sched_getscheduler(pid)
    return repr(facts).encode()


def _read(files: Sequence[int], server: int, inodes: Sequence[tuple[int, int]]) -> bytes:
    """All that is read, as one text. Raises OSError."""
    texts = [os.pread(fd, _MOST_BYTES, 0) for fd in files]
    if max(map(len, texts)) == _MOST_BYTES:
        raise OSError(errno.EFBIG, "a control file that is too long")
    return b"\0".join([*texts, _bounds(server), repr(tuple(inodes)).encode()])


class Opened:
    """The server's side: opened before it looks, closed when it has sent it. `host` are the notices of `HostWatch`.

    Raises OSError.
    """

    def __init__(self, host: int) -> None:
        self._host, self._own = host, list[int]()
        self._files: list[int] = []
        self.said = b""
        self._mounts = self._open("/proc/self/mountinfo")
        self._others: list[int] = []

    def _open(self, path: str) -> int:
        self._own.append(fd := os.open(path, os.O_RDONLY | os.O_CLOEXEC))
        return fd

    def look(
        self, payload: int, process: int, groups: int, limits: Sequence[int], inodes: Sequence[tuple[int, int]]
    ) -> None:
        """Read what is to stay the same: of the payload (pid, pidfd, its cgroup file), its groups' `limits`, and binds.

        Raises OSError.
        """
        # What the sandbox lets go of when it is lent is sent after that.
        self._own += (process := os.dup(process)), (groups := os.dup(groups))
        self._others = [self._mounts, self._open(f"/proc/{payload}/mountinfo"), process, self._host]
        self._files = [groups, self._open("/proc/self/limits"), self._open("/proc/self/cgroup"), *limits]
        self.said = _read(self._files, os.getpid(), inodes)

    def packed(self) -> tuple[bytes, list[int]]:
        """What is sent: words, which others may follow, and descriptors, likewise."""
        return _HEAD.pack(len(self._files), len(self.said), os.getpid()) + self.said, [*self._others, *self._files]

    def close(self) -> None:
        """Let go of what was opened for it."""
        while self._own:
            os.close(self._own.pop())


@dataclass(frozen=True)
class Terms:
    """The caller's side. The descriptors stay whose they were, until it is to `leave` them."""

    said: bytes
    server: int
    notices: tuple[int, ...]
    files: tuple[int, ...]

    @classmethod
    def of(cls, words: bytes, fds: Sequence[int]) -> tuple[Terms, bytes, Sequence[int]]:
        """What `Opened.packed` gave, and the words and descriptors that follow. Raises ValueError for nonsense."""
        try:
            count, length, server = _HEAD.unpack_from(words)
        except struct.error as error:
            raise ValueError(f"no terms: {error}") from error
        end, last = _HEAD.size + length, _NOTICES + count
        if len(words) < end or len(fds) < last:
            raise ValueError("terms that are cut short")
        terms = cls(words[_HEAD.size : end], server, tuple(fds[:_NOTICES]), tuple(fds[_NOTICES:last]))
        return terms, words[end:], fds[last:]

    def leave(self) -> None:
        """Let go of it: at once of what holds the payload's namespaces."""
        os.close(self.notices[_PAYLOADS])
        leave([fd for number, fd in enumerate(self.notices) if number != _PAYLOADS])
        leave(self.files)

    def hold(self, sources: Sequence[str], others: Sequence[int]) -> bool:
        """Whether nothing was noticed, what is read is as it was, and none of the descriptors `others` has a word.

        `sources` are the host paths of the binds. Raises OSError, KernelError, when it cannot be known.
        """
        poll = select.poll()
        for number, fd in enumerate(self.notices):
            poll.register(fd, select.POLLPRI if number < _MOUNTS else select.POLLIN)
        for fd in others:
            poll.register(fd, select.POLLIN)
        inodes = inodes_of(sources) if sources else ()
        return _read(self.files, self.server, inodes) == self.said and not poll.poll(0)
