"""What the kernel brings along on a Unix socket: descriptors with a packet, and who is at the other end."""

from __future__ import annotations

import os
import select
import socket
import struct
from array import array

__all__ = ["has_ended", "heard_fds", "peer_of"]

_CLOEXEC = int(socket.MSG_CMSG_CLOEXEC)
_CREDENTIALS = struct.Struct("3i")


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


def peer_of(connection: socket.socket) -> tuple[int, int]:
    """The pid (0 for one that cannot be seen from here) and the user of whoever connected, or listens there."""
    pid, user, _ = _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    return pid, user


def has_ended(pid: int) -> bool:
    """Whether that process has, though its parent may not know yet. One that cannot be seen (0) has not."""
    if not pid:
        return False
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([process], [], [], 0)[0])
    finally:
        os.close(process)
