"""Control groups, version 1: one folder per controller. Source: Documentation/admin-guide/cgroup-v1/."""

from __future__ import annotations

import os
from collections.abc import Iterator

from skillkeep.kernel.cgroups import LAYER, PERIOD, GroupLimits, Part, Place, group_name, write_knob
from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.libc import guarded

__all__ = ["V1Part", "make_part", "parents"]


class V1Part(Part):
    """One controller's folder. A process joins by writing 0 into `tasks` itself.

    That skips the wait for an RCU grace period which `cgroup.procs` costs (5 ms against 50 us, measured).
    """

    memory_counters = {  # noqa: RUF012 -- declared a ClassVar by the base
        "peak_memory": ("memory.max_usage_in_bytes", None),
        "oom_kills": ("memory.oom_control", "oom_kill"),
    }

    def __init__(self, path: str, enforces: tuple[str, ...], knobs: tuple[str, ...] = ()) -> None:
        super().__init__(path, enforces, knobs)
        # Opened here: the kernel checks the right to join against who opened the file.
        with guarded(LAYER, f"open {path}/tasks"):
            self.join_fd = os.open(f"{path}/tasks", os.O_WRONLY | os.O_CLOEXEC)


def make_part(place: Place, controller: str, limits: GroupLimits, tag: str) -> V1Part | None:
    """A group for `controller` below this process's own place, or None where none may be made.

    Raises KernelError when the folder can be made but a limit cannot be set: half a limit is none.
    """
    if not os.path.isdir(place.path) or not os.access(place.path, os.W_OK):
        return None
    path = f"{place.path}/{group_name(tag)}"
    try:
        os.mkdir(path)
    except PermissionError:
        return None
    except OSError as error:
        raise KernelError(LAYER, error.errno or 0, f"make {path}") from error
    try:
        knobs = _knobs(path, controller, limits)
        for name, value in knobs:
            write_knob(f"{path}/{name}", str(value))
        return V1Part(path, (controller,), tuple(name for name, _ in knobs))
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


def _knobs(path: str, controller: str, limits: GroupLimits) -> list[tuple[str, int]]:
    if controller == "pids":
        return [("pids.max", limits.tasks)]
    if controller == "cpu":
        quota = limits.quota
        return [("cpu.cfs_period_us", PERIOD), ("cpu.cfs_quota_us", quota)]
    knobs = [("memory.limit_in_bytes", limits.memory_bytes)]
    if os.path.exists(f"{path}/memory.memsw.limit_in_bytes"):
        knobs.append(("memory.memsw.limit_in_bytes", limits.memory_bytes))
    return knobs
