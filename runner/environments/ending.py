"""What is in a standing environment, and its end."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time

from skillkeep.kernel.procfs import started_at
from skillkeep.runner.environments.standing import Standing

__all__ = ["kill_all", "processes_of"]

_KILL_SECONDS = 10.0


def processes_of(standing: Standing) -> list[int]:
    """Host pids of everything in the environment's user namespace, its holder included."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                if os.stat(f"/proc/{name}/ns/user").st_ino == standing.namespaces["user"]:
                    found.append(int(name))
    return found


def kill_all(standing: Standing) -> None:
    """Kill the holder and all that is in the environment, until nothing is."""
    deadline = time.monotonic() + _KILL_SECONDS
    # First: whoever waits for a command that is killed then knows why.
    _kill_and_wait(standing.holder, deadline)
    while (pids := [pid for pid in processes_of(standing) if started_at(pid) >= 0]) and time.monotonic() < deadline:
        for pid in pids:
            _kill_and_wait(pid, deadline)


def _kill_and_wait(pid: int, deadline: float) -> None:
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        poll = select.poll()
        poll.register(pidfd, select.POLLIN)
        poll.poll(1000 * max(deadline - time.monotonic(), 0))
    except ProcessLookupError:
        return
    finally:
        os.close(pidfd)
