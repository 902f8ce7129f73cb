"""How a run in the native sandbox ended."""

from __future__ import annotations

from dataclasses import dataclass

from skillkeep.runner.interface import Assurance

__all__ = ["Outcome"]


@dataclass(frozen=True)
class Outcome:
    """A finished run as seen from outside. `status` is the payload's wait status, None when init was killed."""

    status: int | None
    stopped_for: str
    wall_seconds: float
    user_seconds: float
    system_seconds: float
    peak_memory: int
    peak_processes: int
    oom_kills: int
    refused_forks: int
    assurance: Assurance
