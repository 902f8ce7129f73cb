"""Control groups, version 2: one folder for all controllers. Source: Documentation/admin-guide/cgroup-v2.rst."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from skillkeep.kernel.cgroups import (
    CONTROLLERS,
    LAYER,
    PERIOD,
    GroupLimits,
    Part,
    Place,
    group_name,
)
from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.libc import guarded

__all__ = ["V2Part", "make_part", "parents"]


class V2Part(Part):
    """One folder that bounds all it can. The child is born inside it (CLONE_INTO_CGROUP), so `join` does nothing."""

    memory_counters = {  # noqa: RUF012 -- declared a ClassVar by the base
        "peak_memory": ("memory.peak", None),
        "oom_kills": ("memory.events", "oom_kill"),
    }

    def __init__(self, path: str, enforces: tuple[str, ...], knobs: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(path, enforces, knobs)
        with guarded(LAYER, f"open {path}"):
            self.into_fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def make_part(place: Place, wanted: tuple[str, ...], limits: GroupLimits, tag: str) -> V2Part | None:
    """A group below the nearest ancestor that already passes controllers on, or None.

    The ancestor's own settings are never changed: only what an administrator or systemd delegated is used.
    """
    for parent in parents(place):
        passed = _words(f"{parent}/cgroup.subtree_control")
        enforces = tuple(name for name in CONTROLLERS if name in wanted and name in passed)
        if enforces and os.access(parent, os.W_OK) and os.access(f"{parent}/cgroup.procs", os.W_OK):
            part = _make(parent, enforces, limits, tag)
            if part is not None:
                return part
    return None


def parents(place: Place) -> Iterator[str]:
    """The folders below which a group may be made, nearest first."""
    parent = place.path
    yield parent
    while parent != place.root and len(parent) > len(place.root):
        parent = os.path.dirname(parent)
        yield parent


def _make(parent: str, enforces: tuple[str, ...], limits: GroupLimits, tag: str) -> V2Part | None:
    path = f"{parent}/{group_name(tag)}"
    try:
        os.mkdir(path)
    except PermissionError:
        return None
    except OSError as error:
        raise KernelError(LAYER, error.errno or 0, f"make {path}") from error
    try:
        knobs = [knob for controller in enforces for knob in _knobs(path, controller, limits)]
        return V2Part(path, enforces, knobs)
    except KernelError:
        os.rmdir(path)
        raise


def _knobs(path: str, controller: str, limits: GroupLimits) -> list[tuple[str, str]]:
    if controller == "pids":
        return [("pids.max", str(limits.tasks))]
    if controller == "cpu":
        return [("cpu.max", f"{limits.quota} {PERIOD}")]
    knobs = [("memory.max", str(limits.memory_bytes))]
    if os.path.exists(f"{path}/memory.swap.max"):
        knobs.append(("memory.swap.max", "0"))
    return knobs


def _words(path: str) -> list[str]:
    try:
        with open(path, encoding="ascii") as file:
            return file.read().split()
    except OSError:
        return []
