"""Which hierarchies bound a run on this machine: v1 where it is mounted, else v2, else none."""

from __future__ import annotations

from functools import lru_cache

from skillkeep.kernel import cgroup_v1, cgroup_v2
from skillkeep.kernel.cgroups import CONTROLLERS, LAYER, Group, GroupLimits, Place, places, sweep
from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.libc import guarded
from skillkeep.kernel.procfs import read_record, read_text

__all__ = ["is_born_inside", "make_group", "sweep_groups", "unified_place"]


def make_group(limits: GroupLimits, tag: str, root: str = "") -> Group:
    """A group with every controller this process may use; its `enforces` says which those are.

    `tag` (letters and digits) ends the group's name. `root` is where /proc is looked for, for tests. Raises
    KernelError when a group could be made but not be given its limits.
    """
    found = _own_places(root)
    group = Group()
    try:
        for controller in CONTROLLERS:
            place = next((place for place in found if controller in place.controllers), None)
            if place and (part := cgroup_v1.make_part(place, controller, limits, tag)):
                group.parts.append(part)
        wanted, unified = _left_to_v2(found)
        if unified and (unified_part := cgroup_v2.make_part(unified, wanted, limits, tag)):
            group.parts.append(unified_part)
    except KernelError:
        group.close()
        raise
    return group


def is_born_inside() -> bool:
    """Whether a group made now may have to be there before its first process is: v2, see `Group.into_fd`.

    Raises KernelError.
    """
    return unified_place() is not None


def sweep_groups(root: str = "") -> int:
    """Remove the groups that killed makers of this user left; how many are busy.

    Looked through is each place where `make_group` would make one, and on v1 those beside it: a maker may have been
    killed together with all of its session, whose place nobody comes to again. Raises KernelError.
    """
    found = _own_places(root)
    parents = [parent for place in found for parent in (cgroup_v1 if place.controllers else cgroup_v2).parents(place)]
    return sum(sweep(parent) for parent in parents)


def unified_place(root: str = "") -> Place | None:
    """Where this process sits in the v2 hierarchy; None where v1 has every controller, or there is no v2.

    Raises KernelError.
    """
    return _left_to_v2(_own_places(root))[1]


def _left_to_v2(found: tuple[Place, ...]) -> tuple[tuple[str, ...], Place | None]:
    """The controllers that no v1 hierarchy has, and the place in v2 if there are any."""
    mounted = {name for place in found for name in place.controllers}
    wanted = tuple(name for name in CONTROLLERS if name not in mounted)
    return wanted, next((place for place in found if wanted and not place.controllers), None)


def _own_places(root: str) -> tuple[Place, ...]:
    with guarded(LAYER, "read the process's control groups"):
        membership = read_record(f"{root}/proc/self/cgroup")
    return _places(root, membership)


@lru_cache(maxsize=8)
def _places(root: str, membership: str) -> tuple[Place, ...]:
    """Hierarchies are mounted once for all; only the membership is looked at anew."""
    with guarded(LAYER, "read the mount table"):
        return tuple(places(read_text(f"{root}/proc/self/mountinfo"), membership))
