"""A reviewer that is a program: a coding agent's command line. The prompt goes to its stdin, the reply is its stdout.

It runs in an empty folder of its own and in its own session; when its time is over every process there is ended.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from skillkeep.auditor.rubric.interface import Prompt, Reply, Reviewer, ReviewFailedError, SkipReason
from skillkeep.scratch import scratch

__all__ = ["CommandReviewer"]

_LARGEST_REPLY = 1 << 20


class CommandReviewer(Reviewer):
    """`argv` as the configuration gives it; `env` is the caller's environment, for the agent's own sign-in."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str]) -> None:
        self.name = os.path.basename(argv[0])
        self._argv = tuple(argv)
        self._env = dict(env)

    def ask(self, prompt: Prompt, seconds: float) -> Reply:
        """See `Reviewer.ask`."""
        text = f"{prompt.system}\n\n{prompt.user}\n".encode("utf-8", "replace")
        with scratch("rubric") as folder, tempfile.TemporaryFile() as stdin:
            stdin.write(text)
            stdin.seek(0)
            try:
                child = subprocess.Popen(
                    self._argv,
                    stdin=stdin,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    cwd=folder,
                    env=self._env,
                    start_new_session=True,
                )
            except (OSError, ValueError) as error:
                raise ReviewFailedError(SkipReason.UNREACHABLE, type(error).__name__) from None
            with child:
                try:
                    body = _output(child, time.monotonic() + seconds)
                finally:
                    if child.returncode is None:  # not reaped, so the number of its group is still its own
                        with suppress(ProcessLookupError):
                            os.killpg(child.pid, signal.SIGKILL)
        if not body.strip():
            raise ReviewFailedError(SkipReason.EMPTY)
        try:
            return Reply(body.decode("utf-8"))
        except UnicodeDecodeError:
            raise ReviewFailedError(SkipReason.MALFORMED, "not UTF-8") from None


def _output(child: subprocess.Popen[bytes], deadline: float) -> bytes:
    """All of the child's standard output, and its success, before `deadline`."""
    assert child.stdout
    body = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        while True:
            if not selector.select(max(0.0, deadline - time.monotonic())):
                raise ReviewFailedError(SkipReason.TIMEOUT)
            chunk = os.read(child.stdout.fileno(), 1 << 16)
            if not chunk:
                break
            body += chunk
            if len(body) > _LARGEST_REPLY:
                raise ReviewFailedError(SkipReason.TOO_LONG, f"more than {_LARGEST_REPLY} bytes")
    try:
        status = child.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise ReviewFailedError(SkipReason.TIMEOUT) from None
    if status != 0:
        raise ReviewFailedError(SkipReason.SERVER_ERROR, f"exit code {status}")
    return bytes(body)
