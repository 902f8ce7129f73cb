"""Moves the bytes of one entered command between it and its caller until it has ended."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from skillkeep.runner.native.feed import Feeder

__all__ = ["Ending", "Kept", "Passed", "Sink", "relay"]

_CHUNK = 1 << 16
_LONGEST_WAIT = 3600.0


@dataclass
class Kept:
    """Keeps a stream up to `cap` bytes."""

    cap: int
    data: bytearray = field(default_factory=bytearray)
    truncated: bool = False

    def take(self, data: bytes) -> bool:
        """Keep what fits; False when it was too much."""
        room = self.cap - len(self.data)
        self.data += data[:room]
        self.truncated = self.truncated or len(data) > room
        return not self.truncated


@dataclass
class Passed:
    """Writes a stream on to a descriptor of this process, however slowly that takes it."""

    fd: int

    def take(self, data: bytes) -> bool:
        """Write all; False when nobody reads any more."""
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self.fd, view) :]
        except BrokenPipeError:
            return False
        return True


Sink = Kept | Passed


class Ending(Protocol):
    """What is served: `pidfd` becomes readable when it has ended."""

    @property
    def pidfd(self) -> int: ...

    def kill(self) -> None: ...

    def is_seen_over(self) -> bool:
        """Asked when all outputs have ended: whether it can be seen that it has, too."""


def relay(
    entered: Ending, outputs: Sequence[tuple[int, Sink]], feeder: Feeder, seconds: float, holder: int = -1
) -> str:
    """Serve the command until it has ended; why it was killed before: ``timeout``, ``output_cap`` or an empty text.

    `outputs` are read ends with what takes their bytes. What a process it left behind writes later is not waited for.
    When `holder` can be read, what it runs in has ended, and it is killed.
    """
    deadline = time.monotonic() + seconds
    places = dict(outputs)
    poll = _polled(*places, entered.pidfd, *([holder] if holder >= 0 else ()))
    for fd in places:
        os.set_blocking(fd, False)
    stopped, asked = "", False
    while True:
        feeder.arrange(poll)
        left = deadline - time.monotonic()
        if left <= 0 and not stopped:
            stopped = "timeout"
            entered.kill()
        ended = False
        for fd, _ in poll.poll(1000 * max(min(left, _LONGEST_WAIT), 0.0) + 0.5 if not stopped else None):
            if fd == entered.pidfd:
                ended = True
            elif fd == holder:
                poll.unregister(fd)
                entered.kill()
            elif fd in places:
                going, wanted = _move(fd, places[fd])
                if not going:
                    poll.unregister(fd)
                    del places[fd]
                if not wanted and not stopped:
                    stopped = "output_cap"
                    entered.kill()
            else:
                feeder.step(fd)
        if not ended and not places and not asked and not stopped:
            asked, ended = True, entered.is_seen_over()
        if ended:
            _drain(places)
            return stopped


def _polled(*fds: int) -> select.poll:
    poll = select.poll()
    for fd in fds:
        poll.register(fd, select.POLLIN)
    return poll


def _move(fd: int, sink: Sink) -> tuple[bool, bool]:
    """Take what is there: whether more may come, and whether it was wanted."""
    try:
        data = os.read(fd, _CHUNK)
    except BlockingIOError:
        return True, True
    except OSError:  # the other side of a terminal has gone
        return False, True
    return bool(data), sink.take(data) if data else True


def _drain(places: dict[int, Sink]) -> None:
    """All that the ended command wrote is in the pipes already."""
    for fd, sink in places.items():
        while True:
            try:
                data = os.read(fd, _CHUNK)
            except OSError:
                break
            if not data or not sink.take(data):
                break
