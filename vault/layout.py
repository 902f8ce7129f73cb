"""Where things lie below ``vetted_vault``. Paths only; touches no file.

::

    registry.sqlite3                     the truth
    objects/<sha256>/{tree/,manifest}    one approved tree each, read-only
    <name>                               -> objects/<sha256>/tree          (derived)
    .archive/<name>/<sha256>             -> ../../objects/<sha256>/tree    (derived, earlier versions)
    .staging/<sha256>.<random>/          work in progress, swept by `recover`
    .lock                                flock of whoever is changing something
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from skillkeep.value import Value

__all__ = ["Layout"]


class Layout(Value):
    """The vault's paths. `root` is ``<home>/vetted_vault``, absolute; a digest here is its 64 hex digits."""

    root: Path

    @cached_property
    def registry(self) -> Path:
        """The SQLite file."""
        return self.root / "registry.sqlite3"

    @cached_property
    def lock(self) -> Path:
        """The lock file."""
        return self.root / ".lock"

    @cached_property
    def objects(self) -> Path:
        """The folder of all objects."""
        return self.root / "objects"

    @cached_property
    def staging(self) -> Path:
        """The folder of unfinished work."""
        return self.root / ".staging"

    @cached_property
    def archive(self) -> Path:
        """The folder of links to earlier versions."""
        return self.root / ".archive"

    def object(self, hex_digest: str) -> Path:
        """An object's folder."""
        return self.objects / hex_digest

    def tree(self, hex_digest: str) -> Path:
        """An object's files."""
        return self.objects / hex_digest / "tree"

    def manifest(self, hex_digest: str) -> Path:
        """An object's manifest text."""
        return self.objects / hex_digest / "manifest"

    def pointer(self, name: str) -> Path:
        """The link to a name's current tree."""
        return self.root / name

    def archive_of(self, name: str) -> Path:
        """The folder of links to a name's earlier versions."""
        return self.archive / name

    @staticmethod
    def pointer_target(hex_digest: str) -> str:
        """What `pointer` holds."""
        return f"objects/{hex_digest}/tree"

    @staticmethod
    def archive_target(hex_digest: str) -> str:
        """What a link below `archive_of` holds."""
        return f"../../objects/{hex_digest}/tree"
