"""Starts and ends the egress proxy of a run, and reads what it noted."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.libc import guarded
from skillkeep.kernel.process import RESET_SIGNALS
from skillkeep.runner.egress.place import LOG_BYTES

__all__ = ["LAYER", "WayOut", "own_starter"]

LAYER = "egress"
_MOST_ATTEMPTS = 200


class WayOut:
    """A running proxy for `listener`, a socket inside the sandbox; takes `listener` over. Raises KernelError.

    `starter` is the command line that starts our own programs, where it is not the one of this very process.
    """

    def __init__(self, listener: int, grants: Sequence[str], starter: Sequence[str] = ()) -> None:
        self._log = os.memfd_create("skillkeep-egress", os.MFD_CLOEXEC)
        null = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
        try:
            with guarded(LAYER, "start the egress proxy"):
                placed = ((0, listener), (1, self._log), (2, null))
                self.pid = os.posix_spawn(
                    sys.executable,
                    [*(starter or own_starter()), "proxy", str(os.getpid()), *grants],
                    {},
                    file_actions=[(os.POSIX_SPAWN_DUP2, fd, target) for target, fd in placed],
                    setsigmask=(),
                    setsigdef=RESET_SIGNALS,
                )
        except KernelError:
            os.close(self._log)
            raise
        finally:
            os.close(null)
            os.close(listener)

    def end(self) -> list[dict[str, Any]]:
        """Kill the proxy; what it noted, oldest first. A proxy that had ended before says so as a refused attempt."""
        early = os.waitpid(self.pid, os.WNOHANG)[0] == self.pid
        if not early:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        data = os.pread(self._log, min(os.fstat(self._log).st_size, LOG_BYTES), 0)
        os.close(self._log)
        attempts = _listed(data.splitlines())
        if early:
            attempts.append({"host": "", "port": 0, "allowed": False, "reason": "the egress proxy ended early"})
        return attempts


def _listed(lines: list[bytes]) -> list[dict[str, Any]]:
    """All, or of very many each once, those that were let through before others; what is left out is said.

    So nobody hides where it went behind a crowd of attempts that go nowhere.
    """
    if len(lines) <= _MOST_ATTEMPTS:
        return list(map(_read, lines))
    once = sorted(dict.fromkeys(lines), key=lambda line: b'"allowed": true' not in line and b'"host": "",' not in line)
    kept = list(map(_read, once[: _MOST_ATTEMPTS - 1]))
    reason = f"{len(lines)} attempts were noted; each is listed once, and {len(once) - len(kept)} are not"
    return [*kept, {"host": "", "port": 0, "allowed": False, "reason": reason}]


def _read(line: bytes) -> dict[str, Any]:
    """One line of the log; the proxy reads what strangers send, so its own words may be anything."""
    with contextlib.suppress(ValueError):
        found = json.loads(line)
        shape = {name: type(value) for name, value in found.items()} if isinstance(found, dict) else {}
        if shape == {"host": str, "port": int, "allowed": bool, "reason": str}:
            return dict(found)
    return {"host": "", "port": 0, "allowed": False, "reason": "the egress proxy noted something unreadable"}


def own_starter() -> list[str]:
    """The command line of this very process up to what it was to do (see `boot`)."""
    words = sys.orig_argv
    return [sys.executable, *words[1 : words.index("--") + 1]]
