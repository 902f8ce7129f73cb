"""What the three set-up processes say to their starter: one packet each, a kind first, then whole numbers.

The kernel adds the sender's host pid. A report of a failed step has an address where the kind would be, which is
above every kind. Nothing is read from the socket once the payload runs: its descriptor closes on execve.
"""

from __future__ import annotations

import errno
import os
import select
import socket
import struct
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.tape import BASE, FAILURE, Step
from skillkeep.runner.native.asking import heard

__all__ = [
    "GO",
    "IDS",
    "USAGE_BYTES",
    "Kind",
    "Last",
    "Message",
    "is_readable",
    "last_words",
    "pair",
    "receive",
    "tell",
]

GO, IDS = b"go......", b"ids....."
_MOST = 4096
_LAST_ERRNO = 4095  # MAX_ERRNO
_CREDENTIALS = struct.Struct("3i")
_USAGE_WORDS = 18
USAGE_BYTES = 8 * _USAGE_WORDS
"""Of a struct rusage."""
_FD = struct.Struct("i")
_ROOM = socket.CMSG_SPACE(_CREDENTIALS.size) + socket.CMSG_SPACE(_FD.size)
_CLOEXEC_FDS = 0x4000_0000  # MSG_CMSG_CLOEXEC
_SCM_CREDENTIALS, _SCM_RIGHTS = int(socket.SCM_CREDENTIALS), int(socket.SCM_RIGHTS)


class Kind(IntEnum):
    """What a message says."""

    HELLO = 1
    """Init lives and waits for its ids."""
    WAITING = 2
    """Init has given up everything and reaps."""
    READY = 3
    """The payload waits for the word. The listener of its filter comes along, if that has one."""
    ENDED = 4
    """The payload ended: its wait status, the answer of a last wait, and two times struct rusage (see `Last`)."""
    LISTENING = 6
    """The socket of the sandbox's egress proxy comes along."""
    UNSTARTED = 5
    """The program could not be executed; -errno of each path tried, 0 for those that were not."""


_KINDS = {kind.value: kind for kind in Kind}


@dataclass(frozen=True)
class Message:
    """One message, with the sender's pid as this process sees it."""

    kind: Kind
    numbers: tuple[int, ...]
    pid: int
    fd: int | None = None
    """A descriptor that came along, the receiver's to close."""

    def packed(self) -> bytes:
        """The packet that it was, without the descriptor."""
        return struct.pack(f"={len(self.numbers) + 1}q", self.kind, *self.numbers)


@dataclass(frozen=True)
class Last:
    """An init's last words: the payload's wait status, whether nobody is left inside, and what all have used.

    Times in seconds, memory in bytes.
    """

    status: int
    alone: bool
    user_seconds: float
    system_seconds: float
    memory: int

    @classmethod
    def of(cls, message: Message) -> Last:
        """What an `ENDED` says. Raises ValueError for one that is too short."""
        status, left, *words = message.numbers
        own, children = words[:_USAGE_WORDS], words[_USAGE_WORDS:]
        if len(children) != _USAGE_WORDS:
            raise ValueError("an end without what was used")
        user = own[0] + children[0] + (own[1] + children[1]) / 1e6
        system = own[2] + children[2] + (own[3] + children[3]) / 1e6
        return cls(status, left == -errno.ECHILD, user, system, 1024 * max(own[4], children[4]))


def pair() -> tuple[socket.socket, socket.socket]:
    """The starter's end, which is told who sends, and the other one."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    return ours, theirs


def tell(sock: socket.socket, word: bytes, fds: Sequence[int] = (), *, lost: bool = False) -> None:
    """Let the inner side go on, without ever waiting for it. A dead one is noticed by the next `receive`.

    Raises KernelError("setup") when it does not listen, OSError for what cannot be sent; for what nobody will hear
    with `lost` alone.
    """
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", fds))] if fds else []
    try:
        sock.sendmsg([word], rights, socket.MSG_DONTWAIT)
    except (BrokenPipeError, ConnectionResetError):
        if lost:
            raise
    except BlockingIOError as error:
        raise KernelError("setup", error.errno or 0, "tell the sandbox to go on: it does not listen") from error


def receive(sock: socket.socket, steps: Mapping[int, Step], *, wait: bool = True) -> Message | None:
    """The next message, None at the end.

    Raises KernelError for the failed step of `steps`, ValueError for nonsense, TimeoutError and BlockingIOError as
    the socket is set; without `wait` BlockingIOError in any case when there is none. Whether a descriptor waits is
    said by all who hold it together, and a caller holds that of a sandbox that it was lent.
    """
    flags = _CLOEXEC_FDS | (0 if wait else socket.MSG_DONTWAIT)
    data, ancillary, _, _ = heard(sock.recvmsg, _MOST, _ROOM, flags)
    if not data:
        return None
    pid, fd = 0, None
    for _, kind, raw in ancillary:
        if kind == _SCM_CREDENTIALS:
            pid = _CREDENTIALS.unpack_from(raw)[0]
        elif kind == _SCM_RIGHTS:
            (fd,) = _FD.unpack_from(raw)
    try:
        return _message(data, steps, pid, fd)
    except BaseException:
        if fd is not None:
            os.close(fd)
        raise


def last_words(data: bytes, init: int) -> Message:
    """What the `ENDED` of `init` says, of which somebody else hands on the packet. Raises ValueError for nonsense."""
    message = _message(data, {}, init, None)
    if message.kind is not Kind.ENDED or len(message.numbers) != 2 + 2 * _USAGE_WORDS:
        raise ValueError("no last words")
    return message


def _message(data: bytes, steps: Mapping[int, Step], pid: int, fd: int | None) -> Message:
    if len(data) % 8:
        raise ValueError(f"a message of {len(data)} bytes")
    first, *rest = struct.unpack(f"={len(data) // 8}q", data)
    if first >= BASE and len(data) == FAILURE.size and first in steps and 0 <= rest[0] <= _LAST_ERRNO:
        raise KernelError(steps[first].layer, rest[0], steps[first].detail)
    return Message(_KINDS.get(first) or Kind(first), tuple(rest), pid, fd)


def is_readable(sock: socket.socket) -> bool:
    """Whether a message, or the end, is there."""
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(0))
