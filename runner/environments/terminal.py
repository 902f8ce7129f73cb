"""A person's terminal joined to a command in an environment."""

from __future__ import annotations

import time

from skillkeep.runner.environments.environment import Environment
from skillkeep.runner.environments.prepare import Command
from skillkeep.runner.interface import RunResult
from skillkeep.runner.native.terminal import Terminal

__all__ = ["run_at_terminal"]

_LONGEST_SECONDS = 1e8


def run_at_terminal(
    environment: Environment, command: Command, terminal: Terminal, seconds: float | None = None
) -> RunResult:
    """Run `command` with a terminal of its own joined to `terminal`; how it ended, without what it wrote.

    After `seconds` it is killed, and by SIGTERM or SIGHUP of this process. In the main thread. Raises RunnerError,
    EnvironmentsError (`environment_ended`).
    """
    started = time.monotonic()
    with terminal.pair() as pair:
        entered = environment.enter(command, (pair.theirs, pair.theirs, pair.theirs))
        pair.give()
        in_time = terminal.join(pair, entered, started + (seconds or _LONGEST_SECONDS), entered.holder)
        return environment.outcome(entered, "" if in_time else "timeout", started)
