"""One connection to the fork server, which is one run."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.passed import heard_fds
from skillkeep.runner.native.answers import describe, describe_failure
from skillkeep.runner.native.asking import BACK, GO, LATER, LENT, NEXT, PREPARE, ROOM, RUN, TELL
from skillkeep.runner.native.failures import LayerError
from skillkeep.runner.native.leases import SECONDS
from skillkeep.runner.native.plan import Plan
from skillkeep.runner.native.sandbox import Sandbox
from skillkeep.runner.native.waiting import Waiting

if TYPE_CHECKING:
    from skillkeep.runner.native.server import Server

__all__ = ["Session"]

_MOST = 1 << 16
_MOST_PLAN = 16 << 20
_FDS = 4


class Session:
    """Waits for the request, runs it, answers. The request's descriptors: the plan (a file), stdin, stdout, stderr."""

    def __init__(self, server: Server, connection: socket.socket) -> None:
        self._server, self._connection = server, connection
        self._sandbox: Sandbox | None = None
        self._lent: Waiting | None = None
        self._watched: set[int] = set()
        self._plan: Plan | None = None
        self._kept: list[int] = []
        self._wanted = True
        self._answered = False
        self._may_go = True
        self._held = ""
        """What held, as JSON, which the answer holds as a text."""
        self.room = ""
        """The room of which a sandbox is waited for, to be lent ahead of its run."""
        self._until = float("inf")
        connection.setblocking(False)
        server.watch(connection.fileno(), self._heard_caller)

    @property
    def due(self) -> float:
        """When `tick` is to be called, in monotonic seconds."""
        return min(self._until, float("inf") if self._sandbox is None else self._sandbox.due)

    @property
    def idle(self) -> bool:
        """Whether it waits for a sandbox ahead of a run, or has one whose run has not begun."""
        return bool(self.room) or (self._until < float("inf") and self.is_unbegun)

    @property
    def is_unbegun(self) -> bool:
        """Whether it has lent a sandbox whose caller has not said that the run begins."""
        board = None if self._lent is None else self._lent.lent
        return board is not None and not board.began

    @property
    def pids(self) -> tuple[int, ...]:
        """Children of this process that the session waits for."""
        return () if self._sandbox is None else self._sandbox.pids

    def tick(self) -> None:
        """The time `due` has come."""
        if time.monotonic() >= self._until:
            self.want_back()
        elif self._sandbox is not None:
            self._sandbox.tick()
            self._look()

    def abort(self) -> None:
        """Something broke here: kill what runs, and let the caller see the end of the connection."""
        for fd in tuple(self._watched):
            self._forget(fd)
        if self._sandbox is not None:
            self._sandbox.drop()
        self._leave()

    def begin(self) -> None:
        """Take the request, if it is there already."""
        self._heard_caller()

    def _heard_caller(self) -> None:
        try:
            data, fds = heard_fds(self._connection, _MOST, _FDS + 1)
        except BlockingIOError:
            return
        except OSError:
            data, fds = b"", []
        try:
            if not data:
                self._caller_gone()
            elif self._sandbox is not None:
                self._told(data)
            else:
                self._start(data, fds)
        finally:
            for fd in fds:
                os.close(fd)

    def _caller_gone(self) -> None:
        if self._sandbox is None:
            self._leave()
            return
        self._server.unwatch(self._connection.fileno())
        self._wanted = False
        self._sandbox.abandon()
        self._look()

    def _told(self, data: bytes) -> None:
        assert self._sandbox is not None
        if data == GO:
            self._may_go = True
            self._sandbox.allow()
            self._look()
            return
        if self._lent is not None and self._lent.lent is not None and data.startswith(TELL):
            self._lent.regain(data[len(TELL) :])
            self._look()
            return
        if data.startswith(NEXT):
            if self._lent is not None and self._lent.is_over:
                self._go_on(data[len(NEXT) :].decode("ascii", "replace"))
            return  # else it is of the run before, of which the timer has told; another one may be under way
        self._sandbox.stop("output_cap" if data == b"output_cap" else "caller")

    def _start(self, data: bytes, fds: list[int]) -> None:
        if data.startswith(b"held ") and data[5:].isdigit() and not fds:
            self._answer({"kind": "held", "assurance": self._server.held_lately(int(data[5:]))})
            return
        if self.room and data.startswith(NEXT):
            return  # the timer said so before
        if data.startswith(ROOM) and not fds:
            self._lend(data[len(ROOM) :].decode("ascii", "replace"))
            return
        try:
            if data not in (RUN, PREPARE) or len(fds) != _FDS:
                raise ValueError("not a request")
            self._may_go = data == RUN
            plan = Plan.from_text(_whole(fds[0]))
        except (ValueError, OSError) as error:
            self._answer({"kind": "nonsense", "detail": str(error)[:500]})
            return
        self._kept, fds[1:] = fds[1:], []
        if (slot := self._server.slots.take(plan)) is None:
            self._build(plan)
            return
        self._sandbox, self._plan = slot.sandbox, plan
        self._sandbox.allowed = self._may_go
        slots, furnished = self._server.slots, slot.sandbox.furnished
        try:
            stale = furnished and slots.are_stale(slot)  # it goes at once
            if not stale:
                slot.sandbox.take(plan, self._kept)
                stale = not furnished and slots.are_stale(slot)  # while init is at work on the run's binds
        except (LayerError, KernelError, OSError):
            stale = True
        if stale:
            self._build_instead()
        else:
            self._look()

    def _lend(self, room: str) -> None:
        """Lend the caller a furnished sandbox, and say what it is; or that there is none."""
        slot = self._server.slots.take_furnished(room)
        words, fds = b"none", list[int]()
        if slot is not None:
            sandbox = slot.sandbox
            try:
                if not self._server.slots.are_stale(slot):
                    what, fds = sandbox.lend()
                    words, self._sandbox, self._lent = LENT + what, sandbox, sandbox
            except (LayerError, KernelError, OSError):
                pass
            except Exception:  # the caller gets a sandbox built for it; the log says what nobody expected
                traceback.print_exc()
            if self._sandbox is None:
                sandbox.drop()
                self._server.bury(sandbox.group)
        if self._say([words], fds) and self._lent is not None:
            self._server.note_held(self._lent.plan.id_base, self._lent.assurance)
            self._look()

    def _go_on(self, room: str) -> None:
        """The run is over, and the caller asks for the next sandbox on the same connection: in a session of its own."""
        self._server.unwatch(self._connection.fileno())
        heir = self._server.meet(socket.socket(fileno=self._connection.detach()))
        self._wanted = False
        assert self._sandbox is not None
        self._sandbox.abandon()
        self._look()
        heir.wait_for(room)

    def wait_for(self, room: str) -> None:
        """Wait for a furnished sandbox of that room, or hang up where nobody may."""
        self.room, self._until = room, time.monotonic() + SECONDS
        if not self._server.leases.ask(self):
            self._leave()
            return
        self.lend_ahead()
        if self.room:
            self._say([LATER])

    def lend_ahead(self) -> None:
        """Lend the caller what it waits for, if one stands."""
        if (found := self._server.leases.prepare(self.room)) is None:
            return
        sandbox, words, fds, opened = found
        self.room, self._sandbox, self._lent = "", sandbox, sandbox
        try:
            if self._say([words], fds):
                self._server.note_held(sandbox.plan.id_base, sandbox.assurance)
                self._look()
        finally:
            opened.close()

    def want_back(self) -> None:
        """Have back what was lent ahead and lies idle; a run that has begun goes on."""
        self._until = float("inf")
        if self._lent is None:
            self._leave()
            return
        # The caller says that it begins before it looks whether this has been said: never do both go on.
        if self.is_unbegun and self._say([BACK]) and self.is_unbegun:
            self._caller_gone()

    def _say(self, words: list[bytes], fds: Sequence[int] = ()) -> bool:
        """Send it; where nobody listens, the caller is gone: nobody else is to wait for it."""
        try:
            socket.send_fds(self._connection, words, fds)
        except OSError:
            self._caller_gone()
            return False
        return True

    def _build(self, plan: Plan) -> None:
        try:
            self._sandbox = Sandbox(plan, self._kept)
            self._sandbox.allowed = self._may_go
        except (LayerError, KernelError, OSError) as error:
            self._answer(describe_failure(error))
            return
        self._look()

    def _build_instead(self) -> None:
        """The slot failed before its payload was let go: the run gets a sandbox built for it."""
        plan, slot = self._plan, self._sandbox
        assert plan is not None
        assert slot is not None
        for fd in tuple(self._watched):
            self._forget(fd)
        slot.drop()
        slot.forget_changes()
        self._server.bury(slot.group)
        self._sandbox = self._plan = None
        self._build(plan)

    def _close_kept(self) -> None:
        while self._kept:
            os.close(self._kept.pop())

    def _look(self) -> None:
        """Watch what the sandbox has open now; answer when it is over."""
        sandbox = self._sandbox
        assert sandbox is not None
        if sandbox.started and sandbox.lent is None and not self._held:
            self._held = json.dumps(sandbox.assurance.to_json())  # while the payload is at work
        if sandbox.started:
            self._plan = None
            self._close_kept()
        elif self._plan is not None and sandbox.failure is not None and self._wanted:
            self._build_instead()
            return
        wanted = {fd: handler for fd, handler in self._ears(sandbox) if fd >= 0}
        for fd in self._watched - wanted.keys():
            self._server.unwatch(fd)
        for fd in wanted.keys() - self._watched:
            watch = self._server.watch_until_hung_up if wanted[fd] == self._heard_refusal else self._server.watch
            watch(fd, wanted[fd])
        self._watched = set(wanted)
        if sandbox.outcome is not None and not self._answered:
            self._answer(describe(sandbox))
        elif sandbox.over and sandbox.failure is not None:
            self._answer(describe_failure(sandbox.failure))

    def _ears(self, sandbox: Sandbox) -> Iterator[tuple[int, Callable[[], None]]]:
        """Where something can be heard of it now, -1 for nowhere, and who hears it."""
        if sandbox.lent is None:
            yield -1 if sandbox.socket is None else sandbox.socket.fileno(), self._heard_sandbox
            yield sandbox.pidfd, self._sandbox_ended
        yield -1 if self._lent is None else self._lent.timer, self._heard_timer
        if sandbox.notices is not None and (self._lent is None or self._lent.hears_refusals):
            yield sandbox.notices.fd, self._heard_refusal
        yield -1 if sandbox.trace is None else sandbox.trace.fd, self._heard_trace

    def _heard_sandbox(self) -> None:
        assert self._sandbox is not None
        before = self._sandbox.socket
        number = -1 if before is None else before.fileno()
        self._sandbox.heard()
        if self._sandbox.socket is None:
            self._forget(number)
        self._look()

    def _heard_refusal(self) -> None:
        assert self._sandbox is not None
        notices = self._sandbox.notices
        assert notices is not None
        number = notices.fd
        notices.step()
        if notices.fd < 0:
            self._forget(number)

    def _heard_timer(self) -> None:
        """The first moments of a run that the caller began are over, or those after its end."""
        assert self._lent is not None
        with contextlib.suppress(BlockingIOError):  # it was set anew
            os.read(self._lent.timer, 8)
        if self._lent.is_over:
            self._go_on(self._lent.plan.room)
        else:
            self.tick()

    def _heard_trace(self) -> None:
        assert self._sandbox is not None
        assert self._sandbox.trace is not None
        self._forget(self._sandbox.trace.fd)
        self._sandbox.heard_trace()
        self._look()

    def _sandbox_ended(self) -> None:
        assert self._sandbox is not None
        for fd in tuple(self._watched):
            self._forget(fd)
        self._sandbox.init_ended()
        if self._answered and self._sandbox.pidfd < 0:
            self._leave()
        else:
            self._look()

    def _forget(self, fd: int) -> None:
        self._watched.discard(fd)
        self._server.unwatch(fd)

    def _answer(self, words: dict[str, Any]) -> None:
        uppers: list[int] = []
        if self._sandbox is not None and self._sandbox.outcome is not None and words["kind"] == "outcome":
            uppers = self._sandbox.uppers
            words["assurance"] = self._held
            self._server.note_held(self._sandbox.plan.id_base, self._sandbox.outcome.assurance)
        if self._wanted:
            with contextlib.suppress(OSError):  # a caller that is gone hears nothing
                socket.send_fds(self._connection, [json.dumps(words).encode()], uppers)
        self._answered = True
        self._hang_up()
        if self._sandbox is None or self._sandbox.pidfd < 0:
            self._leave()

    def _hang_up(self) -> None:
        """Let go of the caller; its sandbox's init may be ending yet."""
        if self._connection.fileno() >= 0:
            self._server.unwatch(self._connection.fileno())
            self._connection.close()
        self._close_kept()
        if self._sandbox is not None:
            self._sandbox.forget_changes()

    def _leave(self) -> None:
        self._hang_up()
        self._server.left(self, None if self._sandbox is None else self._sandbox.group)


def _whole(fd: int) -> str:
    """What is in a memory file, the only kind whose reader never waits. Raises OSError for another, ValueError."""
    fcntl.fcntl(fd, fcntl.F_GET_SEALS)
    size = os.fstat(fd).st_size
    if size > _MOST_PLAN:
        raise ValueError("the plan is too long")
    return os.pread(fd, size, 0).decode("utf-8", "surrogateescape")
