"""Moves a staged object to its place in one rename, and removes objects.

The object's folder stays writable until it has its place, because a folder that is moved has its ``..`` rewritten,
which needs the right to write in it; the registry learns of the object only after it was made read-only.
"""

from __future__ import annotations

import os
from pathlib import Path

from skillkeep.files import fsync_dir, remove_tree
from skillkeep.vault.durable import make_durable
from skillkeep.vault.layout import Layout
from skillkeep.vault.stage import Staged
from skillkeep.vault.verification import FOLDER_MODE, inspect

__all__ = ["publish", "remove_object"]


def publish(layout: Layout, staged: Staged, hex_digest: str) -> bool:
    """Put the staged object at ``objects/<sha256>``, on the disk. True when a damaged one had to make room for it.

    An object that is already there and holds byte for byte is kept (its inodes may be mounted in a sandbox).
    A damaged one is moved aside whole, into the staging folder. Raises `OSError`.
    """
    place = layout.object(hex_digest)
    damaged = False
    if os.path.lexists(place):
        _set_mode(place, FOLDER_MODE)  # a crash may have come between the rename and this
        if not inspect(place, hex_digest):
            make_durable(place)
            return False
        damaged = True
        _set_mode(place, 0o700)
        os.rename(place, staged.folder / "damaged")
    os.rename(staged.object, place)
    os.chmod(place, FOLDER_MODE)
    make_durable(place)
    return damaged


def _set_mode(place: Path, mode: int) -> None:
    if place.is_dir() and not place.is_symlink():
        os.chmod(place, mode)


def remove_object(layout: Layout, hex_digest: str) -> int:
    """Remove an object that no approval rests on; returns the bytes its files held. A missing one is fine.

    It leaves its place in one rename first, so a crash cannot leave half of it there.
    """
    place = layout.object(hex_digest)
    if not os.path.lexists(place):
        return 0
    freed = _bytes_below(place)
    layout.staging.mkdir(mode=0o700, exist_ok=True)
    grave = layout.staging / f"{hex_digest}.removed"
    remove_tree(grave)
    _set_mode(place, 0o700)
    os.rename(place, grave)
    remove_tree(grave)
    fsync_dir(layout.objects)
    return freed


def _bytes_below(folder: Path) -> int:
    total = 0
    for place, _, files in os.walk(folder):
        total += sum(os.lstat(os.path.join(place, name)).st_size for name in files)
    return total
