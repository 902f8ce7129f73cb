"""The native backend, with warm interpreters for Python scripts that are called again and again.

For a process that lives long: a dispatcher, an MCP server. It answers whatever the native backend answers, the same
way; a call that cannot be warm is an ordinary run.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from skillkeep.kernel.errors import KernelError
from skillkeep.runner.errors import RunnerError
from skillkeep.runner.interface import AssuranceLevel, Availability, Backend, RunRequest, RunResult
from skillkeep.runner.native.backend import NativeBackend
from skillkeep.runner.native.failures import LayerError
from skillkeep.runner.native.plan import HOME
from skillkeep.runner.warm.interpreter import WarmInterpreter, sweep

if TYPE_CHECKING:
    from skillkeep.runner.ladder import Factories

__all__ = ["IDLE_SECONDS", "MOST", "WarmBackend", "warm_factories"]

MOST = 4
"""How many interpreters wait at once; each may hold as much memory as its policy allows, and idles at about 20 MB."""
IDLE_SECONDS = 120.0
_CALLS_BEFORE = 1
_LEAST_MEMORY = 64 << 20
_TOO_EARLY = re.compile(
    r"_?PYTHON|PY_SAX_PARSER|LD_|GLIBC_|MALLOC_|LC_|OPENSSL_|TZ|TERMINFO|"
    r"(TERM|INPUTRC|COLUMNS|LINES|LOCPATH|NLSPATH|GCONV_PATH|PATH|HOME|TMPDIR|LANG)\Z"
)
"""Variables that Python, its libraries or modules look at before a call has its words, and those of every run."""

Key = tuple[str, tuple[str, tuple[tuple[str, str], ...]], str, int]


@dataclass
class _Kept:
    """What is known about one tool, policy and script."""

    tool: str
    calls: int = 0
    interpreter: WarmInterpreter | None = None
    busy: threading.Lock = field(default_factory=threading.Lock)


class WarmBackend(Backend):
    """`NativeBackend` with interpreters that wait. Close it, or let it end with the process.

    An interpreter is bound to a tool's digest, the policy's, and a script; it is stopped when the tool's name is run
    with another digest or policy, after `idle_seconds`, when `most` others were used since, and by `forget`.
    """

    name = "native"
    overlays = NativeBackend.overlays
    explains = NativeBackend.explains
    terminals = NativeBackend.terminals

    def __init__(self, cold: NativeBackend | None = None, most: int = MOST, idle_seconds: float = IDLE_SECONDS) -> None:
        self._cold = cold or NativeBackend()
        self._most, self._idle_seconds = most, idle_seconds
        self._holds_less = False
        self._begin()

    def _begin(self) -> None:
        self._kept: OrderedDict[Key, _Kept] = OrderedDict()
        self._lock = threading.Lock()
        self._maker = os.getpid()

    def _after_fork(self) -> None:
        """Begin anew in a process that forked off: what was kept is its parent's, with the thread that keeps it."""
        if self._maker != os.getpid():
            for kept in self._kept.values():
                if kept.interpreter is not None:
                    kept.interpreter.let_go()
            self._begin()

    def probe(self) -> Availability:
        return self._cold.probe()

    def _run(self, request: RunRequest) -> RunResult:
        script = _script(request)
        if script is None or self._holds_less:
            return self._cold.run(request)
        self._after_fork()
        kept, stale = self._known(request, script)
        for each in stale:
            _stop(each)
        if not kept.busy.acquire(blocking=False):
            return self._cold.run(request)  # one call at a time: two would share the memory that is one's
        try:
            interpreter = self._ready(kept, request, script)
            if interpreter is not None:
                return interpreter.run(request)
        except (KernelError, LayerError, OSError, ValueError):
            self._drop(kept)  # nothing of the tool ran
        except BaseException:
            self._drop(kept)
            raise
        finally:
            kept.busy.release()
        return self._cold.run(request)

    def _ready(self, kept: _Kept, request: RunRequest, script: str) -> WarmInterpreter | None:
        """The interpreter for this call; none before the second one, or where none can be made."""
        kept.calls += 1
        if kept.interpreter is not None and kept.interpreter.is_over:
            self._drop(kept)
        if kept.interpreter is None and kept.calls > _CALLS_BEFORE:
            sweep()
            with contextlib.suppress(RunnerError):  # an ordinary run will say what is wrong
                kept.interpreter = WarmInterpreter(request, script, self._idle_seconds)
        interpreter = kept.interpreter
        if interpreter and not interpreter.bounded and self._cold.probe().level >= AssuranceLevel.BOUNDED:
            self._drop(kept)  # systemd gives control groups to the fork server alone: an ordinary run holds more
            self._holds_less = True
        return kept.interpreter

    def forget(self, tool: str) -> None:
        """Stop the interpreters of a tool, by its name: it was revoked or removed."""
        self._after_fork()
        with self._lock:
            found = [key for key, kept in self._kept.items() if kept.tool == tool]
            stale = [self._kept.pop(key) for key in found]
        for each in stale:
            _stop(each)

    def close(self) -> None:
        """Stop every interpreter."""
        self._after_fork()
        with self._lock:
            stale = list(self._kept.values())
            self._kept.clear()
        for each in stale:
            _stop(each)

    def __enter__(self) -> WarmBackend:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _known(self, request: RunRequest, script: str) -> tuple[_Kept, list[_Kept]]:
        """What is known of this call's kind, and what has to be stopped because of it."""
        assert request.tool is not None
        tool, policy = request.tool, (request.policy.digest, request.policy.env)
        key = (tool.digest, policy, script, int(request.min_assurance))
        with self._lock:
            outdated = [
                other
                for other, kept in self._kept.items()
                if kept.tool == tool.name and other[:2] != (tool.digest, policy)
            ]
            stale = [self._kept.pop(other) for other in outdated]
            kept = self._kept.setdefault(key, _Kept(tool.name))
            self._kept.move_to_end(key)
            while len(self._kept) > self._most:
                stale.append(self._kept.popitem(last=False)[1])
        return kept, stale

    def _drop(self, kept: _Kept) -> None:
        if kept.interpreter is not None:
            kept.interpreter.close()
            kept.interpreter = None
        kept.calls = 0


def warm_factories(factories: Factories, backend: WarmBackend) -> Factories:
    """The backends of `runner.ladder.backend_factories` with `backend` in the native one's place, for `run_tool`."""
    return {**factories, "native": lambda: backend}


def _stop(kept: _Kept) -> None:
    with kept.busy:
        if kept.interpreter is not None:
            kept.interpreter.close()
            kept.interpreter = None


def _script(request: RunRequest) -> str | None:
    """The script of a call that may be warm: ``python3 ./script ...`` of a tool, without network, overlay or tracer.

    Nor with what applies to the start of Python itself, of which the zygote knows nothing: variables, files at home.
    """
    argv, policy = request.argv, request.policy
    if request.tool is None or len(argv) < 2 or argv[0] != "python3" or not argv[1].startswith("./"):
        return None
    if (
        request.explain
        or request.terminal is not None
        or any(_TOO_EARLY.match(name) for name, _ in policy.env)
        or any(f"{place}/".startswith(f"{HOME}/") for place in (policy.tool_mount, *(x.target for x in policy.binds)))
        or policy.egress
        or request.overlaid
        or policy.workdir is not None
        or policy.memory_bytes < _LEAST_MEMORY
    ):
        return None
    return argv[1]
