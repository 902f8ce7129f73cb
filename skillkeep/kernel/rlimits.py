"""Resource limits of one process and its children (setrlimit(2)); soft and hard are set to the same value."""

from __future__ import annotations

import resource

from skillkeep.kernel.errors import KernelError

__all__ = ["LAYER", "NO_CORE_DUMP", "set_limits"]

LAYER = "rlimits"
NO_CORE_DUMP = 1
"""Not 0: with 0 a handler named by core_pattern still runs, as root on the host; 1 keeps it from running (core(5))."""

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
}


def set_limits(limits: dict[str, int]) -> None:
    """Set each named limit, lowered to the present hard limit where that is lower. Raises KernelError.

    Names: address_space, data, file_bytes, locked and queues in bytes, cpu_seconds, processes, open_files, core.
    """
    for name, value in limits.items():
        which = _NAMES[name]
        hard = resource.getrlimit(which)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        try:
            resource.setrlimit(which, (value, value))
        except (OSError, ValueError) as error:
            raise KernelError(LAYER, getattr(error, "errno", None) or 0, f"set {name}") from error
