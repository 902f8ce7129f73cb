"""Making a process in new namespaces (namespaces(7))."""

from __future__ import annotations

import ctypes
import os
import struct

from skillkeep.kernel.tape import Cell, Tape, Word

__all__ = [
    "LAYER",
    "tape_clone",
    "tape_leave_cgroup_view",
    "tape_listen",
    "tape_loopback",
    "tape_names",
]

LAYER = "namespaces"

_NEW = {"mnt": 0x00020000, "uts": 0x04000000, "ipc": 0x08000000, "user": 0x10000000, "pid": 0x20000000}
_NEW_NET, _NEW_CGROUP, _INTO_CGROUP = 0x40000000, 0x02000000, 0x200000000
_PARENT = 0x8000
_AF_INET, _STREAM, _DATAGRAM = 2, 1, 2
_SET_FLAGS, _UP_AND_RUNNING = 0x8914, 0x41
_SIGCHLD = 17


_CLONE_FIELDS = """
    flags pidfd child_tid parent_tid exit_signal stack stack_size tls set_tid set_tid_size cgroup
"""


class _CloneArgs(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint64) for name in _CLONE_FIELDS.split())


def tape_clone(tape: Tape, born: Cell, group_fd: int | None) -> None:
    """Add the step that makes a child in new user, mount, pid, net, ipc and uts namespaces.

    The child's parent is the caller's own parent. `born` receives 0 in the child. With `group_fd` (a cgroup v2
    folder) the child starts inside that group.
    """
    flags = _NEW_NET | _PARENT
    for bit in _NEW.values():
        flags |= bit
    if group_fd is None:
        tape.call(LAYER, "clone", flags | _SIGCHLD, 0, 0, 0, 0, into=born)
        return
    arguments = bytes(_CloneArgs(flags=flags | _INTO_CGROUP, cgroup=group_fd))
    tape.call(LAYER, "clone3", tape.data(arguments), len(arguments), into=born)


def tape_leave_cgroup_view(tape: Tape) -> None:
    """Add the step after which the present cgroup is the root of what the process sees."""
    tape.call("cgroup_namespace", "unshare", _NEW_CGROUP)


def tape_names(tape: Tape, host: bytes) -> None:
    """Add the steps that give the present uts namespace a name, and the domain (NIS) that the kernel begins with."""
    domain = b"(none)"
    tape.call("hostname", "sethostname", host, len(host))
    tape.call("hostname", "setdomainname", domain, len(domain))


def tape_loopback(tape: Tape) -> None:
    """Add the steps that bring the loopback of the present network namespace up."""
    fd = tape.cell()
    request = struct.pack("=16sH14x8x", b"lo", _UP_AND_RUNNING)
    tape.call("net_namespace", "socket", _AF_INET, _DATAGRAM | os.O_CLOEXEC, 0, into=fd)
    tape.call("net_namespace", "ioctl", Word(fd), _SET_FLAGS, tape.data(request), why="bring the loopback up")
    tape.call("net_namespace", "close", Word(fd))


def tape_listen(tape: Tape, port: int) -> Cell:
    """Add the steps that listen on 127.0.0.1:`port`; the cell receives the descriptor."""
    fd = tape.cell()
    place = struct.pack("=H2s4s8x", _AF_INET, port.to_bytes(2, "big"), bytes((127, 0, 0, 1)))
    tape.call("net_namespace", "socket", _AF_INET, _STREAM | os.O_CLOEXEC, 0, into=fd)
    tape.call("net_namespace", "bind", Word(fd), tape.data(place), len(place))
    tape.call("net_namespace", "listen", Word(fd), 128)
    return fd
