"""Who the payload is on the host: never uid 0.

As root, each run gets two ids of its own from a high range that nobody else uses: the builder (0 inside, which
makes the root) and the payload (1000 inside). Without root the kernel allows one id, the caller's own.
"""

from __future__ import annotations

import os

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.id_maps import IdMap, mapped_extents
from skillkeep.runner.native.plan import INSIDE_ID
from skillkeep.value import Value

__all__ = ["DEFAULT_ID_BASE", "Identity", "choose_identity"]

# The first id above those that systemd gives away (524288 to 1879048191, systemd.io/UIDS-GIDS).
DEFAULT_ID_BASE = 0x7000_0000
_SLOTS = 1 << 22  # the kernel's highest pid, so that pid % slots is unique among living runs
_FEWEST_IDS = 1024


class Identity(Value):
    """The id map of one run and the host ids its payload must turn out to have."""

    ids: IdMap
    host_uid: int
    host_gid: int
    as_root: bool


def choose_identity(pid: int, id_base: int, extents: list[range] | None = None) -> Identity:
    """Ids for the sandbox whose init has host pid `pid`; `extents` are the ids that exist here.

    Raises KernelError("user_map") when root has no unprivileged ids to give.
    """
    if os.geteuid() != 0:
        uid, gid = os.geteuid(), os.getegid()
        return Identity(IdMap(((INSIDE_ID, uid),), ((INSIDE_ID, gid),), keep_groups=True), uid, gid, as_root=False)
    builder = _pick(pid, id_base, mapped_extents("uid") if extents is None else extents)
    pairs = ((0, builder), (INSIDE_ID, builder + 1))
    return Identity(IdMap(pairs, pairs), builder + 1, builder + 1, as_root=True)


def _pick(pid: int, id_base: int, extents: list[range]) -> int:
    whole = range(id_base, id_base + 2 * _SLOTS)
    if any(whole.start >= extent.start and whole.stop <= extent.stop for extent in extents):
        return id_base + 2 * (pid % _SLOTS)
    largest = max(extents, key=len, default=range(0))
    if len(largest) < _FEWEST_IDS:
        raise KernelError(
            "user_map",
            0,
            "this user namespace has no unprivileged ids to give away",
            "Start the outer container with a range of at least 1024 ids, or run as an ordinary user.",
        )
    # In a container with few ids: the upper half, away from the ids that accounts use.
    slots = len(largest) // 4
    return largest.stop - 2 * (pid % slots) - 2
