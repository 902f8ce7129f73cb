"""What waits in an open environment for the commands of this process: it has entered, and holds no more than they may.

A command that comes is told to one of these: it costs a message, its execve and its end. From the second command of a
kind on (shared, fresh) up to two of that kind wait. A thread of this process makes and measures them, a moment after a
command has ended.

Why such a command holds no less than one that enters when it comes:

- The tape is the same, cut in two (`entrance`, `native/rest.py`), and carries out our steps alone before it is told.
- What the payload can never get back or leave is measured when it begins to wait; mounts, control group and that it is
  still that living process when its command has come, by the same code (`attest.Ahead`).
- It belongs to one holder, whose plan never changes, and is not used when that has ended; a new holder has none.
- What it took from the thread that made it (ids, rights, filters, limits, control groups, cores, priority) is looked
  at again, and must be what the thread has that brings the command.
- It is used once. It dies with its maker, by the kernel's hand. Of all processes that have an environment open, one
  alone has any, by a lock, so that there are never more than `standing.BESIDE` leaves room for.
- Where the kernel has no Landlock other commands could look into it: there it is not made.
"""

from __future__ import annotations

import os
import resource
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.procfs import read_record
from skillkeep.runner.environments.door import Door
from skillkeep.runner.environments.enter import Inside, Waiting
from skillkeep.runner.environments.place import Lock
from skillkeep.runner.environments.prepare import Command
from skillkeep.runner.environments.standing import is_alive
from skillkeep.runner.native.failures import LayerError
from skillkeep.runner.native.place import rights

__all__ = ["MOST", "Waiters"]

MOST = 2
"""How many wait for each kind of command."""
_BEFORE = 1
_QUIET_SECONDS = 0.002
"""How long after a command: whoever brings the next one at once is not held up."""
_AFTER_FAILURE_SECONDS = 5.0
_LEAST_MEMORY = 64 << 20
_LIMIT_KINDS = 16  # RLIM_NLIMITS
_FAILURES = (KernelError, LayerError, OSError, ValueError)


class Waiters:
    """Those of one door. `lock` opens what the one process that has any holds alone. A forked process has none."""

    def __init__(self, door: Door, lock: Callable[[], Lock]) -> None:
        self._door, self._open_lock = door, lock
        self._lock: Lock | None = None
        self._owned = False
        self._waiting: list[Waiting] = []
        self._commands: Counter[bool] = Counter()
        self._wanted: set[bool] = set()
        self._bounds: tuple[object, ...] = ()
        self._not_before = 0.0
        self._running = 0
        self._changed = threading.Condition()
        self._closing, self._ended = threading.Event(), threading.Event()
        self._keeper: threading.Thread | None = None
        self._maker = os.getpid()
        plan = door.standing.plan
        self._may = bool(door.standing.landlock) and plan.memory_bytes >= _LEAST_MEMORY

    def enter(self, command: Command, streams: Sequence[int]) -> Inside | None:
        """The command, let go in one that waited; None when there is none, or none that still holds."""
        while (found := self._next(command)) is not None:
            try:
                found.go(command, streams)
            except BaseException as error:
                found.close()  # nothing ran
                self._left()
                if not isinstance(error, _FAILURES):
                    raise
            else:
                found.when_over = self._left
                return found
        return None

    def note(self, command: Command) -> None:
        """Such a command has ended: what waits for the next one is made in a moment."""
        if not self._may or command.terminal or os.getpid() != self._maker:
            return
        with self._changed:
            self._commands[command.fresh] += 1
            if self._commands[command.fresh] <= _BEFORE or self._closing.is_set():
                return
            self._wanted.add(command.fresh)
            if self._keeper is None:
                self._keeper = threading.Thread(target=self._keep, name="skillkeep-waiting", daemon=True)
                self._keeper.start()
            self._changed.notify_all()

    def close(self) -> None:
        """End all of them, for good. A command that still runs in one of them goes on."""
        if os.getpid() != self._maker:
            self._end_all()
            return
        with self._changed:
            self._closing.set()
            self._changed.notify_all()
        if self._keeper is not None:
            self._ended.wait()
        with self._changed:
            self._end_all()
        if self._lock is not None:
            self._lock.close()

    def _next(self, command: Command) -> Waiting | None:
        if not self._waiting or command.terminal or os.getpid() != self._maker:
            return None
        with self._changed:
            found = next((each for each in self._waiting if each.fresh == command.fresh), None)
            if found is None:
                return None
            if self._bounds != _bounds() or not is_alive(self._door.standing):
                self._end_all()
                return None
            self._waiting.remove(found)
            self._running += 1
            return found

    def _left(self) -> None:
        with self._changed:
            self._running -= 1
            self._changed.notify_all()

    def _keep(self) -> None:
        """Make what is wanted until all is closed; then stay for as long as a command runs that would end with this."""
        try:
            while self._is_wanted():
                self._closing.wait(_QUIET_SECONDS)
                with self._changed:
                    wanted, self._wanted = self._wanted, set()
                for fresh in wanted:
                    self._make_ready(fresh)
        finally:
            self._ended.set()
            with self._changed:
                self._changed.wait_for(lambda: not self._running)

    def _is_wanted(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._wanted or self._closing.is_set())
            return not self._closing.is_set()

    def _make_ready(self, fresh: bool) -> None:
        bounds = _bounds()
        with self._changed:
            if bounds != self._bounds:
                self._end_all()
            self._forget_the_dead()
            self._bounds = bounds
            lacking = MOST - sum(each.fresh == fresh for each in self._waiting)
        for _ in range(lacking):
            if self._closing.is_set() or time.monotonic() < self._not_before or not self._may_own():
                return
            try:
                made = self._made(fresh)
            except _FAILURES:
                self._not_before = time.monotonic() + _AFTER_FAILURE_SECONDS
                return
            with self._changed:
                self._waiting.append(made)

    def _made(self, fresh: bool) -> Waiting:
        made = Waiting(self._door, fresh)
        try:
            made.look()
        except BaseException:
            made.close()
            raise
        return made

    def _may_own(self) -> bool:
        """Whether no other process has any; asked again each time until it is so."""
        if self._lock is None:
            self._lock = self._open_lock()
        self._owned = self._owned or self._lock.own(wait=False)
        return self._owned

    def _forget_the_dead(self) -> None:
        for each in [each for each in self._waiting if each.speaks]:
            self._waiting.remove(each)
            each.close()

    def _end_all(self) -> None:
        while self._waiting:
            self._waiting.pop().close()


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
