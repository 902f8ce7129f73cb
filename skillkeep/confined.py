"""Run a job that touches hostile bytes in a fresh interpreter that confines itself first.

The child applies Landlock, seccomp and rlimits (`skillkeep.kernel.confine`) before it imports the job, so the code
that parses never ran with the user's rights. Parent and child speak JSON over pipes; the parent bounds time and
reply size and kills the child's whole process group. A worker that was taken over can lie in its reply and spend
its own limits, nothing more.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import selectors
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from skillkeep.clock import SYSTEM_CLOCK, Clock
from skillkeep.errors import Code, SkillkeepError, all_codes
from skillkeep.text import escape, shorten

__all__ = ["Confinement", "WorkerError", "run_confined"]

_REPLY_BYTES = 64 << 20
_STDERR_BYTES = 64 << 10
_MIB = 1 << 20
_SYSTEM_READ = (
    "/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/opt",
    "/etc/ld.so.cache", "/etc/localtime", "/etc/ssl", "/etc/pki", "/etc/ca-certificates", "/etc/resolv.conf",
    "/etc/nsswitch.conf", "/etc/hosts", "/etc/host.conf", "/etc/gai.conf", "/etc/passwd", "/etc/group",
    "/etc/services", "/etc/protocols", "/etc/alternatives", "/dev/null", "/dev/zero", "/dev/urandom", "/dev/random",
)  # fmt: skip
_FOLDERS = ("skillkeep", "skillkeep.rules", "skillkeep.auditor", "skillkeep.vault", "skillkeep.ingest")


class WorkerError(SkillkeepError):
    """A confined worker did not deliver; `context["cause"]` is crash, timeout, memory or protocol."""

    codes: ClassVar = {
        "worker_failed": Code("A confined worker died, ran out of time or memory, or broke its protocol."),
        "confinement_unavailable": Code("This machine cannot confine a worker that parses hostile bytes."),
    }


@dataclass(frozen=True)
class Confinement:
    """What a worker may do beyond reading the interpreter and the system's libraries.

    `read` and `write` are absolute paths of existing folders or files; `tcp_ports` the ports it may connect to (none:
    no socket at all); `programs` whether it may execute others. Sizes in bytes, times in seconds.
    """

    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    tcp_ports: tuple[int, ...] = ()
    programs: bool = False
    memory_bytes: int = 1024 * _MIB
    wall_seconds: float = 60.0
    cpu_seconds: int = 60
    file_bytes: int = 64 * _MIB
    processes: int = 64
    open_files: int = 256
    environment: tuple[tuple[str, str], ...] = field(default=())


def run_confined(
    job: str,
    request: dict[str, Any],
    confinement: Confinement,
    clock: Clock = SYSTEM_CLOCK,
    heard: Callable[[bytes], None] | None = None,
) -> dict[str, Any]:
    """Run ``job`` (``"package.module:function"``, JSON object in, JSON object out) confined, and return its result.

    `heard` is given what the job writes to its stderr, piece by piece: hostile bytes, good for progress at most.
    Raises what the job raised if that is a `SkillkeepError`, else `WorkerError`.
    """
    header = {
        "job": job,
        "request": request,
        "parent": os.getpid(),
        "confinement": {**asdict(confinement), "read": [*_interpreter_paths(), *_SYSTEM_READ, *confinement.read]},
    }
    child = subprocess.Popen(
        [sys.executable, "-I", "-B", "-X", "utf8", "-m", "skillkeep.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"PATH": os.defpath, "LC_ALL": "C.UTF-8", **dict(confinement.environment)},
        cwd="/",
        start_new_session=True,
    )
    try:
        conversation = _Conversation(child, heard)
        cause = conversation.hold(json.dumps(header).encode() + b"\n", clock, confinement.wall_seconds)
    finally:
        _end(child)
    return _result(conversation, cause, child.returncode, job)


class _Conversation:
    """Feeds the request, collects reply lines and the tail of stderr, both bounded."""

    def __init__(self, child: subprocess.Popen[bytes], heard: Callable[[bytes], None] | None = None) -> None:
        self._child = child
        self._heard = heard
        self._partial = bytearray()
        self._seen = 0
        self.stderr = bytearray()
        self.final: dict[str, Any] | None = None

    def hold(self, request: bytes, clock: Clock, seconds: float) -> str | None:
        """Talk until the child closes its reply or time is up. Returns the cause of a failure, or None."""
        stdin, stdout, stderr = self._child.stdin, self._child.stdout, self._child.stderr
        assert stdin
        assert stdout
        assert stderr
        deadline = clock.monotonic() + seconds
        pending = memoryview(request)
        with selectors.DefaultSelector() as selector:
            for stream, events in ((stdin, selectors.EVENT_WRITE), (stdout, selectors.EVENT_READ)):
                os.set_blocking(stream.fileno(), False)
                selector.register(stream, events)
            os.set_blocking(stderr.fileno(), False)
            selector.register(stderr, selectors.EVENT_READ)
            while stdout in selector.get_map():
                left = deadline - clock.monotonic()
                if left <= 0:
                    return "timeout"
                for key, _ in selector.select(min(left, 1.0)):
                    if key.fileobj is stdin:
                        pending = self._feed(selector, stdin, pending)
                    elif not self._drain(key.fd, is_reply=key.fileobj is stdout):
                        selector.unregister(key.fileobj)
                if self._seen > _REPLY_BYTES:
                    return "protocol"
        return None

    @staticmethod
    def _feed(selector: selectors.BaseSelector, stdin: Any, pending: memoryview) -> memoryview:
        # stdin stays open after the request: its end tells the worker that we died
        try:
            pending = pending[os.write(stdin.fileno(), pending[:65536]) :]
        except BrokenPipeError:
            pending = memoryview(b"")
        if not pending:
            selector.unregister(stdin)
        return pending

    def _drain(self, fd: int, *, is_reply: bool) -> bool:
        chunk = os.read(fd, 1 << 16)
        if not chunk:
            return False
        if not is_reply:
            self.stderr += chunk
            del self.stderr[:-_STDERR_BYTES]
            if self._heard is not None:
                self._heard(chunk)
            return True
        self._seen += len(chunk)
        self._partial += chunk
        while (end := self._partial.find(b"\n")) >= 0:
            line = bytes(self._partial[:end])
            del self._partial[: end + 1]
            self._take(line)
        return True

    def _take(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return
        if not isinstance(message, dict):
            return
        if self.final is None and message.keys() & {"result", "error"}:
            self.final = message


def _end(child: subprocess.Popen[bytes]) -> None:
    """Kill whatever is left of the worker's process group and reap the worker."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    for stream in (child.stdin, child.stdout, child.stderr):
        if stream:
            with contextlib.suppress(OSError):
                stream.close()


def _result(conversation: _Conversation, cause: str | None, status: int, job: str) -> dict[str, Any]:
    final = conversation.final
    if cause is None and final and isinstance(final.get("result"), dict):
        result: dict[str, Any] = final["result"]
        return result
    if cause is None and final and isinstance(final.get("error"), dict):
        raise _rebuilt(final["error"], job)
    tail = escape(bytes(conversation.stderr[-2000:]), keep_newlines=True)
    if cause is None:
        cause = "memory" if "MemoryError" in tail else "crash" if final is None else "protocol"
    raise WorkerError(
        "worker_failed",
        f"the confined worker for {job.partition(':')[2]} failed ({cause})",
        "If the input is unusually large, raise the limits in config.toml; else report this as a defect.",
        cause=cause,
        status=status,
        stderr=tail,
    )


def _rebuilt(error: dict[str, Any], job: str) -> SkillkeepError:
    """The error a job raised, by its code; a worker cannot choose a class, only one of our codes."""
    code, message, hint = error.get("code"), error.get("message"), error.get("hint")
    context = error.get("context")
    known = all_codes().get(code) if isinstance(code, str) else None
    ours = known is not None and known[0].__init__ is SkillkeepError.__init__
    if known and ours and isinstance(message, str) and isinstance(hint, str) and hint and isinstance(context, dict):
        facts = {str(key): value for key, value in context.items() if key not in {"self", "code", "message", "hint"}}
        return known[0](str(code), message, hint, **facts)
    return WorkerError(
        "worker_failed",
        f"the confined worker for {job.partition(':')[2]} reported an unknown error",
        "Report this as a defect.",
        cause="protocol",
        error=shorten(str(error), 500),
    )


def _interpreter_paths() -> list[str]:
    """What the child has to read to import Python, its packages and ours."""
    paths = {sys.prefix, sys.base_prefix, sys.exec_prefix, os.path.dirname(os.path.realpath(sys.executable))}
    paths.update(value for key in ("stdlib", "platstdlib", "purelib", "platlib") if (value := sysconfig.get_path(key)))
    for name in _FOLDERS:
        paths.update(_package_folders(name))
    return sorted(path for path in paths if os.path.exists(path))


def _package_folders(name: str) -> Sequence[str]:
    spec = importlib.util.find_spec(name)
    return [os.fspath(Path(path)) for path in (spec.submodule_search_locations or ())] if spec else []
