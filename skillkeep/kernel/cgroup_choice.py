"""Which hierarchies bound a run on this machine: v1 where it is mounted, else v2, else none."""

from __future__ import annotations

from skillkeep.kernel import cgroup_v1, cgroup_v2
from skillkeep.kernel.cgroups import CONTROLLERS, LAYER, Group, GroupLimits, places
from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.libc import guarded

__all__ = ["make_group"]


def make_group(limits: GroupLimits, tag: str, root: str = "") -> Group:
    """A group with every controller this process may use; its `enforces` says which those are.

    `tag` (letters and digits) ends the group's name. `root` is where /proc is looked for, for tests. Raises
    KernelError when a group could be made but not be given its limits.
    """
    with guarded(LAYER, "read the process's control groups"):
        with open(f"{root}/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            mountinfo = file.read()
        with open(f"{root}/proc/self/cgroup", encoding="utf-8", errors="surrogateescape") as file:
            membership = file.read()
    found = list(places(mountinfo, membership))
    group = Group()
    try:
        for controller in CONTROLLERS:
            place = next((place for place in found if controller in place.controllers), None)
            if place and (part := cgroup_v1.make_part(place, controller, limits, tag)):
                group.parts.append(part)
        mounted = {name for place in found for name in place.controllers}
        wanted = tuple(name for name in CONTROLLERS if name not in mounted)
        unified = next((place for place in found if not place.controllers), None)
        if wanted and unified and (unified_part := cgroup_v2.make_part(unified, wanted, limits, tag)):
            group.parts.append(unified_part)
    except KernelError:
        group.close()
        raise
    return group
