"""Watches one running sandbox from outside: reads its output, keeps its limits, sees its end."""

from __future__ import annotations

import os
import select
import signal
import time
from dataclasses import dataclass, field

from skillkeep.runner.native.feed import Feeder

__all__ = ["Bounds", "Seen", "Watched", "watch"]

_CHUNK = 1 << 16
_TICK = 0.02
_LONGEST_WAIT = 60.0
_END_SECONDS = 5.0
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Watched:
    """Descriptors and the pid of a sandbox's init. `caller` is -1 or a socket whose end means: stop."""

    init: int
    pidfd: int
    stdout: int
    stderr: int
    feeder: Feeder
    caller: int = -1


@dataclass(frozen=True)
class Bounds:
    """Limits kept from here. None for `memory_bytes` or `processes`: a control group keeps them."""

    deadline: float
    output_bytes: int
    memory_bytes: int | None
    processes: int | None


@dataclass
class Seen:
    """What was seen. `stopped_for` is why the sandbox was killed: timeout, output_cap, oom, processes, caller."""

    streams: dict[int, bytearray] = field(default_factory=dict)
    truncated: set[int] = field(default_factory=set)
    stopped_for: str = ""
    peak_memory: int = 0
    peak_processes: int = 0


def watch(target: Watched, bounds: Bounds) -> Seen:
    """Read until init has ended and both streams are drained; kill everything when a bound is passed.

    Init is the first process of its pid namespace, so one SIGKILL to it ends all: double-forked, stopped and
    signal-ignoring ones too.
    """
    seen = Seen({target.stdout: bytearray(), target.stderr: bytearray()})
    poll = select.poll()
    for fd in (target.stdout, target.stderr, target.pidfd, target.caller):
        if fd >= 0:
            os.set_blocking(fd, fd in (target.pidfd, target.caller))
            poll.register(fd, select.POLLIN)
    open_streams, ended, give_up = {target.stdout, target.stderr}, False, float("inf")
    while not ended or (open_streams and time.monotonic() < give_up):
        target.feeder.arrange(poll)
        for fd, _ in poll.poll(_pause(bounds, seen, ended)):
            if target.feeder.step(fd):
                continue
            if fd in open_streams:
                if _read(fd, bounds.output_bytes, seen):
                    poll.unregister(fd)
                    open_streams.discard(fd)
            elif fd == target.pidfd:
                poll.unregister(fd)
                ended, give_up = True, time.monotonic() + _END_SECONDS
            else:
                poll.unregister(fd)
                seen.stopped_for = seen.stopped_for or "caller"
        if not ended:
            _look(target.init, bounds, seen)
            if seen.stopped_for:
                _kill(target.pidfd)
    return seen


def _pause(bounds: Bounds, seen: Seen, ended: bool) -> float:
    if ended or seen.stopped_for:
        return 100.0
    left = max(bounds.deadline - time.monotonic(), 0.0)
    watching = bounds.memory_bytes is not None or bounds.processes is not None
    return 1000.0 * min(left, _TICK if watching else _LONGEST_WAIT) + 0.5


def _read(fd: int, cap: int, seen: Seen) -> bool:
    """Take what is there; True at the end of the stream. Bytes above the cap are dropped and end the run."""
    try:
        data = os.read(fd, _CHUNK)
    except BlockingIOError:
        return False
    stream = seen.streams[fd]
    room = cap - len(stream)
    stream += data[:room]
    if len(data) > room:
        seen.truncated.add(fd)
        seen.stopped_for = seen.stopped_for or "output_cap"
    return not data


def _look(init: int, bounds: Bounds, seen: Seen) -> None:
    if time.monotonic() >= bounds.deadline:
        seen.stopped_for = seen.stopped_for or "timeout"
    if bounds.memory_bytes is None and bounds.processes is None:
        return
    pids = _descendants(init)
    memory = sum(_resident(pid) for pid in pids)
    seen.peak_memory, seen.peak_processes = max(seen.peak_memory, memory), max(seen.peak_processes, len(pids))
    if bounds.memory_bytes is not None and memory > bounds.memory_bytes:
        seen.stopped_for = seen.stopped_for or "oom"
    if bounds.processes is not None and len(pids) > bounds.processes:
        seen.stopped_for = seen.stopped_for or "processes"


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


def _kill(pidfd: int) -> None:
    try:
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    except ProcessLookupError:
        return
