"""Copies a tree into the staging folder: hashed while copied, made read-only, compared with its digest.

What is hashed is what is written, so nothing that changes the quarantined files during the copy can get bytes into
the vault that the digest does not cover.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from skillkeep.digest import CHUNK
from skillkeep.files import write_all
from skillkeep.manifest import Manifest, ManifestEntry
from skillkeep.text import printable_path
from skillkeep.tree import EntryKind, TreeEntry, TreeLimits, TreeView
from skillkeep.vault.errors import VaultError
from skillkeep.vault.layout import Layout
from skillkeep.vault.verification import FILE_MODE, FOLDER_MODE, PROGRAM_MODE

__all__ = ["Staged", "new_folder", "stage"]

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_LIMITS = TreeLimits(entries=400_000, file_bytes=1 << 30, total_bytes=4 << 30, depth=200, seconds=600)


@dataclass(frozen=True)
class Staged:
    """A complete object waiting to be published. `folder` is removed by the caller whatever happens."""

    folder: Path
    manifest: Manifest

    @property
    def object(self) -> Path:
        """The object's folder inside `folder`."""
        return self.folder / "object"


def new_folder(layout: Layout, hex_digest: str) -> Path:
    """Make ``.staging/<sha256>.<random>``; its name tells `recover` which object it may have published."""
    for folder in (layout.objects, layout.staging, layout.archive):
        folder.mkdir(mode=0o700, exist_ok=True)
    folder = layout.staging / f"{hex_digest}.{secrets.token_hex(8)}"
    folder.mkdir(mode=0o700)
    return folder


def stage(folder: Path, tree: Path, digest: str) -> Staged:
    """Copy the files below `tree` to ``folder/object/tree`` and write their manifest beside it.

    Empty folders are left out: no digest covers them. Raises `VaultError` (`tree_unsafe`, `tree_mismatch` when the
    files are not those of `digest`), `SkillkeepError` (`not_a_tree`, `io_error`), `OSError` (disk full).
    """
    target = folder / "object" / "tree"
    target.mkdir(mode=0o700, parents=True)
    with TreeView.open(tree, _LIMITS) as view:
        files = _only_files(view)
        folders = _make_folders(target, files)
        manifest = Manifest(_copy(view, entry, target) for entry in files)
    if manifest.digest != digest:
        raise VaultError(
            "tree_mismatch",
            f"the files to vault have the digest {manifest.digest}, the audited ones had {digest}",
            "Something changed them in between. Ingest the source again.",
            expected=digest,
            found=manifest.digest,
        )
    staged = Staged(folder, manifest)
    _write_manifest(staged)
    _seal(target, folders)
    return staged


def _only_files(view: TreeView) -> list[TreeEntry]:
    for unread in view.unread:
        raise _unsafe(unread.path, str(unread.reason))
    for entry in view.entries:
        if entry.kind not in {EntryKind.FILE, EntryKind.FOLDER}:
            raise _unsafe(entry.path, f"it is a {entry.kind}")
    return list(view.files())


def _unsafe(path: str, reason: str) -> VaultError:
    return VaultError(
        "tree_unsafe",
        f"'{printable_path(path)}' cannot be vaulted: {reason}",
        "A vaulted tool holds plain files only; ingest turns inner links into copies. Ingest the source again.",
        path=path,
        reason=reason,
    )


def _make_folders(target: Path, files: list[TreeEntry]) -> list[Path]:
    """Every folder that holds a file, made outermost first."""
    needed = {parent for entry in files for parent in PurePosixPath(entry.path).parents if parent.name}
    folders = [target / folder for folder in sorted(needed, key=lambda folder: len(folder.parts))]
    for folder in folders:
        folder.mkdir(mode=0o700)
    return folders


def _copy(view: TreeView, entry: TreeEntry, target: Path) -> ManifestEntry:
    source = view.open_fd(entry.path)
    try:
        executable = bool(os.fstat(source).st_mode & 0o111)
        copy = os.open(os.path.join(target, entry.path), _CREATE, 0o600)
        try:
            state, size = hashlib.sha256(), 0
            while size <= entry.size and (chunk := os.read(source, CHUNK)):
                state.update(chunk)
                write_all(copy, chunk)
                size += len(chunk)
            os.fchmod(copy, PROGRAM_MODE if executable else FILE_MODE)
            _start_writing(copy)
        finally:
            os.close(copy)
    finally:
        os.close(source)
    return ManifestEntry(entry.path, executable, size, state.hexdigest())


def _start_writing(fd: int) -> None:
    """Let the disk begin now, while the next files are hashed: `make_durable` then hardly waits."""
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)


def _write_manifest(staged: Staged) -> None:
    fd = os.open(staged.object / "manifest", _CREATE, 0o600)
    try:
        write_all(fd, staged.manifest.to_text().encode("ascii"))
        os.fchmod(fd, FILE_MODE)
    finally:
        os.close(fd)


def _seal(target: Path, folders: list[Path]) -> None:
    """Make every folder read-only, innermost first."""
    for folder in [*reversed(folders), target]:
        os.chmod(folder, FOLDER_MODE)
