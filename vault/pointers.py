"""The links that people and other programs follow: ``vetted_vault/<name>`` and ``.archive/<name>/<sha256>``.

They are derived from the registry and never read to decide anything. Each is swapped in one rename.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

from skillkeep.errors import SkillkeepError
from skillkeep.files import fsync_dir
from skillkeep.home import Home
from skillkeep.vault.layout import Layout

__all__ = ["check_free", "pointed_names", "settle", "wrong_pointer"]


def check_free(layout: Layout, name: str) -> None:
    """Raise `SkillkeepError` (`io_error`) when something that is no link stands where the name's link belongs."""
    place = layout.pointer(name)
    if os.path.lexists(place) and not place.is_symlink():
        raise SkillkeepError(
            "io_error",
            f"'{name}' in the vault's folder is not the vault's link",
            "Somebody put a file or folder there by hand. Move it away and try again.",
            path=str(place),
        )


def pointed_names(home: Home) -> list[str]:
    """The names that have a link, to be offered and not relied on; nothing is opened or made. Raises `OSError`."""
    with os.scandir(home.vault) as listing:
        return [entry.name for entry in listing if entry.is_symlink()]


def wrong_pointer(layout: Layout, name: str, hex_digest: str) -> str | None:
    """What is wrong with the name's link, in a few words, or None."""
    try:
        target = os.readlink(layout.pointer(name))
    except FileNotFoundError:
        return "the name's link is missing"
    except OSError:
        return "something else stands in place of the name's link"
    return None if target == layout.pointer_target(hex_digest) else f"the name's link points at {target}"


def settle(layout: Layout, name: str, current: str, earlier: Iterable[str]) -> None:
    """Make the links of `name` as the registry says: `current` and `earlier` are 64 hex digits. Raises `OSError`."""
    check_free(layout, name)
    _swap(layout, layout.pointer(name), layout.pointer_target(current))
    archive = layout.archive_of(name)
    wanted = set(earlier) - {current}
    if wanted:
        archive.mkdir(mode=0o700, parents=True, exist_ok=True)
        for hex_digest in wanted:
            _swap(layout, archive / hex_digest, layout.archive_target(hex_digest))
    if archive.is_dir():
        for entry in os.listdir(archive):
            if entry not in wanted and (archive / entry).is_symlink():
                os.unlink(archive / entry)
        fsync_dir(archive)
        with contextlib.suppress(OSError):  # stays when it is not empty
            os.rmdir(archive)
    fsync_dir(layout.root)


def _swap(layout: Layout, place: Path, target: str) -> None:
    with contextlib.suppress(OSError):
        if os.readlink(place) == target:
            return
    temporary = layout.staging / f"link.{os.urandom(8).hex()}"
    os.symlink(target, temporary)
    os.rename(temporary, place)
