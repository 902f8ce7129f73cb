"""How a writable folder is shown to a payload that, started by root, is not its owner.

A folder of an ordinary user is shown through an id-mapped mount: what the payload writes is that user's. A folder
of root is never: the payload would write files of root. There the folder's own mode decides, and a run that
could not write what was granted is refused instead of failing later.
"""

from __future__ import annotations

import os

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.idmap import mapped_copy
from skillkeep.kernel.libc import guarded
from skillkeep.runner.interface import Bind
from skillkeep.runner.native.identity import Identity
from skillkeep.runner.native.plan import Plan

__all__ = ["is_mapped", "open_mapped"]


def is_mapped(bind: Bind, owner: os.stat_result) -> bool:
    """Whether, for a runner that is root, the bind is shown through an id-mapped mount."""
    return bind.writable and owner.st_uid != 0


def open_mapped(plan: Plan, identity: Identity) -> dict[int, int]:
    """Opened trees by bind number, for each writable bind that needs another owner; none without root.

    Raises KernelError("bind").
    """
    trees: dict[int, int] = {}
    if not identity.as_root:
        return trees
    for number, bind in enumerate(plan.binds):
        if not bind.writable:
            continue
        with guarded("bind", f"look at {bind.source}"):
            owner = os.stat(bind.source)
        if is_mapped(bind, owner):
            seen_as = (identity.host_uid, identity.host_gid)
            trees[number] = mapped_copy("bind", bind.source, (owner.st_uid, owner.st_gid), seen_as)
        elif not owner.st_mode & 0o002:
            raise KernelError(
                "bind",
                0,
                f"{bind.source} belongs to root and only root may write it",
                "Give the folder to an ordinary user (chown), open it to others (chmod o+w), or do not run as root.",
            )
    return trees
