"""Moves the bytes of one entered command between it and its caller until it has ended."""

from __future__ import annotations

import codecs
import fcntl
import os
import select
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from skillkeep.runner.native.feed import Feeder
from skillkeep.runner.native.outlet import Outlet
from skillkeep.text import escape

__all__ = ["Ending", "Kept", "Passed", "Shown", "Sink", "relay"]

_CHUNK = 1 << 16
_LONGEST_WAIT = 3600.0
_LAST_SECONDS = 2.0


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

    @property
    def waits_for(self) -> int:
        """Nothing: -1."""
        return -1

    def end(self) -> None:
        """The stream is over."""

    def finish(self, until: float) -> bool:
        """All is kept at once."""
        return True


class Passed:
    """Writes a stream on to a descriptor of this process, as that takes it."""

    def __init__(self, fd: int) -> None:
        self._outlet = Outlet(fd)

    def take(self, data: bytes) -> bool:
        """Write what is taken now, of what waits and then of `data`; False when nobody reads any more."""
        try:
            self._outlet.put(data)
        except BrokenPipeError:
            return False
        return True

    @property
    def waits_for(self) -> int:
        """The descriptor that has to take more before more can be passed on; -1 when all is written."""
        return self._outlet.fd if self._outlet.is_full else -1

    def end(self) -> None:
        """The stream is over."""

    def finish(self, until: float) -> bool:
        """Write all that waits, until the monotonic time `until`; False when that was not all."""
        try:
            return self._outlet.finish(until)
        except BrokenPipeError:
            return True


class Shown(Passed):
    """The same for a terminal, with all that could move its cursor or hide text as a visible escape."""

    def __init__(self, fd: int) -> None:
        super().__init__(fd)
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")

    def take(self, data: bytes) -> bool:
        """As `Passed`; the start of a character waits for its end."""
        return super().take(escape(self._decoder.decode(data), keep_newlines=True).encode())

    def end(self) -> None:
        """Write what the stream broke off in."""
        super().take(escape(self._decoder.decode(b"", final=True)).encode())


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
    When `holder` can be read, what it runs in has ended, and it is killed. Whoever reads what is passed on has the
    command's `seconds` for it and two more: what is not written then is lost, and that is a ``timeout``, too.
    """
    deadline = time.monotonic() + seconds
    places, held = dict(outputs), dict[int, int]()
    poll = _polled(*places, entered.pidfd, *([holder] if holder >= 0 else ()))
    for fd in places:
        os.set_blocking(fd, False)
    stopped, asked, gone = "", False, False
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
                gone = True
                entered.kill()
            elif fd in places or fd in held:
                if not _move(poll, fd, places, held) and not stopped:
                    stopped = "output_cap"
                    entered.kill()
            else:
                feeder.step(fd)
        if not ended and not places and not asked and not stopped:
            asked, ended = True, entered.is_seen_over()
        if ended:
            whole = _drain(places, (time.monotonic() if stopped or gone else deadline) + _LAST_SECONDS)
            return stopped or ("" if whole or gone else "timeout")


def _polled(*fds: int) -> select.poll:
    poll = select.poll()
    for fd in fds:
        poll.register(fd, select.POLLIN)
    return poll


def _move(poll: select.poll, fd: int, places: dict[int, Sink], held: dict[int, int]) -> bool:
    """Take what is there, or write what waits; False when it was not wanted.

    `held` are the descriptors that take more slowly than is written, with the source that is left alone meanwhile.
    """
    source, data = held.get(fd, fd), b""
    sink = places[source]
    if fd not in held:
        try:
            data = os.read(fd, _CHUNK)
        except BlockingIOError:
            return True
        except OSError:  # the other side of a terminal has gone
            data = b""
        if not data:
            sink.end()
            sink.finish(time.monotonic() + _LAST_SECONDS)
            poll.unregister(fd)
            del places[fd]
            return True
    wanted = sink.take(data)
    waits_for = sink.waits_for
    if fd in held and waits_for < 0:
        poll.unregister(fd)
        poll.register(held.pop(fd), select.POLLIN)
    elif fd not in held and waits_for >= 0:
        poll.unregister(fd)
        poll.register(waits_for, select.POLLOUT)
        held[waits_for] = fd
    return wanted


def _drain(places: dict[int, Sink], until: float) -> bool:
    """All that the ended command wrote is in the pipes already; what it left behind may write for ever.

    Whether all of it was taken by `until`.
    """
    whole = True
    for fd, sink in places.items():
        rest = _capacity(fd)
        while (taken := sink.finish(until)) and rest > 0:
            try:
                data = os.read(fd, min(_CHUNK, rest))
            except OSError:
                break
            if not data or not sink.take(data):
                break
            rest -= len(data)
        sink.end()
        whole = sink.finish(until) and whole and taken
    return whole


def _capacity(fd: int) -> int:
    try:
        return fcntl.fcntl(fd, fcntl.F_GETPIPE_SZ)
    except OSError:  # no pipe
        return _CHUNK
