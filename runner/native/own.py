"""What decides which fork server is the right one for this process (`place`), looked at through files that stay open.

The server's name is made of it, which takes ten times as long as seeing that nothing of it has changed. What is seen
here is more than goes into the name: whoever sees the same twice had the same name. The folder in which it listens is
not looked at again: whoever asks is connected to it.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from typing import Generic, TypeVar

from skillkeep.kernel.procfs import KINDS
from skillkeep.runner.native.place import LIMITS

__all__ = ["Own"]

_T = TypeVar("_T")

_MOST_BYTES = 1 << 14
_FILES = ("status", "cgroup")
_FROM, _TO = b"\nCapInh:", b"\nCpus_allowed:"
"""Of status: the capability sets, no_new_privs and seccomp, and what stands between."""
_UNFILTERED = b"\nSeccomp:\t0\n"


class Own(Generic[_T]):
    """Keeps what `find` found for as long as all is as it was. A fork has files of its own, and needs another one.

    Raises OSError.
    """

    def __init__(self, find: Callable[[], _T]) -> None:
        self._find = find
        self._known: tuple[tuple[object, ...], _T] | None = None
        self._open: list[int] = []
        try:
            for name in ("ns", *_FILES):
                self._open.append(os.open(f"/proc/self/{name}", os.O_RDONLY | os.O_CLOEXEC))
        except OSError:
            self.close()
            raise

    def learn(self) -> None:
        """Find it, unless that is known."""
        if self._known is None:
            facts, found = self._facts(), self._find()
            self._known = (facts, found) if facts and facts == self._facts() else None

    def known(self) -> _T | None:
        """What was found, if all is as it was then."""
        if (known := self._known) is None or self._facts() != known[0]:
            self._known = None
            return None
        return known[1]

    def _facts(self) -> tuple[object, ...]:
        """All of it as it is now; nothing where more would have to be looked at, or it cannot be."""
        try:
            folder, *files = self._open
            status, groups = [os.pread(fd, _MOST_BYTES, 0) for fd in files]
            rights = status[status.find(_FROM) : status.find(_TO)]
            if _UNFILTERED not in rights or max(len(status), len(groups)) == _MOST_BYTES:
                return ()  # other processes' filters count as well (`place.alone`)
            return (
                rights,
                groups,
                [resource.getrlimit(kind) for kind in LIMITS],
                [os.readlink(kind, dir_fd=folder) for kind in KINDS],
                os.getresuid(),
                os.getresgid(),
                os.getgroups(),
                os.sched_getaffinity(0),
                os.environ.get("XDG_RUNTIME_DIR"),
            )
        except OSError:
            return ()

    def close(self) -> None:
        """Let go of the files."""
        while self._open:
            os.close(self._open.pop())
