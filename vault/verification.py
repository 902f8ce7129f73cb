"""Compares an object on the disk with its digest, byte for byte, and names every difference.

The manifest beside the tree must hash to the object's digest; then the tree must hold exactly the manifest's files,
with their bytes and the vault's modes (files 0444 or 0555, folders 0555), and nothing else. Folders hold approved
files or do not exist: an empty one is a difference too.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from skillkeep.digest import sha256_fd
from skillkeep.errors import SkillkeepError
from skillkeep.manifest import Manifest, ManifestEntry
from skillkeep.tree import EntryKind, TreeEntry, TreeLimits, TreeView, UnreadReason
from skillkeep.value import Value
from skillkeep.vault.approved import load_manifest
from skillkeep.vault.interface import MismatchKind

__all__ = ["FILE_MODE", "FOLDER_MODE", "PROGRAM_MODE", "Difference", "inspect"]

FILE_MODE, PROGRAM_MODE, FOLDER_MODE = 0o444, 0o555, 0o555
_SPARE_ENTRIES = 10_000  # how many added names are listed before the rest is only said to exist


class Difference(Value):
    """How one path of an object differs; `path` is inside the tree, empty for the object as a whole."""

    kind: MismatchKind
    path: str
    detail: str


def inspect(folder: Path, hex_digest: str) -> list[Difference]:
    """Every difference between the object at `folder` and what `hex_digest` stands for; empty when it holds."""
    if not folder.is_dir() or folder.is_symlink():
        return [Difference(MismatchKind.MISSING, "", "the object's folder is gone")]
    differences = list(_frame(folder))
    manifest = load_manifest(folder / "manifest", hex_digest)
    if manifest is None:
        differences.append(Difference(MismatchKind.MANIFEST, "", "the manifest is missing or not the approved one"))
        return differences
    expected_folders = {str(parent) for entry in manifest.entries for parent in PurePosixPath(entry.path).parents}
    room = len(manifest) + len(expected_folders) + _SPARE_ENTRIES
    limits = TreeLimits(entries=room, file_bytes=1 << 62, total_bytes=1 << 62, depth=200, seconds=3600)
    try:
        with TreeView.open(folder / "tree", limits) as view:
            differences += _compare(view, manifest, expected_folders)
    except SkillkeepError as error:
        if error.code != "not_a_tree":
            raise
        differences.append(Difference(MismatchKind.MISSING, "", "the tree is gone or is not a folder"))
    return differences


def _frame(folder: Path) -> Iterator[Difference]:
    """The object's own folder: exactly ``tree`` and ``manifest``, read-only."""
    for name in sorted(os.listdir(folder)):
        if name not in {"tree", "manifest"}:
            yield Difference(MismatchKind.ADDED, "", f"beside the tree lies {name!r}")
    for path, wanted in ((folder, FOLDER_MODE), (folder / "tree", FOLDER_MODE), (folder / "manifest", FILE_MODE)):
        try:
            info = os.lstat(path)
        except FileNotFoundError:
            continue
        if stat.S_ISLNK(info.st_mode):
            yield Difference(MismatchKind.LINK, "", f"the object's {path.name} is a link")
        elif (mode := stat.S_IMODE(info.st_mode)) != wanted:
            part = "folder" if path == folder else path.name
            yield Difference(MismatchKind.MODE, "", f"the object's {part} has mode {mode:04o}, not {wanted:04o}")


def _compare(view: TreeView, manifest: Manifest, folders: set[str]) -> Iterator[Difference]:
    wanted = {entry.path: entry for entry in manifest.entries}
    seen: set[str] = set()
    for found in view.entries:
        seen.add(found.path)
        approved = wanted.get(found.path)
        if approved is None and found.path not in folders:
            yield _unexpected(found)
        elif approved is None:
            yield from _compare_folder(found)
        else:
            yield from _compare_file(view, found, approved)
    cut_short = False
    for unread in view.unread:
        cut_short = cut_short or unread.reason is UnreadReason.TOO_MANY
        yield Difference(MismatchKind.UNREADABLE, unread.path, f"{unread.reason} {unread.detail}".strip())
    if not cut_short:
        for path in wanted:
            if path not in seen:
                yield Difference(MismatchKind.REMOVED, path, "the file is gone")


def _unexpected(found: TreeEntry) -> Difference:
    if found.kind is EntryKind.LINK:
        return Difference(MismatchKind.LINK, found.path, "a link was put in")
    return Difference(MismatchKind.ADDED, found.path, f"a {found.kind} that was never approved")


def _compare_folder(found: TreeEntry) -> Iterator[Difference]:
    if found.kind is EntryKind.LINK:
        yield Difference(MismatchKind.LINK, found.path, "the folder was replaced by a link")
    elif found.kind is not EntryKind.FOLDER:
        yield Difference(MismatchKind.SPECIAL, found.path, f"the folder was replaced by a {found.kind}")
    elif found.mode != FOLDER_MODE:
        yield Difference(MismatchKind.MODE, found.path, f"mode {found.mode:04o}, not {FOLDER_MODE:04o}")


def _compare_file(view: TreeView, found: TreeEntry, approved: ManifestEntry) -> Iterator[Difference]:
    if found.kind is EntryKind.LINK:
        yield Difference(MismatchKind.LINK, found.path, "the file was replaced by a link")
        return
    if found.kind is not EntryKind.FILE:
        yield Difference(MismatchKind.SPECIAL, found.path, f"the file was replaced by a {found.kind}")
        return
    mode = PROGRAM_MODE if approved.executable else FILE_MODE
    if found.mode != mode:
        yield Difference(MismatchKind.MODE, found.path, f"mode {found.mode:04o}, not {mode:04o}")
    if found.size != approved.size:
        yield Difference(MismatchKind.CONTENT, found.path, f"{found.size} bytes, not {approved.size}")
        return
    try:
        fd = view.open_fd(found.path)
    except SkillkeepError as error:
        yield Difference(MismatchKind.UNREADABLE, found.path, str(error.context.get("reason", error.message)))
        return
    try:
        digest, size = sha256_fd(fd)
    except OSError as error:
        yield Difference(MismatchKind.UNREADABLE, found.path, error.strerror or "read error")
        return
    finally:
        os.close(fd)
    if (digest, size) != (approved.sha256, approved.size):
        yield Difference(MismatchKind.CONTENT, found.path, f"sha256 {digest}, not {approved.sha256}")
