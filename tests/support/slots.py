"""What a fork server keeps ready while it has nothing to do, as seen from outside."""

from __future__ import annotations

import contextlib
import glob
import os
import select
from collections.abc import Callable, Iterator

from skillkeep.kernel.process import started_at
from skillkeep.runner.native import slots

KEPT = slots.MOST - 1
"""Sandboxes that are kept ready when only one kind of run has come."""


def children(pid: int) -> list[int]:
    """Its children's pids."""
    with contextlib.suppress(FileNotFoundError), open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]
    return []


def life(pid: int) -> tuple[int, int]:
    """What names a process for good, where pids are given away again: its pid and start time."""
    return pid, started_at(pid)


def groups(maker: tuple[int, int]) -> list[str]:
    """The control groups that a fork server made, whose `life` was taken while it was alive."""
    pid, started = maker
    return glob.glob(f"/sys/fs/cgroup/**/skillkeep-*-{pid}-{started}-*", recursive=True)


def at_rest(server: int, *, writes: bool = False) -> bool:
    """Whether it has as many sandboxes as it keeps, each waiting for a run, and no control group without one.

    `writes`: runs that write have come as well, for which one more is kept.
    """
    inits = children(server)
    vacant = [init for init in inits if _is_vacant(init)]
    standing = [init for init in inits if init not in vacant and _stands(init)]
    if (len(vacant), len(standing), len(inits)) != (writes, KEPT, KEPT + writes):
        return False
    return all(map(_has_members, groups(life(server))))


@contextlib.contextmanager
def mounts_change() -> Iterator[Callable[[], bool]]:
    """What says whether a mount came or went since it was asked last.

    For an ordinary user any mount makes every slot stale, and other tests, or their container engine, mount as well.
    """
    with open("/proc/self/mountinfo", "rb") as mounts:
        changes = select.poll()
        changes.register(mounts, select.POLLPRI)
        yield lambda: bool(changes.poll(0))


def vacancies(server: int) -> list[int]:
    """The inits of sandboxes that wait for a run that writes."""
    return [init for init in children(server) if _is_vacant(init)]


def _is_vacant(init: int) -> bool:
    """Whether its root has all that does not depend on the run, and nobody is inside yet."""
    return not children(init) and os.path.isdir(f"/proc/{init}/root/tmp/home")


def _stands(init: int) -> bool:
    """Whether its payload has laid down its rights and is no program yet."""
    payloads = children(init)
    return len(payloads) == 1 and _status(payloads[0], "Seccomp") == "2" and _program(payloads[0]) == _program(init)


def _program(pid: int) -> str:
    """The name it was started by."""
    return _status(pid, "Name")


def _status(pid: int, key: str) -> str:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
        return next((line.split(None, 1)[1].strip() for line in file if line.startswith(f"{key}:")), "")
    return ""


def _has_members(group: str) -> bool:
    with contextlib.suppress(OSError), open(f"{group}/cgroup.procs", encoding="ascii") as file:
        return file.read() != ""
    return False
