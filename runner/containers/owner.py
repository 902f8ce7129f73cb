"""Whose container is it? Labels that let the next start remove what a killed run left behind, and nothing else.

A container outlives the process that asked for it. Its labels name that process so exactly (boot, pid namespace,
pid, start time) that a later start can tell a dead owner from a living one. Where the owner cannot be seen (other
user under hidepid, other pid namespace, other machine) only the expiry written at the start counts.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["EXPIRES_LABEL", "OWNER_LABEL", "RUN_LABEL", "Owner", "is_orphan", "labels_for"]

OWNER_LABEL = "skillkeep.owner"
EXPIRES_LABEL = "skillkeep.expires"
RUN_LABEL = "skillkeep.run"
_GRACE_SECONDS = 300


@dataclass(frozen=True)
class Owner:
    """A process of this machine: boot id, pid namespace inode, user id, pid, start time in clock ticks."""

    boot: str
    pid_namespace: int
    uid: int
    pid: int
    started: int

    @classmethod
    def current(cls) -> Owner | None:
        """This process, or None on a system without ``/proc``."""
        pid = os.getpid()
        started = _started(pid)
        boot, namespace = _place()
        return None if started is None or not boot else cls(boot, namespace, os.geteuid(), pid, started)

    @classmethod
    def parse(cls, text: str) -> Owner | None:
        """Read back what `str` wrote, or None."""
        parts = text.split("/")
        if len(parts) != 5 or not all(part.isascii() and part.isdigit() for part in parts[1:]):
            return None
        return cls(parts[0], *(int(part) for part in parts[1:]))

    def __str__(self) -> str:
        return f"{self.boot}/{self.pid_namespace}/{self.uid}/{self.pid}/{self.started}"

    def is_dead(self) -> bool:
        """True only when this process could see the owner if it still lived, and it does not."""
        boot, namespace = _place()
        if not boot or (boot, namespace) != (self.boot, self.pid_namespace):
            return False
        if os.geteuid() not in (0, self.uid):
            return False
        return _started(self.pid) != self.started


def labels_for(run_id: str, now: float, wall_seconds: float) -> dict[str, str]:
    """The labels of a container started at `now` (Unix seconds) that may run `wall_seconds`."""
    owner = Owner.current()
    return {
        RUN_LABEL: run_id,
        OWNER_LABEL: str(owner) if owner else "unknown",
        EXPIRES_LABEL: str(int(now + wall_seconds + _GRACE_SECONDS)),
    }


def is_orphan(labels: Mapping[str, str], now: float) -> bool:
    """Whether a container with these labels is ours and its run is over: the owner is dead, or the time is past."""
    if RUN_LABEL not in labels or OWNER_LABEL not in labels:
        return False
    owner = Owner.parse(labels[OWNER_LABEL])
    if owner and owner.is_dead():
        return True
    expires = labels.get(EXPIRES_LABEL, "")
    return expires.isascii() and expires.isdigit() and now > int(expires)


def _place() -> tuple[str, int]:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as stream:
            return stream.read().strip(), os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return "", 0


def _started(pid: int) -> int | None:
    """Field 22 of ``/proc/<pid>/stat`` (proc(5)); None for a process that has ended, reaped or not.

    The name in field 2 may hold spaces and brackets.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as stream:
            fields = stream.read().rpartition(b")")[2].split()
            return None if fields[0] in (b"Z", b"X") else int(fields[19])
    except (OSError, ValueError, IndexError):
        return None
