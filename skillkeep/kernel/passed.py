"""Descriptors that come along with a packet of a Unix socket."""

from __future__ import annotations

import socket
from array import array

__all__ = ["heard_fds"]

_CLOEXEC = int(socket.MSG_CMSG_CLOEXEC)


def heard_fds(sock: socket.socket, size: int, most: int, flags: int = 0) -> tuple[bytes, list[int]]:
    """A packet and the descriptors that came along, at most `most`, which no program started meanwhile gets.

    `socket.recv_fds` takes flags and does not pass them on (CPython 3.11, 3.12).
    """
    fds = array("i")
    data, ancillary, _, _ = sock.recvmsg(size, socket.CMSG_LEN(most * fds.itemsize), _CLOEXEC | flags)
    for level, kind, raw in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            fds.frombytes(raw[: len(raw) - len(raw) % fds.itemsize])
    return data, list(fds)
