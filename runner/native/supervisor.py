"""The small process that is forked for one run: takes a plan from its socket, launches, answers, ends.

It dies with its caller: when the caller's socket closes or the caller's thread ends, the sandbox is killed and
its control group removed; when this process is killed, the kernel kills the sandbox's init.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import socket
from typing import Any, NoReturn

from skillkeep.kernel.libc import syscall
from skillkeep.kernel.rlimits import NO_CORE_DUMP
from skillkeep.runner.native import wire
from skillkeep.runner.native.channel import LayerError, StartError
from skillkeep.runner.native.launch import Outcome, launch
from skillkeep.runner.native.plan import Plan

__all__ = ["main"]

_PR_SET_PDEATHSIG = 1


class _CallerGoneError(BaseException):
    pass


def main(parent: int) -> int:
    """Serve one run for the process `parent`, which holds the other end of the socket on descriptor 0."""
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    syscall("death_signal", "prctl", _PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        return 1
    # Where the hard limit is 0, only root can bring it to the value that payloads get (see kernel/rlimits.py).
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (NO_CORE_DUMP, NO_CORE_DUMP))
    caller = socket.socket(fileno=os.dup(0))
    try:
        request, blobs = wire.receive(caller)
        plan = Plan.from_text(request["plan"])
        stdin = request["stdin"] if blobs[0] == b"" else blobs[0]
        header, streams = _serve(plan, stdin, caller)
        wire.send(caller, header, *streams)
    except (_CallerGoneError, EOFError, BrokenPipeError, ConnectionResetError):
        return 1
    return 0


def _serve(plan: Plan, stdin: bytes | int | None, caller: socket.socket) -> tuple[dict[str, Any], tuple[bytes, ...]]:
    try:
        outcome = launch(plan, stdin, caller.fileno())
    except LayerError as error:
        facts = {"layer": error.layer, "detail": error.detail, "hint": error.hint, "errno": error.number}
        return {"kind": "layer", **facts}, ()
    except StartError as error:
        return {"kind": "start", "program": error.program, "errno": error.number}, ()
    return _describe(outcome), (outcome.stdout, outcome.stderr)


def _describe(outcome: Outcome) -> dict[str, Any]:
    fields = {name: value for name, value in vars(outcome).items() if name not in ("stdout", "stderr")}
    return {**fields, "kind": "outcome", "assurance": outcome.assurance.to_json()}


def _stop(*_: object) -> NoReturn:
    raise _CallerGoneError
