"""The kernel's notices of changes of the host, in the place of looking at it again and again.

`look_at_host` finds what each of its paths leads to. That can change only by a mount, of which mountinfo tells, or in
one of the folders in which a name of the path, or of a link on its way, is looked up: by that name coming, going or
becoming another file, by the mode of what it is, or by the end of the folder itself. All of these folders are watched,
each before a name in it is looked up. Whatever is noticed counts as a change, also what is not about such a name.
Notices are complete where every change goes through this kernel: elsewhere there is no watch (`inotify.LOCAL`).
"""

from __future__ import annotations

import os
import select
import stat

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.inotify import LOCAL, open_notices, watch_folder
from skillkeep.kernel.procfs import read_text
from skillkeep.runner.native.layout import DEVICE_PATHS, ETC_FROM_HOST, SYSTEM

__all__ = ["HostWatch"]

_MOST_LINKS = 40


class HostWatch:
    """Hears of changes from now on. `fd` is readable once there was one, and is -1 where not every one is noticed."""

    def __init__(self) -> None:
        self.fd, self._folders = -1, set[str]()
        try:
            self.fd = open_notices()
            for path in (*SYSTEM, *DEVICE_PATHS):
                self._watch_way_to(path, follow=False)
            for path in ETC_FROM_HOST:
                self._watch_way_to(path, follow=True)
            if not self._are_local():
                self.close()
        except (KernelError, OSError):
            self.close()

    @property
    def quiet(self) -> bool:
        """Whether nothing has changed since it was made; False where that is not known."""
        if self.fd < 0:
            return False
        poll = select.poll()
        poll.register(self.fd, select.POLLIN)
        return not poll.poll(0)

    def close(self) -> None:
        """Let go of it. Whoever else holds its descriptor goes on hearing."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def _watch_way_to(self, path: str, *, follow: bool) -> None:
        """Watch each folder in which a name is looked up on the way; `follow` the last name too, if it is a link."""
        here, left, links = "/", path.split("/"), 0
        while left:
            name, *left = left
            if name in ("", "."):
                continue
            if name == "..":
                here = os.path.dirname(here)
                continue
            if here not in self._folders:
                if not watch_folder(self.fd, here):
                    return
                self._folders.add(here)
            place = os.path.join(here, name)
            try:
                if not stat.S_ISLNK(os.lstat(place).st_mode) or not (left or follow):
                    here = place
                    continue
                goal = os.readlink(place)
            except (FileNotFoundError, NotADirectoryError):
                return
            here, left, links = "/" if goal.startswith("/") else here, [*goal.split("/"), *left], links + 1
            if links > _MOST_LINKS:
                return

    def _are_local(self) -> bool:
        """Whether the file system of each watched folder tells of every change."""
        kinds = {}
        for line in read_text("/proc/self/mountinfo").removesuffix("\n").split("\n"):
            words, _, kind = line.partition(" - ")
            kinds[words.split(" ")[2]] = kind.split(" ")[0]
        found = (os.stat(folder).st_dev for folder in self._folders)
        return all(kinds.get(f"{os.major(device)}:{os.minor(device)}") in LOCAL for device in found)
