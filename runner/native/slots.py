"""Sandboxes built ahead of their runs, while the fork server has nothing else to do.

A slot is a sandbox that nobody has used: its init waits for the binds of a run, and its payload, which has laid down
every right, for its streams and program. It is used once and then ends like any other.

Why a run in a slot holds no less than one built for it:

- The tape is the same, cut in two (`program`, `rest`); only trusted steps have run in a slot before it gets its run.
- What a run asks of the first half is compared with what the slot was built with: ids, sizes, limits, cores. A run
  that writes takes a slot without a payload (`vacant`), one that needs more than binds one without a root (`newborn`):
  of these nothing is measured ahead.
- The host may have changed meanwhile. What the slot took from it (files by inode, mounts, device files, the server's
  control group, limits, cores and priority) is looked at again, and every slot that saw another host is dropped. The
  limits of its control group are read back.
- Binds are mounted when the run comes, or, where a slot is furnished for runs like the last ones, before: then what a
  mount made now would show is compared with what is mounted (`standing.Shows`).
- Mounts, the root and membership in control groups are measured when the run comes. Before, when the payload begins
  to wait, and by the same code (`attest`), is measured what nothing gives back to it. Its ids:
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
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Protocol

from skillkeep.kernel.cgroups import Group
from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.process import give_memory_back
from skillkeep.runner.interface import new_run_id
from skillkeep.runner.native.failures import LayerError
from skillkeep.runner.native.newborn import Newborn
from skillkeep.runner.native.plan import Plan
from skillkeep.runner.native.standing import Mounts, Shows, Standing, look_around
from skillkeep.runner.native.vacant import Vacant
from skillkeep.runner.native.waiting import Waiting

__all__ = ["MOST", "Slot", "Slots"]

_EACH = (3, 1)
"""How many slots are kept for the newest kind of run, and for the one before; one more for runs that write, and one
for runs that need more than binds, where such have come."""
MOST = sum(_EACH)
_FEWEST = 2
"""How many are kept of the newest kind when others of it are lent ahead."""
_FORMS = (Waiting, Vacant, Newborn)
"""Those of which most stands first."""
_ROOMS = 2
_QUIET_SECONDS = 0.002
_QUIET_BESIDE_RUNS = 0.05
"""How long nothing has to happen while a run lasts: most end sooner, and would wait for what is being built."""
_BUILDING_SECONDS = 0.05
_AFTER_FAILURE_SECONDS = 5.0
_TIDY_SECONDS = 1.0


class Owner(Protocol):
    """The fork server, as slots need it."""

    def watch(self, fd: int, handler: Callable[[], None]) -> None:
        """Call `handler` whenever `fd` is readable."""

    def unwatch(self, fd: int) -> None:
        """No longer."""

    def bury(self, group: Group) -> None:
        """Remove a group as soon as nothing is in it."""


class Slot:
    """One sandbox built ahead, furnished as `shows` says for runs in `room` if that is given, and what it is good for.

    `form` says what stands of it. Raises KernelError, LayerError, OSError.
    """

    def __init__(
        self,
        owner: Owner,
        plan: Plan,
        standing: Standing,
        room: Plan | None = None,
        shows: Shows | None = None,
        form: type[Waiting] = Waiting,
    ) -> None:
        self._owner, self.standing, self.form = owner, standing, form
        self._plan, self._kind = plan, _kind_of(plan)
        self.room = "" if room is None else room.room
        """The room (`Plan.room`) it is or is being furnished for."""
        self._shows = shows
        self.sandbox = form(plan, standing.host, room)
        self._shares_cpu = "cpu" in self.sandbox.group.enforces
        self._watched: dict[int, Callable[[], None]] = {}
        self.gone = self.failed = self._stood = False
        self._look()

    @property
    def is_being_built(self) -> bool:
        """Whether it does not stand as it is to stand yet."""
        return not (self.sandbox.furnished if self.room else self.sandbox.ready)

    def is_of(self, plan: Plan) -> bool:
        """Whether it was built for runs that are bounded as `plan` is, where this process is bounded as it was."""
        # Without a quota the time limit bounds the CPU time of each process as well.
        return self._kind == _kind_of(plan) and (self._shares_cpu or plan.wall_seconds == self._plan.wall_seconds)

    def serves(self, plan: Plan) -> bool:
        """Whether a run of `plan` can have it now."""
        return self.sandbox.ready and self.is_of(plan) and self.form.serves(plan)

    def furnish(self, plan: Plan, mounts: Mounts) -> None:
        """Give it the binds of runs in the room of `plan`. Raises KernelError, OSError."""
        self.room = plan.room
        try:
            self._shows = Shows.of(plan, mounts)
            self.sandbox.furnish(plan)
        except (KernelError, OSError):
            self.failed = True
            self.abort()
            raise

    def still_shows(self, mounts: Mounts) -> bool:
        """Whether what it has been furnished with is what would be mounted now."""
        try:
            return self._shows is not None and self._shows == self._shows.now(mounts)
        except (KernelError, OSError):
            return False

    @property
    def inodes(self) -> tuple[tuple[int, int], ...]:
        """Device and inode of what it shows besides what every sandbox does."""
        return () if self._shows is None else self._shows.inodes

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
        """It ended by itself: whoever asks sees whether it had ever stood, as it was to stand."""
        self.failed = not self._stood or (bool(self.room) and not self.sandbox.furnished)
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
        self._stood = self._stood or not self.is_being_built
        if self._shows is not None and self.sandbox.furnished and not self._shows.mounted_in(self.sandbox):
            self.sandbox.abandon()  # the path led elsewhere in between
        self._look()

    def _unwatch(self) -> None:
        for fd in self._watched:
            self._owner.unwatch(fd)
        self._watched = {}


class Slots:
    """At most `most` slots, for the kinds of runs that came last; `due` is when `refill` is to be called."""

    def __init__(self, owner: Owner, most: int = MOST) -> None:
        self._owner, self._most = owner, most
        self._lent = 0
        self._slots: list[Slot] = []
        self._recent: list[Plan] = []
        self._rooms: list[Plan] = []
        self._others: dict[type[Waiting], Plan] = {}
        self._mounts = Mounts()
        self.due = float("inf")
        self._settled = True
        self._not_before = self._tidied = 0.0

    @property
    def pids(self) -> tuple[int, ...]:
        """Children of this process that slots wait for."""
        return tuple(pid for slot in self._slots for pid in slot.sandbox.pids)

    def take(self, plan: Plan) -> Slot | None:
        """A ready slot for `plan`, or None; the plan's kind is remembered either way.

        The caller asks `are_stale` before the slot's payload is let go.
        """
        if not self._most:
            return None
        if plan.plain:
            self._remember(plan)
        else:
            self._others[Vacant if plan.simple else Newborn] = _bare(plan)
        found = self._furnished(plan.room) if plan.plain else None
        serving = (slot for form in _FORMS for slot in self._living() if slot.form is form and slot.serves(plan))
        return self._given(found or next(serving, None))

    def take_furnished(self, room: str) -> Slot | None:
        """A furnished slot of that room, to be lent, or None. The caller asks `are_stale` before it lends it."""
        if (found := self._furnished(room)) is None or not found.sandbox.counted:
            return None
        self._remember(found.sandbox.plan)
        return self._given(found)

    def note_lent(self, count: int) -> None:
        """So many are lent ahead of their runs, which are kept furnished as well as others (`leases`)."""
        self._settled = self._settled and count == self._lent  # one that is lent no more is to be built anew
        self._lent = count

    def _furnished(self, room: str) -> Slot | None:
        """One whose binds are what they were; others are dropped."""
        for slot in [slot for slot in self._living() if slot.room == room and slot.sandbox.furnished]:
            if slot.still_shows(self._mounts):
                return slot
            slot.abort()
            self._settled = False
        return None

    def _given(self, found: Slot | None) -> Slot | None:
        self._settled = False
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
        overdue = [slot for slot in self._living() if slot.is_being_built and now >= slot.sandbox.due]
        for slot in overdue:
            slot.abort()
        make_next = self._lacks()
        if overdue:
            self._not_before = now + _AFTER_FAILURE_SECONDS
        if now < self._not_before:
            # Where none can be built, building one after the other would take a fifth of a core.
            self.due = self._not_before
            return
        being_built = any(slot.is_being_built for slot in self._living())
        if make_next is None or being_built:
            self._settled = not being_built
            self.due = float("inf") if self._settled else now + _BUILDING_SECONDS
            if self._settled:
                self._tidy(now)
            return
        try:
            make_next()
            self.due = now + _QUIET_SECONDS
        except (KernelError, LayerError, OSError):  # the run that needs it will say what is wrong
            self.put_off()

    def _tidy(self, now: float) -> None:
        """Give back what runs have left, not after each of many."""
        if now < self._tidied + _TIDY_SECONDS:
            self.due = self._tidied + _TIDY_SECONDS
            return
        self._tidied = now
        gc.collect()  # a run leaves cycles, and too few for the collector to come by itself
        give_memory_back()

    def bury(self, group: Group) -> None:
        """Remove the group of one that was taken, and is of no use."""
        self._owner.bury(group)

    def put_off(self) -> None:
        """Build none for some seconds: something broke."""
        self.due = self._not_before = time.monotonic() + _AFTER_FAILURE_SECONDS

    def drop_all(self) -> None:
        """Let no slot live."""
        for slot in self._living():
            slot.abort()
        self._slots = []

    def _living(self) -> list[Slot]:
        if failed := [slot for slot in self._slots if slot.failed]:
            self._not_before = time.monotonic() + _AFTER_FAILURE_SECONDS
            self._forget_rooms({slot.room for slot in failed})
        self._slots = [slot for slot in self._slots if not slot.gone]
        return self._slots

    def _remember(self, plan: Plan) -> None:
        if self._rooms and self._rooms[0].room == plan.room and _kind_of(self._recent[0]) == _kind_of(plan):
            return
        kinds = [_kind_of(each) for each in self._recent]
        if _kind_of(plan) in kinds:
            del self._recent[kinds.index(_kind_of(plan))]
        self._recent = [_bare(plan), *self._recent][: len(_EACH)]
        self._forget_rooms({plan.room})
        self._rooms = [plan.without_command(), *self._rooms][:_ROOMS]

    def _forget_rooms(self, names: set[str]) -> None:
        self._rooms = [room for room in self._rooms if room.room not in names]

    def _lacks(self) -> Callable[[], None] | None:
        """How the next thing that is missing is made. Slots for runs that have not come lately are dropped."""
        left, missing, pending = list(self._living()), None, []
        for kind, room in self._wanted():
            name = "" if room is None else room.room
            fitting = next((s for s in left if s.is_of(kind) and s.room == name and s.form is Waiting), None)
            if fitting is None:
                pending.append((kind, room))
            else:
                left.remove(fitting)
        plain = [slot for slot in left if slot.form is Waiting and not slot.room]
        for kind, room in pending:
            bare = next((slot for slot in plain if room is not None and slot in left and slot.is_of(kind)), None)
            if bare is not None and room is not None:
                left.remove(bare)
                missing = missing or partial(bare.furnish, room, self._mounts)
            else:
                missing = missing or partial(self._build, kind, room)
        for form, plan in self._others.items():
            standing = next((slot for slot in left if slot.form is form and slot.is_of(plan)), None)
            if standing is None:
                missing = missing or partial(self._build, plan, None, form)
            else:
                left.remove(standing)
        for slot in left:
            slot.abort()
        return missing

    def _wanted(self) -> list[tuple[Plan, Plan | None]]:
        """The kinds of slots to keep, and the room of each, None for one without."""
        wanted: list[tuple[Plan, Plan | None]] = []
        for kind, count in zip(self._recent, _EACH, strict=False):
            rooms = [room for room in self._rooms if _kind_of(room) == _kind_of(kind)][: count - 1]
            rooms += rooms[:1] * (count - 1 - len(rooms) - self._lent)  # two callers may come at once
            kept = min(count, max(count - self._lent, _FEWEST), self._most)
            wanted += [(kind, room) for room in [*rooms, *[None] * count][:kept]]
        return wanted

    def _build(self, plan: Plan, room: Plan | None, form: type[Waiting] = Waiting) -> None:
        # Its own id: groups are named by it, and one that cannot be made would leave the slot without bounds.
        own, standing = replace(plan, run_id=new_run_id()), self._look_around(form)
        try:
            shows = None if room is None else Shows.of(room, self._mounts)
        except (KernelError, OSError):
            room = shows = None  # what it is to show has gone: others may come
        self._slots.append(Slot(self._owner, own, standing, room, shows, form))

    def _look_around(self, form: type[Waiting]) -> Standing:
        """What a sandbox of that form takes from the host: one without a root opens all that it shows later."""
        return look_around(self._mounts, all_mounts=form is Newborn)

    def _host_changed(self, slot: Slot) -> bool:
        try:
            return slot.standing != self._look_around(slot.form)
        except (KernelError, OSError):
            return True


def _bare(plan: Plan) -> Plan:
    """What bounds a run of `plan`, and nothing else of it."""
    return replace(plan, argv=("true",), env=(), binds=(), policy_text="")


def _kind_of(plan: Plan) -> tuple[object, ...]:
    """What of a plan the first half of a tape and the control group depend on, besides its resource limits."""
    return plan.memory_bytes, plan.processes, plan.cpus, plan.tmp_bytes, plan.open_files, plan.file_bytes, plan.id_base
