"""Taking a dry run's changes into the project, in an order that always works, and again after a crash.

Killed at any moment, the project holds old or new files only, and the next commit tidies up.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from skillkeep.runner.dryrun.beneath import open_root, parent_of
from skillkeep.runner.dryrun.change import Change, FolderChanges, Type
from skillkeep.runner.dryrun.steps import (
    OWNER_ALL,
    PERMISSIONS,
    ConflictError,
    add_folder,
    at,
    check_mode,
    delete,
    is_wanted,
    looked_at,
    place,
    put_back,
    set_mode,
    tidy,
)

__all__ = ["Outcome", "Refusal", "commit_folder", "spare_name", "tidy_folder"]


@dataclass(frozen=True)
class Refusal:
    """A change that was not made, and why."""

    change: Change
    why: str


@dataclass
class Outcome:
    """What a commit did."""

    done: int = 0
    refused: list[Refusal] = field(default_factory=list)


def commit_folder(folder: FolderChanges, blobs: Path, mark: str) -> Outcome:
    """Make the changes of one folder. `mark` is a name part that only this dry run uses.

    Never raises for a single change: what cannot be made is refused in the outcome, and the rest goes on.
    """
    outcome = Outcome()
    try:
        root = open_root(folder.root)
    except OSError as error:
        outcome.refused += [Refusal(change, f"the folder is gone: {error.strerror}") for change in folder.changes]
        return outcome
    try:
        state = os.fstat(root)
        if (state.st_dev, state.st_ino) != (folder.device, folder.inode):
            outcome.refused += [Refusal(change, "another folder stands there now") for change in folder.changes]
            return outcome
        _Commit(root, blobs, mark, outcome).make(folder.changes)
        return outcome
    finally:
        os.close(root)


def tidy_folder(folder: FolderChanges, mark: str) -> None:
    """Undo what a commit that was cut short has left half done: its spare names go, what it moved aside is back."""
    with contextlib.suppress(OSError):
        root = open_root(folder.root)
        try:
            for change in folder.changes:
                with contextlib.suppress(OSError, ValueError, ConflictError), parent_of(root, change.path) as place:
                    _undo(*place, change, spare_name(mark, change.path))
        finally:
            os.close(root)


def _undo(folder: int, name: str, change: Change, spare: str) -> None:
    state = at(folder, name)
    if at(folder, spare) is None:
        return
    if change.after is None:
        put_back(folder, spare, name)
    elif state is not None and is_wanted(folder, name, state, change.after):
        tidy(folder, name, change.before, spare)
    else:
        os.unlink(spare, dir_fd=folder)


@dataclass
class _Commit:
    root: int
    blobs: Path
    mark: str
    outcome: Outcome
    folders: dict[str, tuple[int, int]] = field(default_factory=dict)

    def make(self, changes: tuple[Change, ...]) -> None:
        """Open folders up, delete from below, add from above, and give folders their mode last."""
        above = sorted(changes, key=lambda change: change.path)
        opened = {change.path for change in above if _is_folder_mode(change) and self._try(change)}
        failed = {refusal.change.path for refusal in self.outcome.refused}
        over = self._replaced(changes)
        for change in (*(each for each in reversed(above) if each.after is None), *(x for x in above if _is_new(x))):
            if change.path in failed:
                continue
            if (change.after is None and _is_below(change.path, over)) or self._try(change):
                self.outcome.done += 1
            else:
                failed.add(change.path)
        for change in reversed(above):
            if change.after is not None and change.after.type is Type.FOLDER and change.path not in failed:
                finished = self._finish_folder(change, change.after.mode)
                self.outcome.done += int(finished) - int(change.path not in opened)  # which are counted by now

    def _replaced(self, changes: tuple[Change, ...]) -> frozenset[str]:
        """Paths where, after a commit that was cut short, the new thing stands already in the place of the old."""
        deleted = {change.path for change in changes if change.after is None}
        found = []
        for change in changes:
            if change.path in deleted and change.after is not None:
                with contextlib.suppress(OSError, ValueError), parent_of(self.root, change.path) as (folder, name):
                    state = os.stat(name, dir_fd=folder, follow_symlinks=False)
                    if is_wanted(folder, name, state, change.after):
                        found.append(change.path)
        return frozenset(found)

    def _try(self, change: Change) -> bool:
        try:
            if change.conflict:
                raise ConflictError("it, or a folder that it lies in, was changed in the project while the tool ran")
            with parent_of(self.root, change.path) as (folder, name):
                self._one(folder, name, change, spare_name(self.mark, change.path))
        except ConflictError as error:
            self.outcome.refused.append(Refusal(change, str(error)))
            return False
        except (OSError, ValueError) as error:
            if change.after is None and isinstance(error, FileNotFoundError):
                return True
            self.outcome.refused.append(Refusal(change, _words(error)))
            return False
        return True

    def _one(self, folder: int, name: str, change: Change, spare: str) -> None:
        before, after = change.before, change.after
        if _is_folder_mode(change):
            assert after is not None
            with looked_at(folder, name) as (fd, state):
                check_mode(state, change)
                set_mode(fd, after.mode | OWNER_ALL)
                self.folders[change.path] = state.st_dev, state.st_ino
        elif after is None:
            assert before is not None
            delete(folder, name, before, spare)
        elif after.type is Type.FOLDER:
            self.folders[change.path] = add_folder(folder, name, after)
        else:
            place(folder, name, change, spare, self.blobs)

    def _finish_folder(self, change: Change, mode: int) -> bool:
        """Give a folder its mode, if it is still the one that was made or opened up."""
        try:
            with parent_of(self.root, change.path) as (folder, name), looked_at(folder, name) as (fd, state):
                if (state.st_dev, state.st_ino) != self.folders.get(change.path):
                    raise ConflictError("another folder stands there now")
                set_mode(fd, mode | stat.S_IMODE(state.st_mode) & ~PERMISSIONS)
        except (OSError, ConflictError) as error:
            self.outcome.refused.append(Refusal(change, _words(error) if isinstance(error, OSError) else str(error)))
            return False
        return True


def spare_name(mark: str, path: str) -> str:
    """The name beside `path` that a commit uses for a moment; the same one each time."""
    return f".skillkeep-{mark}-{hashlib.sha256(os.fsencode(path)).hexdigest()[:16]}"


def _is_folder_mode(change: Change) -> bool:
    return change.before is not None and change.after is not None and change.after.type is Type.FOLDER


def _is_new(change: Change) -> bool:
    return change.after is not None and not _is_folder_mode(change)


def _is_below(path: str, folders: frozenset[str]) -> bool:
    """Whether `path` is one of `folders`, or below one."""
    steps = path.split("/")
    return any("/".join(steps[:depth]) in folders for depth in range(1, len(steps) + 1))


def _words(error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and error.errno in (errno.ELOOP, errno.EXDEV, errno.ENOTDIR):
        return "a folder on the way is now a link, another mount or no folder"
    return (error.strerror if isinstance(error, OSError) else "") or str(error)
