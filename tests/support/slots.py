"""What a fork server keeps ready while it has nothing to do, as seen from outside."""

from __future__ import annotations

import contextlib
import glob
import os
import select
from collections.abc import Callable, Iterator

from skillkeep.kernel.procfs import started_at
from skillkeep.runner.native import slots

KEPT = slots.MOST - 1
"""Sandboxes that are kept ready when only one kind of run has come."""
_VERSION_1 = 3
"""Control groups of a sandbox, one for each controller."""


def children(pid: int) -> list[int]:
    """Its children's pids."""
    gone = (FileNotFoundError, ProcessLookupError)
    with contextlib.suppress(*gone), open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]
    return []


def life(pid: int) -> tuple[int, int]:
    """What names a process for good, where pids are given away again: its pid and start time."""
    return pid, started_at(pid)


def groups(maker: tuple[int, int]) -> list[str]:
    """The control groups that a fork server made, whose `life` was taken while it was alive."""
    pid, started = maker
    return glob.glob(f"/sys/fs/cgroup/**/skillkeep-*-{pid}-{started}-*", recursive=True)


def at_rest(server: int, *, writes: bool = False, whole: bool = False) -> bool:
    """Whether it has as many sandboxes as it keeps, each waiting for a run, and no control group without one.

    `writes`: runs that write have come as well, for which one more is kept; `whole`: runs that need more than binds.
    """
    inits = children(server)
    vacant, newborn = vacancies(server), newborns(server)
    standing = [init for init in inits if init not in (*vacant, *newborn) and _stands(init)]
    kept = (len(vacant), len(newborn), len(standing), len(inits))
    if kept != (writes, whole, KEPT, KEPT + writes + whole):
        return False
    empty = [group for group in groups(life(server)) if not _has_members(group)]
    return len(empty) <= _VERSION_1 * whole  # a newborn joins them with its run


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


def newborns(server: int) -> list[int]:
    """The inits of sandboxes of which little more than the namespaces stands."""
    return [init for init in children(server) if _is_newborn(init)]


def _is_newborn(init: int) -> bool:
    """Whether it has its ids and sees the host's root yet."""
    with contextlib.suppress(OSError), open(f"/proc/{init}/gid_map", encoding="ascii") as file:
        return bool(file.read()) and not children(init) and os.path.isdir(f"/proc/{init}/root/tmp/home") is False
    return False


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
