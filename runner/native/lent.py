"""A run in a sandbox that the fork server lends: the caller itself lets the payload go and hears how it ended.

The server has built it, measured what holds its payload, and goes on watching its limits and the caller. What is
saved are the ways through the server: each costs two wake-ups. Whenever anything but an end with nobody left inside
is heard, or a call was refused, the sandbox is handed back and the server says how the run ended.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from skillkeep.kernel.cgroups import number_in
from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.procfs import read_record_again
from skillkeep.kernel.tape import Step
from skillkeep.kernel.timers import set_timer
from skillkeep.runner.native import messages
from skillkeep.runner.native.asking import TELL, UnreadError, receive
from skillkeep.runner.native.board import Board
from skillkeep.runner.native.failures import deciding
from skillkeep.runner.native.messages import Kind, Last
from skillkeep.runner.native.offer import Offer
from skillkeep.runner.native.plan import Plan
from skillkeep.runner.native.rest import prepare_command

__all__ = ["Lent", "command_of", "let_go"]

_MOMENT_SECONDS = 0.001


@lru_cache(maxsize=8)
def command_of(
    argv: tuple[str, ...], env: tuple[tuple[str, str], ...], workdir: str
) -> tuple[bytes, Mapping[int, Step]]:
    """What the payload is to hear, and its steps. Raises KernelError when it is too long to be sent."""
    return prepare_command(_Command(argv, env, workdir))


@dataclass(frozen=True)
class _Command:
    argv: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    workdir: str


def let_go(fds: list[int], command: bytes, streams: Sequence[int]) -> tuple[socket.socket, Board, list[int]]:
    """Let the payload of a lent sandbox go to `command`; its socket, its board and the counters, which `fds` are.

    Raises KernelError, OSError, and ValueError for too few; then all are closed.
    """
    talk: socket.socket | None = None
    try:
        inside, shared, *counters = fds
        talk = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, fileno=inside)
        messages.tell(talk, command, streams)
    except BaseException:
        if talk is not None:
            talk.detach()
        for fd in fds:
            os.close(fd)
        raise
    board = Board(shared)
    board.begin(time.monotonic())
    return talk, board, counters


class Lent:
    """A run whose payload was let go just now through `talk`, to a command that has `steps`; `board` says so.

    `words` and `counters`, descriptors, are what the server said; `timer` runs out at `runs_out`, in monotonic
    seconds. All but `connection` are taken over. Raises ValueError, KeyError or TypeError for nonsense.
    """

    def __init__(
        self,
        connection: socket.socket,
        talk: socket.socket,
        board: Board,
        words: bytes,
        counters: Sequence[int],
        plan: Plan,
        steps: Mapping[int, Step],
        timer: int = -1,
        runs_out: float = 0.0,
    ) -> None:
        self._began, self._runs_out = time.monotonic(), runs_out
        self._connection, self._plan, self._steps = connection, plan, steps
        self._socket, self._board, self._fds, self._timer = talk, board, list(counters), timer
        self.over = self.told = False
        """Whether it has ended with nobody left inside, so that the server has no more to say, and is told."""
        try:
            offer = Offer.of(words)
            self._init, self._assurance = offer.init, offer.assurance
            self._counters = [(name, key, fd) for (name, key), fd in zip(offer.counters, counters, strict=True)]
        except BaseException:
            self.close()
            raise

    def fileno(self) -> int:
        """Readable when there is something to be heard."""
        return self._socket.fileno()

    def answer(self, *, unusual: bool) -> dict[str, Any]:
        """How the run ended, as the server says it. With `unusual` the server is asked in any case.

        Raises KernelError for a step that failed, and as `receive` does.
        """
        message = messages.receive(self._socket, self._steps)
        if message is None:
            return self._handed_back(b"")
        if message.kind is Kind.UNSTARTED:
            return {"kind": "start", "program": self._plan.argv[0], "errno": deciding(message.numbers)}
        last = Last.of(message)
        if message.kind is not Kind.ENDED or message.pid != self._init:
            raise ValueError(f"an unexpected message: {message.kind}")
        if unusual or not last.alone or self._board.refusals:
            return self._handed_back(message.packed())
        return self._outcome(last)

    def _outcome(self, last: Last) -> dict[str, Any]:
        counted, self.over = self._counted(), True
        return {
            "kind": "outcome",
            "status": last.status,
            "stopped_for": "",
            "wall_seconds": time.monotonic() - self._began,
            "user_seconds": last.user_seconds,
            "system_seconds": last.system_seconds,
            "peak_memory": counted.get("peak_memory") or last.memory,
            "peak_processes": max(counted.get("peak_processes", 0) - 1, 1),
            "oom_kills": counted.get("oom_kills", 0),
            "refused_forks": counted.get("refused_forks", 0),
            "assurance": self._assurance,
            "egress": [],
            "refused_calls": [],
            "refused_files": [],
        }

    def _counted(self) -> dict[str, int]:
        """What the kernel counted. Raises EOFError when the control groups have gone, and their numbers with them."""
        try:
            found = {name: number_in(read_record_again(fd), key) for name, key, fd in self._counters}
        except OSError as error:
            if error.errno != errno.ENODEV:
                raise
            raise EOFError("it was killed, and its control groups were removed before the run was counted") from error
        return {name: value for name, value in found.items() if value is not None}

    def _handed_back(self, words: bytes) -> dict[str, Any]:
        self._connection.send(TELL + words)
        try:
            while (answer := receive(self._connection, []))["kind"] == "back":
                pass  # a run that has begun goes on
            return answer
        except UnreadError as error:  # the payload was let go from here
            raise EOFError(str(error)) from error

    def tell(self) -> None:
        """Tell the server that the run is over; where there is a timer for it, it hears of that by itself.

        By the timer it does a moment later: woken now, on this core, as happens, it would keep the caller from its
        result. The timer of the run's first moments is that one, if it still runs when the board has the word.
        """
        with contextlib.suppress(OSError, KernelError):
            self._board.end()
            if self._timer >= 0:
                if time.monotonic() > self._runs_out - _MOMENT_SECONDS:
                    set_timer(self._timer, _MOMENT_SECONDS)
                self.told = True

    def leave(self) -> list[int]:
        """Let go of it: descriptors that are from now on the caller's to close. What still runs ends with them."""
        left, self._fds = [*self._fds, self._board.fd, self._socket.detach()], []
        self._board.fd = -1
        if self._timer >= 0:
            left.append(self._timer)
            self._timer = -1
        return [fd for fd in left if fd >= 0]

    def close(self) -> None:
        """Let go of it, and close all."""
        for fd in self.leave():
            os.close(fd)
