"""What has to be done when this process is killed: a shell waits for that, as SIGKILL lets nobody tidy up."""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import Iterator

from skillkeep.runner.interface import PATH

__all__ = ["after_death"]

_WAIT = "read -r word || {{ {action}; }}"
_OUTLIVED = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)


@contextlib.contextmanager
def after_death(action: str, *words: str) -> Iterator[None]:
    """For the block: when this process ends within it, however that comes, a shell carries out `action`.

    `words` are its ``$1`` and so on. Nothing is done when the block ends. Raises OSError when no shell can be started.
    """
    # Whoever ends a group of processes tells all of it, and the shell is to be the last.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _OUTLIVED)
    try:
        guard = subprocess.Popen(
            ["/bin/sh", "-c", _WAIT.format(action=action), "skillkeep", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={"PATH": PATH},
            cwd="/",
            start_new_session=True,
            bufsize=0,
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    try:
        yield
    finally:
        assert guard.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # somebody killed it
            guard.stdin.write(b"over\n")
        guard.stdin.close()
        guard.wait()
