"""A running environment as data: who holds it, where it is bounded, what it shows. Standard library and kernel only."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from skillkeep.kernel.process import lives_since
from skillkeep.kernel.procfs import read_text
from skillkeep.runner.native.plan import Plan

__all__ = ["BESIDE", "GroupPart", "Standing", "boot_id", "is_alive", "is_elsewhere", "own_pid_namespace"]

BESIDE = 7
"""Processes in a standing environment that are no command's: its holder, and what waits for commands to come."""


@dataclass(frozen=True)
class GroupPart:
    """One control group of the environment. `unified`: version 2."""

    path: str
    controllers: tuple[str, ...]
    unified: bool

    @property
    def joined_by(self) -> str:
        """The file into which a process that enters writes 0.

        Nobody can be born into a version 2 group from inside the environment's namespaces: its cgroup namespace does
        not hold where the process comes from (cgroup-v2.rst, nsdelegate).
        """
        return "cgroup.procs" if self.unified else "tasks"


@dataclass(frozen=True)
class Standing:
    """What `Builder` wrote down when the environment stood.

    `holder` is the host pid of its init, `started` its start time in clock ticks since the boot `boot`, seen from the
    pid namespace `seen_from`. `namespaces` are inode numbers by kind, `project` the device and inode of the folder.
    `plan` is nobody's (`Plan.without_command`): each command that enters brings its own variables and folder.
    """

    holder: int
    started: int
    boot: str
    seen_from: int
    host_uid: int
    host_gid: int
    as_root: bool
    landlock: int
    groups: tuple[GroupPart, ...]
    namespaces: Mapping[str, int]
    project: tuple[int, int]
    plan: Plan

    @property
    def bounded_by(self) -> dict[str, str]:
        """The control group's path by controller."""
        return {name: part.path for part in self.groups for name in part.controllers}

    @property
    def memory_counter(self) -> str:
        """The file in which the kernel counts whom it kills at the limit of memory; empty without a control group."""
        for part in self.groups:
            if "memory" in part.controllers:
                return f"{part.path}/{'memory.events' if part.unified else 'memory.oom_control'}"
        return ""

    def to_text(self) -> str:
        """JSON, one object: nothing of a command, whose variables may be secret."""
        return json.dumps({**asdict(self), "plan": self.plan.without_command().to_text()})

    @classmethod
    def from_text(cls, text: str) -> Standing:
        """What `to_text` gave. Raises ValueError for anything else."""
        try:
            data: dict[str, Any] = json.loads(text)
            data["plan"] = Plan.from_text(data["plan"]).without_command()
            data["project"] = tuple(data["project"])
            data["groups"] = tuple(GroupPart(x["path"], tuple(x["controllers"]), x["unified"]) for x in data["groups"])
            return cls(**data)
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"not a standing environment: {error}") from error


def is_elsewhere(standing: Standing) -> bool:
    """Whether nobody here can say if it still runs: its holder is a process of another pid namespace of this boot."""
    return standing.boot == boot_id() and standing.seen_from != own_pid_namespace()


def is_alive(standing: Standing) -> bool:
    """Whether the very process that holds the environment is seen to run: a pid that was given away again is another.

    One that it cannot be said of (`is_elsewhere`) is not seen to.
    """
    return (
        standing.boot == boot_id()
        and standing.seen_from == own_pid_namespace()
        and lives_since(standing.holder) == standing.started
    )


@cache
def boot_id() -> str:
    """The kernel's name for this boot."""
    return read_text("/proc/sys/kernel/random/boot_id").strip()


@cache
def own_pid_namespace() -> int:
    """In which pid namespace a pid of this process means something."""
    return os.stat("/proc/self/ns/pid").st_ino
