"""What waits in an open environment for the commands of this process: it has entered, and holds no more than they may.

A command that comes is told to one of these: it costs a message, its execve and its end. From the second command of a
kind on (shared, fresh) up to two of that kind wait; the second is measured while a command runs.

Why such a command holds no less than one that enters when it comes:

- The tape is the same, cut in two (`entrance`, `native/rest.py`), and carries out our steps alone before it is told.
- What the payload can never get back or leave is measured when it begins to wait; mounts, control group and that it is
  still that living process when its command has come, by the same code (`attest.Ahead`).
- It belongs to one holder, whose plan never changes, and is not used when that has ended; a new holder has none.
- What it took from this process (ids, rights, filters, limits, control groups, cores, priority) is looked at again,
  and must be the same. It is of the thread that made it, and is used by no other.
- It is used once. It dies with its maker, by the kernel's hand. Of all processes that have an environment open, one
  alone has any, by a lock, so that there are never more than `standing.BESIDE` leaves room for.
- Where the kernel has no Landlock other commands could look into it: there it is not made.
"""

from __future__ import annotations

import os
import resource
import select
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.procfs import read_record
from skillkeep.runner.environments.enter import Door, Inside, Waiting
from skillkeep.runner.environments.place import Lock
from skillkeep.runner.environments.prepare import Command
from skillkeep.runner.environments.standing import is_alive
from skillkeep.runner.native.failures import LayerError
from skillkeep.runner.native.place import rights

__all__ = ["MOST", "Waiters"]

MOST = 2
"""How many wait for each kind of command."""
_BEFORE = 1
_AFTER_FAILURE_SECONDS = 5.0
_LEAST_MEMORY = 64 << 20
_LIMIT_KINDS = 16  # RLIM_NLIMITS
_FAILURES = (KernelError, LayerError, OSError, ValueError)


class Waiters:
    """Those of one door. `lock` opens what the one process that has any holds alone."""

    def __init__(self, door: Door, lock: Callable[[], Lock]) -> None:
        self._door, self._open_lock = door, lock
        self._lock: Lock | None = None
        self._owned = False
        self._waiting: list[Waiting] = []
        self._commands: Counter[bool] = Counter()
        self._bounds: tuple[object, ...] = ()
        self._not_before = 0.0
        self._changing = threading.Lock()
        plan = door.standing.plan
        self._may = bool(door.standing.landlock) and plan.memory_bytes >= _LEAST_MEMORY

    def enter(self, command: Command, streams: Sequence[int]) -> Inside | None:
        """The command, let go in one that waited; None when there is none, or none that still holds."""
        while (found := self._next(command)) is not None:
            try:
                if not found.looked_at:
                    found.look()
                found.go(command, streams)
            except BaseException as error:
                found.close()  # nothing ran
                if not isinstance(error, _FAILURES):
                    raise
            else:
                return found
        return None

    def look_ahead(self, beside: Inside, command: Command) -> None:
        """Measure what waits, and make another one, while `beside` runs `command`."""
        if command.terminal or not self._changing.acquire(blocking=False):
            return
        try:
            self._commands[command.fresh] += 1
            if self._may and self._commands[command.fresh] > _BEFORE and time.monotonic() >= self._not_before:
                self._make_ready(beside, command.fresh)
        finally:
            self._changing.release()

    def close(self) -> None:
        """End all of them, for good: a command that another thread still runs makes no more."""
        with self._changing:
            self._may = False
            self._end_all()
            if self._lock is not None:
                self._lock.close()

    def _next(self, command: Command) -> Waiting | None:
        if not self._waiting or command.terminal:
            return None
        with self._changing:
            found = next((each for each in self._own() if each.fresh == command.fresh), None)
            if found is None:
                return None
            if self._bounds != _bounds() or not is_alive(self._door.standing):
                self._end_all()
                return None
            self._waiting.remove(found)
            return found

    def _own(self) -> list[Waiting]:
        """Those of this thread."""
        me = os.getpid(), threading.get_native_id()
        return [each for each in self._waiting if each.maker == me]

    def _make_ready(self, beside: Inside, fresh: bool) -> None:
        ready = [each for each in self._own() if each.fresh == fresh]
        for each in ready:
            if not each.looked_at and each.speaks:
                self._try(each)
        count = sum(each.fresh == fresh for each in self._waiting)
        if count >= MOST and not ready:
            self._forget_the_dead()
        for number in range(count, MOST):
            if (number and _is_over(beside)) or not self._may_own() or not self._make(fresh):
                return  # an answer comes first

    def _try(self, each: Waiting) -> None:
        try:
            each.look()
        except _FAILURES:
            self._waiting.remove(each)
            each.close()
            self._not_before = time.monotonic() + _AFTER_FAILURE_SECONDS

    def _make(self, fresh: bool) -> bool:
        bounds = _bounds()
        if self._waiting and bounds != self._bounds:
            self._end_all()
        try:
            self._waiting.append(Waiting(self._door, fresh))
        except _FAILURES:
            self._not_before = time.monotonic() + _AFTER_FAILURE_SECONDS
            return False
        self._bounds = bounds
        return True

    def _may_own(self) -> bool:
        """Whether no other process has any; asked again each time until it is so."""
        if self._lock is None:
            self._lock = self._open_lock()
        self._owned = self._owned or self._lock.own(wait=False)
        return self._owned

    def _forget_the_dead(self) -> None:
        """Those of threads that have ended have ended with them."""
        for each in [each for each in self._waiting if each.looked_at and each.speaks]:
            self._waiting.remove(each)
            each.close()

    def _end_all(self) -> None:
        while self._waiting:
            self._waiting.pop().close()


def _is_over(command: Inside) -> bool:
    poll = select.poll()
    poll.register(command.pidfd, select.POLLIN)
    return bool(poll.poll(0))


def _bounds() -> tuple[object, ...]:
    """What bounds this thread, and so what it starts."""
    return (
        read_record("/proc/thread-self/cgroup"),
        rights("thread-self"),
        os.getresuid(),
        os.getresgid(),
        os.getgroups(),
        os.sched_getaffinity(0),
        [resource.getrlimit(which) for which in range(_LIMIT_KINDS)],
        os.getpriority(os.PRIO_PROCESS, 0),
        os.sched_getscheduler(0),
    )
