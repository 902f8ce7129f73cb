"""Looks at a running sandbox's processes from outside, for limits that no control group keeps here."""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from dataclasses import dataclass

from skillkeep.runner.native.failures import LayerError

__all__ = ["Peaks", "look", "memory_of", "require_watch"]

_PAGE = os.sysconf("SC_PAGE_SIZE")
_LOOK_SECONDS = 0.05
_SOCKET_BYTES = 212_992
"""What a socket may hold unread (net.core.wmem_default): nothing but the number of sockets tells of it."""


@dataclass
class Peaks:
    """The most that was seen at one time."""

    memory: int = 0
    processes: int = 0


def require_watch(enforced: Collection[str]) -> None:
    """Raise LayerError where control groups do not keep both limits, and processes cannot be looked at either."""
    if not {"memory", "pids"} <= set(enforced) and not os.path.exists("/proc/thread-self/children"):
        raise LayerError("watchdog", "this kernel does not list a process's children (CONFIG_PROC_CHILDREN)")


def look(init: int, bounds: tuple[int | None, int | None], peaks: Peaks) -> str:
    """Why the sandbox of `init` has to be stopped, `oom` or `processes`, or an empty text.

    `bounds` are memory in bytes and processes; None where a control group keeps it.
    """
    pids = _descendants(init)
    memory = memory_of(pids, bounds[0])
    peaks.memory, peaks.processes = max(peaks.memory, memory), max(peaks.processes, len(pids))
    if bounds[0] is not None and (memory > bounds[0] or _sockets(init) * _SOCKET_BYTES > bounds[0]):
        return "oom"
    return "processes" if bounds[1] is not None and len(pids) > bounds[1] else ""


def _descendants(pid: int) -> list[int]:
    found: list[int] = []
    queue = [pid]
    while queue:
        for child in _children(queue.pop()):
            found.append(child)
            queue.append(child)
    return found


def _children(pid: int) -> list[int]:
    found: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                found += map(int, file.read().split())
    except OSError:
        return found  # it ended while being looked at
    return found


def memory_of(pids: list[int], most: int | None) -> int:
    """Bytes that the processes hold of their own: private pages, and pages shared among them but with no file.

    The quick count takes shared pages for files'; only when pages of either kind could be above `most` are they told
    apart, and only when those without a file could be are pages of several processes counted once.
    """
    private, all_of_it = 0, 0
    for pid in pids:
        resident, shared = _resident(pid)
        private, all_of_it = private + max(resident - shared, 0), all_of_it + resident
    if most is None or private > most or all_of_it <= most:
        return private
    found = {pid: _told(pid, "status", "RssShmem:") for pid in pids}
    if private + sum(found.values()) <= most:
        return private + sum(found.values())
    # One that has made its memory of many pieces answers slowly, and all others wait: after a while each counts whole.
    until = time.monotonic() + _LOOK_SECONDS
    return private + sum(
        min(_told(pid, "smaps_rollup", "Pss_Shmem:", otherwise=whole), whole) if time.monotonic() < until else whole
        for pid, whole in found.items()
    )


def _resident(pid: int) -> tuple[int, int]:
    """Bytes in memory, and how many of them are shared or of a file."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            resident, shared = map(int, file.read().split()[1:3])
    except (OSError, ValueError):
        return 0, 0
    return resident * _PAGE, shared * _PAGE


def _told(pid: int, name: str, key: str, otherwise: int = 0) -> int:
    """Bytes of shared memory without a file, all or this process's part of them; `otherwise` when it is not told."""
    try:
        with open(f"/proc/{pid}/{name}", encoding="utf-8", errors="replace") as file:
            return next((int(line.split()[1]) * 1024 for line in file if line.startswith(key)), 0)
    except OSError:
        return otherwise


def _sockets(init: int) -> int:
    try:
        with open(f"/proc/{init}/net/sockstat", encoding="ascii") as file:
            return int(file.readline().split()[2])
    except (OSError, ValueError, IndexError):
        return 0
