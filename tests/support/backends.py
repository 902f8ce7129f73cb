"""Doubles of the sandbox backends: the real interface, no sandbox. For tests of what surrounds a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from skillkeep.runner.interface import (
    Assurance,
    AssuranceLevel,
    Availability,
    Backend,
    Cause,
    RunRequest,
    RunResult,
)


@dataclass
class ScriptedBackend(Backend):
    """Answers `probe` with `state` and every run with exit code 0; remembers what it was asked to run."""

    state: Availability
    asked: list[RunRequest] = field(default_factory=list)
    before: Callable[[RunRequest], None] = lambda request: None
    name: ClassVar[str] = "scripted"

    def probe(self) -> Availability:
        return self.state

    def _run(self, request: RunRequest) -> RunResult:
        self.before(request)
        self.asked.append(request)
        return result_of(request, self.state)


def works(name: str, level: AssuranceLevel = AssuranceLevel.BOUNDED) -> ScriptedBackend:
    """A backend that works at `level`."""
    return ScriptedBackend(Availability(name, True, level=level, losses=("some loss",)))


def broken(name: str) -> ScriptedBackend:
    """A backend that this machine cannot use."""
    return ScriptedBackend(Availability(name, False, f"{name} is not here", f"mend {name}"))


def result_of(request: RunRequest, state: Availability) -> RunResult:
    """A result that says exit 0 and repeats the request's digests."""
    return RunResult(
        backend=state.backend,
        run_id=request.run_id,
        exit_code=0,
        signal=None,
        cause=Cause.EXIT,
        stdout=b"out",
        stderr=b"",
        stdout_truncated=False,
        stderr_truncated=False,
        wall_seconds=0.0,
        user_seconds=None,
        system_seconds=None,
        peak_memory_bytes=None,
        peak_processes=None,
        assurance=Assurance(state.level),
        policy_digest=request.policy.digest,
        tool_digest=request.tool.digest if request.tool else None,
    )
