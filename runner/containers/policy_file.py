"""The policy of a run as a file that its payload may read, the same text as in the native sandbox.

In a container it stands at the native sandbox's path; a variable names the path. Outside it lies, while the
run lasts, in a folder that only the caller may enter, in memory where the machine has a place for that. Whoever made
the folder holds a lock on it that ends with the process, so the next run knows what a killed one left, and removes it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from skillkeep.errors import SkillkeepError
from skillkeep.files import io_errors, remove_tree, write_all
from skillkeep.runner.interface import SandboxPolicy
from skillkeep.runner.native.plan import POLICY_FILE, POLICY_VARIABLE, policy_text

__all__ = ["NAME", "PLACE", "hold", "named", "shown", "sweep", "write_policy"]

PLACE, NAME = os.path.split(POLICY_FILE)
_PREFIX = "skillkeep-policy-"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def named(env: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """`env` with the variable that names the file; a granted one of that name does not lead elsewhere."""
    return (*(pair for pair in env if pair[0] != POLICY_VARIABLE), (POLICY_VARIABLE, POLICY_FILE))


@contextlib.contextmanager
def shown(policy: SandboxPolicy) -> Iterator[str]:
    """A folder with the policy in it, and nothing else, for any user of a sandbox that is shown it; gone afterwards."""
    room = _room()
    sweep(room, _PREFIX)
    with io_errors("make a folder for the policy of a run"):
        outer, lock = _locked_folder(room)
    try:
        inner = os.path.join(outer, "shown")
        with io_errors("write the policy of a run"):
            os.mkdir(inner)
            os.chmod(inner, 0o755)  # noqa: S103  the folder around it is closed to others
            write_policy(inner, policy, 0o444)
        yield inner
    finally:
        remove_tree(Path(outer))
        os.close(lock)


def write_policy(folder: str, policy: SandboxPolicy, mode: int, group: int = -1) -> str:
    """Write the file into `folder`, with exactly `mode` and for `group` (-1: the caller's). Returns its path."""
    path = os.path.join(folder, NAME)
    fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o400)
    try:
        write_all(fd, policy_text(policy).encode())
        os.fchown(fd, -1, group)
        os.fchmod(fd, mode)
    finally:
        os.close(fd)
    return path


def hold(folder: str) -> int | None:
    """Lock `folder` against `sweep` until the descriptor is closed; None when a sweep has removed it."""
    try:
        fd = os.open(folder, _FOLDER)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        if os.path.samestat(os.fstat(fd), os.stat(folder)):
            return fd
    except FileNotFoundError:
        pass
    except BaseException:
        os.close(fd)
        raise
    os.close(fd)
    return None


def sweep(room: str, prefix: str, with_file: str = "") -> None:
    """Remove this user's folders in `room` that nobody holds any more, with `with_file` only those that have it."""
    with contextlib.suppress(OSError):
        for name in os.listdir(room):
            if name.startswith(prefix):
                with contextlib.suppress(OSError, SkillkeepError):
                    _remove_left(os.path.join(room, name), with_file)


def _remove_left(path: str, with_file: str) -> None:
    fd = os.open(path, _FOLDER)
    try:
        if os.fstat(fd).st_uid != os.geteuid() or not os.path.lexists(os.path.join(path, with_file)):
            return
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        remove_tree(Path(path))
    finally:
        os.close(fd)


def _locked_folder(room: str) -> tuple[str, int]:
    while True:
        folder = tempfile.mkdtemp(prefix=_PREFIX, dir=room)
        lock = hold(folder)
        if lock is not None:
            return folder, lock


def _room() -> str:
    for place in (os.environ.get("XDG_RUNTIME_DIR", ""), "/dev/shm"):  # noqa: S108  both lie in memory
        if place and os.path.isdir(place) and os.access(place, os.W_OK | os.X_OK):
            return os.path.realpath(place)
    return os.path.realpath(tempfile.gettempdir())
