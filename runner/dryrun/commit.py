"""Taking a dry run's changes into the project: each name in one step, or not at all, and again after a crash.

A name is first checked against what stood there when the tool ended. New content is written beside it under a name
of ours and changes places with it (renameat2(2)); what came out is checked once more and put back when it is
something else. Killed at any moment, the project holds old or new files only, and the next commit tidies up.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from skillkeep.files import write_all
from skillkeep.runner.dryrun.beneath import exchange, move_new, open_root, parent_of
from skillkeep.runner.dryrun.change import After, Change, FolderChanges, Stamp, Type

__all__ = ["Outcome", "Refusal", "commit_folder", "spare_name", "tidy_folder"]

_CHUNK = 1 << 20
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_OWNER_ALL = 0o700
_PERMISSIONS = 0o777


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


class _ConflictError(Exception):
    """The project is not as it was."""


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
                with contextlib.suppress(OSError, ValueError, _ConflictError), parent_of(root, change.path) as place:
                    _undo(*place, change, spare_name(mark, change.path))
        finally:
            os.close(root)


def _undo(folder: int, name: str, change: Change, spare: str) -> None:
    state = _at(folder, name)
    if _at(folder, spare) is None:
        return
    if change.after is None:
        _back(folder, spare, name)
    elif state is not None and _is_wanted(folder, name, state, change.after):
        _tidy(folder, name, change.before, spare)
    else:
        os.unlink(spare, dir_fd=folder)


@dataclass
class _Commit:
    root: int
    blobs: Path
    mark: str
    outcome: Outcome

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
                self.outcome.done += int(self._finish_folder(change, change.after.mode) and change.path in opened)

    def _replaced(self, changes: tuple[Change, ...]) -> frozenset[str]:
        """Paths where, after a commit that was cut short, the new thing stands already in the place of the old."""
        deleted = {change.path for change in changes if change.after is None}
        found = []
        for change in changes:
            if change.path in deleted and change.after is not None:
                with contextlib.suppress(OSError, ValueError), parent_of(self.root, change.path) as (folder, name):
                    state = os.stat(name, dir_fd=folder, follow_symlinks=False)
                    if _is_wanted(folder, name, state, change.after):
                        found.append(change.path)
        return frozenset(found)

    def _try(self, change: Change) -> bool:
        try:
            if change.conflict:
                raise _ConflictError("it was changed in the project while the tool ran")
            with parent_of(self.root, change.path) as (folder, name):
                self._one(folder, name, change, spare_name(self.mark, change.path))
        except _ConflictError as error:
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
            with _looked_at(folder, name) as (fd, state):
                _check_mode(state, change)
                _set_mode(fd, after.mode | _OWNER_ALL)
        elif after is None:
            assert before is not None
            _delete(folder, name, before, spare)
        elif after.type is Type.FOLDER:
            _add_folder(folder, name, after)
        else:
            _place(folder, name, change, spare, self.blobs)

    def _finish_folder(self, change: Change, mode: int) -> bool:
        try:
            with parent_of(self.root, change.path) as (folder, name), _looked_at(folder, name) as (fd, state):
                if not stat.S_ISDIR(state.st_mode):
                    raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
                _set_mode(fd, mode | stat.S_IMODE(state.st_mode) & ~_PERMISSIONS)
        except OSError as error:
            self.outcome.refused.append(Refusal(change, _words(error)))
            return False
        return True


def spare_name(mark: str, path: str) -> str:
    """The name beside `path` that a commit uses for a moment; the same one each time."""
    return f".skillkeep-{mark}-{hashlib.sha256(os.fsencode(path)).hexdigest()[:16]}"


def _is_folder_mode(change: Change) -> bool:
    return change.before is not None and change.after is not None and change.after.type is Type.FOLDER


def _is_new(change: Change) -> bool:
    return change.after is not None and not _is_folder_mode(change)


@contextlib.contextmanager
def _looked_at(folder: int, name: str) -> Iterator[tuple[int, os.stat_result]]:
    """What stands at `name` now, held fast: a link is the link itself."""
    fd = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        yield fd, os.fstat(fd)
    finally:
        os.close(fd)


def _set_mode(fd: int, mode: int) -> None:
    """Of what an O_PATH descriptor holds, which is no link."""
    os.chmod(f"/proc/self/fd/{fd}", mode)


def _check_mode(state: os.stat_result, change: Change) -> None:
    """A folder's mode may be what it was, what it shall be, or that of a commit that was cut short."""
    assert change.before is not None
    assert change.after is not None
    if not change.before.matches(state):
        raise _ConflictError("another folder stands there now")
    known = (change.before.mode & _PERMISSIONS, change.after.mode, change.after.mode | _OWNER_ALL)
    if stat.S_IMODE(state.st_mode) & _PERMISSIONS not in known:
        raise _ConflictError("its mode was changed in the project meanwhile")


def _delete(folder: int, name: str, before: Stamp, spare: str) -> None:
    if before.type is Type.FOLDER:
        state = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if not before.matches(state):
            raise _ConflictError("something else stands there now")
        try:
            os.rmdir(name, dir_fd=folder)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            raise _ConflictError("it holds something that was not deleted") from error
        return
    again = _at(folder, spare) is not None  # moved aside by a commit that was cut short
    if again:
        _back(folder, spare, name)
    if not before.matches(os.stat(name, dir_fd=folder, follow_symlinks=False), moved=again):
        raise _ConflictError("it was changed in the project meanwhile")
    move_new(folder, name, spare)
    if not before.matches(os.stat(spare, dir_fd=folder, follow_symlinks=False), moved=True):
        _back(folder, spare, name)
        raise _ConflictError("it was changed in the project meanwhile")
    os.unlink(spare, dir_fd=folder)


def _back(folder: int, spare: str, name: str) -> None:
    try:
        move_new(folder, spare, name)
    except FileExistsError as error:
        raise _ConflictError(f"it is there again; what it was is kept beside it as {spare}") from error


def _add_folder(folder: int, name: str, after: After) -> None:
    try:
        os.mkdir(name, after.mode | _OWNER_ALL, dir_fd=folder)
    except FileExistsError as error:
        state = _at(folder, name)
        if state is None or not stat.S_ISDIR(state.st_mode):
            raise _ConflictError("something else stands there now") from error
        return
    with _looked_at(folder, name) as (fd, state):
        _give(fd, state, os.fstat(folder))


def _place(folder: int, name: str, change: Change, spare: str, blobs: Path) -> None:
    """Put a file or a link where it belongs."""
    after, before = change.after, change.before
    assert after is not None
    state = _at(folder, name)
    if state is not None and _is_wanted(folder, name, state, after):
        _tidy(folder, name, before, spare)
        return
    if (state is None) != (before is None) or (state is not None and before is not None and not before.matches(state)):
        raise _ConflictError("it was changed in the project meanwhile")
    if before is not None and change.same_content:
        with _looked_at(folder, name) as (fd, now):
            if not before.matches(now):
                raise _ConflictError("it was changed in the project meanwhile")
            _set_mode(fd, after.mode)
        return
    with contextlib.suppress(FileNotFoundError):
        os.unlink(spare, dir_fd=folder)
    with _written((folder, name, spare), after, blobs, state):
        if state is None or before is None:
            try:
                move_new(folder, spare, name)
            except FileExistsError as error:
                raise _ConflictError("something was put there meanwhile") from error
            return
        try:
            exchange(folder, spare, name)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            os.rename(spare, name, src_dir_fd=folder, dst_dir_fd=folder)  # a file system without an exchange
            return
        _tidy(folder, name, before, spare)


def _tidy(folder: int, name: str, before: Stamp | None, spare: str) -> None:
    """After an exchange: what came out goes, if it is what was there before; else it is put back."""
    state = _at(folder, spare)
    if state is None:
        return
    if before is not None and not before.matches(state, moved=True):
        exchange(folder, spare, name)
        os.unlink(spare, dir_fd=folder)
        raise _ConflictError("it was changed in the project meanwhile")
    os.unlink(spare, dir_fd=folder)


@contextlib.contextmanager
def _written(place: tuple[int, str, str], after: After, blobs: Path, old: os.stat_result | None) -> Iterator[None]:
    """The new file or link in the folder, for the name, under the spare name; removed if it could not be placed."""
    folder, name, spare = place
    try:
        if after.type is Type.LINK:
            os.symlink(after.target, spare, dir_fd=folder)
            with _looked_at(folder, spare) as (fd, state):
                _give(fd, state, old or os.fstat(folder))
        else:
            fd = os.open(spare, _NEW, 0o600, dir_fd=folder)
            try:
                _fill(fd, after, blobs)
                _keep_attributes(folder, name, fd)
                _give(fd, os.fstat(fd), old or os.fstat(folder))
                os.fchmod(fd, after.mode)
                os.fsync(fd)
            finally:
                os.close(fd)
        yield
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(spare, dir_fd=folder)
        raise


def _keep_attributes(folder: int, name: str, fd: int) -> None:
    """The user's attributes and the access list of the file that is replaced; capabilities go, as after any write."""
    with contextlib.suppress(OSError):  # there is none, or it may not be read
        old = os.open(name, _READ, dir_fd=folder)
        try:
            for attribute in os.listxattr(old):
                if attribute.startswith("user.") or attribute == "system.posix_acl_access":
                    os.setxattr(fd, attribute, os.getxattr(old, attribute))
        finally:
            os.close(old)


def _fill(fd: int, after: After, blobs: Path) -> None:
    digest = hashlib.sha256()
    with open(blobs / after.blob, "rb") as blob:
        while data := blob.read(_CHUNK):
            digest.update(data)
            write_all(fd, data)
    if digest.hexdigest() != after.digest:
        raise _ConflictError("its stored content is damaged")


def _give(fd: int, made: os.stat_result, like: os.stat_result) -> None:
    """As root: what was just made goes to the owner of what was there, or of the folder."""
    if os.geteuid() == 0 and made.st_uid == 0 and (made.st_nlink == 1 or stat.S_ISDIR(made.st_mode)):
        os.chown(f"/proc/self/fd/{fd}", like.st_uid, like.st_gid)


def _is_below(path: str, folders: frozenset[str]) -> bool:
    """Whether `path` is one of `folders`, or below one."""
    steps = path.split("/")
    return any("/".join(steps[:depth]) in folders for depth in range(1, len(steps) + 1))


def _is_wanted(folder: int, name: str, state: os.stat_result, after: After) -> bool:
    if after.type is Type.FOLDER:
        return stat.S_ISDIR(state.st_mode)
    if after.type is Type.LINK:
        return stat.S_ISLNK(state.st_mode) and os.readlink(name, dir_fd=folder) == after.target
    mode = stat.S_IMODE(state.st_mode)
    if not stat.S_ISREG(state.st_mode) or (state.st_size, mode) != (after.size, after.mode):
        return False
    fd = os.open(name, _READ, dir_fd=folder)
    digest = hashlib.sha256()
    try:
        while data := os.read(fd, _CHUNK):
            digest.update(data)
    finally:
        os.close(fd)
    return digest.hexdigest() == after.digest


def _at(folder: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _words(error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and error.errno in (errno.ELOOP, errno.EXDEV, errno.ENOTDIR):
        return "a folder on the way is now a link, another mount or no folder"
    return (error.strerror if isinstance(error, OSError) else "") or str(error)
