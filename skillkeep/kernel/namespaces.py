"""Making a process in new namespaces, and the user and group ids it may hold there (user_namespaces(7))."""

from __future__ import annotations

import ctypes
import errno
from dataclasses import dataclass

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.libc import call_twice, guarded, syscall

__all__ = ["KINDS", "LAYER", "IdMap", "fork_into", "leave_cgroup_view", "mapped_extents", "write_maps"]

LAYER = "namespaces"
KINDS = ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup")

_NEW = {"mnt": 0x00020000, "uts": 0x04000000, "ipc": 0x08000000, "user": 0x10000000, "pid": 0x20000000}
_NEW_NET, _NEW_CGROUP, _INTO_CGROUP = 0x40000000, 0x02000000, 0x200000000
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


def fork_into(cgroup_fd: int | None = None) -> int:
    """Fork into new user, mount, pid, net, ipc and uts namespaces; 0 in the child, its pid in the caller.

    With `cgroup_fd` (a cgroup v2 folder) the child starts inside that group. The process must have a single
    thread. Raises KernelError("namespaces").
    """
    flags = _NEW_NET
    for bit in _NEW.values():
        flags |= bit
    if cgroup_fd is None:
        return call_twice(LAYER, "clone", flags | _SIGCHLD, 0, 0, 0, 0)
    arguments = _CloneArgs(flags=flags | _INTO_CGROUP, exit_signal=_SIGCHLD, cgroup=cgroup_fd)
    return call_twice(LAYER, "clone3", arguments, ctypes.sizeof(arguments))


def leave_cgroup_view() -> None:
    """Take the present cgroup as the root of what the process sees; to be called after joining it."""
    syscall("cgroup_namespace", "unshare", _NEW_CGROUP)


def write_maps(pid: int, ids: IdMap) -> None:
    """Give the new user namespace of `pid` its ids, from outside it. Raises KernelError("user_map")."""
    base = f"/proc/{pid}"
    if ids.keep_groups:
        _write(f"{base}/setgroups", "deny")
    _write(f"{base}/gid_map", "".join(f"{inside} {outside} 1\n" for inside, outside in ids.groups))
    _write(f"{base}/uid_map", "".join(f"{inside} {outside} 1\n" for inside, outside in ids.users))


def mapped_extents(kind: str = "uid") -> list[range]:
    """The ids that exist for this process: the inside ranges of /proc/self/uid_map (or gid_map)."""
    with guarded("user_map", f"read {kind}_map"), open(f"/proc/self/{kind}_map", encoding="utf-8") as file:
        rows = [[int(word) for word in line.split()] for line in file]
    return [range(first, first + count) for first, _, count in rows]


def _write(path: str, text: str) -> None:
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise KernelError("user_map", error.errno or errno.EIO, f"write {path}") from error
