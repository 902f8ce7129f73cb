"""Looks at a running sandbox's processes from outside, for limits that no control group keeps here."""

from __future__ import annotations

import os
from dataclasses import dataclass

__all__ = ["Peaks", "look"]

_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass
class Peaks:
    """The most that was seen at one time."""

    memory: int = 0
    processes: int = 0


def look(init: int, bounds: tuple[int | None, int | None], peaks: Peaks) -> str:
    """Why the sandbox of `init` has to be stopped, `oom` or `processes`, or an empty text.

    `bounds` are memory in bytes and processes; None where a control group keeps it.
    """
    pids = _descendants(init)
    memory = sum(_resident(pid) for pid in pids)
    peaks.memory, peaks.processes = max(peaks.memory, memory), max(peaks.processes, len(pids))
    if bounds[0] is not None and memory > bounds[0]:
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


def _resident(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            resident, shared = map(int, file.read().split()[1:3])
    except (OSError, ValueError):
        return 0
    # Shared file pages (libraries) belong to nobody; shared memory is bounded by the tmpfs sizes.
    return max(resident - shared, 0) * _PAGE
