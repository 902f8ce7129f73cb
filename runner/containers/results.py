"""Results of runs that an engine measured nothing of."""

from __future__ import annotations

from skillkeep.runner.capture import Capture
from skillkeep.runner.interface import Assurance, Cause, RunRequest, RunResult

__all__ = ["unmeasured"]


def unmeasured(
    backend: str,
    request: RunRequest,
    ending: tuple[Cause, int | None, int | None],
    outputs: tuple[Capture, Capture],
    seconds: float,
    assurance: Assurance,
) -> RunResult:
    """The result without the resources used; `ending` is cause, exit code and signal, `outputs` stdout and stderr."""
    (cause, code, signal), (stdout, stderr) = ending, outputs
    return RunResult(
        backend=backend,
        run_id=request.run_id,
        exit_code=code,
        signal=signal,
        cause=cause,
        stdout=stdout.data,
        stderr=stderr.data,
        stdout_truncated=stdout.truncated,
        stderr_truncated=stderr.truncated,
        wall_seconds=seconds,
        user_seconds=None,
        system_seconds=None,
        peak_memory_bytes=None,
        peak_processes=None,
        assurance=assurance,
        policy_digest=request.policy.digest,
        tool_digest=request.tool.digest if request.tool else None,
    )
