"""One sandbox from its first process to its last, as a machine that reacts to events and never waits.

The owner calls `heard` when `socket` is readable, `init_ended` when `pidfd` is, `tick` when `due` has come, and reads
`outcome` or `failure` when `over`. The outcome is there as soon as init has said that nobody is left inside; what is
left then, init itself, ends. Nothing of the payload runs before everything that holds it has been measured.

What is built ahead of its run is in `waiting` and `vacant`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time
from collections import ChainMap
from collections.abc import Mapping, Sequence
from typing import Any

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.tape import Step
from skillkeep.runner.interface import Assurance
from skillkeep.runner.native import messages
from skillkeep.runner.native.attest import Ahead, mark_as_first_to_go, measure
from skillkeep.runner.native.binds import open_mapped
from skillkeep.runner.native.board import Board
from skillkeep.runner.native.failures import LayerError, StartError, deciding
from skillkeep.runner.native.filters import payload_filter
from skillkeep.runner.native.layout import Host
from skillkeep.runner.native.messages import Kind, Message
from skillkeep.runner.native.notices import Notices
from skillkeep.runner.native.outcome import Outcome
from skillkeep.runner.native.plan import Plan
from skillkeep.runner.native.prepare import Prepared, prepare
from skillkeep.runner.native.seen_root import SeenRoot
from skillkeep.runner.native.start import Start
from skillkeep.runner.native.trace import Trace
from skillkeep.runner.native.watch import Peaks, look, require_watch
from skillkeep.runner.native.way_out import WayOut

__all__ = ["SETUP_SECONDS", "Sandbox"]

SETUP_SECONDS = 20.0
"""How long a step of the set-up may take."""
_LOOK_SECONDS = 0.02


class Sandbox:
    """Starts at once. `streams` are the payload's stdin, stdout and stderr; they stay the caller's to close.

    Without streams it is built ahead for `host` (`waiting`, `vacant`). Raises LayerError or KernelError when it cannot
    even be started.
    """

    lent: Board | None = None
    """What is shared with a caller that has borrowed it (`waiting`)."""

    def __init__(self, plan: Plan, streams: Sequence[int] = (), host: Host | None = None) -> None:
        self.plan = plan
        self.pidfd = -1
        self.outcome: Outcome | None = None
        self.failure: Exception | None = None
        self._init = self._payload = -1
        self._heard: set[Kind] = set()
        self._status: int | None = None
        self._stopped_for, self._started = "", 0.0
        self._peaks = Peaks()
        self._way_out: WayOut | None = None
        self.notices: Notices | None = None
        self.trace: Trace | None = None
        self.attempts: list[dict[str, Any]] = []
        self.refused_files: list[dict[str, Any]] = []
        self.uppers: list[int] = []
        self._command: bytes | None = None
        self.allowed = True
        """Whether the payload may go when everything stands; until then it waits (`allow`)."""
        self._ahead: Ahead | None = None
        self._root: SeenRoot | None = None
        self._assurance: Assurance | None = None
        self._streams = streams
        self.due = time.monotonic() + SETUP_SECONDS
        self._start = Start(plan)
        self.group = self._start.group
        self._steps: Mapping[int, Step] = self._start.steps
        self.socket: socket.socket | None = self._start.socket
        try:
            require_watch(self.group.enforces)
            self._work_out(host)
        except BaseException:
            self._stop_starting()
            self.group.close()
            raise

    def _work_out(self, host: Host | None) -> None:
        """Make its tape."""
        self._prepared = self._prepare(host)
        self._steps = ChainMap(self._prepared.program.steps, self._steps)  # type: ignore[arg-type]
        self._start.keep(self._prepared.image)

    def _prepare(self, host: Host | None) -> Prepared:
        """Its tape; what is built ahead has one for `host`."""
        return prepare(self.plan, self.group)

    @property
    def over(self) -> bool:
        """Whether nothing of it is left but its control group, and it is known how it ended."""
        return self._init < 0 and (self.outcome is not None or self.failure is not None)

    @property
    def pids(self) -> tuple[int, ...]:
        """Children of this process that it waits for."""
        helpers = [helper.pid for helper in (self._way_out, self.trace) if helper is not None]
        return tuple(pid for pid in (self._start.launcher, self._init, *helpers) if pid >= 0)

    @property
    def assurance(self) -> Assurance:
        """What was measured last."""
        assert self._assurance is not None
        return self._assurance

    @property
    def started(self) -> bool:
        """Whether its payload was let go."""
        return self._started > 0

    def allow(self) -> None:
        """The payload may go, at once when it was waiting for nothing else."""
        self.allowed = True
        if self._assurance is not None and not self._started and self.failure is None:
            try:
                self._let_go()
            except (KernelError, OSError) as error:
                self._fail(error)

    def abandon(self) -> None:
        """Nobody wants it any more."""
        self._fail(LayerError("setup", "the caller left"))

    def forget_changes(self) -> None:
        """Close what overlays wrote; whoever wanted it has been given it."""
        while self.uppers:
            os.close(self.uppers.pop())

    def drop(self) -> None:
        """Kill everything and keep nothing open; whoever owns this process's other children reaps init."""
        self.abandon()
        self._end_helpers()
        self._end_notices()
        self._forget_ahead()
        if self.socket is not None:
            self.socket.close()
            self.socket = None
        if self.pidfd >= 0:
            os.close(self.pidfd)
            self.pidfd = -1

    def heard(self) -> None:
        """Take one message from inside."""
        assert self.socket is not None
        try:
            message = messages.receive(self.socket, self._steps, wait=False)
            if message is None:
                self._silent()
            else:
                self._take(message)
        except BlockingIOError:
            return
        except (KernelError, LayerError, StartError, ValueError, OSError) as error:
            self._fail(error)

    def heard_trace(self) -> None:
        """The tracer watches, or cannot."""
        assert self.trace is not None
        try:
            self.trace.heard()
            if self._heard == {Kind.WAITING, Kind.READY}:
                self._stands()
        except (KernelError, LayerError, OSError) as error:
            self._fail(error)

    def init_ended(self) -> None:
        """Everything inside has ended: take the last words, the counters and the usage."""
        ended, _, usage = os.wait4(self._init, os.WNOHANG)
        if not ended:
            return
        while self.socket is not None and messages.is_readable(self.socket):
            self.heard()
        self._init = -1
        os.close(self.pidfd)
        self.pidfd = -1
        self._end_helpers()
        self._end_notices()
        self._forget_ahead()
        if self.failure is None and not self._started:
            self.failure = self._stopped_early()
        if self.failure is None and self.outcome is None:
            self.outcome = self._describe(usage.ru_utime, usage.ru_stime, usage.ru_maxrss * 1024)

    def tick(self) -> None:
        """Keep the limits that time and the watchdog bring."""
        now = time.monotonic()
        if not self._started:
            if now >= self.due:
                self._fail(LayerError("setup", "the sandbox was not ready in time", "The machine may be overloaded."))
            return
        if now >= self._started + self.plan.wall_seconds:
            self.stop("timeout")
        elif self._watching:
            reason = look(self._init, self._bounds, self._peaks)
            if reason:
                self.stop(reason)
        self._set_due(now)

    def stop(self, reason: str) -> None:
        """Kill everything inside; `reason` is timeout, output_cap, oom, processes or caller."""
        self._stopped_for = self._stopped_for or reason
        self._kill()

    def _take(self, message: Message) -> None:
        fd = message.fd
        if message.kind is Kind.HELLO and self._init < 0:
            self._born(message.pid)
        elif message.kind is Kind.LISTENING and fd is not None and self.plan.egress and self._way_out is None:
            self._way_out = WayOut(fd, self.plan.egress)
        elif message.kind is Kind.READY and self._payload < 0 and self._prepared.shape.notices == (fd is not None):
            self._payload = message.pid
            self._payload_waits(fd)
            self._half_stands(message.kind)
        elif message.kind is Kind.WAITING and not self._started:
            if self._payload < 0 and not self._prepared.shape.ahead:
                self._root = SeenRoot.of_child(self._init)  # while the payload lays down its rights
            self._half_stands(message.kind)
        elif message.kind is Kind.UNSTARTED:
            raise StartError(self.plan.argv[0], deciding(message.numbers))
        elif message.kind is Kind.ENDED and message.pid == self._init:
            self._ended(messages.Last.of(message))
        else:
            if fd is not None:
                os.close(fd)
            raise ValueError(f"an unexpected message: {message.kind}")

    def _payload_waits(self, listener: int | None) -> None:
        """It has laid down its rights; `listener` hears of calls that its filter refuses."""
        shape = self._prepared.shape
        if listener is not None:
            plain = payload_filter(shape.egress, shape.bounded, pinned=bool(shape.cores))
            self.notices = Notices(listener, plain)
        if self.plan.explain:
            self.trace = Trace(self._payload, bool(self.plan.egress))
        if shape.ahead:
            self._ahead = Ahead(self.plan, self._payload, self._identity, self._bounded_by, shape.notices)

    def _half_stands(self, half: Kind) -> None:
        """Init or the payload waits now; when both do, all of it stands."""
        self._heard.add(half)
        if self._heard == {Kind.WAITING, Kind.READY}:
            self._stands()

    def _stands(self) -> None:
        """All of it stands, and whoever is to watch it does: measure it, and let the payload go if it may."""
        if self.trace is not None and self.trace.fd >= 0:
            return
        self._measure()
        mark_as_first_to_go(self._payload)
        if self.allowed:
            self._let_go()
        else:
            self.due = float("inf")  # whoever is to say so can be waited for: its end is heard

    def _born(self, init: int) -> None:
        """Init has said hello."""
        self._init, self.pidfd = init, os.pidfd_open(init)
        self._identity = self._start.give_ids(init, self.plan.id_base)
        self._has_ids()

    def _has_ids(self) -> None:
        """Init waits for its tape."""
        self._give_tape()

    def _give_tape(self) -> None:
        trees = open_mapped(self.plan, self._identity, self.uppers)
        try:
            self._start.give_tape((*self._streams, *trees.values()))
        finally:
            for fd in trees.values():
                os.close(fd)

    def _measure(self) -> None:
        """Measure what holds the waiting payload."""
        shape = self._prepared.shape
        facts = (shape.landlock, self._identity, self._bounded_by, shape.notices)
        self._assurance = measure(self.plan, self._payload, *facts, root=self._root, ahead=self._ahead)

    def _let_go(self) -> None:
        assert self.socket is not None
        if self._command is None:
            messages.tell(self.socket, messages.GO)
        else:
            messages.tell(self.socket, self._command, self._streams)
        self._begin()

    def _begin(self) -> None:
        self._bounds = (
            None if "memory" in self.group.enforces else self.plan.memory_bytes,
            None if "pids" in self.group.enforces else self.plan.processes,
        )
        self._started = time.monotonic()
        self._set_due(self._started)
        self._forget_ahead()

    def _ended(self, last: messages.Last) -> None:
        """The payload has ended. When nobody is left there is nothing to wait for: init has no more to say."""
        self._status = last.status
        if last.alone and self._started and self.failure is None:
            self._end_helpers()
            self._end_notices()
            self.outcome = self._describe(last.user_seconds, last.system_seconds, last.memory)
            self._kill()
            self.due = float("inf")
            if self.socket is not None:
                self.socket.close()
                self.socket = None

    def _end_helpers(self) -> None:
        if self.trace is not None:
            self.refused_files, self.trace = self.trace.end(), None
        if self._way_out is not None:
            way_out, self._way_out = self._way_out, None
            self.attempts = way_out.end()

    def _end_notices(self) -> None:
        if self.notices is not None:
            self.notices.close()

    def _forget_ahead(self) -> None:
        """Let go of the ways to look at the payload: some hold its mounts."""
        for each in (self._ahead, self._root):
            if each is not None:
                each.close()

    def _set_due(self, now: float) -> None:
        end = self._started + self.plan.wall_seconds
        self.due = float("inf") if self._stopped_for else min(end, now + _LOOK_SECONDS) if self._watching else end

    @property
    def _bounded_by(self) -> dict[str, str]:
        return {name: part.path for part in self.group.parts for name in part.enforces}

    @property
    def _watching(self) -> bool:
        return self._bounds != (None, None)

    def _silent(self) -> None:
        """Every inner end of the socket is closed: nobody is left, or only a running payload and its init."""
        assert self.socket is not None
        self.socket.close()
        self.socket = None
        if self._init < 0:
            self._fail(self._stopped_early())

    def _fail(self, error: Exception) -> None:
        self.failure = self.failure or error
        self.due = float("inf")
        self._stop_starting()
        self._kill()

    def _stop_starting(self) -> None:
        self._start.stop()
        if self._init < 0 and self.socket is not None:
            self.socket.close()  # an init that has not been heard of yet reads the end, and ends
            self.socket = None

    def _kill(self) -> None:
        if self.pidfd >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def _stopped_early(self) -> Exception:
        if self.group.facts().get("oom_kills"):
            hint = "Give the policy more memory: building the sandbox itself needs about a MiB."
            return LayerError("cgroup", "the memory limit is too small to build the sandbox in", hint)
        return LayerError("setup", "the sandbox's init ended without a word", "Look at the kernel log for the reason.")

    def _describe(self, user_seconds: float, system_seconds: float, most_memory: int) -> Outcome:
        """`most_memory`: of one process, in bytes."""
        assert self._assurance is not None
        counted = self.group.facts()
        return Outcome(
            status=self._status,
            stopped_for=self._stopped_for,
            wall_seconds=time.monotonic() - self._started,
            user_seconds=user_seconds,
            system_seconds=system_seconds,
            peak_memory=counted.get("peak_memory") or max(self._peaks.memory, most_memory),
            peak_processes=max(counted.get("peak_processes", 0) - 1, self._peaks.processes, 1),
            oom_kills=counted.get("oom_kills", 0),
            refused_forks=counted.get("refused_forks", 0),
            assurance=self._assurance,
        )
