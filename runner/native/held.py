"""A sandbox that this process has been lent ahead of its next run: asked for when a run has ended, used without a word.

It is used only when the server is the right one for this process as it is now, and when everything on which the sandbox
depends is seen to be as it was (`terms`). The server is told that the run begins before that is looked at: from then on
it keeps the time limit, and a caller that ends takes the sandbox along, at whatever instruction.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.passed import heard_fds
from skillkeep.kernel.timers import set_timer
from skillkeep.runner.native import messages
from skillkeep.runner.native.asking import AHEAD, LATER, MOST, MOST_FDS, NEXT, heard
from skillkeep.runner.native.board import FIRST_SECONDS, Board
from skillkeep.runner.native.lent import Lent, command_of
from skillkeep.runner.native.terms import Terms

if TYPE_CHECKING:
    from skillkeep.runner.native.plan import Plan

__all__ = ["Held"]

_DONTWAIT = int(socket.MSG_DONTWAIT)
_ANSWER_MILLISECONDS = 20_000


class Held:
    """The connection of a run in the room `room` that is over, on which the next sandbox comes; takes it over.

    With `told` the server hears by itself that the run is over, a moment later.
    """

    def __init__(self, connection: socket.socket, room: str, *, told: bool) -> None:
        self.connection, self.room = connection, room
        self.pending = False
        """Whether there is none yet."""
        self._asked = self._answered = False
        if not told:
            self._ask()

    @property
    def speaks(self) -> bool:
        """Whether the server has said something that was not read yet."""
        return _is_readable(self.connection, 0)

    def close(self) -> None:
        """Give it back."""
        self.connection.close()

    def begin(self, plan: Plan, streams: Sequence[int]) -> Lent | None:
        """The run, let go in it; None when it is `pending`, or not good: then nothing was let go.

        Raises ValueError, KeyError or TypeError for nonsense about a run that was let go.
        """
        self.pending = False
        words, fds = self._heard()
        if not words.startswith(AHEAD):
            _close(fds)
            return None
        talk: socket.socket | None = None
        try:
            command, steps = command_of(plan.argv, plan.env, plan.workdir)
            inside, shared, timer, *rest = fds
            terms, words, counters = Terms.of(words[len(AHEAD) :], rest)
            board = Board(shared)
            board.begin(now := time.monotonic())
            set_timer(timer, first := min(plan.wall_seconds, FIRST_SECONDS))
            if not terms.hold([bind.source for bind in plan.binds], (self.connection.fileno(), inside)):
                _close(fds)
                return None
            talk = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, 0, inside)
            messages.tell(talk, command, streams, lost=True)
        except BaseException as error:
            if talk is not None:
                talk.detach()
            _close(fds)
            if isinstance(error, KernelError | OSError | ValueError):
                return None
            raise
        # The payload is at work from here on.
        terms.leave()
        return Lent(self.connection, talk, board, words, counters, plan, steps, timer, now + first)

    def _heard(self) -> tuple[bytes, list[int]]:
        """What the server has said. It says at once whether there is one, and is waited for until then."""
        try:
            words, fds = heard(heard_fds, self.connection, MOST, MOST_FDS, _DONTWAIT)
            if words == LATER:
                self._answered = True
                words, fds = heard(heard_fds, self.connection, MOST, MOST_FDS, _DONTWAIT)
        except BlockingIOError:
            if self._answered:
                self.pending = True
                return b"", []
            self._ask()
            return self._heard() if _is_readable(self.connection, _ANSWER_MILLISECONDS) else (b"", [])
        except OSError:
            return b"", []
        return words, fds

    def _ask(self) -> None:
        """Ask, unless that was done; a server that is gone is noticed when its answer is read."""
        if not self._asked:
            self._asked = True
            with contextlib.suppress(OSError):
                self.connection.send(NEXT + self.room.encode(), socket.MSG_DONTWAIT)


def _is_readable(connection: socket.socket, milliseconds: int) -> bool:
    """Whether the server says something in that time."""
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    return bool(poll.poll(milliseconds))


def _close(fds: Sequence[int]) -> None:
    for fd in fds:
        os.close(fd)
