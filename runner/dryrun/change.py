"""What a dry run would change, as data: one record for each path, of what stood there and what should stand there."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

__all__ = ["After", "Change", "DryRun", "FolderChanges", "Kind", "Remark", "Stamp", "Type"]

SCHEMA = "skillkeep/dry-run-v1"


class Type(StrEnum):
    """What a name stands for. Nothing else is ever committed."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    OTHER = "other"

    @classmethod
    def of(cls, mode: int) -> Type:
        """The type in `st_mode`."""
        if stat.S_ISREG(mode):
            return cls.FILE
        return cls.FOLDER if stat.S_ISDIR(mode) else cls.LINK if stat.S_ISLNK(mode) else cls.OTHER


class Kind(StrEnum):
    """What happens to a path."""

    ADDED = "added"
    CHANGED = "changed"
    MODE = "mode"
    DELETED = "deleted"


@dataclass(frozen=True)
class Stamp:
    """What stood in the project when the run was over; times in nanoseconds, `mode` without the type."""

    type: Type
    mode: int
    size: int
    inode: int
    mtime: int
    ctime: int
    links: int = 1

    @classmethod
    def of(cls, state: os.stat_result) -> Stamp:
        """The stamp of what was looked at."""
        kind = Type.of(state.st_mode)
        times = state.st_mtime_ns, state.st_ctime_ns
        return cls(kind, stat.S_IMODE(state.st_mode), state.st_size, state.st_ino, *times, state.st_nlink)

    def matches(self, state: os.stat_result, *, moved: bool = False) -> bool:
        """Whether `state` is still the same, untouched. A rename (`moved`) sets the time of change of the inode."""
        now = Stamp.of(state)
        if self.type is Type.FOLDER:
            return (now.type, now.inode) == (self.type, self.inode)
        same = (now.type, now.mode, now.size, now.inode, now.mtime) == (
            self.type,
            self.mode,
            self.size,
            self.inode,
            self.mtime,
        )
        return same and (moved or self.links > 1 or now.ctime == self.ctime)


@dataclass(frozen=True)
class After:
    """What should stand there. `digest` (sha256 hex) and `blob` (its name in the store) for a file, `target` for a
    link; `mode` holds the nine permission bits.
    """

    type: Type
    mode: int
    size: int = 0
    digest: str = ""
    blob: str = ""
    target: str = ""


@dataclass(frozen=True)
class Change:
    """One path below the project (surrogateescape). `conflict`: it was changed while the tool ran, and stays."""

    path: str
    before: Stamp | None
    after: After | None
    same_content: bool = False
    conflict: bool = False

    @property
    def kind(self) -> Kind:
        """Added, changed, deleted, or only another mode."""
        if self.before is None:
            return Kind.ADDED
        if self.after is None:
            return Kind.DELETED
        return Kind.MODE if self.same_content else Kind.CHANGED


@dataclass(frozen=True)
class Remark:
    """Something the user has to know about a path: it was refused, or a part of it is left out."""

    path: str
    text: str
    refused: bool


@dataclass(frozen=True)
class FolderChanges:
    """All that a tool wrote in one granted folder. `device` and `inode` say which folder that was."""

    root: str
    device: int
    inode: int
    changes: tuple[Change, ...] = ()
    remarks: tuple[Remark, ...] = ()

    @classmethod
    def lost(cls, root: str, why: str) -> FolderChanges:
        """Of a folder in which nobody knows any more what the tool wrote."""
        return cls(root, 0, 0, (), (Remark("", f"what the tool wrote there is lost: {why}", refused=True),))

    @property
    def is_lost(self) -> bool:
        """Whether it was made by `lost`: no folder has the inode 0."""
        return self.inode == 0


@dataclass(frozen=True)
class DryRun:
    """A dry run that is over, kept until it is committed or dropped."""

    id: str
    run_id: str
    tool: str
    tool_digest: str
    made_at: str
    exit_code: int | None
    cause: str
    folders: tuple[FolderChanges, ...]

    @property
    def empty(self) -> bool:
        """Whether the tool left everything as it was."""
        return not any(folder.changes for folder in self.folders)

    @property
    def lost(self) -> bool:
        """Whether not all that it wrote is known."""
        return any(folder.is_lost for folder in self.folders)

    def to_json(self) -> dict[str, Any]:
        """JSON-able; paths that are not UTF-8 hold lone surrogates, which JSON escapes."""
        shape = {"schema": SCHEMA, **asdict(self)}
        for folder, made in zip(shape["folders"], self.folders, strict=True):
            for change, original in zip(folder["changes"], made.changes, strict=True):
                change["kind"] = original.kind.value
        return shape

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> DryRun:
        """The record that `to_json` gave. Raises KeyError, TypeError or ValueError for anything else."""
        if data["schema"] != SCHEMA:
            raise ValueError("not a dry run")
        folders = tuple(
            FolderChanges(
                root=str(folder["root"]),
                device=int(folder["device"]),
                inode=int(folder["inode"]),
                changes=tuple(_change(change) for change in folder["changes"]),
                remarks=tuple(Remark(**remark) for remark in folder["remarks"]),
            )
            for folder in data["folders"]
        )
        plain = ("id", "run_id", "tool", "tool_digest", "made_at", "exit_code", "cause")
        return cls(**{name: data[name] for name in plain}, folders=folders)


def _change(data: Mapping[str, Any]) -> Change:
    before, after = data["before"], data["after"]
    return Change(
        path=data["path"],
        before=None if before is None else Stamp(**{**before, "type": Type(before["type"])}),
        after=None if after is None else After(**{**after, "type": Type(after["type"])}),
        same_content=data["same_content"],
        conflict=data["conflict"],
    )
