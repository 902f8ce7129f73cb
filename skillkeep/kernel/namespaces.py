"""Making a process in new namespaces, and the user and group ids it may hold there (user_namespaces(7))."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from dataclasses import dataclass

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.libc import guarded
from skillkeep.kernel.procfs import read_text, write_text
from skillkeep.kernel.tape import Cell, Tape, Word

__all__ = [
    "KINDS",
    "LAYER",
    "IdMap",
    "mapped_extents",
    "tape_clone",
    "tape_leave_cgroup_view",
    "tape_listen",
    "tape_loopback",
    "write_maps",
]

LAYER = "namespaces"
KINDS = ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup")

_NEW = {"mnt": 0x00020000, "uts": 0x04000000, "ipc": 0x08000000, "user": 0x10000000, "pid": 0x20000000}
_NEW_NET, _NEW_CGROUP, _INTO_CGROUP = 0x40000000, 0x02000000, 0x200000000
_PARENT = 0x8000
_AF_INET, _STREAM, _DATAGRAM = 2, 1, 2
_SET_FLAGS, _UP_AND_RUNNING = 0x8914, 0x41
_SIGCHLD = 17


@dataclass(frozen=True)
class IdMap:
    """Pairs of (id inside, id outside), one each; the same pairs serve users and groups."""

    users: tuple[tuple[int, int], ...]
    groups: tuple[tuple[int, int], ...]
    keep_groups: bool = False
    """True when the kernel lets nobody change supplementary groups (an ordinary user made the namespace)."""


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


def write_maps(pid: int, ids: IdMap) -> None:
    """Give the new user namespace of `pid` its ids, from outside it. Raises KernelError("user_map")."""
    base = f"/proc/{pid}"
    if ids.keep_groups:
        _write(f"{base}/setgroups", "deny")
    _write(f"{base}/gid_map", "".join(f"{inside} {outside} 1\n" for inside, outside in ids.groups))
    _write(f"{base}/uid_map", "".join(f"{inside} {outside} 1\n" for inside, outside in ids.users))


def mapped_extents(kind: str = "uid") -> list[range]:
    """The ids that exist for this process: the inside ranges of /proc/self/uid_map (or gid_map)."""
    with guarded("user_map", f"read {kind}_map"):
        text = read_text(f"/proc/self/{kind}_map")
    rows = [[int(word) for word in line.split()] for line in text.splitlines()]
    return [range(first, first + count) for first, _, count in rows]


def _write(path: str, text: str) -> None:
    try:
        write_text(path, text)
    except OSError as error:
        raise KernelError("user_map", error.errno or errno.EIO, f"write {path}") from error
