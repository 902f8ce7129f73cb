"""The steps of a commit, one name at a time: each is done whole, or the project is as it was.

A name is first checked against what stood there when the tool ended. New content is written beside it under a spare
name and changes places with it (renameat2(2)); what came out is checked once more and put back when it is something
else. A spare name that is found at the start was left by a commit that was cut short.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from skillkeep.files import write_all
from skillkeep.runner.dryrun.beneath import exchange, move_new
from skillkeep.runner.dryrun.change import After, Change, Stamp, Type
from skillkeep.runner.dryrun.owner import made_for

__all__ = [
    "OWNER_ALL", "PERMISSIONS", "ConflictError", "add_folder", "at", "check_mode", "delete", "is_wanted", "looked_at",
    "place", "put_back", "set_mode", "tidy",
]  # fmt: skip

_CHUNK = 1 << 20
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
OWNER_ALL = 0o700
PERMISSIONS = 0o777


class ConflictError(Exception):
    """The project is not as it was."""


@contextlib.contextmanager
def looked_at(folder: int, name: str) -> Iterator[tuple[int, os.stat_result]]:
    """What stands at `name` now, held fast: a link is the link itself."""
    fd = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        yield fd, os.fstat(fd)
    finally:
        os.close(fd)


def set_mode(fd: int, mode: int) -> None:
    """Of what an O_PATH descriptor holds, which is no link."""
    os.chmod(f"/proc/self/fd/{fd}", mode)


def check_mode(state: os.stat_result, change: Change) -> None:
    """A folder's mode may be what it was, what it shall be, or that of a commit that was cut short."""
    assert change.before is not None
    assert change.after is not None
    if not change.before.matches(state):
        raise ConflictError("another folder stands there now")
    known = (change.before.mode & PERMISSIONS, change.after.mode, change.after.mode | OWNER_ALL)
    if stat.S_IMODE(state.st_mode) & PERMISSIONS not in known:
        raise ConflictError("its mode was changed in the project meanwhile")


def delete(folder: int, name: str, before: Stamp, spare: str) -> None:
    """Remove `name` if it is still what stood there: moved aside first, looked at, then gone. Raises ConflictError."""
    if before.type is Type.FOLDER:
        state = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if not before.matches(state):
            raise ConflictError("something else stands there now")
        try:
            os.rmdir(name, dir_fd=folder)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            raise ConflictError("it holds something that was not deleted") from error
        return
    again = at(folder, spare) is not None  # moved aside by a commit that was cut short
    if again:
        put_back(folder, spare, name)
    if not before.matches(os.stat(name, dir_fd=folder, follow_symlinks=False), moved=again):
        raise ConflictError("it was changed in the project meanwhile")
    move_new(folder, name, spare)
    if not before.matches(os.stat(spare, dir_fd=folder, follow_symlinks=False), moved=True):
        put_back(folder, spare, name)
        raise ConflictError("it was changed in the project meanwhile")
    os.unlink(spare, dir_fd=folder)


def put_back(folder: int, spare: str, name: str) -> None:
    """Give what was moved aside its name again. Raises ConflictError when the name is taken."""
    try:
        move_new(folder, spare, name)
    except FileExistsError as error:
        raise ConflictError(f"it is there again; what it was is kept beside it as {spare}") from error


def add_folder(folder: int, name: str, after: After) -> tuple[int, int]:
    """Make a folder that its owner may fill; one that is there already will do. Returns its device and inode.

    Raises ConflictError, also when somebody put another in its place right away: as root, one of somebody else than the
    folder around it, or one that is not empty.
    """
    owner, new = os.fstat(folder), True
    try:
        with made_for(owner):
            os.mkdir(name, after.mode | OWNER_ALL, dir_fd=folder)
    except FileExistsError:
        new = False
    with looked_at(folder, name) as (fd, state):
        if not stat.S_ISDIR(state.st_mode):
            raise ConflictError("something else stands there now")
        if os.geteuid() == 0 and (state.st_uid != owner.st_uid or (new and os.listdir(f"/proc/self/fd/{fd}"))):
            raise ConflictError("another folder stands there now")
        return state.st_dev, state.st_ino


def place(folder: int, name: str, change: Change, spare: str, blobs: Path) -> None:
    """Put a file or a link where it belongs. A file with other names, which may lie anywhere, is replaced by a copy."""
    after, before = change.after, change.before
    assert after is not None
    state = at(folder, name)
    if state is not None and is_wanted(folder, name, state, after):
        tidy(folder, name, before, spare)
        return
    if (state is None) != (before is None) or (state is not None and before is not None and not before.matches(state)):
        raise ConflictError("it was changed in the project meanwhile")
    if before is not None and change.same_content and state is not None and state.st_nlink == 1:
        with looked_at(folder, name) as (fd, now):
            if not before.matches(now) or now.st_nlink != 1:
                raise ConflictError("it was changed in the project meanwhile")
            set_mode(fd, after.mode)
        return
    with contextlib.suppress(FileNotFoundError):
        os.unlink(spare, dir_fd=folder)
    with _written((folder, name, spare), after, blobs, state):
        if state is None or before is None:
            try:
                move_new(folder, spare, name)
            except FileExistsError as error:
                raise ConflictError("something was put there meanwhile") from error
            return
        try:
            exchange(folder, spare, name)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            os.rename(spare, name, src_dir_fd=folder, dst_dir_fd=folder)  # a file system without an exchange
            return
        tidy(folder, name, before, spare)


def tidy(folder: int, name: str, before: Stamp | None, spare: str) -> None:
    """After an exchange: what came out goes, if it is what was there before; else it is put back."""
    state = at(folder, spare)
    if state is None:
        return
    if before is not None and not before.matches(state, moved=True):
        exchange(folder, spare, name)
        os.unlink(spare, dir_fd=folder)
        raise ConflictError("it was changed in the project meanwhile")
    os.unlink(spare, dir_fd=folder)


@contextlib.contextmanager
def _written(place: tuple[int, str, str], after: After, blobs: Path, old: os.stat_result | None) -> Iterator[None]:
    """The new file or link in the folder, for the name, under the spare name; removed if it could not be placed."""
    folder, name, spare = place
    try:
        if after.type is Type.LINK:
            with made_for(os.fstat(folder)):
                os.symlink(after.target, spare, dir_fd=folder)
        else:
            fd = os.open(spare, _NEW, 0o600, dir_fd=folder)
            try:
                _fill(fd, after, blobs)
                if old is not None:
                    _keep_attributes(folder, name, old, fd)
                _give(fd, old or os.fstat(folder))
                os.fchmod(fd, after.mode)
                os.fsync(fd)
            finally:
                os.close(fd)
        yield
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(spare, dir_fd=folder)
        raise


def _keep_attributes(folder: int, name: str, known: os.stat_result, fd: int) -> None:
    """The user's attributes and the access list of the file that is replaced; capabilities go, as after any write."""
    with contextlib.suppress(OSError):  # there is none, or it may not be read
        old = os.open(name, _READ, dir_fd=folder)
        try:
            same = os.path.samestat(os.fstat(old), known)
            for attribute in os.listxattr(old) if same else ():
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
        raise ConflictError("its stored content is damaged")


def _give(fd: int, like: os.stat_result) -> None:
    """As root: the file that was just made as `fd`, and nothing that a name may stand for by now, gets that owner."""
    if os.geteuid() == 0:
        os.fchown(fd, like.st_uid, like.st_gid)


def is_wanted(folder: int, name: str, state: os.stat_result, after: After) -> bool:
    """Whether what stands at `name` is already what should."""
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


def at(folder: int, name: str) -> os.stat_result | None:
    """What stands at `name`, or None."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
