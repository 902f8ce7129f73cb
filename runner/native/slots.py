"""Sandboxes built ahead of their runs, while the fork server has nothing else to do.

A slot is a sandbox that nobody has used: its init waits for the binds of a run, and its payload, which has laid down
every right, for its streams and program. It is used once and then ends like any other.

Why a run in a slot holds no less than one built for it:

- The tape is the same, cut in two (`program`, `rest`); only trusted steps have run in a slot before it gets its run.
- What a run asks of the first half is compared with what the slot was built with: ids, sizes, limits, cores. A run
  that needs more than read-only binds has a sandbox built for it.
- The host may have changed meanwhile. What the slot took from it (files by inode, mounts, device files, the server's
  control group, limits, cores and priority) is looked at again, and every slot that saw another host is dropped. The
  limits of its control group are read back.
- The binds are opened when the run comes. Mounts, the root and membership in control groups are measured then. Before,
  when the payload begins to wait, and by the same code (`attest`), is measured what nothing gives back to it. Its ids:
  it has no capability in its user namespace, and none outside. Capabilities: the bounding set is empty. no_new_privs:
  there is no call that clears it. seccomp: a filter can be added only. Namespaces: it has neither the right nor the
  calls to enter others, and nobody enters a process into one. Resource limits: its own hard ones can be lowered only;
  raising them takes CAP_SYS_RESOURCE outside, which could do that during the run as well. From then to its execve it
  carries out our steps alone: it reads, takes its streams and its folder. That it is the same process is certain: the
  files that show it were opened while it was measured, its pidfd before that, and that one says that it lives yet.
- A slot that fails before its payload was let go is nobody's failure: the run gets a sandbox built for it.
"""

from __future__ import annotations

import gc
import os
import resource
import select
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from skillkeep.kernel.cgroups import Group
from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.process import give_memory_back
from skillkeep.kernel.procfs import read_text
from skillkeep.runner.interface import new_run_id
from skillkeep.runner.native.failures import LayerError
from skillkeep.runner.native.layout import Host, look_at_host
from skillkeep.runner.native.plan import Plan
from skillkeep.runner.native.sandbox import Sandbox

__all__ = ["MOST", "Slot", "Slots"]

_EACH = (3, 1)
"""How many slots are kept for the newest kind of run, and for the one before."""
MOST = sum(_EACH)
_QUIET_SECONDS = 0.002
_QUIET_BESIDE_RUNS = 0.05
"""How long nothing has to happen while a run lasts: most end sooner, and would wait for what is being built."""
_LIMIT_KINDS = 16  # RLIM_NLIMITS
_BUILDING_SECONDS = 0.05
_AFTER_FAILURE_SECONDS = 5.0


class Owner(Protocol):
    """The fork server, as slots need it."""

    def watch(self, fd: int, handler: Callable[[], None]) -> None:
        """Call `handler` whenever `fd` is readable."""

    def unwatch(self, fd: int) -> None:
        """No longer."""

    def bury(self, group: Group) -> None:
        """Remove a group as soon as nothing is in it."""


@dataclass(frozen=True)
class _Standing:
    """What a slot took from the host and from this process when it was built."""

    host: Host
    mounts: tuple[str, ...]
    groups: str
    cores: frozenset[int]
    limits: tuple[tuple[int, int], ...]
    priority: tuple[int, int]


class Slot:
    """One sandbox built ahead, and what it is good for."""

    def __init__(self, owner: Owner, plan: Plan, standing: _Standing) -> None:
        self._owner, self.standing = owner, standing
        self._plan, self._kind = plan, _kind_of(plan)
        self.sandbox = Sandbox(plan, None)
        self.sandbox.group.keep_open()
        self._shares_cpu = "cpu" in self.sandbox.group.enforces
        self._watched: dict[int, Callable[[], None]] = {}
        self.gone = self.failed = self._stood = False
        self._look()

    def is_of(self, plan: Plan) -> bool:
        """Whether it was built for runs that are bounded as `plan` is, where this process is bounded as it was."""
        # Without a quota the time limit bounds the CPU time of each process as well.
        return self._kind == _kind_of(plan) and (self._shares_cpu or plan.wall_seconds == self._plan.wall_seconds)

    def give(self) -> None:
        """From now on its sandbox is the caller's."""
        self._unwatch()
        self.gone = True

    def abort(self) -> None:
        """Kill what there is of it."""
        if self.gone:
            return
        self.give()
        self.sandbox.drop()
        self._owner.bury(self.sandbox.group)

    def _ended(self) -> None:
        """It ended by itself: whoever asks sees whether it had ever stood."""
        self.failed = not self._stood
        self.abort()

    def _look(self) -> None:
        sandbox, wanted = self.sandbox, {}
        if sandbox.failure is not None:
            self._ended()
            return
        if sandbox.socket is not None:
            wanted[sandbox.socket.fileno()] = self._heard
        if sandbox.pidfd >= 0:
            wanted[sandbox.pidfd] = self._ended
        for fd in self._watched.keys() - wanted.keys():
            self._owner.unwatch(fd)
        for fd in wanted.keys() - self._watched.keys():
            self._owner.watch(fd, wanted[fd])
        self._watched = wanted

    def _heard(self) -> None:
        self.sandbox.heard()
        self._stood = self._stood or self.sandbox.ready
        self._look()

    def _unwatch(self) -> None:
        for fd in self._watched:
            self._owner.unwatch(fd)
        self._watched = {}


class Slots:
    """At most `most` slots, for the kinds of runs that came last; `due` is when `refill` is to be called."""

    def __init__(self, owner: Owner, most: int = MOST) -> None:
        self._owner, self._most = owner, most
        self._slots: list[Slot] = []
        self._recent: list[Plan] = []
        self._mounts = _Mounts()
        self.due = float("inf")
        self._settled = True
        self._not_before = 0.0

    @property
    def pids(self) -> tuple[int, ...]:
        """Children of this process that slots wait for."""
        return tuple(pid for slot in self._slots for pid in slot.sandbox.pids)

    def take(self, plan: Plan) -> Slot | None:
        """A ready slot for `plan`, or None; the plan's kind is remembered either way.

        The caller asks `are_stale` before the slot's payload is let go.
        """
        if not _fits_any(plan) or not self._most:
            return None
        self._remember(plan)
        self._settled = False
        found = next((slot for slot in self._living() if slot.sandbox.ready and slot.is_of(plan)), None)
        if found is not None:
            self._slots.remove(found)
            found.give()
        return found

    def are_stale(self, taken: Slot) -> bool:
        """Whether the host has changed since `taken` was built: then no slot is any good."""
        stale = self._host_changed(taken) or not taken.sandbox.group.holds()
        if stale:
            self.drop_all()
        return stale

    def busy(self, running: bool) -> None:
        """Something else happened just now: what is missing is built a moment later. `running`: a run lasts."""
        if not self._settled:
            quiet = _QUIET_BESIDE_RUNS if running else _QUIET_SECONDS
            self.due = max(time.monotonic() + quiet, self._not_before)

    def refill(self) -> None:
        """Build one slot, unless one is being built; drop what is broken or too much."""
        now = time.monotonic()
        overdue = [slot for slot in self._living() if not slot.sandbox.ready and now >= slot.sandbox.due]
        for slot in overdue:
            slot.abort()
        plan = self._lacks()
        if overdue:
            self._not_before = now + _AFTER_FAILURE_SECONDS
        if now < self._not_before:
            # Where none can be built, building one after the other would take a fifth of a core.
            self.due = self._not_before
            return
        being_built = any(not slot.sandbox.ready for slot in self._slots)
        if plan is None or being_built:
            self._settled = not being_built
            self.due = float("inf") if self._settled else now + _BUILDING_SECONDS
            if self._settled:
                gc.collect()  # a run leaves cycles, and too few for the collector to come by itself
                give_memory_back()
            return
        try:
            # Its own id: groups are named by it, and one that cannot be made would leave the slot without bounds.
            own = replace(plan, run_id=new_run_id())
            self._slots.append(Slot(self._owner, own, _look_around(self._mounts)))
            self.due = now + _QUIET_SECONDS
        except (KernelError, LayerError, OSError):  # the run that needs it will say what is wrong
            self.due = self._not_before = now + _AFTER_FAILURE_SECONDS

    def drop_all(self) -> None:
        """Let no slot live."""
        for slot in self._living():
            slot.abort()
        self._slots = []

    def _living(self) -> list[Slot]:
        if any(slot.failed for slot in self._slots):
            self._not_before = time.monotonic() + _AFTER_FAILURE_SECONDS
        self._slots = [slot for slot in self._slots if not slot.gone]
        return self._slots

    def _remember(self, plan: Plan) -> None:
        kinds = [_kind_of(each) for each in self._recent]
        if _kind_of(plan) in kinds:
            del self._recent[kinds.index(_kind_of(plan))]
        bare = replace(plan, argv=("true",), env=(), binds=(), policy_text="")
        self._recent = [bare, *self._recent][: len(_EACH)]

    def _lacks(self) -> Plan | None:
        """The plan that a slot is to be built for next. Slots for runs that have not come lately are dropped."""
        left = list(self._living())
        missing = None
        for plan, wanted in zip(self._recent, _EACH, strict=False):
            fitting = [slot for slot in left if slot.is_of(plan)][: min(wanted, self._most)]
            left = [slot for slot in left if slot not in fitting]
            missing = missing or (plan if len(fitting) < min(wanted, self._most) else None)
        for slot in left:
            slot.abort()
        return missing

    def _host_changed(self, slot: Slot) -> bool:
        try:
            return slot.standing != _look_around(self._mounts)
        except (KernelError, OSError):
            return True


def _kind_of(plan: Plan) -> tuple[object, ...]:
    """What of a plan the first half of a tape and the control group depend on, besides its resource limits."""
    return plan.memory_bytes, plan.processes, plan.cpus, plan.tmp_bytes, plan.open_files, plan.file_bytes, plan.id_base


def _fits_any(plan: Plan) -> bool:
    """Whether a slot can serve it: no way out, no tracer, no terminal, and no bind but for reading."""
    plain = all(not bind.writable and not bind.overlay_bytes for bind in plan.binds)
    # Links of /proc lead elsewhere when they are followed by another process.
    return (
        plain
        and not (plan.egress or plan.explain or plan.terminal)
        and not any(bind.source.startswith("/proc/") for bind in plan.binds)
    )


class _Mounts:
    """The mounts of this process that a slot depends on; the kernel says when any has changed (proc_pid_mountinfo(5)).

    As root the binds of a run are opened from these mounts when it comes; else from those that its init has had since
    it began, so that every mount counts.
    """

    def __init__(self) -> None:
        self._file = os.open("/proc/self/mountinfo", os.O_RDONLY | os.O_CLOEXEC)
        self._changes = select.poll()
        self._changes.register(self._file, select.POLLPRI)
        self._known: tuple[str, ...] | None = None

    def shown(self, host: Host) -> tuple[str, ...]:
        """Their lines."""
        if self._changes.poll(0) or self._known is None:
            lines = read_text("/proc/self/mountinfo").splitlines()
            below = (*host.folders, *host.etc, "/dev")
            self._known = tuple(line for line in lines if os.geteuid() or _concerns(line.split(" ")[4], below))
        return self._known


def _concerns(mounted_at: str, paths: tuple[str, ...]) -> bool:
    """Whether a mount is above or below one of `paths`."""
    place = mounted_at.rstrip("/") + "/"
    return any(place.startswith(f"{path}/") or f"{path}/".startswith(place) for path in paths)


def _look_around(mounts: _Mounts) -> _Standing:
    host = look_at_host()
    return _Standing(
        host,
        mounts.shown(host),
        read_text("/proc/self/cgroup"),
        frozenset(os.sched_getaffinity(0)),
        tuple(resource.getrlimit(which) for which in range(_LIMIT_KINDS)),
        (os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0)),
    )
