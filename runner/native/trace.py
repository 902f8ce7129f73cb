"""Starts and ends the tracer of a run that is to be explained, and reads what it noted."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from typing import Any

from skillkeep.kernel.libc import guarded
from skillkeep.kernel.process import RESET_SIGNALS
from skillkeep.runner.native.failures import LayerError
from skillkeep.runner.native.way_out import own_starter

__all__ = ["LAYER", "Trace"]

LAYER = "trace"
_MOST_BYTES = 24_000
"""Of an answer to the caller."""
_BROKE = "the tracer broke, and the payload ended with it"


class Trace:
    """A tracer of `payload` (a host pid); `fd` becomes readable when it watches, or has ended. Raises KernelError."""

    def __init__(self, payload: int, network: bool) -> None:
        self._log = os.memfd_create("skillkeep-trace", os.MFD_CLOEXEC)
        self.fd, told = os.pipe2(os.O_CLOEXEC)
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        try:
            with guarded(LAYER, "start the tracer"):
                self.pid = os.posix_spawn(
                    sys.executable,
                    [*own_starter(), "tracer", str(os.getpid()), str(payload), str(int(network))],
                    {},
                    file_actions=[(os.POSIX_SPAWN_DUP2, fd, at) for at, fd in ((0, told), (1, self._log), (2, null))],
                    setsigmask=(),
                    setsigdef=RESET_SIGNALS,
                )
        except BaseException:
            os.close(self._log)
            os.close(self.fd)
            raise
        finally:
            os.close(null)
            os.close(told)

    def heard(self) -> None:
        """`fd` is readable: it watches, and `fd` is closed. Raises LayerError when it does not."""
        told = os.read(self.fd, 64)
        self.close()
        if not told:
            hint = "Run it without --explain; the kernel may forbid ptrace (kernel.yama.ptrace_scope=3)."
            raise LayerError(LAYER, "the tracer could not watch the payload", hint)

    def close(self) -> None:
        """Wait for its word no longer."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def end(self) -> list[dict[str, Any]]:
        """End it, and whatever it still watches; what it noted, oldest first."""
        self.close()
        early, status = os.waitpid(self.pid, os.WNOHANG)
        if not early:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        text = os.pread(self._log, _MOST_BYTES, 0).decode("utf-8", "replace")
        os.close(self._log)
        notes = [json.loads(line) for line in text[: text.rfind("\n") + 1].split("\n")[:-1]]
        if early and status:
            notes.append({"call": "ptrace", "errno": 0, "wish": "watch", "path": "", "layer": LAYER, "why": _BROKE})
        return notes
