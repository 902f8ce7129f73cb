"""Whether something in a project has changed since a run began, told by times of change that nobody can set.

A name can come to stand for something older than the run: a folder is renamed, and all in it keeps its times. The
kernel then sets the time of change of what was renamed, and of the folders that it left and came to. So what is below
a folder is only known to have been there all along when one of these two is older than the run. Where both are
younger the folder may have been moved, or entries of both were changed: nobody can tell, and it counts as moved.
"""

from __future__ import annotations

import os
import stat
import time
from dataclasses import dataclass, replace

__all__ = ["Around", "Since", "tick"]

_COARSE = 5
"""`CLOCK_REALTIME_COARSE`, by which files are stamped: it goes on only every few milliseconds (clock_getres(2))."""
_TRIES = 100


def tick() -> int:
    """Wait until the clock that stamps files has passed this moment; its time then, in nanoseconds since 1970.

    So whatever was changed before has an earlier time, and whatever is changed later has this one or a later.
    """
    called = time.time_ns()
    for _ in range(_TRIES):
        if time.clock_gettime_ns(_COARSE) > called:
            break
        time.sleep(0.0003)
    return time.clock_gettime_ns(_COARSE)


@dataclass(frozen=True)
class Since:
    """When a run began, in nanoseconds since 1970, and which folder the project was then, if that is known."""

    began: int
    device: int = 0
    inode: int = 0

    @classmethod
    def now(cls, root: str, began: int) -> Since:
        """For a run that begins at that time in the folder `root`. Raises OSError."""
        state = os.stat(root, follow_symlinks=False)
        return cls(began, state.st_dev, state.st_ino)

    def is_other(self, root: os.stat_result) -> bool:
        """Whether the project is another folder now."""
        return self.inode != 0 and (self.device, self.inode) != (root.st_dev, root.st_ino)

    def changed(self, state: os.stat_result | None) -> bool:
        """Whether it has: a file its content or mode, a folder its entries or mode, and both their name."""
        return state is not None and state.st_ctime_ns >= self.began


@dataclass(frozen=True)
class Around:
    """What is known of a folder of the project while it is walked.

    `changed`: its entries may have. `moved`: the path of the topmost folder on the way to it, or its own, that may have
    been moved to where it stands.
    """

    since: Since
    changed: bool = False
    moved: str = ""
    inode: int = 0

    @classmethod
    def root(cls, since: Since, state: os.stat_result) -> Around:
        """Of the project itself."""
        return cls(since, since.changed(state), "", state.st_ino)

    def below(self, path: str, state: os.stat_result | None) -> Around:
        """Of what the project has at `path`, in this folder: None, a folder, or something else."""
        if state is None or not stat.S_ISDIR(state.st_mode):
            return replace(self, inode=0)
        changed = self.since.changed(state)
        return Around(self.since, changed, self.moved or (path if changed and self.changed else ""), state.st_ino)

    def opened(self, path: str, fd: int) -> Around:
        """The same when the folder is open as `fd` (or -1): should it be another by now, it was moved just then."""
        if fd < 0:
            return self
        state = os.fstat(fd)
        other = path if state.st_ino != self.inode else ""
        return Around(self.since, self.changed or self.since.changed(state), self.moved or other, state.st_ino)

    def refuses(self, state: os.stat_result | None) -> bool:
        """Whether a change of what has that `state`, in this folder, is a conflict."""
        return self.moved != "" or self.since.changed(state)
