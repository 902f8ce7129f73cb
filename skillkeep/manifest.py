"""The manifest of a tree: what its digest is made of.

One line per file, ``mode SP size SP sha256 SP percent-encoded-path LF``, sorted by the path's bytes. Mode is
``100755`` for a file with any execute bit, else ``100644``. Every path byte outside ``A-Za-z0-9._~/-`` is
percent-encoded, so no path can imitate a separator and the text is injective (unlike digests that join paths
and contents without lengths). The digest is the SHA-256 of that text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import quote_from_bytes, unquote_to_bytes

from skillkeep.digest import sha256_bytes, sha256_fd, spell
from skillkeep.errors import SkillkeepError
from skillkeep.value import Value

if TYPE_CHECKING:
    from skillkeep.tree import TreeView

__all__ = ["Manifest", "ManifestDiff", "ManifestEntry"]

_LINE = re.compile(r"(100644|100755) (0|[1-9][0-9]{0,18}) ([0-9a-f]{64}) ([A-Za-z0-9._~/%-]+)\Z")


class ManifestEntry(Value):
    """One file: POSIX path (``surrogateescape`` for odd bytes), execute bit, size in bytes, 64 hex digits."""

    path: str
    executable: bool
    size: int
    sha256: str

    def to_line(self) -> str:
        """The manifest line without its line feed."""
        mode = "100755" if self.executable else "100644"
        return f"{mode} {self.size} {self.sha256} {quote_from_bytes(os.fsencode(self.path), safe='/')}"


class ManifestDiff(Value):
    """What a second manifest has that a first one had not; each a sorted tuple of paths."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]
    mode_changed: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed or self.mode_changed)


class Manifest:
    """An immutable, sorted list of `ManifestEntry`; equal when their texts are equal."""

    def __init__(self, entries: Iterable[ManifestEntry]) -> None:
        self.entries = tuple(sorted(entries, key=lambda entry: os.fsencode(entry.path)))
        for before, after in zip(self.entries, self.entries[1:], strict=False):
            if before.path == after.path:
                raise _bad("two entries have the same path")

    @classmethod
    def of_tree(cls, view: TreeView) -> Manifest:
        """Hash every file of `view`. A link or special file has no place in a manifest: resolve it first.

        Raises `SkillkeepError`: `bad_manifest` for an entry that is not a file or folder or could not be read.
        """
        from skillkeep.tree import EntryKind  # whoever has a view has it already

        if view.unread:
            first = view.unread[0]
            raise _bad(f"{len(view.unread)} entries could not be read, the first for {first.reason}")
        entries = []
        for entry in view.entries:
            if entry.kind is EntryKind.FOLDER:
                continue
            if entry.kind is not EntryKind.FILE:
                raise _bad(f"the tree holds a {entry.kind}")
            fd = view.open_fd(entry.path)
            try:
                digest, size = sha256_fd(fd)
            finally:
                os.close(fd)
            entries.append(ManifestEntry(entry.path, entry.executable, size, digest))
        return cls(entries)

    @classmethod
    def from_text(cls, text: str) -> Manifest:
        """Read back what `to_text` wrote. Raises `SkillkeepError` (`bad_manifest`) unless it is canonical."""
        entries = []
        for line in text.split("\n")[:-1]:
            match = _LINE.match(line)
            if not match:
                raise _bad("a line is malformed")
            mode, size, digest, path = match.groups()
            entries.append(ManifestEntry(os.fsdecode(unquote_to_bytes(path)), mode == "100755", int(size), digest))
        manifest = cls(entries)
        if manifest.to_text() != text:
            raise _bad("the text is not in canonical form")
        return manifest

    def to_text(self) -> str:
        """The canonical text; ASCII."""
        return "".join(entry.to_line() + "\n" for entry in self.entries)

    @cached_property
    def digest(self) -> str:
        """``sha256:<hex>`` of the canonical text."""
        return spell(sha256_bytes(self.to_text().encode("ascii")))

    @cached_property
    def total_bytes(self) -> int:
        """Sum of all file sizes."""
        return sum(entry.size for entry in self.entries)

    def diff(self, other: Manifest) -> ManifestDiff:
        """What changed from this manifest to `other`."""
        mine = {entry.path: entry for entry in self.entries}
        theirs = {entry.path: entry for entry in other.entries}
        both = [path for path in mine if path in theirs]
        return ManifestDiff(
            added=tuple(path for path in theirs if path not in mine),
            removed=tuple(path for path in mine if path not in theirs),
            changed=tuple(path for path in both if mine[path].sha256 != theirs[path].sha256),
            mode_changed=tuple(path for path in both if mine[path].executable != theirs[path].executable),
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Manifest) and self.entries == other.entries

    def __hash__(self) -> int:
        return hash(self.entries)

    def __len__(self) -> int:
        return len(self.entries)


def _bad(what: str) -> SkillkeepError:
    return SkillkeepError(
        "bad_manifest",
        f"the manifest cannot be made or read: {what}",
        "Fetch the tool again; if it is vaulted, run `vault verify`.",
    )
