"""Refused system calls of a running payload, as the kernel tells them (SECCOMP_RET_USER_NOTIF).

The filter hands each refused call to this side, which answers with the very errno that the plain filter gives, and
never lets one through. The payload waits for the answer meanwhile; calls that are allowed cost nothing more. Nothing
but numbers is read: no memory of the payload. After `_MOST` notices the kernel is told to answer by itself, and then
says ENOSYS, so that a payload that asks without end wears nobody down. Source: seccomp_unotify(2).
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import select
import struct
from collections import Counter
from functools import cache
from typing import Any

from skillkeep.kernel.seccomp import Filter
from skillkeep.kernel.syscalls import table
from skillkeep.runner.native.board import Board

__all__ = ["Notices", "can_be_noticed"]

_NOTICE = struct.Struct("=QIIiIQ6Q")  # struct seccomp_notif
_ANSWER = struct.Struct("=QqiI")  # struct seccomp_notif_resp
_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_MOST, _MOST_KINDS = 256, 32
_ERRNO_MASK = 0xFFFF
_KERNEL = (5, 0)
_TELLING = {
    "socket": 0,
    "socketpair": 0,
    "ioctl": 1,
    "prctl": 0,
    "personality": 0,
    "unshare": 0,
    "clone": 0,
    "keyctl": 0,
}
"""The argument that says what was wanted, for calls that do many things."""


class Notices:
    """The listener `fd` of a payload under `plain`, the filter that decides; owns `fd`. -1 once it has ended."""

    def __init__(self, fd: int, plain: Filter) -> None:
        self.fd = fd
        self.board: Board | None = None
        """Where somebody else reads that there was a refusal."""
        self._plain = plain
        self._names = _names(plain.arch)
        self._seen: Counter[tuple[str, int | None, int]] = Counter()
        self._poll = select.poll()
        self._poll.register(fd, select.POLLIN)

    @property
    def seen(self) -> list[dict[str, Any]]:
        """What was refused, in the order of its first time: call, telling argument or None, errno, how often."""
        keys = ("call", "argument", "errno", "times")
        return [dict(zip(keys, (*what, times), strict=True)) for what, times in self._seen.items()]

    def step(self) -> None:
        """Answer one refused call; close when nobody is left, or when there were too many."""
        events = dict(self._poll.poll(0)).get(self.fd, 0)
        if events & select.POLLIN:
            self._answer()
        elif events:
            self.close()
        if self.fd >= 0 and self._seen.total() >= _MOST:
            self._seen["whatever came after these", None, errno.ENOSYS] = 1
            self.close()

    def close(self) -> None:
        """Let the kernel answer by itself from now on."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def _answer(self) -> None:
        room = bytearray(_NOTICE.size)
        try:
            fcntl.ioctl(self.fd, _RECEIVE, room)
            number, call, arguments = _read(room)
            refusal = self._refusal(call, arguments)
            if self.board is not None:
                self.board.refuse()
            fcntl.ioctl(self.fd, _SEND, bytearray(_ANSWER.pack(number, 0, -refusal, 0)))
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.EINTR):  # else it was killed, or interrupted, while it asked
                self.close()
            return
        self._note(call, arguments, refusal)

    def _refusal(self, call: int, arguments: tuple[int, ...]) -> int:
        """The plain filter's errno. A call that it would allow cannot come here, and is refused all the same."""
        return (self._plain.decide(str(call), arguments) & _ERRNO_MASK) or errno.EPERM

    def _note(self, call: int, arguments: tuple[int, ...], refusal: int) -> None:
        name = self._names.get(call, str(call))
        argument = arguments[_TELLING[name]] & 0xFFFFFFFF if name in _TELLING else None
        what = (name, argument, refusal)
        if what not in self._seen and len(self._seen) >= _MOST_KINDS:
            what = ("other calls", None, refusal)
        self._seen[what] += 1


def _read(room: bytearray) -> tuple[int, int, tuple[int, ...]]:
    number, _, _, call, _, _, *arguments = _NOTICE.unpack(room)
    return number, call, tuple(arguments)


def can_be_noticed() -> bool:
    """Whether this process may listen: a kernel that knows it, and no filter above that may have a listener."""
    with open("/proc/self/status", encoding="utf-8", errors="replace") as file:
        filtered = any(line.startswith("Seccomp:") and line.split()[1] != "0" for line in file)
    return not filtered and _version(os.uname().release) >= _KERNEL


def _version(release: str) -> tuple[int, int]:
    found = re.match(r"(\d+)\.(\d+)", release)
    return (int(found[1]), int(found[2])) if found else (0, 0)


@cache
def _names(arch: str) -> dict[int, str]:
    return {number: name for name, number in table(arch).items()}
