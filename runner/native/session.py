"""One connection to the fork server, which is one run."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import traceback
from typing import TYPE_CHECKING, Any

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.passed import heard_fds
from skillkeep.runner.native.asking import GO, LENT, PREPARE, ROOM, RUN, TELL
from skillkeep.runner.native.failures import LayerError, StartError
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
        connection.setblocking(False)
        server.watch(connection.fileno(), self._heard_caller)

    @property
    def due(self) -> float:
        """When `tick` is to be called, in monotonic seconds."""
        return float("inf") if self._sandbox is None else self._sandbox.due

    @property
    def pids(self) -> tuple[int, ...]:
        """Children of this process that the session waits for."""
        return () if self._sandbox is None else self._sandbox.pids

    def tick(self) -> None:
        """The time `due` has come."""
        if self._sandbox is not None:
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
        self._sandbox.stop("output_cap" if data == b"output_cap" else "caller")

    def _start(self, data: bytes, fds: list[int]) -> None:
        if data.startswith(b"held ") and data[5:].isdigit() and not fds:
            self._answer({"kind": "held", "assurance": self._server.held_lately(int(data[5:]))})
            return
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
        try:
            socket.send_fds(self._connection, [words], fds)
        except OSError:  # it is gone, or does not listen: nobody else is to wait for it
            self._caller_gone()
            return
        if self._lent is not None:
            self._server.note_held(self._lent.plan.id_base, self._lent.assurance)
            self._look()

    def _build(self, plan: Plan) -> None:
        try:
            self._sandbox = Sandbox(plan, self._kept)
            self._sandbox.allowed = self._may_go
        except (LayerError, KernelError, OSError) as error:
            self._answer(_describe_failure(error))
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
        wanted = {}
        if sandbox.socket is not None and sandbox.lent is None:
            wanted[sandbox.socket.fileno()] = self._heard_sandbox
        if sandbox.pidfd >= 0 and sandbox.lent is None:
            wanted[sandbox.pidfd] = self._sandbox_ended
        if sandbox.notices is not None and sandbox.notices.fd >= 0:
            wanted[sandbox.notices.fd] = self._heard_refusal
        if sandbox.trace is not None and sandbox.trace.fd >= 0:
            wanted[sandbox.trace.fd] = self._heard_trace
        for fd in self._watched - wanted.keys():
            self._server.unwatch(fd)
        for fd in wanted.keys() - self._watched:
            self._server.watch(fd, wanted[fd])
        self._watched = set(wanted)
        if sandbox.outcome is not None and not self._answered:
            self._answer(_describe(sandbox))
        elif sandbox.over and sandbox.failure is not None:
            self._answer(_describe_failure(sandbox.failure))

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


def _describe(sandbox: Sandbox) -> dict[str, Any]:
    """What is answered, besides what held."""
    assert sandbox.outcome is not None
    return {
        **{name: value for name, value in vars(sandbox.outcome).items() if name != "assurance"},
        "kind": "outcome",
        "egress": sandbox.attempts,
        "refused_files": sandbox.refused_files,
        "refused_calls": [] if sandbox.notices is None else sandbox.notices.seen,
    }


def _describe_failure(error: Exception) -> dict[str, Any]:
    if isinstance(error, StartError):
        return {"kind": "start", "program": error.program, "errno": error.number}
    if isinstance(error, LayerError):
        facts = {"layer": error.layer, "detail": error.detail, "hint": error.hint, "errno": error.number}
        return {"kind": "layer", **facts}
    if isinstance(error, KernelError):
        facts = {"layer": error.layer, "detail": error.what, "hint": error.hint, "errno": error.context["errno"]}
        return {"kind": "layer", **facts}
    return {"kind": "layer", "layer": "setup", "detail": f"{type(error).__name__}: {error}", "hint": "", "errno": ""}
