"""What a sandbox that was built ahead took from the host and from the fork server: when its run comes, all of it is
looked at again, and must be the same.
"""

from __future__ import annotations

import os
import resource
import select
from dataclasses import dataclass

from skillkeep.kernel.procfs import read_record_again, read_text
from skillkeep.runner.native.binds import inodes_of
from skillkeep.runner.native.layout import Host, look_at_host
from skillkeep.runner.native.plan import Plan
from skillkeep.runner.native.waiting import Waiting

__all__ = ["Mounts", "Shows", "Standing", "look_around"]

_LIMIT_KINDS = 16  # RLIM_NLIMITS


@dataclass(frozen=True)
class Standing:
    """What a slot took from the host and from this process when it was built."""

    host: Host
    mounts: tuple[str, ...]
    groups: str
    cores: frozenset[int]
    limits: tuple[tuple[int, int], ...]
    priority: tuple[int, int]


@dataclass(frozen=True)
class Shows:
    """What a furnished slot was to mount: paths, the mounts they were opened below, and what they led to."""

    sources: tuple[str, ...]
    mounts: tuple[str, ...]
    inodes: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, plan: Plan, mounts: Mounts) -> Shows:
        """What the binds of `plan` lead to now. Raises KernelError, OSError."""
        sources = tuple(bind.source for bind in plan.binds)
        return cls(sources, mounts.all_of_them(), inodes_of(sources))

    def now(self, mounts: Mounts) -> Shows:
        """The same paths as they are now. Raises KernelError."""
        return Shows(self.sources, mounts.all_of_them(), inodes_of(self.sources))

    def mounted_in(self, sandbox: Waiting) -> bool:
        """Whether that is what is mounted there, as seen from outside."""
        try:
            return self.inodes == sandbox.mounted()
        except OSError:
            return False


class Mounts:
    """The mounts of this process that a slot depends on; the kernel says when any has changed (proc_pid_mountinfo(5)).

    As root the binds of a run are opened from these mounts when it comes; else from those that its init has had since
    it began, so that every mount counts. Its control groups too, through a descriptor that stays open.
    """

    def __init__(self) -> None:
        self._file = os.open("/proc/self/mountinfo", os.O_RDONLY | os.O_CLOEXEC)
        self._groups = os.open("/proc/self/cgroup", os.O_RDONLY | os.O_CLOEXEC)
        self._changes = select.poll()
        self._changes.register(self._file, select.POLLPRI)
        self._known: tuple[str, ...] = ()
        self._all: tuple[str, ...] = ()
        self._known_of: tuple[str, ...] | None = None

    def groups(self) -> str:
        """The control groups that this process is in now. Raises OSError."""
        return read_record_again(self._groups)

    def shown(self, host: Host) -> tuple[str, ...]:
        """Their lines."""
        found = self.all_of_them()
        if found is not self._known_of:  # `all_of_them` may have heard of the change before, and is told of it once
            below = (*host.folders, *host.etc, "/dev")
            self._known = tuple(line for line in found if os.geteuid() or _concerns(line.split(" ")[4], below))
            self._known_of = found
        return self._known

    def all_of_them(self) -> tuple[str, ...]:
        """The lines of all mounts."""
        if self._changes.poll(0) or not self._all:
            self._all = ()  # the kernel says it once: what cannot be read now is read the next time
            self._all = tuple(read_text("/proc/self/mountinfo").splitlines())
        return self._all


def _concerns(mounted_at: str, paths: tuple[str, ...]) -> bool:
    """Whether a mount is above or below one of `paths`."""
    place = mounted_at.rstrip("/") + "/"
    return any(place.startswith(f"{path}/") or f"{path}/".startswith(place) for path in paths)


def look_around(mounts: Mounts, *, all_mounts: bool = False) -> Standing:
    """What is taken from the host now, and which mounts: all, or those of what every sandbox shows.

    Raises KernelError, OSError.
    """
    host = look_at_host()
    return Standing(
        host,
        mounts.all_of_them() if all_mounts else mounts.shown(host),
        mounts.groups(),
        frozenset(os.sched_getaffinity(0)),
        tuple(resource.getrlimit(which) for which in range(_LIMIT_KINDS)),
        (os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0)),
    )
