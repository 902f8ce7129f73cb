"""The native backend as callers see it: asks the fork server for one run, and makes a result of its answer."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import signal
import socket
import sys
import time
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.passed import peer_of
from skillkeep.kernel.procfs import read_record
from skillkeep.runner.errors import RunnerError
from skillkeep.runner.interface import (
    Assurance,
    Attempt,
    Availability,
    Backend,
    Cause,
    RunRequest,
    RunResult,
    SandboxPolicy,
)
from skillkeep.runner.native import explain
from skillkeep.runner.native.asking import UnreadError, receive
from skillkeep.runner.native.client import Line, held_lately
from skillkeep.runner.native.denials import denials_of
from skillkeep.runner.native.feed import Feeder
from skillkeep.runner.native.identity import DEFAULT_ID_BASE
from skillkeep.runner.native.plan import make_plan
from skillkeep.runner.native.streams import Captured, Patience, Streams, capture
from skillkeep.value import Value

if TYPE_CHECKING:
    from skillkeep.runner.native.terminal import Terminal

__all__ = ["NativeBackend", "result_of"]

_GRACE_SECONDS = 60.0
_STOPPED_SECONDS = 3.0
_LONGEST_SECONDS = 1e8


class NativeBackend(Backend):
    """Linux namespaces, seccomp, Landlock and control groups. `id_base`: first host id given to payloads (as root)."""

    name = "native"
    overlays = True
    explains = True
    terminals = True

    _working: ClassVar[dict[int, Availability]] = {}
    """What worked in this process, by `id_base`. A failure is not kept: it may have been a passing one."""

    def __init__(self, id_base: int = DEFAULT_ID_BASE) -> None:
        self._id_base = id_base

    def probe(self) -> Availability:
        if (known := self._working.get(self._id_base)) is not None:
            return known
        found = self._try()
        if found.available:
            self._working[self._id_base] = found
        return found

    def _try(self) -> Availability:
        if sys.platform != "linux":
            return Availability(self.name, False, "this is not Linux", "Use a container or virtual machine backend.")
        request = RunRequest(("/bin/true",), SandboxPolicy(wall_seconds=10.0))
        with contextlib.suppress(KernelError, EOFError, OSError, ValueError, KeyError, TypeError):  # a run will say why
            if (known := held_lately(self._id_base)) is not None:
                held = Assurance.from_json(known)
                return Availability(self.name, True, level=held.level, losses=held.losses)
        try:
            result = self._run(request)
        except RunnerError as error:
            return Availability(self.name, False, error.message, explain.mend(error))
        finally:
            Line.forget()
        if not result.ok:
            return Availability(self.name, False, f"/bin/true ended with {result.cause} in it", "Run it by hand.")
        held = result.assurance
        return Availability(self.name, True, level=held.level, losses=held.losses)

    def _run(self, request: RunRequest) -> RunResult:
        changes: list[int] = []
        try:
            result = self._outcome(request, changes)
            if request.take_changes is not None:
                request.take_changes(changes)
            return result
        finally:
            for fd in changes:
                os.close(fd)

    def _outcome(self, request: RunRequest, changes: list[int]) -> RunResult:
        """The run; descriptors of what its overlays took are added to `changes`."""
        try:
            return self._asked(request, changes)
        except UnreadError:  # nothing of it ran: another server is asked
            pass
        try:
            return self._asked(request, changes)
        except UnreadError as error:
            raise _died(error) from error

    def _asked(self, request: RunRequest, changes: list[int]) -> RunResult:
        with Line(make_plan(request, self._id_base)) as line:
            return self._served(request, line, changes)

    def _served(self, request: RunRequest, line: Line, changes: list[int]) -> RunResult:
        """Raises UnreadError where the run can be asked for again: nothing ran, and its input is there yet."""
        seen = Captured()
        try:
            if request.terminal is not None:
                return result_of(request, _at_terminal(request.terminal, line, changes), seen)
            streams = line.streams()
            lent = line.ask(streams.theirs)
            streams.close_stdin()
            line.tidy()
            _digest(request.policy)
            answered = (lent or line.connection).fileno()
            seen = _captured(request, line.connection, answered, streams)
            answer = receive(line.connection, changes) if lent is None else lent.answer(unusual=bool(seen.truncated))
            if answer["kind"] == "outcome" and len(changes) != len(request.overlaid):
                raise ValueError("the changes of an overlay are missing")
            return result_of(request, answer, seen)
        except KernelError as error:
            raise _layer_failed(error.layer, error.what, error.hint, str(error.context["errno"])) from error
        except UnreadError as error:
            if seen.truncated or isinstance(request.stdin, int) or request.terminal is not None:
                raise _died(error) from error
            raise
        except (EOFError, OSError, ValueError, KeyError, TypeError) as error:
            raise _died(error) from error


def _at_terminal(terminal: Terminal, line: Line, changes: list[int]) -> dict[str, Any]:
    """The server's answer to a run at a terminal."""
    with terminal.pair() as pair:
        line.ask((pair.theirs, pair.theirs, pair.theirs))
        pair.give()
        terminal.join(pair, _Run(line.connection))
        return receive(line.connection, changes)


class _Run(Value):
    """A run under way, as a terminal sees it."""

    connection: socket.socket

    @property
    def pidfd(self) -> int:
        """Readable when the server has answered."""
        return self.connection.fileno()

    def kill(self) -> None:
        """End it."""
        _tell(self.connection, b"caller")


def _captured(request: RunRequest, connection: socket.socket, answered: int, streams: Streams) -> Captured:
    source = b"" if request.stdin is None else request.stdin
    if isinstance(source, int):
        _check_open(source)
    feeder = Feeder(source, streams.give_feed())
    limit = time.monotonic() + min(request.policy.wall_seconds, _LONGEST_SECONDS)
    patience = Patience(limit + _STOPPED_SECONDS, limit + _GRACE_SECONDS, lambda: _is_stopped(_server_of(connection)))
    try:
        return capture(
            answered,
            streams,
            feeder,
            request.policy.output_bytes,
            lambda: _tell(connection, b"output_cap"),
            patience,
        )
    except TimeoutError:
        # It may be going on, and nobody holds it to its limits: it ends with its server, as all do that this one made.
        if _is_stopped(server := _server_of(connection)):
            with contextlib.suppress(OSError):
                os.kill(server, signal.SIGKILL)
        raise
    finally:
        feeder.close()


def _server_of(connection: socket.socket) -> int:
    """The pid of the fork server, whose end of the connection is open: the number is still its own."""
    return peer_of(connection)[0]


def _is_stopped(pid: int) -> bool:
    try:
        return pid > 0 and read_record(f"/proc/{pid}/stat").rpartition(")")[2].split()[0] == "T"
    except OSError:
        return False


def _tell(connection: socket.socket, word: bytes) -> None:
    with contextlib.suppress(OSError):  # it has answered already
        connection.send(word)


def _check_open(fd: int) -> None:
    try:
        os.fstat(fd)
    except OSError as error:
        raise RunnerError(
            "bad_policy", f"stdin is not an open descriptor: {fd}", "Pass bytes, an open descriptor, or None."
        ) from error


def result_of(request: RunRequest, answer: dict[str, Any], seen: Captured) -> RunResult:
    """What the fork server's `answer` means. Raises RunnerError; ValueError, KeyError or TypeError for nonsense."""
    if answer["kind"] == "layer":
        raise _layer_failed(answer["layer"], answer["detail"], answer["hint"], answer["errno"])
    if answer["kind"] == "start":
        raise _not_started(answer)
    if answer["kind"] != "outcome":
        raise _died(ValueError(str(answer.get("detail", "an unknown answer"))))
    status = answer["status"]
    code = number = None
    if status is None:
        number = int(signal.SIGKILL)
    elif os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
    else:
        code = os.WEXITSTATUS(status)
    policy, tool, held = request.policy, request.tool, answer["assurance"]
    held = held if isinstance(held, Assurance) else Assurance.from_json(json.loads(held))
    return RunResult(
        backend=NativeBackend.name,
        run_id=request.run_id,
        exit_code=code,
        signal=number,
        cause=_cause(answer, code, cut=bool(seen.truncated)),
        stdout=bytes(seen.stdout),
        stderr=bytes(seen.stderr),
        stdout_truncated="stdout" in seen.truncated,
        stderr_truncated="stderr" in seen.truncated,
        wall_seconds=answer["wall_seconds"],
        user_seconds=answer["user_seconds"],
        system_seconds=answer["system_seconds"],
        peak_memory_bytes=answer["peak_memory"],
        peak_processes=answer["peak_processes"],
        assurance=held,
        policy_digest=_digest(policy),
        tool_digest=None if tool is None else tool.digest,
        denials=denials_of(answer, policy, held),
        attempts=tuple([Attempt(**attempt) for attempt in answer["egress"]]),
        explained=request.explain,
    )


@lru_cache(maxsize=16)
def _digest(policy: SandboxPolicy) -> str:
    return policy.digest


_STOPPED = {
    "timeout": Cause.TIMEOUT,
    "output_cap": Cause.OUTPUT_CAP,
    "oom": Cause.OOM,
    "processes": Cause.DENIED,
    "caller": Cause.SIGNAL,
}


def _cause(answer: dict[str, Any], code: int | None, *, cut: bool) -> Cause:
    if answer["stopped_for"]:
        return _STOPPED[answer["stopped_for"]]
    if cut:  # it ended before it could be killed for that
        return Cause.OUTPUT_CAP
    if answer["oom_kills"] and code != 0:
        return Cause.OOM
    return Cause.SIGNAL if code is None else Cause.EXIT


def _layer_failed(layer: str, detail: str, hint: str, number: str) -> RunnerError:
    context = {"layer": layer, **({"errno": number} if number not in ("", "0") else {}), "backend": NativeBackend.name}
    hint = hint or "Run `runner doctor` to see which layers work here."
    if layer == "min_assurance":
        return RunnerError("assurance_too_low", f"The native sandbox would hold less: {detail}", hint, **context)
    return RunnerError("sandbox_layer_failed", f"The sandbox layer {layer} failed: {detail}", hint, **context)


def _not_started(answer: dict[str, Any]) -> RunnerError:
    program, number = answer["program"], answer["errno"]
    if number in (errno.ENOENT, errno.ENOTDIR):
        hint = "Check the name; inside the sandbox only the tool, /usr and granted paths exist."
        return RunnerError("program_not_found", f"There is no program {program!r} in the sandbox.", hint)
    hint = "Check its mode, its first line (#!) and its architecture."
    return RunnerError("program_not_runnable", f"{program!r} cannot be executed: {os.strerror(number)}.", hint)


def _died(error: Exception) -> RunnerError:
    hint = "Run it again; if it happens twice, please report it with the output of `runner doctor`."
    return RunnerError("sandbox_died", f"The fork server ended early: {error}", hint)
