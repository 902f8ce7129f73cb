"""What a process can say about itself for good: prctl(2) switches, open descriptors, threads."""

from __future__ import annotations

import ctypes
import os
import signal

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.libc import guarded, syscall
from skillkeep.kernel.procfs import read_record
from skillkeep.kernel.tape import Tape

__all__ = [
    "RESET_SIGNALS",
    "close_above",
    "die_with_parent",
    "forbid_new_privileges",
    "give_memory_back",
    "hide_memory",
    "is_real_time",
    "lives_since",
    "require_single_thread",
    "tape_parent_death",
    "tape_switch",
]

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38
_SIGKILL = 9
_EXITING = 4  # PF_EXITING of the flags in proc_pid_stat(5)
RESET_SIGNALS = tuple(n for n in range(1, signal.NSIG) if n not in (signal.SIGKILL, signal.SIGSTOP, 32, 33))
"""The signals whose handling a fresh program gets back to the default; 32 and 33 belong to the C library."""


_REAL_TIME, _RESET_ON_FORK = (1, 2, 6), 0x4000_0000  # SCHED_FIFO, SCHED_RR, SCHED_DEADLINE


def is_real_time() -> bool:
    """Whether this thread goes before all ordinary ones, as its children then do, whatever share they are given."""
    return os.sched_getscheduler(0) & ~_RESET_ON_FORK in _REAL_TIME


def forbid_new_privileges() -> None:
    """No later execve gains anything: no setuid, no file capabilities (PR_SET_NO_NEW_PRIVS)."""
    syscall("no_new_privs", "prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def hide_memory() -> None:
    """No core dump, no ptrace, and /proc/<pid> belongs to root, until the next execve (PR_SET_DUMPABLE 0)."""
    syscall("dumpable", "prctl", _PR_SET_DUMPABLE, 0, 0, 0, 0)


def give_memory_back() -> None:
    """Return what the C library holds in reserve to the kernel (malloc_trim(3)); nothing where it has no such call."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def lives_since(pid: int) -> int:
    """As `started_at`, but -1 also for one that is ending: it takes others along, and is in no group any more."""
    try:
        words = read_record(f"/proc/{pid}/stat").rpartition(")")[2].split()
    except OSError:
        return -1
    return -1 if words[0] in "ZX" or int(words[6]) & _EXITING else int(words[19])


def tape_switch(tape: Tape, layer: str, *, on: bool) -> None:
    """Add the step that sets `no_new_privs` (for good) or `dumpable`."""
    which = {"no_new_privs": _PR_SET_NO_NEW_PRIVS, "dumpable": _PR_SET_DUMPABLE}[layer]
    tape.call(layer, "prctl", which, int(on), 0, 0, 0, why=f"set {layer}")


def tape_parent_death(tape: Tape) -> None:
    """Add the step after which the process is killed when its parent ends. Any later change of user id undoes it."""
    tape.call("death_signal", "prctl", _PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)


def die_with_parent(parent: int) -> None:
    """SIGKILL when the thread that made this process ends. Any later change of user id undoes it.

    `parent` is the expected parent's pid (0 when it lives outside this pid namespace): when it has gone
    already, the process ends at once.
    """
    syscall("death_signal", "prctl", _PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def close_above(last: int) -> None:
    """Close every descriptor above `last`."""
    syscall("descriptors", "close_range", last + 1, 0xFFFFFFFF, 0)


def require_single_thread() -> None:
    """Raise KernelError when the process has threads: seccomp and Landlock would hold only one of them."""
    with guarded("threads", "list /proc/self/task"):
        count = len(os.listdir("/proc/self/task"))
    if count != 1:
        raise KernelError("threads", 0, f"{count} threads run, only one could be confined")
