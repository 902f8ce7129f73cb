"""The child's side of `skillkeep.confined`: confine, import the job, run it, reply (``-m skillkeep.worker``)."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

from skillkeep.errors import SkillkeepError

__all__ = ["main"]


def main() -> int:
    """Read one request from stdin, write reply lines to what was stdout. Returns the exit status."""
    header = json.loads(sys.stdin.buffer.readline())
    rules = header["confinement"]
    try:
        _confine(rules)
    except SkillkeepError as error:
        _send(1, {"error": _unavailable(error)})
        return 1
    reply = _reply_stream()
    threading.Thread(target=_die_with_parent, args=(header["parent"],), daemon=True).start()
    try:
        result = _load(header["job"])(header["request"])
        _send(reply, {"result": result})
    except SkillkeepError as error:
        _send(reply, {"error": _fields(error)})
        return 1
    return 0


def _reply_stream() -> int:
    """A private descriptor for replies; anything a parser prints goes to stderr instead."""
    reply = os.dup(1)
    os.dup2(2, 1)
    return reply


def _confine(rules: dict[str, Any]) -> tuple[str, ...]:
    from skillkeep.kernel.confine import apply_confinement

    return apply_confinement(
        read=[path for path in rules["read"] if os.path.exists(path)],
        write=rules["write"],
        tcp_ports=rules["tcp_ports"],
        programs=rules["programs"],
        memory_bytes=rules["memory_bytes"],
        cpu_seconds=rules["cpu_seconds"],
        file_bytes=rules["file_bytes"],
        processes=rules["processes"],
        open_files=rules["open_files"],
    )


def _load(job: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    module, _, function = job.partition(":")
    if not module.startswith("skillkeep."):
        raise ValueError("a job lives in this package")
    loaded: Callable[[dict[str, Any]], dict[str, Any]] = getattr(importlib.import_module(module), function)
    return loaded


def _die_with_parent(parent: int) -> None:
    """End the whole group when the parent is gone: its end of our stdin closes whatever way it dies."""
    if os.getppid() == parent:
        os.read(0, 1)
    with contextlib.suppress(OSError):
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _fields(error: SkillkeepError) -> dict[str, Any]:
    return {"code": error.code, "message": error.message, "hint": error.hint, "context": error.context}


def _unavailable(error: SkillkeepError) -> dict[str, Any]:
    hint = "Skillkeep needs Linux 5.13 or newer with Landlock and seccomp; `runner doctor` says what is missing."
    message = f"a worker cannot be confined here: {error.message}"
    return {"code": "confinement_unavailable", "message": message, "hint": hint, "context": error.context}


def _send(reply: int, message: dict[str, Any]) -> None:
    data = json.dumps(message).encode() + b"\n"
    view = memoryview(data)
    while view:
        view = view[os.write(reply, view) :]


if __name__ == "__main__":
    os._exit(main())  # no interpreter shutdown: the watching thread is still there, and nothing is left to flush
