"""What the binds of a warm interpreter lead to: mounted when it was made, and looked at again for each call."""

from __future__ import annotations

import os
from collections.abc import Sequence

from skillkeep.kernel.mounts import open_plain
from skillkeep.runner.interface import Bind
from skillkeep.runner.native.failures import LayerError

__all__ = ["Shown"]


class Shown:
    """What each of `binds` leads to, through no link, and whether it still does. `pid` is a process that sees them.

    They are what is shown to a run that asks for `asked`.

    Each stays open: the kernel tells its present path, in which no link is, so that a look costs two system calls.
    Raises LayerError when not that is mounted, KernelError, OSError.
    """

    def __init__(self, asked: object, binds: Sequence[Bind], pid: int) -> None:
        self._asked = asked
        self._sources = [bind.source for bind in binds]
        self._open: list[int] = []
        try:
            for bind in binds:
                self._open.append(open_plain("bind", bind.source))
            self._facts = self._look()
            mounted = [os.stat(f"/proc/{pid}/root{bind.target}") for bind in binds]
        except BaseException:
            self.close()
            raise
        if [fact[1:3] for fact in self._facts] != [(state.st_dev, state.st_ino) for state in mounted]:
            self.close()
            raise LayerError("bind", "a path led elsewhere while the sandbox was made")

    def check(self, asked: object) -> None:
        """Raise LayerError, OSError unless a run that asks for this would now be shown the same."""
        if asked != self._asked or self._look() != self._facts:
            raise LayerError("bind", "a granted path leads elsewhere by now")

    def _look(self) -> list[tuple[str, int, int, int, int]]:
        """Of each its path, and of what is there device, inode and owner, as whom it may be shown. Raises OSError."""
        found = []
        for fd, source in zip(self._open, self._sources, strict=True):
            state = os.stat(source)
            found.append((os.readlink(f"/proc/self/fd/{fd}"), state.st_dev, state.st_ino, state.st_uid, state.st_gid))
        return found

    def close(self) -> None:
        """Let go of it."""
        while self._open:
            os.close(self._open.pop())
