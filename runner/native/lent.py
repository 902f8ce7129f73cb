"""A run in a sandbox that the fork server lends: the caller itself lets the payload go and hears how it ended.

The server has built it, measured what holds its payload, and goes on watching its limits and the caller. What is
saved are the ways through the server: each costs two wake-ups. Whenever anything but an end with nobody left inside
is heard, or a call was refused, the sandbox is handed back and the server says how the run ended.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import time
from collections.abc import Mapping, Sequence
from typing import Any

from skillkeep.kernel.cgroups import number_in
from skillkeep.kernel.procfs import read_record_again
from skillkeep.kernel.tape import Step
from skillkeep.runner.interface import Assurance
from skillkeep.runner.native import messages
from skillkeep.runner.native.asking import TELL, UnreadError
from skillkeep.runner.native.board import Board
from skillkeep.runner.native.client import receive
from skillkeep.runner.native.failures import deciding
from skillkeep.runner.native.messages import Kind, Last
from skillkeep.runner.native.plan import Plan

__all__ = ["Lent"]


class Lent:
    """Lets the payload go at once, to `command` (see `prepare_command`).

    `words` and `fds` are what the server said; `fds` are its own to close. Raises ValueError, KeyError or TypeError for
    nonsense.
    """

    def __init__(
        self,
        connection: socket.socket,
        words: bytes,
        fds: list[int],
        plan: Plan,
        command: tuple[bytes, Mapping[int, Step]],
        streams: Sequence[int],
    ) -> None:
        self._connection, self._plan, self._fds = connection, plan, fds
        self._socket: socket.socket | None = None
        image, self._steps = command
        try:
            socket_fd, board_fd, *counters = fds
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, fileno=socket_fd)
            fds.remove(socket_fd)
            messages.tell(self._socket, image, streams)
            self._began = time.monotonic()
            self._board = Board(board_fd)
            self._board.begin(self._began)
            # The payload is at work from here on.
            told = json.loads(words)
            self._init, self._assurance = told["init"], Assurance.from_json(told["assurance"])
            self._counters = [(name, key, fd) for (name, key), fd in zip(told["counters"], counters, strict=True)]
        except BaseException:
            self.close()
            raise

    def fileno(self) -> int:
        """Readable when there is something to be heard."""
        assert self._socket is not None
        return self._socket.fileno()

    def answer(self, *, unusual: bool) -> dict[str, Any]:
        """How the run ended, as the server says it. With `unusual` the server is asked in any case.

        Raises KernelError for a step that failed, and as `receive` does.
        """
        assert self._socket is not None
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
        counted = self._counted()
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
            return receive(self._connection, [])
        except UnreadError as error:  # the payload was let go from here
            raise EOFError(str(error)) from error

    def close(self) -> None:
        """Let go of it; what still runs ends with the connection."""
        if self._socket is not None:
            self._socket.close()
        while self._fds:
            os.close(self._fds.pop())
