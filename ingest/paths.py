"""Judges the paths a source brings: which can be written at all, and which deserve a finding."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable

from skillkeep.ingest import observations as seen
from skillkeep.text import escape

__all__ = ["name_findings", "split_path", "why_refused"]

_PATH_BYTES = 4096 - 1024  # leaves room for the quarantine's own prefix
_NAME_BYTES = 255
# Code points HFS+ ignores in names (git: utf8.c next_hfs_char, CVE-2014-9390).
_HFS_IGNORED = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
_NTFS_SHORT = re.compile(r"(git|gi[0-9a-f]{4})~[0-9]+\Z", re.IGNORECASE)


def split_path(path: str) -> list[str]:
    """The components of a path as archives and trees write it; ``./`` in front and a slash at the end are dropped."""
    parts = path.split("/")
    while parts and parts[0] == ".":
        parts.pop(0)
    if parts and parts[-1] == "":
        parts.pop()
    return parts


def why_refused(path: str, depth: int) -> tuple[str, str] | None:
    """Why `path` may not be written below a root: (observation rule, detail), or None when it may.

    `depth` is the largest number of components. Refused: absolute, ``..``, empty or NUL components, names for
    git's own folder in every spelling a file system may take for it, components or paths that are too long.
    """
    parts = split_path(path)
    if path.startswith("/") or not parts or any(part in {"", ".", ".."} or "\0" in part for part in parts):
        return seen.PATH_ESCAPE, "absolute, empty or climbing"
    if "\\" in path and any(piece == ".." for piece in re.split(r"[/\\]", path)):
        return seen.PATH_ESCAPE, "climbs with backslashes"
    for part in parts:
        if part == ".git":
            return seen.GIT_FOLDER, "git's own folder is not taken"
        if _is_git_lookalike(part):
            return seen.GIT_LOOKALIKE, "another spelling of git's own folder"
    if len(parts) > depth:
        return seen.TOO_DEEP, f"{len(parts)} levels, the limit is {depth}"
    if len(os.fsencode(path)) > _PATH_BYTES or any(len(os.fsencode(part)) > _NAME_BYTES for part in parts):
        return seen.PATH_TOO_LONG, f"{len(os.fsencode(path))} bytes"
    return None


def _is_git_lookalike(part: str) -> bool:
    """True for names that NTFS, HFS+ or a case-folding file system would open as ``.git``."""
    plain = _HFS_IGNORED.sub("", part)
    plain = unicodedata.normalize("NFKC", plain).partition(":")[0].rstrip(" .").casefold()
    return plain == ".git" or bool(_NTFS_SHORT.match(plain))


def name_findings(paths: Iterable[str], notes: seen.Observations) -> None:
    """Note names that hide or deceive: control and invisible characters, no UTF-8, names that collide when folded."""
    folded: dict[str, str] = {}
    for path in sorted(paths, key=os.fsencode):
        name = path.rpartition("/")[2]
        if any("\udc80" <= char <= "\udcff" for char in name):
            notes.add(seen.NAME_ENCODING, path, "the name is not UTF-8")
        elif any(unicodedata.category(char) in {"Cc", "Cf", "Zl", "Zp"} for char in name):
            notes.add(seen.NAME_CONTROL, path, f"the name reads {escape(name)}")
        key = unicodedata.normalize("NFC", unicodedata.normalize("NFKC", path).casefold())
        other = folded.setdefault(key, path)
        if other != path:
            notes.add(seen.NAME_COLLISION, path, f"collides with {escape(other)}")
