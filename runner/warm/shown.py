"""What the binds of a warm interpreter lead to: mounted when it was made, and looked at again for each call."""

from __future__ import annotations

import os
from collections.abc import Sequence

from skillkeep.kernel.mounts import open_plain
from skillkeep.runner.interface import Bind
from skillkeep.runner.native.binds import inodes_of

__all__ = ["Shown", "mounted_in", "shown_by"]

Shown = tuple[tuple[int, ...], ...]
"""Of each bind device and inode; and its owner's ids, where it is shown as another's."""


def shown_by(binds: Sequence[Bind]) -> Shown:
    """What the paths lead to now, walked as for a run's mounts (`native.binds`). Raises KernelError("bind")."""
    as_root = os.geteuid() == 0
    return tuple(_as_root(bind.source) if as_root and bind.writable else inodes_of((bind.source,))[0] for bind in binds)


def _as_root(source: str) -> tuple[int, ...]:
    fd = open_plain("bind", source)
    try:
        state = os.fstat(fd)
    finally:
        os.close(fd)
    return state.st_dev, state.st_ino, state.st_uid, state.st_gid


def mounted_in(pid: int, binds: Sequence[Bind]) -> Shown:
    """Device and inode of each bind as that process sees it. Raises OSError."""
    states = (os.stat(f"/proc/{pid}/root{bind.target}") for bind in binds)
    return tuple((state.st_dev, state.st_ino) for state in states)
