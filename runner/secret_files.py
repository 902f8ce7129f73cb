"""Granted variables as files instead: a value in no environment, which children inherit and crash reports print.

The value lies in a folder that only the caller may enter, in memory where the machine has a place for that, while
the run lasts, and no longer when the caller is killed; the sandbox shows it read-only at ``/secrets/NAME``, and
``NAME_FILE`` says so.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace

from skillkeep.files import io_errors
from skillkeep.runner.errors import RunnerError
from skillkeep.runner.guard import after_death
from skillkeep.runner.interface import Bind, SandboxPolicy
from skillkeep.text import printable_path

__all__ = ["PLACE", "as_files"]

PLACE = "/secrets"
_PREFIX = "skillkeep-secrets-"


@contextlib.contextmanager
def as_files(policy: SandboxPolicy, names: Sequence[str]) -> Iterator[SandboxPolicy]:
    """`policy` with the variables `names`, which it has, as files; they are gone with the block.

    Raises `RunnerError` (`bad_policy`) for a name that is not in the policy or cannot be a file's name,
    `SkillkeepError` (`io_error`).
    """
    if not names:
        yield policy
        return
    values = dict(policy.env)
    for name in names:
        if name not in values or not name.isidentifier():
            hint = "Name a granted variable that is set, made of letters, digits and underscores."
            raise RunnerError("bad_policy", f"{printable_path(name)} cannot be given as a file", hint)
    room = _room()
    _sweep(room)
    folder = os.path.realpath(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=room))
    with contextlib.ExitStack() as held:
        held.callback(shutil.rmtree, folder, ignore_errors=True)
        with io_errors("start a shell that removes the secrets of a killed run"):
            held.enter_context(after_death('rm -rf -- "$1"', folder))
        binds = tuple(Bind(_written(folder, name, values[name]), f"{PLACE}/{name}") for name in dict.fromkeys(names))
        kept = tuple((name, value) for name, value in policy.env if name not in names)
        told = tuple((f"{name}_FILE", f"{PLACE}/{name}") for name in dict.fromkeys(names))
        yield replace(policy, env=(*kept, *told), binds=(*policy.binds, *binds))


def _written(folder: str, name: str, value: str) -> str:
    """Any user of the sandbox may read the file; nobody else gets past the folder, which is the caller's."""
    path = os.path.join(folder, name)
    fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o400)
    with os.fdopen(fd, "wb") as file:
        os.fchmod(fd, 0o444)  # whatever the caller's umask says
        file.write(value.encode("utf-8", "surrogateescape"))
    return os.path.realpath(path)


def _room() -> str:
    for place in (os.environ.get("XDG_RUNTIME_DIR", ""), "/dev/shm"):  # noqa: S108  both lie in memory
        if place and os.path.isdir(place) and os.access(place, os.W_OK | os.X_OK):
            return place
    return tempfile.gettempdir()


def _sweep(room: str) -> None:
    """Remove what a killed caller of this user left."""
    for name in os.listdir(room):
        pid = name.removeprefix(_PREFIX).partition("-")[0]
        path = os.path.join(room, name)
        if not name.startswith(_PREFIX) or not pid.isdigit() or os.path.exists(f"/proc/{pid}"):
            continue
        with contextlib.suppress(OSError):
            if os.lstat(path).st_uid == os.geteuid():
                shutil.rmtree(path)
