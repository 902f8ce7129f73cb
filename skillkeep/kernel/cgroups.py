"""A control group per run: memory, process and CPU bounds by the kernel, on cgroup v1, v2 or a mix of them.

A group is made below the caller's own place in each hierarchy and carries the maker's pid and start time in its
name, so a later run can remove what a killed one left. Nothing that this module did not make is ever changed.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from abc import ABC
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import ClassVar

from skillkeep.kernel.libc import guarded
from skillkeep.kernel.procfs import read_record, read_record_again, started_at

__all__ = [
    "CONTROLLERS",
    "LAYER",
    "PERIOD",
    "Group",
    "GroupLimits",
    "Part",
    "Place",
    "number_in",
    "places",
]

LAYER = "cgroup"
PERIOD = 100_000
"""Microseconds over which CPU time is shared out."""
CONTROLLERS = ("memory", "pids", "cpu")
_NAME = re.compile(r"^skillkeep-(\d+)-(\d+)-(\d+)-\w+$")
_REMOVE_SECONDS = 2.0
_PROCESS_COUNTERS: Mapping[str, tuple[str, str | None]] = {
    "peak_processes": ("pids.peak", None),
    "refused_forks": ("pids.events", "max"),
}


@dataclass(frozen=True)
class GroupLimits:
    """Bounds of one group; `processes` counts every task, the sandbox's own init included."""

    memory_bytes: int
    processes: int
    cpus: float

    @property
    def quota(self) -> int:
        """Microseconds of CPU in each `PERIOD`; the kernel takes no less than 1000 and needs no more than all cores."""
        return max(1_000, round(min(self.cpus, _cores()) * PERIOD))

    @property
    def tasks(self) -> int:
        """`processes`, at most what the kernel can number."""
        return min(self.processes, 1 << 22)


@dataclass(frozen=True)
class Place:
    """Where this process sits in one mounted hierarchy: `root` is the mount point, `path` its own folder.

    `controllers` are those of a v1 mount; empty for the v2 hierarchy.
    """

    root: str
    path: str
    controllers: tuple[str, ...]


class Part(ABC):
    """A group in one hierarchy, whose folder is made. `knobs`: what is written to which file. Raises KernelError."""

    def __init__(self, path: str, enforces: tuple[str, ...], knobs: Sequence[tuple[str, str]] = ()) -> None:
        self.path = path
        self.enforces = enforces
        self._kept: dict[str, int] = {}
        self._keeps = False
        self._set: dict[str, str | None] = {}
        try:
            for name, value in knobs:
                self._set[name] = self._bound(name, value)
        except BaseException:
            self.let_go()
            raise

    def _bound(self, name: str, value: str) -> str:
        """What the file says once `value` has been written to it."""
        path = f"{self.path}/{name}"
        with guarded(LAYER, f"write {value} to {path}"):
            self._kept[name] = fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            os.write(fd, value.encode())
            return read_record_again(fd)

    into_fd: int | None = None
    """The group's folder, for a child that is to be born inside it (v2)."""
    memory_counters: ClassVar[Mapping[str, tuple[str, str | None]]]
    """File and key (None: the whole file) of `peak_memory` and `oom_kills`, which each version names its own way."""

    join_fd: int | None = None
    """Whoever writes 0 into it joins (v1)."""

    def facts(self) -> dict[str, int]:
        """What the kernel counted: peak_memory, peak_processes, oom_kills, refused_forks."""
        found = {name: number_in(self._text(file), key) for name, (file, key) in self._counters().items()}
        return {name: value for name, value in found.items() if value is not None}

    def keep_open(self) -> None:
        """Have all open that will be read, for `holds` and `facts` that come when time is short; until `let_go`."""
        self._keeps = True
        for name in (*self._set, *(file for file, _ in self._counters().values())):
            if name not in self._kept:
                with contextlib.suppress(OSError):  # what cannot be read has no value, however it is opened
                    self._kept[name] = os.open(f"{self.path}/{name}", os.O_RDONLY | os.O_CLOEXEC)

    def counters(self) -> list[tuple[str, str | None, int]]:
        """What `facts` reads of what was kept open: its name, the key in the file, the descriptor."""
        found = ((name, key, self._kept.get(file, -1)) for name, (file, key) in self._counters().items())
        return [counter for counter in found if counter[2] >= 0]

    def limits(self) -> list[int]:
        """The open files that `holds` reads."""
        return [self._kept[name] for name in self._set]

    def let_go(self) -> None:
        """Close what was kept open."""
        while self._kept:
            os.close(self._kept.popitem()[1])

    def _counters(self) -> dict[str, tuple[str, str | None]]:
        counted = {"memory": self.memory_counters, "pids": _PROCESS_COUNTERS}
        return {name: place for each in self.enforces for name, place in counted.get(each, {}).items()}

    def _text(self, name: str) -> str | None:
        try:
            if name in self._kept:
                return read_record_again(self._kept[name])
            return read_record(f"{self.path}/{name}")
        except OSError:
            return None

    def holds(self) -> bool:
        """Whether every limit is still what it was when it had been set."""
        return all(self._text(name) == text for name, text in self._set.items())

    def release(self) -> None:
        """Let go of the ways in, and of the files where they are not to be kept open."""
        if not self._keeps:
            self.let_go()
        for name in ("join_fd", "into_fd"):
            fd = getattr(self, name)
            if fd is not None:
                os.close(fd)
                setattr(self, name, None)

    def remove(self) -> bool:
        """Remove the folder; False while something inside has not quite ended."""
        self.let_go()
        return _rmdir(self.path)


@dataclass
class Group:
    """The parts of one run's control group; none when the kernel's groups are out of reach."""

    parts: list[Part] = field(default_factory=list)

    @property
    def enforces(self) -> tuple[str, ...]:
        """The controllers in force, of `CONTROLLERS`."""
        return tuple(name for name in CONTROLLERS if any(name in part.enforces for part in self.parts))

    @property
    def into_fd(self) -> int | None:
        """The v2 folder a child is to be born in, if any."""
        return next((part.into_fd for part in self.parts if part.into_fd is not None), None)

    @property
    def join_fds(self) -> tuple[int, ...]:
        """The descriptors into which a process writes 0 to be in every part (v1)."""
        return tuple(part.join_fd for part in self.parts if part.join_fd is not None)

    def facts(self) -> dict[str, int]:
        """The counters of all parts together."""
        found: dict[str, int] = {}
        for part in self.parts:
            found |= part.facts()
        return found

    def holds(self) -> bool:
        """Whether every limit of every part is still what it was set to."""
        return all(part.holds() for part in self.parts)

    def counters(self) -> list[tuple[str, str | None, int]]:
        """Of all parts, what `facts` reads: its name, the key in the file, and the descriptor."""
        return [counter for part in self.parts for counter in part.counters()]

    def limits(self) -> list[int]:
        """Of all parts, the open files that `holds` reads."""
        return [fd for part in self.parts for fd in part.limits()]

    def keep_open(self) -> None:
        """Keep open what `holds` and `facts` read, until the group is removed."""
        for part in self.parts:
            part.keep_open()

    def release(self) -> None:
        """Let go of the descriptors: everybody who is to be inside, is."""
        for part in self.parts:
            part.release()

    def remove(self) -> bool:
        """Remove every part; False while one is busy, which it stays for a moment after its last process."""
        self.parts = [part for part in self.parts if not part.remove()]
        return not self.parts

    def close(self) -> None:
        """Let go of everything and remove every part, waiting for it at most two seconds."""
        self.release()
        deadline = time.monotonic() + _REMOVE_SECONDS
        while not self.remove() and time.monotonic() < deadline:
            time.sleep(0.002)


@cache
def _cores() -> int:
    return os.cpu_count() or 1


def group_name(tag: str) -> str:
    """A name that says which process made the group, so that a sweep knows when it is dead."""
    return f"skillkeep-{_maker(os.getpid())}-{tag}"


@lru_cache(maxsize=1)
def _maker(pid: int) -> str:
    return f"{os.stat('/proc/self/ns/pid').st_ino}-{pid}-{started_at(pid)}"


def sweep(parent: str) -> int:
    """Remove the groups below `parent` whose maker, in this pid namespace, has ended; how many are busy yet.

    Only groups of this process's user: of others it may not be seen whether their makers live. The kernel removes none
    that holds a process or a group.
    """
    try:
        names = os.listdir(parent)
    except OSError:
        return 0
    busy = 0
    for name in names:
        if match := _NAME.match(name):
            namespace, pid, started = map(int, match.groups())
            path = f"{parent}/{name}"
            if namespace == os.stat("/proc/self/ns/pid").st_ino and started_at(pid) != started and _is_own(path):
                busy += not _rmdir(path)
    return busy


def _is_own(path: str) -> bool:
    try:
        return os.lstat(path).st_uid == os.geteuid()
    except OSError:
        return False


def places(mountinfo: str, membership: str) -> Iterator[Place]:
    """Where the process sits, from the texts of /proc/self/mountinfo and /proc/self/cgroup."""
    own = {}
    for line in membership.splitlines():
        _, names, path = line.split(":", 2)
        own[names] = path
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        kind, _, options = right.split(" ", 2)
        mount_root, mount_point = (_unescape(word) for word in left.split(" ")[3:5])
        names = (
            ""
            if kind == "cgroup2"
            else next((n for n in own if n and set(n.split(",")) <= set(options.split(","))), "")
        )
        if kind not in ("cgroup", "cgroup2") or (kind == "cgroup" and not names) or names not in own:
            continue
        inside = os.path.relpath(own[names], mount_root)
        if not inside.startswith(".."):
            path = os.path.normpath(os.path.join(mount_point, inside))
            yield Place(mount_point, path, tuple(names.split(",")) if names else ())


@lru_cache(maxsize=64)
def number_in(text: str | None, key: str | None) -> int | None:
    """A control file's number, or that of the line `key N`; None when there is none."""
    if text is None:
        return None
    if key is None:
        return int(text) if text.strip().isdigit() else None
    for line in text.splitlines():
        if line.startswith(key):
            row = line.split()
            if len(row) == 2 and row[0] == key:
                return int(row[1])
    return None


def _rmdir(path: str) -> bool:
    try:
        os.rmdir(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _unescape(word: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), word)
