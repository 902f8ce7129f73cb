"""Control groups, version 1: one folder per controller. Source: Documentation/admin-guide/cgroup-v1/."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence

from skillkeep.kernel.cgroups import LAYER, PERIOD, GroupLimits, Part, Place, group_name
from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.libc import guarded

__all__ = ["V1Part", "make_part", "parents"]

_NOT_OURS = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR)
"""Why no group can be made where a hierarchy is out of this process's reach."""


class V1Part(Part):
    """One controller's folder. A process joins by writing 0 into `tasks` itself.

    That skips the wait for an RCU grace period which `cgroup.procs` costs (5 ms against 50 us, measured).
    """

    memory_counters = {  # noqa: RUF012 -- declared a ClassVar by the base
        "peak_memory": ("memory.max_usage_in_bytes", None),
        "oom_kills": ("memory.oom_control", "oom_kill"),
    }

    def __init__(self, path: str, enforces: tuple[str, ...], knobs: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(path, enforces, knobs)
        # Opened here: the kernel checks the right to join against who opened the file.
        with guarded(LAYER, f"open {path}/tasks"):
            self.join_fd = os.open(f"{path}/tasks", os.O_WRONLY | os.O_CLOEXEC)


def make_part(place: Place, controller: str, limits: GroupLimits, tag: str) -> V1Part | None:
    """A group for `controller` below this process's own place, or None where none may be made.

    Raises KernelError when the folder can be made but a limit cannot be set: half a limit is none.
    """
    path = f"{place.path}/{group_name(tag)}"
    try:
        os.mkdir(path)
    except OSError as error:
        if error.errno in _NOT_OURS:
            return None
        raise KernelError(LAYER, error.errno or 0, f"make {path}") from error
    try:
        return V1Part(path, (controller,), _knobs(path, controller, limits))
    except KernelError:
        os.rmdir(path)
        raise


def parents(place: Place) -> Iterator[str]:
    """The folders below which this process or another session's makes its groups, its own first."""
    yield place.path
    if place.path == place.root:
        return
    above = os.path.dirname(place.path)
    try:
        with os.scandir(above) as found:
            names = [entry.name for entry in found if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return
    yield from (path for name in names if (path := f"{above}/{name}") != place.path)


def _knobs(path: str, controller: str, limits: GroupLimits) -> list[tuple[str, str]]:
    if controller == "pids":
        return [("pids.max", str(limits.tasks))]
    if controller == "cpu":
        return [("cpu.cfs_period_us", str(PERIOD)), ("cpu.cfs_quota_us", str(limits.quota))]
    most = str(limits.memory_bytes)
    knobs = [("memory.limit_in_bytes", most)]
    if os.path.exists(f"{path}/memory.memsw.limit_in_bytes"):
        knobs.append(("memory.memsw.limit_in_bytes", most))
    return knobs
