"""The policy of a run as a file that its payload may read, the same text as in the native sandbox.

In a container it stands at the native sandbox's path; a variable names the path. Outside it lies, while the
run lasts, in a folder that only the caller may enter (`scratch`), in memory where the machine has a place for that.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator

from skillkeep.files import io_errors, write_all
from skillkeep.runner.interface import SandboxPolicy
from skillkeep.runner.native.plan import POLICY_FILE, POLICY_VARIABLE, policy_text
from skillkeep.scratch import scratch

__all__ = ["NAME", "PLACE", "named", "shown", "write_policy"]

PLACE, NAME = os.path.split(POLICY_FILE)


def named(env: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """`env` with the variable that names the file; a granted one of that name does not lead elsewhere."""
    return (*(pair for pair in env if pair[0] != POLICY_VARIABLE), (POLICY_VARIABLE, POLICY_FILE))


@contextlib.contextmanager
def shown(policy: SandboxPolicy) -> Iterator[str]:
    """A folder with the policy in it, and nothing else, for any user of a sandbox that is shown it; gone afterwards."""
    with scratch("policy", _room()) as outer:
        inner = os.path.join(outer, "shown")
        with io_errors("write the policy of a run"):
            os.mkdir(inner)
            os.chmod(inner, 0o755)  # noqa: S103  the folder around it is closed to others
            write_policy(inner, policy, 0o444)
        yield inner


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


def _room() -> str:
    for place in (os.environ.get("XDG_RUNTIME_DIR", ""), "/dev/shm"):  # noqa: S108  both lie in memory
        if place and os.path.isdir(place) and os.access(place, os.W_OK | os.X_OK):
            return os.path.realpath(place)
    return os.path.realpath(tempfile.gettempdir())
