"""An object's folder as a whole: its mode, and its removal."""

from __future__ import annotations

import os
from pathlib import Path

from skillkeep.files import fsync_dir, remove_tree
from skillkeep.vault.layout import Layout

__all__ = ["remove_object", "set_mode"]


def set_mode(place: Path, mode: int) -> None:
    """Change the mode of an object's folder; what is no folder is left alone. Raises `OSError`."""
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
    set_mode(place, 0o700)
    os.rename(place, grave)
    remove_tree(grave)
    fsync_dir(layout.objects)
    return freed


def _bytes_below(folder: Path) -> int:
    total = 0
    for place, _, files in os.walk(folder):
        total += sum(os.lstat(os.path.join(place, name)).st_size for name in files)
    return total
