"""What changed between two trees: by manifest, and line by line for text. Made for eyes: all of it is escaped."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

from skillkeep.errors import SkillkeepError
from skillkeep.manifest import Manifest, ManifestDiff, ManifestEntry
from skillkeep.text import escape, printable_path
from skillkeep.tree import TreeLimits, TreeView

__all__ = ["Change", "Side", "VersionDiff", "changes_between"]

_TEXT_BYTES = 256 << 10
_TEXT_LINES = 4_000  # difflib is quadratic, and the text is a stranger's
_CONTEXT = 3


@dataclass(frozen=True)
class Side:
    """One of the two trees: where its files are, and the manifest that says which."""

    root: Path
    manifest: Manifest


@dataclass(frozen=True)
class Change:
    """One file that differs. `what` is ``added``, ``removed``, ``changed`` or ``mode``.

    `path` is the path as it is, `note` says why there are no `lines` (binary, too large) or what the mode became.
    `lines` is a unified diff, each line escaped, without line ends.
    """

    what: str
    path: str
    note: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class VersionDiff:
    """What changed in the tool `name` from the digest `old` to the digest `new`."""

    name: str
    old: str
    new: str
    changes: tuple[Change, ...]


def changes_between(old: Side, new: Side) -> list[Change]:
    """Every file that differs from `old` to `new`, by path. Reads at most 256 KiB of a file, follows no link.

    Raises `SkillkeepError` (`not_a_tree`, `io_error`).
    """
    files: ManifestDiff = old.manifest.diff(new.manifest)
    before = {entry.path: entry for entry in old.manifest.entries}
    after = {entry.path: entry for entry in new.manifest.entries}
    limits = TreeLimits(entries=400_000, file_bytes=1 << 62, total_bytes=1 << 62, depth=200)
    found: list[Change] = []
    with TreeView.open(old.root, limits) as left, TreeView.open(new.root, limits) as right:
        for what, paths in (("added", files.added), ("removed", files.removed), ("changed", files.changed)):
            for path in paths:
                texts = _read(left, before.get(path)), _read(right, after.get(path))
                found.append(_change(what, path, *texts))
    for path in files.mode_changed:
        note = "is now executable" if after[path].executable else "is no longer executable"
        found.append(Change("mode", path, note, ()))
    return sorted(found, key=lambda change: (change.path, change.what))


def _read(view: TreeView, entry: ManifestEntry | None) -> list[str] | str:
    """The lines of a text file, or why there are none to show."""
    if entry is None:
        return []
    if entry.size > _TEXT_BYTES:
        return f"{entry.size} bytes, too large to show"
    try:
        text = view.read(entry.path, _TEXT_BYTES).decode("utf-8")
    except UnicodeDecodeError:
        return "not text"
    except SkillkeepError as error:
        return f"cannot be read: {escape(str(error.context.get('reason', error.message)))}"
    if "\0" in text:
        return "not text"
    lines = text.split("\n")
    return lines if len(lines) <= _TEXT_LINES else f"{len(lines)} lines, too many to show"


def _change(what: str, path: str, left: list[str] | str, right: list[str] | str) -> Change:
    for side in (left, right):
        if isinstance(side, str):
            return Change(what, path, side, ())
    shown = printable_path(path)
    old_name = "/dev/null" if what == "added" else f"a/{shown}"
    new_name = "/dev/null" if what == "removed" else f"b/{shown}"
    # Compared raw and escaped after, so that two texts which look alike when escaped still show as a change
    diff = difflib.unified_diff(left, right, old_name, new_name, n=_CONTEXT, lineterm="")
    return Change(what, path, "", tuple(escape(line) for line in diff))
