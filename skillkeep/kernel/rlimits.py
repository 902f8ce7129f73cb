"""Resource limits of one process and its children (setrlimit(2)); soft and hard are set to the same value."""

from __future__ import annotations

import resource

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.tape import Tape

__all__ = ["LAYER", "NO_CORE_DUMP", "OF_EVERY_PAYLOAD", "files_within", "set_limits", "tape_limit", "within_hard"]

LAYER = "rlimits"
NO_CORE_DUMP = 1
"""Not 0: with 0 a handler named by core_pattern still runs, as root on the host; 1 keeps it from running (core(5))."""
OF_EVERY_PAYLOAD = {
    "core": NO_CORE_DUMP,
    "locked": 8 * 1024 * 1024,
    "queues": 0,
    "realtime": 0,
    "nice": 0,
    "signals": 256,
}
"""Whatever the run and its caller may: what reaches beyond a sandbox, or is counted for a whole user."""

_OPEN_FILE_BYTES, _FEWEST_FILES = 4608, 64
"""An end of a pipe is half of two pages, which one holds whose user has used up his quota (pipe(7)), and some more."""

_NAMES = {
    "address_space": resource.RLIMIT_AS,
    "data": resource.RLIMIT_DATA,
    "cpu_seconds": resource.RLIMIT_CPU,
    "file_bytes": resource.RLIMIT_FSIZE,
    "processes": resource.RLIMIT_NPROC,
    "open_files": resource.RLIMIT_NOFILE,
    "core": resource.RLIMIT_CORE,
    "locked": resource.RLIMIT_MEMLOCK,
    "queues": resource.RLIMIT_MSGQUEUE,
    "realtime": resource.RLIMIT_RTPRIO,
    "nice": resource.RLIMIT_NICE,
    "signals": resource.RLIMIT_SIGPENDING,
}


def tape_limit(tape: Tape, name: str) -> None:
    """Add the step that sets one limit to what the cells ``soft_<name>`` and ``hard_<name>`` hold."""
    limit = tape.cell(name=f"soft_{name}")
    tape.cell(name=f"hard_{name}")
    tape.call(LAYER, "prlimit64", 0, _NAMES[name], limit, 0, why=f"set {name}")


def files_within(files: int, memory_bytes: int, processes: int) -> int:
    """`files` for each process, or fewer, so that pipes of them all hold no more than `memory_bytes`."""
    return min(files, max(memory_bytes // (processes * _OPEN_FILE_BYTES), _FEWEST_FILES))


def within_hard(name: str, value: int) -> int:
    """`value`, or this process's own hard limit where that is lower: a limit can be lowered only."""
    hard = resource.getrlimit(_NAMES[name])[1]
    return value if hard == resource.RLIM_INFINITY else min(value, hard)


def set_limits(limits: dict[str, int]) -> None:
    """Set each named limit, lowered to the present hard limit where that is lower. Raises KernelError.

    Names: address_space, data, file_bytes, locked and queues in bytes, cpu_seconds, processes, open_files, core,
    realtime (priority), nice (20 - value is the lowest), signals (pending).
    """
    for name, value in limits.items():
        value = within_hard(name, value)
        try:
            resource.setrlimit(_NAMES[name], (value, value))
        except (OSError, ValueError) as error:
            raise KernelError(LAYER, getattr(error, "errno", None) or 0, f"set {name}") from error
