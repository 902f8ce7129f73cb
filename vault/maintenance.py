"""Putting right what a crash left behind, and removing what nothing needs. The caller holds the vault's lock."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from skillkeep.digest import parse_digest
from skillkeep.files import remove_tree
from skillkeep.vault.interface import GcResult
from skillkeep.vault.layout import Layout
from skillkeep.vault.objects import remove_object
from skillkeep.vault.pointers import settle
from skillkeep.vault.registry import Registry

__all__ = ["needs_recovery", "remove_unreachable", "settle_name", "settle_unsettled", "surplus", "sweep_staging"]


def needs_recovery(layout: Layout, registry: Registry) -> bool:
    """True when something unfinished lies about. Cheap: one folder, one indexed query."""
    with contextlib.suppress(FileNotFoundError):
        if os.listdir(layout.staging):
            return True
    return layout.registry.exists() and bool(registry.unsettled())


def sweep_staging(layout: Layout, registry: Registry) -> None:
    """Remove every unfinished admission; an object it had already moved to its place goes too, unless approved.

    Under the lock every entry of the staging folder belongs to a process that is gone.
    """
    try:
        left = sorted(os.listdir(layout.staging))
    except FileNotFoundError:
        return
    for entry in left:  # room first: on a full disk the registry cannot even be asked
        _empty(layout.staging / entry)
    for entry in left:
        hex_digest, _, suffix = entry.partition(".")
        if len(hex_digest) == 64 and suffix and not registry.is_stored(hex_digest):
            remove_object(layout, hex_digest)
        remove_tree(layout.staging / entry)


def _empty(folder: Path) -> None:
    if folder.is_dir() and not folder.is_symlink():
        for name in os.listdir(folder):
            remove_tree(folder / name)


def settle_name(layout: Layout, registry: Registry, name: str) -> None:
    """Bring the links of `name` in line with the registry, then say so there. Raises `OSError`, `SkillkeepError`."""
    current = registry.current(name)
    if current is None:
        return
    layout.staging.mkdir(mode=0o700, exist_ok=True)
    earlier = [parse_digest(found.record.digest) for found in registry.versions(name) if not found.record.current]
    settle(layout, name, parse_digest(current.record.digest), earlier)
    registry.settle(name)


def settle_unsettled(layout: Layout, registry: Registry) -> None:
    """`settle_name` for every name whose last change did not get that far."""
    for name in registry.unsettled():
        settle_name(layout, registry, name)


def surplus(registry: Registry, keep: int) -> dict[str, list[str]]:
    """Archived versions beyond the newest `keep` of each name: hex digest to the names that hold it.

    A digest that any name points at, or keeps among its newest, is not surplus.
    """
    needed: set[str] = set()
    spare: dict[str, list[str]] = {}
    for record in registry.all_current():
        archived = [found for found in registry.versions(record.name) if not found.record.current]
        needed.add(parse_digest(record.digest))
        needed.update(parse_digest(found.record.digest) for found in archived[:keep])
        for found in archived[keep:]:
            spare.setdefault(parse_digest(found.record.digest), []).append(record.name)
    return {digest: names for digest, names in spare.items() if digest not in needed}


def remove_unreachable(layout: Layout, registry: Registry) -> GcResult:
    """Remove every object that the registry does not count as stored."""
    stored = registry.stored_digests()
    try:
        present = sorted(os.listdir(layout.objects))
    except FileNotFoundError:
        present = []
    removed, freed = [], 0
    for entry in present:
        if entry not in stored:
            freed += remove_object(layout, entry)
            removed.append(entry)
    return GcResult(tuple(removed), freed)
