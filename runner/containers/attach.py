"""The attached streams of a container: stdin in, stdout and stderr out of one multiplexed connection.

Format (Docker Engine API, "Attach to a container", stream format): frames of a header ``{type, 0, 0, 0, size}``,
size big-endian 32 bit, followed by that many bytes. Type 1 is stdout, 2 stderr, 0 echoed stdin. The payload
decides what is in a frame, never where one ends; still nothing here trusts a size further than one read.
"""

from __future__ import annotations

import os
import select
import socket
from collections.abc import Callable
from dataclasses import dataclass

from skillkeep.runner.capture import Capture
from skillkeep.runner.errors import RunnerError
from skillkeep.runner.interface import Cause

__all__ = ["FrameReader", "Streams", "pump", "read_until"]

_CHUNK = 65_536
_HEADER = 8


@dataclass(frozen=True)
class Streams:
    """Both captured streams, and why reading stopped: `TIMEOUT`, `OUTPUT_CAP`, or `EXIT` for the end of the output."""

    stdout: Capture
    stderr: Capture
    ended: Cause


class FrameReader:
    """Takes the connection's bytes in any split and gives each stream its own."""

    def __init__(self, cap: int) -> None:
        self.stdout = Capture(cap)
        self.stderr = Capture(cap)
        self._header = bytearray()
        self._target: Capture | None = None
        self._left = 0

    def feed(self, data: bytes) -> bool:
        """Take the next bytes. Returns False once a stream is over its cap; raises `RunnerError` (`backend_failed`)."""
        view = memoryview(data)
        within = True
        while view:
            if self._left:
                part, view = view[: self._left], view[self._left :]
                self._left -= len(part)
                within &= self._target.feed(part) if self._target else True
                continue
            missing = _HEADER - len(self._header)
            self._header += view[:missing]
            view = view[missing:]
            if len(self._header) == _HEADER:
                self._open_frame(bytes(self._header))
                self._header.clear()
        return within

    def _open_frame(self, header: bytes) -> None:
        kind = header[0]
        if kind > 2 or header[1:4] != b"\0\0\0":
            raise RunnerError(
                "backend_failed",
                "the container engine sent a stream that is not in its own format",
                "Check that DOCKER_HOST names a Docker or Podman socket; run `runner doctor`.",
            )
        self._target = {1: self.stdout, 2: self.stderr}.get(kind)
        self._left = int.from_bytes(header[4:], "big")


class _Feeder:
    """Hands the payload its input: bytes, or whatever a descriptor gives; then says that there is no more."""

    def __init__(self, connection: socket.socket, source: bytes | int | None) -> None:
        self._connection = connection
        self._pending = memoryview(source if isinstance(source, bytes) else b"")
        self.source = source if isinstance(source, int) else -1
        self.open = source is not None
        self._close_when_done()

    @property
    def wants_to_write(self) -> bool:
        return self.open and len(self._pending) > 0

    @property
    def wants_to_read(self) -> bool:
        return self.open and self.source >= 0 and not self._pending

    def read(self) -> None:
        chunk = os.read(self.source, _CHUNK)
        self._pending = memoryview(chunk)
        if not chunk:
            self.source = -1
        self._close_when_done()

    def write(self) -> None:
        try:
            self._pending = self._pending[self._connection.send(self._pending) :]
        except BlockingIOError:
            return
        except OSError:  # the payload has ended, or closed its stdin: the rest is of no use to anybody
            self.open = False
            return
        self._close_when_done()

    def _close_when_done(self) -> None:
        if self.open and self.source < 0 and not self._pending:
            self.open = False
            try:
                self._connection.shutdown(socket.SHUT_WR)
            except OSError:
                return


def pump(
    connection: socket.socket,
    stdin: bytes | int | None,
    cap: int,
    deadline: float,
    monotonic: Callable[[], float],
) -> Streams:
    """Move bytes until the output ends, a stream passes `cap` bytes, or `monotonic()` reaches `deadline`.

    Raises `RunnerError` (`backend_failed`) when the connection breaks or babbles.
    """
    connection.setblocking(False)
    reader = FrameReader(cap)
    feeder = _Feeder(connection, stdin)
    while (left := deadline - monotonic()) > 0:
        readable, writable, fed = _wait(connection, feeder, left)
        if fed:
            feeder.read()
        if writable:
            feeder.write()
        if readable:
            data = _receive(connection)
            if not data:
                return Streams(reader.stdout, reader.stderr, Cause.EXIT)
            if not reader.feed(data):
                return Streams(reader.stdout, reader.stderr, Cause.OUTPUT_CAP)
    return Streams(reader.stdout, reader.stderr, Cause.TIMEOUT)


def _wait(connection: socket.socket, feeder: _Feeder, left: float) -> tuple[bool, bool, bool]:
    """Whether the connection can be read, can be written, and whether the caller's input can be read."""
    poll = select.poll()
    poll.register(connection, select.POLLIN | (select.POLLOUT if feeder.wants_to_write else 0))
    if feeder.wants_to_read:
        poll.register(feeder.source, select.POLLIN)
    events = dict(poll.poll(min(left, 3600) * 1000 + 1))
    mine = events.pop(connection.fileno(), 0)
    return bool(mine & ~select.POLLOUT), bool(mine & select.POLLOUT), bool(events)


def _receive(connection: socket.socket) -> bytes:
    try:
        return connection.recv(_CHUNK)
    except ConnectionResetError:
        return b""
    except OSError as error:
        raise RunnerError(
            "backend_failed",
            f"the connection to the container broke: {error}",
            "Check the container engine's log; run the command again.",
        ) from error


def read_until(connection: socket.socket, word: bytes, seconds: float) -> bool:
    """Read until a container has printed `word`; False when its output ends first, or the time is over."""
    reader = FrameReader(_CHUNK)
    connection.settimeout(seconds)
    try:
        while word not in reader.stdout.data:
            data = connection.recv(_CHUNK)
            if not data or not reader.feed(data):
                return False
    except OSError:
        return False
    return True
