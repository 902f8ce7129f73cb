"""Makes a result of what was seen of a command that this process served itself."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass

from skillkeep.runner.environments.relay import Kept
from skillkeep.runner.interface import Assurance, Cause, Denial, RunResult, new_run_id

__all__ = ["Ended", "result_of_ended"]


@dataclass(frozen=True)
class Ended:
    """A command's end. `status` is a wait status, None when it was killed before it could say; times in seconds.

    `stopped` is why it was killed from here: timeout, output_cap or empty. `starved`, which counts for one that was
    `killed`: the kernel has counted a kill at the limit of the memory, `memory_limit` bytes, meanwhile.
    """

    status: int | None
    stopped: str
    wall_seconds: float
    user_seconds: float
    system_seconds: float
    peak_memory: int
    memory_limit: int
    starved: bool = False

    @property
    def signal(self) -> int | None:
        """The signal that ended it."""
        if self.status is None:
            return int(signal.SIGKILL)
        return os.WTERMSIG(self.status) if os.WIFSIGNALED(self.status) else None

    @property
    def killed(self) -> bool:
        """Whether it was killed, and not from here."""
        return self.signal == signal.SIGKILL and not self.stopped


def result_of_ended(
    ended: Ended,
    out: Kept,
    err: Kept,
    assurance: Assurance,
    policy_digest: str = "",
    run_id: str = "",
    tool_digest: str | None = None,
) -> RunResult:
    """The result."""
    code = None if ended.status is None or ended.signal is not None else os.WEXITSTATUS(ended.status)
    cause = Cause.SIGNAL if code is None else Cause.EXIT
    denials: tuple[Denial, ...] = ()
    if ended.stopped:
        cause = Cause(ended.stopped)
    elif ended.killed and ended.starved:
        cause = Cause.OOM
        denials = (Denial("memory", f"killed at {ended.memory_limit} bytes", "memory_bytes"),)
    return RunResult(
        backend="native",
        run_id=run_id or new_run_id(),
        exit_code=code,
        signal=ended.signal,
        cause=cause,
        stdout=bytes(out.data),
        stderr=bytes(err.data),
        stdout_truncated=out.truncated,
        stderr_truncated=err.truncated,
        wall_seconds=ended.wall_seconds,
        user_seconds=ended.user_seconds,
        system_seconds=ended.system_seconds,
        peak_memory_bytes=ended.peak_memory,
        peak_processes=None,
        assurance=assurance,
        policy_digest=policy_digest,
        denials=denials,
        tool_digest=tool_digest,
    )
