"""An ordinary process of the caller, with limits and a clean environment: no sandbox. For tier 1 alone (law 4)."""

from __future__ import annotations

import contextlib
import math
import os
import resource
import select
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from skillkeep.clock import SYSTEM_CLOCK, Clock
from skillkeep.runner.capture import Capture
from skillkeep.runner.errors import RunnerError
from skillkeep.runner.guard import after_death
from skillkeep.runner.interface import (
    PATH,
    Assurance,
    AssuranceLevel,
    Availability,
    Backend,
    Cause,
    Layer,
    RunRequest,
    RunResult,
)
from skillkeep.scratch import scratch
from skillkeep.vault.interface import Tier, VaultedTool

__all__ = ["LOSSES", "Launched", "LocalBackend", "Seen"]

LOSSES = (
    "no sandbox: the tool ran as an ordinary process of yours, with your files and your network",
    "memory is bounded for each process, not for all together; processes and /tmp are not bounded",
    "a process that leaves the run's process group outlives it",
)
# The limits are set by a shell in the new process, before it becomes the tool: no Python runs between fork and exec.
# First it waits for the word: there is none when the runner is killed before there is a guard. sh closes 3 to 9 alone.
_LAUNCH = (
    'case "$1" in [3-9]) read -r go <&"$1" && eval "exec $1<&-" ;; *) read -r go <"/dev/fd/$1" ;; esac || exit 125; '
    "shift; "
    'ulimit -c 0 && ulimit -n "$1" && ulimit -f "$2" && ulimit -t "$3" && ulimit -d "$4" || exit 125; '
    'shift 4; exec "$@"'
)
_KILL_GROUP = 'kill -s KILL -- "-$1"'
_CHUNK = 65_536
_STEP_SECONDS = 0.05
_DRAIN_SECONDS = 0.5


@dataclass(frozen=True)
class Seen:
    """What came out, and why it ended."""

    stdout: Capture
    stderr: Capture
    ended: Cause


@dataclass(frozen=True)
class Launched:
    """A process that waits to become the tool until it is let `go`."""

    process: subprocess.Popen[bytes]
    go: Callable[[], object]


class LocalBackend(Backend):
    """Runs tier 1 tools on the host, in their own session, killed as a group at the time limit."""

    name: ClassVar[str] = "local"

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
        self._clock = clock

    def probe(self) -> Availability:
        return Availability(self.name, True, level=AssuranceLevel.NONE, losses=LOSSES)

    def _run(self, request: RunRequest) -> RunResult:
        with scratch("run") as home, contextlib.ExitStack() as held:
            launched = self._launch(request, str(home), held)
            process = launched.process
            try:
                with _guarded(process):
                    launched.go()
                    began = self._clock.monotonic()
                    seen = self._watch(process, request, began + request.policy.wall_seconds)
            finally:
                _kill_group(process)
                status, usage = os.wait4(process.pid, 0)[1:]
                process.returncode = os.waitstatus_to_exitcode(status)
                for stream in (process.stdin, process.stdout, process.stderr):
                    if stream:
                        with contextlib.suppress(OSError):
                            stream.close()
            return self._describe(request, seen, process.returncode, self._clock.monotonic() - began, usage)

    def _launch(self, request: RunRequest, home: str, held: contextlib.ExitStack) -> Launched:
        """Have it wait, in a session of its own, with pipes for its streams; `home` is a folder of its own.

        What has to be closed after the run goes to `held`.
        """
        return _start(request, _tier_one(request), home, held)

    def _excess(self, process: subprocess.Popen[bytes], request: RunRequest) -> Cause | None:
        """Why the run has to be stopped now, beyond time and output; None: it may go on."""
        return None

    def _describe(
        self, request: RunRequest, seen: Seen, code: int, wall: float, usage: resource.struct_rusage
    ) -> RunResult:
        return _result(request, seen, code, wall, usage)

    def _watch(self, process: subprocess.Popen[bytes], request: RunRequest, deadline: float) -> Seen:
        """Move bytes until the process has ended, the time is up, or a stream is over its cap."""
        pipes = _Pipes(process, request)
        while (left := deadline - self._clock.monotonic()) > 0:
            if not pipes.step(min(left, _STEP_SECONDS)):
                return Seen(pipes.stdout, pipes.stderr, Cause.OUTPUT_CAP)
            if _has_ended(process):
                _kill_group(process)
                return self._drain(pipes)
            if cause := self._excess(process, request):
                return Seen(pipes.stdout, pipes.stderr, cause)
        return Seen(pipes.stdout, pipes.stderr, Cause.TIMEOUT)

    def _drain(self, pipes: _Pipes) -> Seen:
        """What the ended process left in the pipes; whoever still holds them open is not waited for."""
        until = self._clock.monotonic() + _DRAIN_SECONDS
        while pipes.open and self._clock.monotonic() < until:
            if not pipes.step(_STEP_SECONDS):
                return Seen(pipes.stdout, pipes.stderr, Cause.OUTPUT_CAP)
        return Seen(pipes.stdout, pipes.stderr, Cause.EXIT)


class _Pipes:
    """The three streams of a process, none of which can block the caller."""

    def __init__(self, process: subprocess.Popen[bytes], request: RunRequest) -> None:
        self.stdout, self.stderr = Capture(request.policy.output_bytes), Capture(request.policy.output_bytes)
        self._pending = memoryview(request.stdin if isinstance(request.stdin, bytes) else b"")
        self._poll = select.poll()
        self._outputs: dict[int, Capture] = {}
        for stream, capture in ((process.stdout, self.stdout), (process.stderr, self.stderr)):
            if stream:
                self._outputs[stream.fileno()] = capture
                self._poll.register(stream, select.POLLIN)
        self._stdin = process.stdin
        if self._stdin:
            os.set_blocking(self._stdin.fileno(), False)
            self._poll.register(self._stdin, select.POLLOUT)
            if not self._pending:
                self._close_stdin()

    @property
    def open(self) -> bool:
        """Whether an output can still say something."""
        return bool(self._outputs)

    def step(self, seconds: float) -> bool:
        """Wait at most `seconds` for something to move and move it. False when a stream is over its cap."""
        within = True
        for fd, _ in self._poll.poll(seconds * 1000):
            if self._stdin and fd == self._stdin.fileno():
                self._write()
                continue
            data = os.read(fd, _CHUNK)
            if data:
                within &= self._outputs[fd].feed(data)
            else:
                self._poll.unregister(fd)
                del self._outputs[fd]
        return within

    def _write(self) -> None:
        if not self._stdin:
            return
        try:
            self._pending = self._pending[os.write(self._stdin.fileno(), self._pending[:_CHUNK]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._pending = self._pending[:0]
        if not self._pending:
            self._close_stdin()

    def _close_stdin(self) -> None:
        if self._stdin:
            self._poll.unregister(self._stdin)
            self._stdin.close()
            self._stdin = None


@contextlib.contextmanager
def _guarded(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """The group of `process` is killed when this process is. It is not waited for before: its number stays its own."""
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(after_death(_KILL_GROUP, str(process.pid)))
        except OSError as error:
            raise _not_started(error) from error
        yield


def _tier_one(request: RunRequest) -> VaultedTool:
    if request.tool is None or request.tool.tier is not Tier.LOCAL:
        raise RunnerError(
            "tier_needs_sandbox",
            "only a tool of tier 1 (your own skills and scripts) may run without a sandbox",
            "Run it with --backend auto; `runner doctor` says what a sandbox needs here.",
            tier=int(request.tool.tier) if request.tool else None,
        )
    return request.tool


def _start(request: RunRequest, tool: VaultedTool, home: str, held: contextlib.ExitStack) -> Launched:
    policy = request.policy
    stdin = subprocess.PIPE if isinstance(request.stdin, bytes) else request.stdin
    limits = (
        _at_most(policy.open_files, resource.RLIMIT_NOFILE),
        _at_most(policy.file_bytes, resource.RLIMIT_FSIZE) // 512,
        _at_most(math.ceil(policy.wall_seconds * policy.cpus) + 1, resource.RLIMIT_CPU),
        _at_most(policy.memory_bytes, resource.RLIMIT_DATA) // 1024,
    )
    environment = {
        "PATH": PATH,
        "HOME": home,
        "TMPDIR": home,
        "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",  # root could write beside the tool's files, and they would no longer verify
        **dict(policy.env),
    }
    gate, word = os.pipe()
    held.callback(os.close, word)
    try:
        process = subprocess.Popen(
            ["/bin/sh", "-c", _LAUNCH, "skillkeep", str(gate), *(str(limit) for limit in limits), *request.argv],
            cwd=policy.workdir or tool.path,
            env=environment,
            stdin=subprocess.DEVNULL if stdin is None else stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
            pass_fds=(gate,),
        )
    except OSError as error:
        raise _not_started(error) from error
    finally:
        os.close(gate)
    return Launched(process, lambda: os.write(word, b"go\n"))


def _not_started(error: OSError) -> RunnerError:
    return RunnerError(
        "program_not_runnable",
        f"the tool could not be started: {error.strerror or error}",
        "Check that /bin/sh and the working folder exist.",
    )


def _at_most(wanted: int, kind: int) -> int:
    """`wanted`, or the hard limit of this process where that is lower: a limit can be lowered only."""
    hard = resource.getrlimit(kind)[1]
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether it has ended; it stays a zombie, so that its group's number is not given to another process."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _result(request: RunRequest, seen: Seen, code: int, wall: float, usage: resource.struct_rusage) -> RunResult:
    cause = seen.ended if seen.ended is not Cause.EXIT else Cause.SIGNAL if code < 0 else Cause.EXIT
    return RunResult(
        backend=LocalBackend.name,
        run_id=request.run_id,
        exit_code=code if code >= 0 else None,
        signal=-code if code < 0 else None,
        cause=cause,
        stdout=seen.stdout.data,
        stderr=seen.stderr.data,
        stdout_truncated=seen.stdout.truncated,
        stderr_truncated=seen.stderr.truncated,
        wall_seconds=wall,
        user_seconds=usage.ru_utime,
        system_seconds=usage.ru_stime,
        peak_memory_bytes=None,  # ru_maxrss counts what the caller held when it started the process
        peak_processes=None,
        assurance=Assurance(AssuranceLevel.NONE, (Layer("rlimits", True),), os.geteuid(), LOSSES),
        policy_digest=request.policy.digest,
        tool_digest=request.tool.digest if request.tool else None,
    )
