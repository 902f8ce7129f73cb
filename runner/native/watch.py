"""Looks at a running sandbox's processes from outside, for limits that no control group keeps here."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection
from dataclasses import dataclass, field

from skillkeep.runner.native.failures import LayerError

__all__ = ["Peaks", "look", "memory_of", "require_watch"]

_SHARED = b"RssShmem"
_SIZES = re.compile(rb"^(RssAnon|RssShmem|VmPTE|VmSwap):\s+(\d+) kB$", re.MULTILINE)
_LOOK_SECONDS = 0.05
_SOCKET_BYTES = 212_992
"""What a socket may hold unread (net.core.wmem_default): nothing but the number of sockets tells of it."""


_MAPPING_BYTES, _USUAL_MAPPINGS = 256, 1000
"""What the kernel holds of each mapping, and how many of them a process has as a rule, which do not count."""
_MOST_MAPPINGS = 65_530  # vm.max_map_count
_MAPS_BYTES = 1 << 18


@dataclass
class Peaks:
    """The most that was seen at one time, and how many mappings each process had when it was last looked at."""

    memory: int = 0
    processes: int = 0
    mappings: dict[int, int] = field(default_factory=dict)


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
    if bounds[0] is not None:
        peaks.mappings = _mappings(pids, peaks.mappings)
        memory += sum(max(count - _USUAL_MAPPINGS, 0) for count in peaks.mappings.values()) * _MAPPING_BYTES
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
    """Bytes that the processes hold of their own: private pages, in memory or swapped out, tables of pages, and pages
    shared among them but with no file.

    Only when the shared ones could bring it above `most` are those of several processes counted once, and else not at
    all.
    """
    held = {pid: _held(pid) for pid in pids}
    private = sum(own for own, _ in held.values())
    if most is None or private > most or private + sum(shared for _, shared in held.values()) <= most:
        return private
    # One that has made its memory of many pieces answers slowly, and all others wait: after a while each counts whole.
    until = time.monotonic() + _LOOK_SECONDS
    return private + sum(
        _part_of_shared(pid, whole) if time.monotonic() < until else whole for pid, (_, whole) in held.items()
    )


def _held(pid: int) -> tuple[int, int]:
    """Bytes of its own, and of shared memory without a file; what a process is called cannot look like one of these."""
    try:
        with open(f"/proc/{pid}/status", "rb", buffering=0) as file:
            text = file.read()
    except OSError:
        return 0, 0
    found = {name: int(size) * 1024 for name, size in _SIZES.findall(text)}
    return sum(size for name, size in found.items() if name != _SHARED), found.get(_SHARED, 0)


def _part_of_shared(pid: int, whole: int) -> int:
    """Of the `whole` shared memory that a process has, its part when each page is parted among those who have it."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            lines = [line.split() for line in file if line.startswith("Pss_Shmem:")]
    except OSError:
        return whole
    return min(int(lines[0][1]) * 1024, whole) if lines else whole


def _mappings(pids: list[int], before: dict[int, int]) -> dict[int, int]:
    """`before`, of those that are left, with one process more and the one looked at again that was longest ago.

    Nothing that is quick to read tells the number, and no limit of a process bounds what it is for all of them.
    """
    found = {pid: count for pid, count in before.items() if pid in pids}
    chosen = {*[pid for pid in pids if pid not in found][:1], *[*found][:1]}
    for pid in chosen:
        found.pop(pid, None)  # comes last
        found[pid] = _mappings_of(pid)
    return found


def _mappings_of(pid: int) -> int:
    """Where there are very many, or they cannot be seen, as many as there are pages, which they are at the most."""
    count = size = 0
    try:
        with open(f"/proc/{pid}/maps", "rb", buffering=0) as file:
            while size < _MAPS_BYTES:
                if not (text := file.read(_MAPS_BYTES)):
                    return count
                count, size = count + text.count(b"\n"), size + len(text)
    except (FileNotFoundError, ProcessLookupError):
        return 0
    except OSError:
        pass
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            return min(int(file.read().split()[0]), _MOST_MAPPINGS)
    except (OSError, ValueError, IndexError):
        return 0


def _sockets(init: int) -> int:
    try:
        with open(f"/proc/{init}/net/sockstat", encoding="ascii") as file:
            return int(file.readline().split()[2])
    except (OSError, ValueError, IndexError):
        return 0
