"""Moves a staged object to its place in one rename.

The object's folder stays writable until it has its place, because a folder that is moved has its ``..`` rewritten,
which needs the right to write in it; the registry learns of the object only after it was made read-only.
"""

from __future__ import annotations

import os

from skillkeep.vault.durable import make_durable
from skillkeep.vault.layout import Layout
from skillkeep.vault.objects import set_mode
from skillkeep.vault.stage import Staged
from skillkeep.vault.verification import FOLDER_MODE, inspect

__all__ = ["publish"]


def publish(layout: Layout, staged: Staged, hex_digest: str) -> bool:
    """Put the staged object at ``objects/<sha256>``, on the disk. True when a damaged one had to make room for it.

    An object that is already there and holds byte for byte is kept (its inodes may be mounted in a sandbox).
    A damaged one is moved aside whole, into the staging folder. Raises `OSError`.
    """
    place = layout.object(hex_digest)
    damaged = False
    if os.path.lexists(place):
        set_mode(place, FOLDER_MODE)  # a crash may have come between the rename and this
        if not inspect(place, hex_digest):
            make_durable(place)
            return False
        damaged = True
        set_mode(place, 0o700)
        os.rename(place, staged.folder / "damaged")
    os.rename(staged.object, place)
    os.chmod(place, FOLDER_MODE)
    make_durable(place)
    return damaged
