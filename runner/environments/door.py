"""A standing environment as a process that uses it holds it open."""

from __future__ import annotations

import contextlib
import os
import threading

from skillkeep.kernel.cgroups import number_in
from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.libc import guarded
from skillkeep.kernel.procfs import read_record_again
from skillkeep.runner.environments.prepare import Ground
from skillkeep.runner.environments.standing import Standing
from skillkeep.runner.interface import Layer

__all__ = ["Door"]


class Door:
    """A standing environment held open by this process: the holder's pidfd and the ways into its control groups.

    `root` is that layer as it was measured; nobody inside may mount, so all that share it have the same. Closed while
    commands are inside, it stays open for them until the last has left.

    Raises KernelError when the groups or the holder have gone.
    """

    def __init__(self, standing: Standing, ground: Ground) -> None:
        self.standing, self.ground = standing, ground
        self.root: Layer | None = None
        self._open: list[int] = []
        self._buried: list[int] = []
        self._reaping, self._using = threading.Lock(), threading.Lock()
        self._inside = 1  # whoever opened it
        try:
            with guarded("environment", "reach the environment"):
                self.holder = self._kept(os.pidfd_open(standing.holder))
                self.joins = [
                    self._kept(os.open(f"{part.path}/{part.joined_by}", os.O_WRONLY | os.O_CLOEXEC))
                    for part in standing.groups
                ]
                counter = standing.memory_counter
                self._counter = self._kept(os.open(counter, os.O_RDONLY | os.O_CLOEXEC)) if counter else -1
        except KernelError:
            self.close()
            raise

    def _kept(self, fd: int) -> int:
        self._open.append(fd)
        return fd

    def memory_kills(self) -> int:
        """How many processes of it the kernel has killed at the limit of its memory; 0 where none counts."""
        with self._using, contextlib.suppress(OSError):  # not there
            return number_in(read_record_again(self._counter), "oom_kill") or 0 if self._inside else 0
        return 0

    def enter(self) -> None:
        """Keep it open, as it is, until `leave`."""
        with self._using:
            assert self._inside
            self._inside += 1

    def leave(self) -> None:
        """Let go of it; once nobody keeps it open its descriptors are closed."""
        with self._using:
            self._inside -= 1
            if self._inside:
                return
            while self._open:
                os.close(self._open.pop())
        self.reap(wait=True)

    def bury(self, init: int) -> None:
        """Wait for an init that ends by itself when that takes no time."""
        self._buried.append(init)

    def reap(self, *, wait: bool) -> None:
        """Take the status of the buried that have ended, or of all."""
        with self._reaping:
            for pid in tuple(self._buried):
                with contextlib.suppress(ChildProcessError):
                    if os.waitpid(pid, 0 if wait else os.WNOHANG)[0] == 0:
                        continue
                self._buried.remove(pid)

    def close(self) -> None:
        """Let go of it for good; the environment stays."""
        self.reap(wait=True)
        self.leave()
