"""The caller's side of a run's streams: feeds stdin, keeps stdout and stderr up to their cap, waits for the answer."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable
from typing import ClassVar

from skillkeep.runner.native.feed import Feeder
from skillkeep.value import Value

__all__ = ["Captured", "Patience", "Pipe", "Streams", "capture"]

_CHUNK = 1 << 16
_END_SECONDS = 5.0
_LONGEST_WAIT = 60.0
_LOOK_SECONDS = 1.0
_STREAMS = 3


class Captured:
    """The bytes of each stream, and which of them had more than was kept."""

    def __init__(self) -> None:
        self.stdout = bytearray()
        self.stderr = bytearray()
        self.truncated: set[str] = set()


class Pipe:
    """A pipe whose ends are closed with the block."""

    def __init__(self) -> None:
        self.read_end, self.write_end = os.pipe2(os.O_CLOEXEC)
        self._open = {self.read_end, self.write_end}

    def __enter__(self) -> Pipe:
        return self

    def give(self, end: int) -> int:
        """`end`, from now on the caller's to close."""
        self._open.discard(end)
        return end

    def close(self, end: int) -> None:
        """Close one end."""
        os.close(self.give(end))

    def __exit__(self, *_: object) -> None:
        for fd in self._open:
            os.close(fd)


class Streams:
    """The three pipes of a run: the payload's ends (`theirs`), and the caller's. Raises OSError."""

    _made: ClassVar[set[Streams]] = set()
    """Those of this process, none of which a fork of it may hold: they would never be seen to end."""

    def __init__(self) -> None:
        self._open: list[int] = []
        try:
            for _ in range(_STREAMS):
                self._open += os.pipe2(os.O_CLOEXEC)
        except OSError:
            self.close()
            raise
        self._stdin, self.feed, self.out, self._stdout, self.err, self._stderr = self._open
        self.theirs = self._stdin, self._stdout, self._stderr
        for fd in (self.out, self.err):  # a payload of the caller's own user can open its streams, and read them first
            os.set_blocking(fd, False)
        Streams._made.add(self)

    def close_stdin(self) -> None:
        """Close the payload's end of its standard input, which it has got: whoever writes hears that nobody reads."""
        self._close(self._stdin)

    def close_outputs(self) -> None:
        """Close the payload's ends of what it writes: from now on they are seen to end."""
        self._close(self._stdout)
        self._close(self._stderr)

    def _close(self, fd: int) -> None:
        if fd in self._open:
            self._open.remove(fd)
            os.close(fd)

    def give_feed(self) -> int:
        """The end to write to, from now on the caller's to close."""
        self._open.remove(self.feed)
        return self.feed

    def leave(self) -> list[int]:
        """Let go of what is open, which is from now on the caller's to close."""
        Streams._made.discard(self)
        left, self._open = self._open, []
        return left

    def close(self) -> None:
        """Close what is open."""
        for fd in self.leave():
            os.close(fd)

    @classmethod
    def close_all(cls) -> None:
        """Close those of every run."""
        for streams in tuple(cls._made):
            streams.close()


os.register_at_fork(after_in_child=Streams.close_all)


class Patience(Value):
    """How long an answer is waited for, in monotonic seconds: to `last`, or to `first` when `is_stopped` says so then.

    A server that is stopped (SIGSTOP) holds no run to its limits; a busy one is only late.
    """

    first: float
    last: float
    is_stopped: Callable[[], bool]

    def after(self, deadline: float) -> float:
        """Until when to go on waiting, when there was no answer by `deadline`; `deadline` itself: no longer."""
        if deadline >= self.last or self.is_stopped():
            return deadline
        return min(deadline + _LOOK_SECONDS, self.last)


def capture(
    answered: int, streams: Streams, feeder: Feeder, cap: int, over_cap: Callable[[], None], patience: Patience
) -> Captured:
    """Read what the payload writes until `answered` (a descriptor) is readable and both streams have ended.

    The payload's ends stay open here until there is the answer: that they end is no reason to wake up before it.
    `over_cap` is called once when a stream has more than `cap` bytes; what is above is dropped. Raises TimeoutError
    when there is no answer within `patience`.
    """
    seen = Captured()
    places = {streams.out: ("stdout", seen.stdout), streams.err: ("stderr", seen.stderr)}
    poll = select.poll()
    for fd in (*places, answered):
        poll.register(fd, select.POLLIN)
    waiting, deadline = True, patience.first
    while waiting or places:
        left = deadline - time.monotonic()
        if left <= 0 and waiting:
            later = patience.after(deadline)
            if later == deadline:
                raise TimeoutError("the fork server did not answer in time")
            deadline = later
            continue
        if left <= 0:
            break
        feeder.arrange(poll)
        for fd, _ in poll.poll(1000 * min(left, _LONGEST_WAIT)):
            if fd in places:
                name, kept = places[fd]
                ended, more = _read(fd, kept, cap)
                if more and not seen.truncated:
                    over_cap()
                if more:
                    seen.truncated.add(name)
                if ended:
                    poll.unregister(fd)
                    del places[fd]
            elif fd == answered:
                poll.unregister(fd)
                streams.close_outputs()
                waiting, deadline = False, min(deadline, time.monotonic() + _END_SECONDS)
            else:
                feeder.step(fd)
    return seen


def _read(fd: int, kept: bytearray, cap: int) -> tuple[bool, bool]:
    """Take what is there: whether the stream has ended, and whether there was more than may be kept."""
    try:
        data = os.read(fd, _CHUNK)
    except BlockingIOError:
        return False, False
    room = cap - len(kept)
    kept += data[:room]
    return not data, len(data) > room
