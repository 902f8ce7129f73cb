"""The native backend as callers see it: starts one supervisor per run and reads its answer."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, ClassVar

import skillkeep
import skillkeep.kernel
from skillkeep.runner.errors import RunnerError
from skillkeep.runner.interface import (
    Assurance,
    Availability,
    Backend,
    Cause,
    Denial,
    RunRequest,
    RunResult,
    SandboxPolicy,
)
from skillkeep.runner.native import explain, wire
from skillkeep.runner.native.identity import DEFAULT_ID_BASE
from skillkeep.runner.native.plan import make_plan

__all__ = ["NativeBackend"]

_HERE = os.path.dirname(os.path.abspath(__file__))
_GRACE_SECONDS = 60.0
_LONGEST_SECONDS = 1e8
_STOP_SECONDS = 10.0


class NativeBackend(Backend):
    """Linux namespaces, seccomp, Landlock and control groups. `id_base`: first host id given to payloads (as root)."""

    name = "native"

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
        try:
            result = self._run(request)
        except RunnerError as error:
            return Availability(self.name, False, error.message, explain.mend(error))
        if not result.ok:
            return Availability(self.name, False, f"/bin/true ended with {result.cause} in it", "Run it by hand.")
        held = result.assurance
        return Availability(self.name, True, level=held.level, losses=held.losses)

    def _run(self, request: RunRequest) -> RunResult:
        plan = make_plan(request, self._id_base)
        data = request.stdin if isinstance(request.stdin, bytes) else b""
        with _supervisor(request.stdin) as (caller, inherited):
            caller.settimeout(min(plan.wall_seconds, _LONGEST_SECONDS) + _GRACE_SECONDS)
            wire.send(caller, {"plan": plan.to_text(), "stdin": inherited}, data)
            answer, streams = wire.receive(caller)
        if answer["kind"] == "layer":
            raise _layer_failed(answer)
        if answer["kind"] == "start":
            raise _not_started(answer)
        return _result(request, answer, streams)


@contextlib.contextmanager
def _supervisor(stdin: bytes | int | None) -> Iterator[tuple[socket.socket, int | None]]:
    """A running supervisor's socket, and the number under which it sees the caller's stdin descriptor."""
    inherited = _above_two(stdin) if isinstance(stdin, int) else None
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    words = os.memfd_create("supervisor-stderr", os.MFD_CLOEXEC)
    with ours, theirs:
        try:
            process = _start(theirs.fileno(), words, inherited)
        except OSError as error:
            os.close(words)
            raise _died(error, b"") from error
        finally:
            theirs.close()
            if inherited is not None:
                os.close(inherited)
        try:
            yield ours, inherited
        except (EOFError, OSError, ValueError) as error:
            process.kill()
            raise _died(error, os.pread(words, 4096, 0)) from error
        finally:
            ours.close()
            os.close(words)
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _start(sock: int, words: int, inherited: int | None) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        _command(),
        stdin=sock,
        stdout=subprocess.DEVNULL,
        stderr=words,
        pass_fds=() if inherited is None else (inherited,),
        env={},
        cwd="/",
        start_new_session=True,
    )


def _above_two(fd: int) -> int:
    """A copy for the supervisor, whose own 0 is the socket: a payload that held that could write its own result."""
    try:
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)
    except OSError as error:
        raise RunnerError(
            "bad_policy", f"stdin is not an open descriptor: {fd}", "Pass bytes, an open descriptor, or None."
        ) from error


def _command() -> list[str]:
    ground, kernel = os.path.dirname(str(skillkeep.__file__)), os.path.dirname(str(skillkeep.kernel.__file__))
    folders = {
        "skillkeep": ground,
        "skillkeep.kernel": kernel,
        "skillkeep.runner": os.path.dirname(_HERE),
        "skillkeep.runner.native": _HERE,
    }
    packages = [f"{name}={folder}" for name, folder in folders.items()]
    return [sys.executable, "-I", "-S", "-B", os.path.join(_HERE, "boot.py"), str(os.getpid()), *packages]


def _result(request: RunRequest, answer: dict[str, Any], streams: list[bytes]) -> RunResult:
    status, stopped_for = answer["status"], answer["stopped_for"]
    code = number = None
    if status is None:
        number = int(signal.SIGKILL)
    elif os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
    else:
        code = os.WEXITSTATUS(status)
    cause = _cause(answer, code)
    policy, tool = request.policy, request.tool
    return RunResult(
        backend=NativeBackend.name,
        run_id=request.run_id,
        exit_code=code,
        signal=number,
        cause=cause,
        stdout=streams[0],
        stderr=streams[1],
        stdout_truncated=answer["stdout_truncated"],
        stderr_truncated=answer["stderr_truncated"],
        wall_seconds=answer["wall_seconds"],
        user_seconds=answer["user_seconds"],
        system_seconds=answer["system_seconds"],
        peak_memory_bytes=answer["peak_memory"],
        peak_processes=answer["peak_processes"],
        assurance=Assurance.from_json(answer["assurance"]),
        policy_digest=policy.digest,
        tool_digest=None if tool is None else tool.digest,
        denials=_denials(answer, stopped_for, policy),
    )


_STOPPED = {
    "timeout": Cause.TIMEOUT,
    "output_cap": Cause.OUTPUT_CAP,
    "oom": Cause.OOM,
    "processes": Cause.DENIED,
    "caller": Cause.SIGNAL,
}


def _cause(answer: dict[str, Any], code: int | None) -> Cause:
    if answer["stopped_for"]:
        return _STOPPED[answer["stopped_for"]]
    if answer["oom_kills"] and code != 0:
        return Cause.OOM
    return Cause.SIGNAL if code is None else Cause.EXIT


def _denials(answer: dict[str, Any], stopped_for: str, policy: SandboxPolicy) -> tuple[Denial, ...]:
    found = []
    if answer["oom_kills"] or stopped_for == "oom":
        kills = max(answer["oom_kills"], 1)
        found.append(Denial("memory", f"{kills} process(es) killed at {policy.memory_bytes} bytes", "memory_bytes"))
    if answer["refused_forks"] or stopped_for == "processes":
        times = max(answer["refused_forks"], 1)
        found.append(Denial("processes", f"{times} time(s) above {policy.processes} processes", "processes"))
    return tuple(found)


def _layer_failed(answer: dict[str, Any]) -> RunnerError:
    layer, detail, number = answer["layer"], answer["detail"], answer["errno"]
    context = {"layer": layer, "errno": number, "backend": NativeBackend.name}
    hint = answer["hint"] or "Run `runner doctor` to see which layers work here."
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


def _died(error: Exception, words: bytes) -> RunnerError:
    said = words.decode("utf-8", "replace").strip().splitlines()[-1:] or [str(error)]
    hint = "Run it again; if it happens twice, please report it with the output of `runner doctor`."
    return RunnerError("sandbox_died", f"The sandbox supervisor ended early: {said[0]}", hint)
