"""The caller's side of a run's streams: feeds stdin, keeps stdout and stderr up to their cap, waits for the answer."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from skillkeep.runner.native.feed import Feeder

__all__ = ["Captured", "Pipe", "Streams", "capture"]

_CHUNK = 1 << 16
_END_SECONDS = 5.0
_LONGEST_WAIT = 60.0
_STREAMS = 3


@dataclass
class Captured:
    """The bytes of each stream, and which of them had more than was kept."""

    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)
    truncated: set[str] = field(default_factory=set)


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

    def __init__(self) -> None:
        self._open: list[int] = []
        try:
            for _ in range(_STREAMS):
                self._open += os.pipe2(os.O_CLOEXEC)
        except OSError:
            self.close()
            raise
        stdin, self.feed, self.out, stdout, self.err, stderr = self._open
        self.theirs = stdin, stdout, stderr

    def close_theirs(self) -> None:
        """Close the payload's ends, which it has got."""
        self._open = [self.feed, self.out, self.err]
        for fd in self.theirs:
            os.close(fd)

    def give_feed(self) -> int:
        """The end to write to, from now on the caller's to close."""
        self._open.remove(self.feed)
        return self.feed

    def close(self) -> None:
        """Close what is open."""
        while self._open:
            os.close(self._open.pop())


def capture(
    answered: int, outputs: tuple[int, int], feeder: Feeder, cap: int, over_cap: Callable[[], None], deadline: float
) -> Captured:
    """Read both `outputs` until `answered` (a descriptor) is readable and both have ended.

    `over_cap` is called once when a stream has more than `cap` bytes; what is above is dropped. Raises TimeoutError
    when there is no answer by `deadline` (monotonic seconds).
    """
    seen = Captured()
    places = {outputs[0]: ("stdout", seen.stdout), outputs[1]: ("stderr", seen.stderr)}
    poll = select.poll()
    for fd in (*outputs, answered):
        poll.register(fd, select.POLLIN)
    for fd in outputs:
        os.set_blocking(fd, False)
    waiting = True
    while waiting or places:
        left = deadline - time.monotonic()
        if left <= 0:
            if waiting:
                raise TimeoutError("the fork server did not answer in time")
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
