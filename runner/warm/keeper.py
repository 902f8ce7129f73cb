"""Keeps the calls of one interpreter ready: takes each from the zygote and measures it before its run has come.

In a thread of its own, which sleeps until the zygote has made a call, or nobody has called for too long. What can be
done ahead is done by it, so that a run is: the rest of the measure, words in, answer out. The zygote is started by it
too, since the kernel ends that with the thread that started it: the one of the first call may be gone before the next.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.tape import Step
from skillkeep.runner.environments.standing import Standing
from skillkeep.runner.native import messages
from skillkeep.runner.native.failures import LayerError
from skillkeep.runner.native.messages import Kind
from skillkeep.runner.warm.slot import FAILED, REPORT, Slot
from skillkeep.text import escape

__all__ = ["Keeper"]

_CREDENTIALS, _TWO_FDS = struct.Struct("3i"), struct.Struct("2i")
_READY_SECONDS, _REPORT_SECONDS = 30.0, 5.0
_LEAST_WAIT = 1.0
_MOST_WORDS = 8192


class Keeper:
    """`start` starts the zygote and gives the way to it, which its owner closes, after `close`.

    `steps` are those of its two tapes. Raises what `start` raises.
    """

    def __init__(
        self,
        start: Callable[[], socket.socket],
        standing: Standing,
        steps: Sequence[Mapping[int, Step]],
        complaints: int,
        idle_seconds: float,
    ) -> None:
        self._start, self._standing, self._steps, self._complaints = start, standing, steps, complaints
        self._idle_seconds = idle_seconds
        self._changed = threading.Condition()
        self._slots: deque[Slot] = deque()
        self._done: deque[Slot] = deque()
        self._coming: Slot | None = None
        self._failure: Exception | None = None
        self._taken, self._busy, self._used = 0, False, time.monotonic()
        self._control: socket.socket | None = None
        self._started, self._closed = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._keep, name="skillkeep-warm", daemon=True)
        self._thread.start()
        self._started.wait()
        if self._control is None:
            assert self._failure is not None
            raise self._failure

    @property
    def is_over(self) -> bool:
        """Whether no further call comes."""
        return self._failure is not None

    def next(self) -> Slot:
        """The call that waits, for `give_back`. Raises LayerError, KernelError, OSError, ValueError."""
        with self._changed:
            self._busy = True
            come = self._changed.wait_for(lambda: self._slots or self._failure, _READY_SECONDS)
            if come and self._failure is None:
                return self._slots.popleft()
            self._busy = False
            raise self._failure or LayerError("zygote", "the warm interpreter made no call ready in time")

    def give_back(self, slot: Slot) -> None:
        """The call is over: what led to it is closed when there is time."""
        with self._changed:
            self._done.append(slot)
            self._busy, self._used = False, time.monotonic()

    def close(self) -> None:
        """Let go of all calls; those that wait end. The sandbox has been told to end."""
        self._closed.set()
        _end(self._way)
        self._thread.join()
        for slot in (*self._slots, *self._done):
            slot.close()
        self._slots.clear()
        self._done.clear()

    def let_go(self) -> None:
        """In a process that forked off: close its copies of what leads to calls."""
        for slot in (*self._slots, *self._done, self._coming):
            if slot is not None:
                slot.let_go()

    @property
    def _way(self) -> socket.socket:
        assert self._control is not None
        return self._control

    def _keep(self) -> None:
        try:
            self._control = self._start()
            self._started.set()
            while self._still_wanted():
                self._coming = slot = self._take()
                try:
                    slot.look(self._ready(slot), self._standing)
                except BaseException:
                    slot.close()
                    raise
                with self._changed:
                    self._slots.append(slot)
                    self._changed.notify()
        except Exception as error:  # the next call tells it
            with self._changed:
                self._failure = error
                self._changed.notify()
        self._started.set()
        if self._control is not None:  # a call that still runs may have to be ended by the zygote
            self._closed.wait()

    def _still_wanted(self) -> bool:
        """Wait for the zygote's next word. Raises LayerError when nobody has called for too long."""
        while True:
            self._bury()
            with self._changed:
                left = self._used + self._idle_seconds - time.monotonic()
                if self._busy:
                    left = max(left, _LEAST_WAIT)
                elif left <= 0:
                    self._failure = LayerError("zygote", "nobody called the warm interpreter for too long")
                    _end(self._way)
                    return False
            if _readable((self._way,), left):
                return True

    def _bury(self) -> None:
        with self._changed:
            done = [self._done.popleft() for _ in range(len(self._done))]
        for slot in done:
            slot.close()

    def _take(self) -> Slot:
        room = socket.CMSG_SPACE(_CREDENTIALS.size) + socket.CMSG_SPACE(_TWO_FDS.size)
        data, ancillary, _, _ = self._way.recvmsg(len(b"slot"), room, socket.MSG_CMSG_CLOEXEC)
        fds = [fd for _, kind, raw in ancillary if kind == socket.SCM_RIGHTS for fd in _TWO_FDS.unpack(raw[:8])]
        socks = [socket.socket(fileno=fd) for fd in fds]
        if data != b"slot" or len(socks) != 2:
            for sock in socks:
                sock.close()
            raise LayerError("zygote", f"the warm interpreter ended{self._last_words()}")
        talk, report = socks
        self._taken += 1
        return Slot(talk, report, self._taken - 1)

    def _last_words(self) -> str:
        """The last line of what the zygote wrote to its streams; it has run nothing of the tool's."""
        try:
            lines = os.read(self._complaints, _MOST_WORDS).split(b"\n")
        except OSError:
            return ""
        return next((f": {escape(line.decode('utf-8', 'replace'))}" for line in reversed(lines) if line.strip()), "")

    def _ready(self, slot: Slot) -> int:
        """Wait until the call is confined; its pid."""
        if slot.talk not in _readable((slot.talk, slot.report), _READY_SECONDS):
            raise self._not_ready(slot)
        message = messages.receive(slot.talk, {})
        if message is None or message.kind is not Kind.READY:
            raise self._not_ready(slot)
        return message.pid

    def _not_ready(self, slot: Slot) -> LayerError:
        """Why a call did not become ready."""
        report = slot.report.recv(REPORT.size) if _readable((slot.report,), _REPORT_SECONDS) else b""
        if len(report) == REPORT.size:
            kind, address, error, _, _, tape = REPORT.unpack(report)
            if kind == FAILED:
                step = self._steps[tape][address]
                found = KernelError(step.layer, error, step.detail)
                return LayerError(found.layer, found.what, found.hint)
        return LayerError("zygote", "a call did not become ready")


def _end(control: socket.socket) -> None:
    with contextlib.suppress(OSError):
        control.shutdown(socket.SHUT_RDWR)


def _readable(socks: Sequence[socket.socket], seconds: float) -> list[socket.socket]:
    poll = select.poll()
    for sock in socks:
        poll.register(sock.fileno(), select.POLLIN)
    events = dict(poll.poll(1000 * seconds))
    return [sock for sock in socks if sock.fileno() in events]
