"""Running a command line tool that is a sandbox's only interface: its streams kept up to a cap, and a time limit."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

from skillkeep.runner.capture import Capture
from skillkeep.runner.errors import RunnerError
from skillkeep.runner.interface import Cause

__all__ = ["Bounds", "Ran", "ask", "run_program"]

_CHUNK = 65_536
_ASK_SECONDS = 30.0
_ASK_BYTES = 4 << 20


@dataclass(frozen=True)
class Bounds:
    """Bytes kept of each stream, and seconds until the program is killed."""

    output_bytes: int = _ASK_BYTES
    seconds: float = _ASK_SECONDS


@dataclass(frozen=True)
class Ran:
    """A program that has ended: its exit code (None: it was killed here), both streams, and why it ended."""

    code: int | None
    stdout: Capture
    stderr: Capture
    ended: Cause
    seconds: float


def ask(argv: Sequence[str], stdin: bytes = b"", bounds: Bounds = Bounds()) -> Ran:
    """Run a short command that tells something. Raises `RunnerError` (`backend_failed`) when it cannot be started."""
    return run_program(argv, stdin, bounds, time.monotonic)


def run_program(argv: Sequence[str], stdin: bytes | int | None, bounds: Bounds, monotonic: Callable[[], float]) -> Ran:
    """Run `argv` to its end, to a stream's cap or to the time limit, in a process group of its own.

    Raises `RunnerError` (`backend_failed`) when it cannot be started.
    """
    began = monotonic()
    with _input(stdin) as source:
        try:
            process = subprocess.Popen(
                list(argv), stdin=source, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
            )
        except OSError as error:
            hint = "Run `runner doctor` to see what this backend needs."
            raise RunnerError("backend_failed", f"{argv[0]} cannot be started: {error.strerror}", hint) from error
    stdout, stderr = Capture(bounds.output_bytes), Capture(bounds.output_bytes)
    with process:
        assert process.stdout is not None
        assert process.stderr is not None
        deadline = began + bounds.seconds
        try:
            ended = _read({process.stdout: stdout, process.stderr: stderr}, deadline, monotonic)
            if ended is Cause.EXIT:
                ended = _wait(process, deadline - monotonic())
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    return Ran(process.returncode if ended is Cause.EXIT else None, stdout, stderr, ended, monotonic() - began)


@contextmanager
def _input(stdin: bytes | int | None) -> Iterator[int]:
    if isinstance(stdin, int):
        yield stdin
    elif stdin:
        with tempfile.TemporaryFile() as file:
            file.write(stdin)
            file.seek(0)
            yield file.fileno()
    else:
        yield subprocess.DEVNULL


def _read(streams: dict[IO[bytes], Capture], deadline: float, monotonic: Callable[[], float]) -> Cause:
    poll = select.poll()
    captures = {stream.fileno(): capture for stream, capture in streams.items()}
    for fd in captures:
        poll.register(fd, select.POLLIN)
    left = len(captures)
    while left:
        remaining = deadline - monotonic()
        if remaining <= 0:
            return Cause.TIMEOUT
        for fd, _ in poll.poll(min(remaining, 3600) * 1000 + 1):
            data = os.read(fd, _CHUNK)
            if not data:
                poll.unregister(fd)
                left -= 1
            elif not captures[fd].feed(data):
                return Cause.OUTPUT_CAP
    return Cause.EXIT


def _wait(process: subprocess.Popen[bytes], left: float) -> Cause:
    try:
        process.wait(max(left, 0.001))
    except subprocess.TimeoutExpired:
        return Cause.TIMEOUT
    return Cause.EXIT
