"""The user and group ids that processes of a user namespace may hold (user_namespaces(7))."""

from __future__ import annotations

import errno

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.libc import guarded
from skillkeep.kernel.procfs import read_text, write_text
from skillkeep.value import Value

__all__ = ["IdMap", "mapped_extents", "write_maps"]


class IdMap(Value):
    """Pairs of (id inside, id outside), one each; the same pairs serve users and groups."""

    users: tuple[tuple[int, int], ...]
    groups: tuple[tuple[int, int], ...]
    keep_groups: bool = False
    """True when the kernel lets nobody change supplementary groups (an ordinary user made the namespace)."""


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
