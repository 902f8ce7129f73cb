"""The end of a warm call, seen before the kernel has taken its memory apart, which is a third of a short call's time.

A call closes its streams when its script is done, and ends. Whoever hears that looks at what the kernel says of it: it
is ending for good, it has given its memory up, no other thread or process of its room is left, and this is its status.
Nothing that the call says counts. What cannot be seen so is waited for: pid 1 tells of every end.
"""

from __future__ import annotations

import contextlib
import os
import time

from skillkeep.kernel.procfs import read_record_again

__all__ = ["Peak", "Seen", "Watch"]

_EXITING = 4  # PF_EXITING of the flags in proc_pid_stat(5)
_FLAGS, _USER, _SYSTEM, _CHILD_USER, _CHILD_SYSTEM, _THREADS, _SIZE, _STATUS = 6, 11, 12, 13, 14, 17, 20, 49
_PARENT = 1
_PAUSES = (0.0,) * 6 + (2e-5,) * 12
"""Seconds between looks at a call that has closed its streams: its last steps take some microseconds of a core."""
_CPU_OF_PROCESS = 2  # CPUCLOCK_SCHED of clock_gettime(2), for a process that is named in the upper bits


class Seen:
    """How a call ended: its wait status, and seconds of CPU of all that it was and has waited for."""

    def __init__(self, status: int, user: float, system: float) -> None:
        self.status, self.user, self.system = status, user, system


class Watch:
    """What shows the end of the waiting call `pid`, the only child of pid 1 of its room. Raises OSError."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._open: list[int] = []
        try:
            self._state = self._kept(f"/proc/{pid}/stat")
            first = _words(read_record_again(self._state))[_PARENT]
            self._children = self._kept(f"/proc/{pid}/task/{pid}/children")
            self._others = self._kept(f"/proc/{first}/task/{first}/children")
        except BaseException:
            self.close()
            raise

    def _kept(self, path: str) -> int:
        self._open.append(fd := os.open(path, os.O_RDONLY | os.O_CLOEXEC))
        return fd

    def look(self) -> Seen | None:
        """How it ended, if that can be seen yet, and nobody else is left in its room."""
        with contextlib.suppress(OSError):
            for pause in _PAUSES:
                words = _words(read_record_again(self._state))
                if int(words[_FLAGS]) & _EXITING and words[_SIZE] == "0":
                    return self._alone(words)
                if pause:
                    time.sleep(pause)
                else:
                    os.sched_yield()
        return None

    def _alone(self, words: list[str]) -> Seen | None:
        """In this order: what a child leaves behind moves up, and an ending process makes none."""
        if words[_THREADS] != "1" or read_record_again(self._children).strip():
            return None
        if read_record_again(self._others).split() != [str(self._pid)]:
            return None
        whole = time.clock_gettime(~self._pid << 3 | _CPU_OF_PROCESS)
        ticks = os.sysconf("SC_CLK_TCK")
        user, system = int(words[_USER]), int(words[_SYSTEM])
        own_user = whole * user / (user + system) if user + system else whole
        waited = int(words[_CHILD_USER]) / ticks, int(words[_CHILD_SYSTEM]) / ticks
        return Seen(int(words[_STATUS]), own_user + waited[0], whole - own_user + waited[1])

    def close(self) -> None:
        """Let go of it."""
        while self._open:
            os.close(self._open.pop())


class Peak:
    """The most memory that a control group had since a call began, as the kernel counts it for the group."""

    def __init__(self) -> None:
        self._fd = -1

    def open(self, group: str | None) -> None:
        """Count for the group at this path."""
        for name in ("memory.max_usage_in_bytes", "memory.peak"):
            with contextlib.suppress(OSError):
                if group is not None and self._fd < 0:
                    self._fd = os.open(f"{group}/{name}", os.O_RDWR | os.O_CLOEXEC)

    @property
    def counts(self) -> bool:
        """Whether the kernel counts so."""
        return self._fd >= 0

    def begin(self) -> None:
        """Forget what was before; where the kernel cannot (Linux 6.12 can), nothing is counted."""
        if self._fd >= 0:
            try:
                os.pwrite(self._fd, b"0", 0)
            except OSError:
                self.close()

    def end(self) -> int | None:
        """Bytes, None where nothing is counted."""
        try:
            return int(os.pread(self._fd, 64, 0)) if self._fd >= 0 else None
        except (OSError, ValueError):
            return None

    def close(self) -> None:
        """Let go of it."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _words(text: str) -> list[str]:
    """What follows the name, which may hold anything."""
    return text.rpartition(")")[2].split()
