"""How a writable folder is shown to a payload that, started by root, is not its owner.

A folder of an ordinary user is shown through an id-mapped mount: what the payload writes is that user's. A folder
of root is never: the payload would write files of root. There the folder's own mode decides, and a run that
could not write what was granted is refused instead of failing later. Behind an overlay any folder is shown as the
payload's own: nothing of it is written.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import nullcontext

from skillkeep.kernel.capabilities import without_any
from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.idmap import mapped_copy
from skillkeep.kernel.mounts import copy_tree_of, open_plain
from skillkeep.kernel.overlay import overlay_copy
from skillkeep.runner.interface import Bind
from skillkeep.runner.native.identity import Identity
from skillkeep.runner.native.plan import Plan

__all__ = ["inodes_of", "is_mapped", "open_as_init", "open_mapped"]


def is_mapped(bind: Bind, owner: os.stat_result, as_root: bool) -> bool:
    """Whether the bind is opened from outside: for an overlay, or for an id-mapped mount where the runner is root."""
    return bool(bind.overlay_bytes) or (as_root and bind.writable and owner.st_uid != 0)


def open_mapped(plan: Plan, identity: Identity, uppers: list[int]) -> dict[int, int]:
    """Opened trees by bind number, for each bind that `is_mapped`; what overlays wrote is added to `uppers`.

    Raises KernelError("bind", "overlay").
    """
    trees: dict[int, int] = {}
    try:
        _open_each(plan, identity, trees, uppers)
    except BaseException:
        for fd in trees.values():
            os.close(fd)
        raise
    return trees


def _open_each(plan: Plan, identity: Identity, trees: dict[int, int], uppers: list[int]) -> None:
    for number, bind in enumerate(plan.binds):
        if bind.overlay_bytes:
            seen_as = (identity.host_uid, identity.host_gid) if identity.as_root else None
            made = overlay_copy(bind.source, bind.overlay_bytes, seen_as)
            trees[number] = made.tree
            uppers.append(made.upper)
            continue
        if not (identity.as_root and bind.writable):
            continue
        fd = open_plain("bind", bind.source)
        try:
            owner = os.fstat(fd)
            if is_mapped(bind, owner, identity.as_root):
                shown = (identity.host_uid, identity.host_gid)
                trees[number] = mapped_copy("bind", fd, bind.source, (owner.st_uid, owner.st_gid), shown)
        finally:
            os.close(fd)
        if number not in trees and not owner.st_mode & 0o002:
            raise KernelError(
                "bind",
                0,
                f"{bind.source} belongs to root and only root may write it",
                "Give the folder to an ordinary user (chown), or do not run as root. Opened to others (chmod o+w) it "
                "can be written too, but what a run writes there belongs to an id that a later run may get again.",
            )


def open_as_init(sources: Sequence[str]) -> list[int]:
    """Opened trees for a root's sandbox whose init can open nothing of the host's any more; init restricts them.

    The paths are walked with what that init had when it began: the ownership of uid 0 and no capability. Raises
    KernelError("bind").
    """
    trees: list[int] = []
    try:
        for source in sources:
            fd = _open_as_init(source)
            try:
                trees.append(copy_tree_of("bind", fd))
            finally:
                os.close(fd)
    except BaseException:
        for tree in trees:
            os.close(tree)
        raise
    return trees


def inodes_of(sources: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """Device and inode of what a sandbox's init would open at each path now. Raises KernelError("bind")."""
    found = []
    for source in sources:
        fd = _open_as_init(source)
        try:
            state = os.fstat(fd)
        finally:
            os.close(fd)
        found.append((state.st_dev, state.st_ino))
    return tuple(found)


def _open_as_init(source: str) -> int:
    """The path, walked by ownership and mode alone, and through no link."""
    with without_any() if os.geteuid() == 0 else nullcontext():
        return open_plain("bind", source)
